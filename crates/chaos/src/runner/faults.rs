//! Injects and heals faults.

use std::fmt;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use hustings_cluster::api::Request;

use super::Runner;
use crate::active_faults::Damage;
use crate::device::Device;
use crate::loads::Flooded;
use crate::operator::Task;
use crate::schedule::{Episode, FaultKind, Target};

/// A member that is added and never started. Nothing listens on the address.
const EXTRA: &str = "extra";
const EXTRA_MEMBER: &str = "extra=127.0.0.1:9,priority=0";

const SIGTERM: i32 = 15;

/// Indices of the operators.
const REQUESTS: usize = 0;
const MEMBERSHIP: usize = 1;

/// A membership change in progress. Each step follows when the one before is confirmed, which may be long after the
/// episode has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct MembershipChange {
    episode: usize,
    /// The node that is replaced by a new member; if none, the extra member is added and removed.
    node: Option<usize>,
    is_first_step_done: bool,
    pub(super) has_ended: bool,
}

impl fmt::Display for MembershipChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.node, self.is_first_step_done) {
            (Some(_), false) => "the removal of a member",
            (Some(_), true) => "the addition of a member",
            (None, false) => "the addition of a further member",
            (None, true) => "the removal of a further member",
        })
    }
}

impl Runner<'_> {
    /// The node that an episode hits; `None` if no node is left to impair.
    fn target_of(&self, episode: &Episode) -> Option<usize> {
        let named = match episode.aim {
            Target::Node(_) => None,
            Target::Holder(office) => {
                self.scenario.offices.get(office).and_then(|office| self.recorder.last_holder(&office.name))
            }
            Target::Arbiter => self.shared.arbiter().1,
        };
        let found = named.and_then(|name| self.scenario.nodes.iter().position(|node| node.name == name));
        let wanted = match episode.aim {
            Target::Node(node) => node,
            // Without a holder or leader, any node will do.
            _ => found.unwrap_or(episode.order[0]),
        };
        if episode.kind == FaultKind::Retime {
            return (!self.active_faults.is_impaired(wanted)).then_some(wanted);
        }
        let impairs_node = !Damage::of(episode, wanted).impaired.is_empty();
        if impairs_node { self.active_faults.first_healthy(wanted) } else { Some(wanted) }
    }

    pub(super) fn begin(&mut self, index: usize) -> io::Result<()> {
        let episode = self.schedule.episodes[index].clone();
        // A change of the membership may take longer than planned.
        if self.membership_change.is_some() && (episode.kind.changes_membership() || episode.kind.is_exclusive()) {
            return Ok(());
        }
        if let (FaultKind::Retime, Target::Node(node)) = (episode.kind, episode.aim) {
            self.cluster.set_lease(node, Duration::from_millis(episode.amount.unsigned_abs()));
        }
        let Some(target) = self.target_of(&episode) else { return Ok(()) };
        let damage = Damage::of(&episode, target);
        self.record_fault(episode.kind.name(), &self.describe(&episode, target, &damage));
        *self.outcome.faults.entry(episode.kind).or_default() += 1;
        self.targets.insert(index, target);
        let impaired = damage.impaired.clone();
        let links = !damage.links.is_empty();
        self.active_faults.begin(index, damage);
        self.record_majority(false);
        if links {
            self.cluster.net.set_links(&self.active_faults.links())?;
        }
        self.inject(index, &episode, target, impaired)
    }

    fn inject(&mut self, index: usize, episode: &Episode, target: usize, impaired: Vec<usize>) -> io::Result<()> {
        let office = || self.scenario.offices[episode.amount as usize % self.scenario.offices.len()].name.clone();
        match episode.kind {
            FaultKind::Kill | FaultKind::KillAll | FaultKind::HostAway | FaultKind::WallClock => {
                impaired.into_iter().try_for_each(|node| self.cluster.nodes.kill(node))
            }
            FaultKind::Retime if episode.amount > 0 => self.cluster.nodes.kill(target),
            FaultKind::Terminate | FaultKind::Retime => self.cluster.nodes.terminate(target),
            FaultKind::Freeze => self.cluster.nodes.freeze(target),
            FaultKind::DiskTight | FaultKind::Shortage => {
                impaired.into_iter().try_for_each(|node| self.cluster.disks.fill(node))
            }
            FaultKind::DiskError => self.cluster.disks.device(target).map_or(Ok(()), Device::fail),
            FaultKind::BitRot => self.rot(index, target, episode.amount.unsigned_abs()),
            FaultKind::Rollback => {
                self.cluster.nodes.kill(target)?;
                self.cluster.disks.save(target)?;
                self.start_node(target)
            }
            FaultKind::DiskFull | FaultKind::Blackout => impaired.into_iter().try_for_each(|node| self.fill_disk(node)),
            FaultKind::Transfer => {
                let to = self.scenario.nodes[episode.order[0]].name.clone();
                let request = Request::Transfer { office: office(), to };
                self.request(request, episode);
                Ok(())
            }
            FaultKind::Resign => {
                let request = Request::Resign { office: office() };
                self.request(request, episode);
                Ok(())
            }
            FaultKind::Pause => {
                self.request(Request::Pause, episode);
                Ok(())
            }
            FaultKind::Wipe | FaultKind::Remove => {
                if episode.kind == FaultKind::Wipe {
                    self.cluster.nodes.kill(target)?;
                }
                self.replace(index, target);
                Ok(())
            }
            FaultKind::AddRemove => {
                let task = Task::Add { name: EXTRA.to_string(), member: EXTRA_MEMBER.to_string() };
                self.begin_membership_change(index, None, task);
                Ok(())
            }
            FaultKind::CutClosed | FaultKind::CutSilent | FaultKind::OneWay | FaultKind::Overlap | FaultKind::Slow => {
                Ok(())
            }
            FaultKind::Hogs => self.loads.start_hogs(index, &self.cluster.folder),
            FaultKind::Flood => {
                let node = Flooded {
                    listen: self.cluster.net.listen(target),
                    api: self.cluster.apis[target],
                    socket: &self.cluster.sockets[target],
                    namespace: self.cluster.net.namespace(target),
                };
                self.loads.start_flood(index, node)
            }
        }
    }

    fn request(&mut self, request: Request, episode: &Episode) {
        self.operators[REQUESTS].add(Task::Request { request, first: episode.order[0] });
    }

    pub(super) fn end(&mut self, index: usize) -> io::Result<()> {
        if let Some(change) = self.membership_change.as_mut().filter(|change| change.episode == index) {
            change.has_ended = true;
            return self.advance_membership_change();
        }
        if self.schedule.episodes[index].kind == FaultKind::Rollback && self.targets.contains_key(&index) {
            return self.roll_back(index);
        }
        self.end_episode(index)
    }

    /// Heals what an episode did.
    pub(super) fn end_episode(&mut self, index: usize) -> io::Result<()> {
        let Some(target) = self.targets.remove(&index) else { return Ok(()) };
        let Some(damage) = self.active_faults.end(index) else { return Ok(()) };
        let episode = self.schedule.episodes[index].clone();
        self.record_fault("heal", &format!("{} of {}", episode.kind, self.scenario.nodes[target].name));
        if !damage.links.is_empty() {
            self.cluster.net.set_links(&self.active_faults.links())?;
        }
        self.heal(index, &episode, target, damage)?;
        self.record_majority(true);
        Ok(())
    }

    fn heal(&mut self, index: usize, episode: &Episode, target: usize, damage: Damage) -> io::Result<()> {
        match episode.kind {
            FaultKind::Kill | FaultKind::KillAll | FaultKind::HostAway => {
                damage.impaired.into_iter().try_for_each(|node| self.start_node(node))?;
            }
            FaultKind::Terminate | FaultKind::Retime => {
                self.check_exit_status(target)?;
                self.start_node(target)?;
            }
            FaultKind::WallClock => {
                self.cluster.shift_wall_clock(target, episode.amount);
                self.start_node(target)?;
            }
            FaultKind::Freeze => self.cluster.nodes.thaw(target)?,
            FaultKind::DiskTight | FaultKind::DiskError => {
                if episode.amount > 0 {
                    self.cluster.nodes.kill(target)?;
                }
                self.cluster.disks.free(target)?;
                self.cluster.disks.device(target).map_or(Ok(()), Device::repair)?;
                // A node that cannot write may exit.
                if episode.amount > 0 || self.cluster.nodes.take_exit_status(target)?.is_some() {
                    self.start_node(target)?;
                }
            }
            FaultKind::Shortage => {
                damage.impaired.iter().try_for_each(|node| self.cluster.disks.free(*node))?;
                // Nothing else is active meanwhile.
                std::thread::sleep(Duration::from_millis(episode.amount.unsigned_abs()));
                damage.impaired.iter().try_for_each(|node| self.cluster.nodes.kill(*node))?;
                damage.impaired.into_iter().try_for_each(|node| self.start_node(node))?;
            }
            FaultKind::Blackout => {
                // All nodes are dead before any of them can write again.
                damage.impaired.iter().try_for_each(|node| self.cluster.nodes.kill(*node))?;
                damage.impaired.iter().try_for_each(|node| self.cluster.disks.free(*node))?;
                damage.impaired.into_iter().try_for_each(|node| self.start_node(node))?;
            }
            FaultKind::DiskFull => {
                self.cluster.disks.free(target)?;
                self.cluster.nodes.limit_file_size(target, None)?;
                // A node that cannot write may exit.
                if self.cluster.nodes.take_exit_status(target)?.is_some() {
                    self.start_node(target)?;
                }
            }
            FaultKind::Pause => self.operators[REQUESTS].add(Task::Resume),
            // Membership changes end when they are complete.
            FaultKind::Wipe | FaultKind::Remove | FaultKind::AddRemove => {}
            // The node runs: the file was not needed any more, or it did not notice, which is reported.
            FaultKind::BitRot | FaultKind::Rollback => {}
            FaultKind::Transfer | FaultKind::Resign => {}
            FaultKind::Hogs | FaultKind::Flood => self.loads.end(index)?,
            FaultKind::CutClosed | FaultKind::CutSilent | FaultKind::OneWay | FaultKind::Overlap | FaultKind::Slow => {}
        }
        Ok(())
    }

    /// Reports a node that did not leave in good order. One that was starting may not have handled the signal yet.
    fn check_exit_status(&mut self, node: usize) -> io::Result<()> {
        if let Some(status) = self.cluster.nodes.take_exit_status(node)?
            && !status.success()
            && status.signal() != Some(SIGTERM)
        {
            let what = format!("{} was asked to leave and ended with {status}", self.scenario.nodes[node].name);
            self.record_fault("exited", &what);
            self.outcome.problems.push(what);
        }
        Ok(())
    }

    /// Replaces a node by a new member: removes the member now, and adds it again when the episode is over.
    pub(super) fn replace(&mut self, episode: usize, node: usize) {
        let task = Task::Remove { name: self.scenario.nodes[node].name.clone() };
        self.begin_membership_change(episode, Some(node), task);
    }

    fn begin_membership_change(&mut self, episode: usize, node: Option<usize>, task: Task) {
        let change = MembershipChange { episode, node, is_first_step_done: false, has_ended: false };
        self.membership_change = Some(change);
        self.operators[MEMBERSHIP].add(task);
    }

    /// Takes the second step of a membership change, once the first one is confirmed and the episode has ended.
    fn advance_membership_change(&mut self) -> io::Result<()> {
        let Some(change) = self.membership_change.filter(|change| change.is_first_step_done && change.has_ended) else {
            return Ok(());
        };
        let task = match change.node {
            Some(node) => {
                // A node that heard of its removal has exited.
                self.cluster.nodes.kill(node)?;
                self.cluster.delete_node_files(node)?;
                Task::Add { name: self.scenario.nodes[node].name.clone(), member: self.cluster.member_spec(node) }
            }
            None => Task::Remove { name: EXTRA.to_string() },
        };
        self.operators[MEMBERSHIP].add(task);
        Ok(())
    }

    /// Handles what the operators have finished.
    pub(super) fn handle_finished_tasks(&mut self) -> io::Result<()> {
        while self.operators[REQUESTS].next_finished().is_some() {}
        while self.operators[MEMBERSHIP].next_finished().is_some() {
            match &mut self.membership_change {
                Some(change) if !change.is_first_step_done => {
                    change.is_first_step_done = true;
                    self.advance_membership_change()?;
                }
                Some(_) => self.finish_membership_change()?,
                None => {}
            }
        }
        Ok(())
    }

    fn finish_membership_change(&mut self) -> io::Result<()> {
        let Some(change) = self.membership_change.take() else { return Ok(()) };
        self.targets.remove(&change.episode);
        self.active_faults.end(change.episode);
        let kind = self.schedule.episodes[change.episode].kind;
        self.record_fault("heal", &format!("{kind} is complete"));
        match change.node {
            Some(node) => {
                self.cluster.complete_config(node)?;
                self.start_node(node)?;
            }
            None => self.cluster.delete_member_files(EXTRA)?,
        }
        self.record_majority(true);
        Ok(())
    }

    /// Makes all writes of a node fail: its disk is full, and because nodes reserve space, its files may not grow.
    fn fill_disk(&mut self, node: usize) -> io::Result<()> {
        self.cluster.disks.fill(node)?;
        self.cluster.nodes.limit_file_size(node, Some(0))
    }

    fn describe(&self, episode: &Episode, target: usize, damage: &Damage) -> String {
        let name = |node: usize| self.scenario.nodes[node].name.as_str();
        let links: Vec<String> =
            damage.links.iter().map(|(from, to, link)| format!("{}>{} {link:?}", name(*from), name(*to))).collect();
        format!("{} {} for {} ms {}", episode.kind, name(target), episode.end - episode.begin, links.join(", "))
    }
}
