//! Turns orders and reports into events. It starts no process and reads no clock.

use hustings_cluster::api::OfficeStatus;
use hustings_cluster::clock::Timestamp;

use super::event::{Event, EventKind, Failover, list};
use super::{Action, Order, OrderError, Target};

/// What became of a member's process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Condition {
    /// It runs.
    Running,
    /// It runs, but is stopped by SIGSTOP.
    Frozen,
    /// It was killed.
    Killed,
    /// It ended by itself.
    Ended,
}

struct Member {
    name: String,
    pid: i32,
    condition: Condition,
    is_cut: bool,
    /// The token of the leader that the member names, if it is sure.
    names: Option<u64>,
}

impl Member {
    fn is_able(&self) -> bool {
        self.condition == Condition::Running && !self.is_cut
    }
}

/// The office of the leader, as first reported.
struct Leader {
    node: usize,
    token: u64,
    /// It was reported that the leader no longer acts.
    is_unsure: bool,
}

/// A leader that was lost on purpose and has no successor yet.
struct Loss {
    node: usize,
    by: Action,
    at: Timestamp,
}

/// What happened since a cluster was started.
pub struct Story {
    began: Timestamp,
    members: Vec<Member>,
    leader: Option<Leader>,
    loss: Option<Loss>,
    is_agreed: bool,
    events: Vec<Event>,
}

impl Story {
    /// The story of a cluster with these members, which begins now.
    pub(super) fn new(names: Vec<String>, began: Timestamp) -> Self {
        let member = |name| Member { name, pid: 0, condition: Condition::Running, is_cut: false, names: None };
        let members = names.into_iter().map(member).collect();
        Story { began, members, leader: None, loss: None, is_agreed: false, events: Vec::new() }
    }

    /// The leader that was reported last, and its token, unless it was lost.
    pub fn leader(&self) -> Option<(&str, u64)> {
        let leader = self.leader.as_ref().filter(|_| self.loss.is_none())?;
        let member = self.members.get(leader.node).filter(|member| member.condition != Condition::Ended)?;
        Some((member.name.as_str(), leader.token))
    }

    /// The highest token that was reported.
    pub fn token(&self) -> u64 {
        self.leader.as_ref().map_or(0, |leader| leader.token)
    }

    /// Whether all members that can act are a majority and name the same leader.
    pub fn is_agreed(&self) -> bool {
        self.is_agreed
    }

    /// Whether all members can act.
    pub fn is_whole(&self) -> bool {
        self.members.iter().all(Member::is_able)
    }

    /// Whether every process has ended.
    pub fn is_over(&self) -> bool {
        self.members.iter().all(|member| member.condition == Condition::Ended)
    }

    /// The members: their names, what became of their processes, whether they are cut off, and their process ids.
    pub fn members(&self) -> impl Iterator<Item = (&str, Condition, bool, Option<i32>)> {
        self.members.iter().map(|member| {
            let has_process = matches!(member.condition, Condition::Running | Condition::Frozen);
            (member.name.as_str(), member.condition, member.is_cut, has_process.then_some(member.pid))
        })
    }

    pub(super) fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    fn push(&mut self, at: Timestamp, kind: EventKind) {
        self.events.push(Event { at: at.since(self.began), kind });
    }

    /// The members that an order is about, if it makes sense for them.
    pub(super) fn targets(&self, order: &Order) -> Result<Vec<usize>, OrderError> {
        let node = match &order.target {
            Target::Disturbed => {
                let disturbed: Vec<usize> =
                    (0..self.members.len()).filter(|node| !self.members[*node].is_able()).collect();
                return if disturbed.is_empty() { Err(OrderError::NobodyToRevive) } else { Ok(disturbed) };
            }
            Target::Leader => {
                let (leader, _) = self.leader().ok_or(OrderError::NoLeader)?;
                self.members.iter().position(|member| member.name == leader).ok_or(OrderError::NoLeader)?
            }
            Target::Member(name) => {
                let unknown = || {
                    let known = list(&self.members.iter().map(|member| member.name.as_str()).collect::<Vec<_>>());
                    let name: String = name.chars().filter(|c| !c.is_control()).take(40).collect();
                    OrderError::UnknownMember { name, known }
                };
                self.members.iter().position(|member| member.name == *name).ok_or_else(unknown)?
            }
        };
        let member = &self.members[node];
        let why = match (order.action, member.condition, member.is_cut) {
            (Action::Revive, Condition::Running, false) => "is well: there is nothing to revive",
            (Action::Revive, ..) => return Ok(vec![node]),
            (_, Condition::Killed | Condition::Ended, _) => "is not running; `revive` starts it again",
            (Action::Freeze, Condition::Frozen, _) => "is frozen already",
            (Action::Cut, _, true) => "is cut off already",
            _ => return Ok(vec![node]),
        };
        Err(OrderError::Unfit { member: member.name.clone(), why })
    }

    pub(super) fn handle_started(&mut self, pids: &[i32]) {
        self.members.iter_mut().zip(pids).for_each(|(member, pid)| member.pid = *pid);
        let members = self.members.iter().map(|member| (member.name.clone(), member.pid)).collect();
        self.push(self.began, EventKind::Started { members });
    }

    /// An action was carried out. `at` is the moment just before.
    pub(super) fn handle_action(&mut self, node: usize, action: Action, pid: i32, at: Timestamp) {
        let led = self.leader.as_ref().is_some_and(|leader| leader.node == node) && self.loss.is_none();
        let was_able = self.able();
        let member = &mut self.members[node];
        let (former, was_cut) = (member.condition, member.is_cut);
        match action {
            Action::Kill => member.condition = Condition::Killed,
            Action::Freeze => member.condition = Condition::Frozen,
            Action::Cut => member.is_cut = true,
            Action::Revive => (member.condition, member.is_cut) = (Condition::Running, false),
        }
        if action == Action::Kill || (action == Action::Revive && former != Condition::Frozen) {
            member.names = None;
        }
        member.pid = pid;
        let (name, has_process) = (member.name.clone(), action != Action::Kill);
        let how = how(&name, action, pid, former, was_cut);
        self.push(
            at,
            EventKind::Acted {
                action,
                member: name,
                pid: has_process.then_some(pid),
                how,
                led: led && action != Action::Revive,
            },
        );
        if action == Action::Revive {
            self.loss = self.loss.take().filter(|loss| loss.node != node || former == Condition::Killed);
        } else if led {
            self.loss = Some(Loss { node, by: action, at });
        }
        self.check_majority(was_able, at);
        self.update_agreement(at);
    }

    pub(super) fn handle_ended(&mut self, node: usize, why: String, at: Timestamp) {
        let was_able = self.able();
        let member = &mut self.members[node];
        (member.condition, member.names) = (Condition::Ended, None);
        let member = member.name.clone();
        self.push(at, EventKind::Ended { member, why });
        self.check_majority(was_able, at);
        self.update_agreement(at);
    }

    pub(super) fn handle_disconnected(&mut self, node: usize, at: Timestamp) {
        self.members[node].names = None;
        self.update_agreement(at);
    }

    /// A node reported who leads.
    pub(super) fn handle_office(&mut self, node: usize, status: &OfficeStatus, at: Timestamp) {
        let holder = status.holder.as_deref();
        let holder = holder.and_then(|name| self.members.iter().position(|member| member.name == name));
        self.members[node].names = holder.filter(|_| status.current).map(|_| status.token);
        match holder {
            Some(holder) if status.current && status.token > self.token() => {
                let loss = self.loss.take();
                let failover = loss.map(|loss| Failover {
                    lost: self.members[loss.node].name.clone(),
                    by: loss.by,
                    took: at.since(loss.at),
                });
                let member = self.members[holder].name.clone();
                self.leader = Some(Leader { node: holder, token: status.token, is_unsure: false });
                self.is_agreed = false;
                self.push(at, EventKind::Leads { member, token: status.token, reason: status.reason, failover });
            }
            Some(holder) if !status.current && holder == node && self.members[node].is_cut => {
                self.report_unsure(node, status.token, at);
            }
            _ => {}
        }
        self.update_agreement(at);
    }

    /// A leader that is cut off has noticed it. The next one may have been reported before that.
    fn report_unsure(&mut self, node: usize, token: u64, at: Timestamp) {
        let Some(leader) = &mut self.leader else { return };
        if leader.node == node && leader.token == token && !leader.is_unsure {
            leader.is_unsure = true;
            let member = self.members[node].name.clone();
            self.push(at, EventKind::Unsure { member });
        }
    }

    fn able(&self) -> usize {
        self.members.iter().filter(|member| member.is_able()).count()
    }

    fn check_majority(&mut self, was_able: usize, at: Timestamp) {
        let (able, members) = (self.able(), self.members.len());
        let majority = members / 2 + 1;
        if able < majority && was_able >= majority {
            self.push(at, EventKind::NoMajority { able, members });
        }
    }

    fn update_agreement(&mut self, at: Timestamp) {
        let Some(leader) = &self.leader else { return };
        let able = || self.members.iter().filter(|member| member.is_able());
        let is_agreed = self.members[leader.node].is_able()
            && 2 * able().count() > self.members.len()
            && able().all(|member| member.names == Some(leader.token));
        if is_agreed && !self.is_agreed {
            let members = able().map(|member| member.name.clone()).collect();
            let leader = self.members[leader.node].name.clone();
            self.push(at, EventKind::Agreed { leader, members });
        }
        self.is_agreed = is_agreed;
    }
}

/// What exactly was done.
fn how(name: &str, action: Action, pid: i32, former: Condition, was_cut: bool) -> String {
    match action {
        Action::Kill => format!("killed {name}: SIGKILL to process {pid}"),
        Action::Freeze => format!("froze {name}: SIGSTOP to process {pid}"),
        Action::Cut => format!("cut {name} off: nothing that it sends arrives, and nothing reaches it"),
        Action::Revive => {
            let links = if was_cut { ", and reconnected it" } else { "" };
            match former {
                Condition::Killed | Condition::Ended => format!("started {name} again, as process {pid}{links}"),
                Condition::Frozen => format!("continued {name}: SIGCONT to process {pid}{links}"),
                Condition::Running => format!("reconnected {name}"),
            }
        }
    }
}

#[cfg(test)]
mod tests;
