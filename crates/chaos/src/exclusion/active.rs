//! The faults that are active at the moment, and which others may begin beside them.

use std::collections::{BTreeMap, BTreeSet};

use super::schedule::{Damage, Kind, Victim};
use crate::net::Links;

/// The faults that are active, by their index in the schedule.
#[derive(Clone, Debug)]
pub(crate) struct Active {
    hosts: usize,
    max_frozen: usize,
    /// Whether nothing else happens at a host while `run` or the guardian is killed.
    kills_alone: bool,
    faults: BTreeMap<usize, (usize, Damage)>,
}

impl Active {
    /// No fault is active.
    pub(crate) fn new(hosts: usize, max_frozen: usize) -> Self {
        Active { hosts, max_frozen, kills_alone: false, faults: BTreeMap::new() }
    }

    /// Where the command does not end with `run` and the guardian: whoever is left must be able to kill it.
    pub(crate) fn with_kills_alone(self, kills_alone: bool) -> Self {
        Active { kills_alone, ..self }
    }

    /// Whether a fault that kills counts until its end, although what it hits starts again by itself.
    pub(crate) fn must_be_alone(&self, kind: Kind) -> bool {
        self.kills_alone && kind.kills_a_guard()
    }

    /// The first host from `wanted` on at which a fault of this kind may begin.
    pub(crate) fn find_host(&self, wanted: usize, damage: Damage) -> Option<usize> {
        (0..self.hosts).map(|step| (wanted + step) % self.hosts).find(|&host| self.allows(host, damage))
    }

    /// Whether a fault of this kind may begin: one killer of the command stays able to act, no victim is away already,
    /// and a majority of nodes is left, because without it leadership does not change.
    pub(crate) fn allows(&self, host: usize, damage: Damage) -> bool {
        let here = self.faults.values().filter(|(other, _)| *other == host).map(|(_, damage)| *damage);
        let here: Vec<Damage> = here.collect();
        let is_hit = |victim: &Victim| here.iter().any(|other| other.kind.victims().contains(victim));
        let is_away =
            damage.kind.victims().iter().any(is_hit) || damage.has_cut && here.iter().any(|other| other.has_cut);
        let disabled: BTreeSet<Victim> =
            here.iter().chain([&damage]).flat_map(|damage| damage.kind.disabled_killers()).collect();
        let mut nodes = self.hosts_without_node();
        if damage.disables_node() {
            nodes.insert(host);
        }
        let is_lone = |damage: &Damage| self.must_be_alone(damage.kind);
        let is_disturbed = !here.is_empty() && (is_lone(&damage) || here.iter().any(is_lone));
        !is_away && !is_disturbed && disabled.len() <= self.max_frozen && nodes.len() <= (self.hosts - 1) / 2
    }

    fn hosts_without_node(&self) -> BTreeSet<usize> {
        self.faults.values().filter(|(_, damage)| damage.disables_node()).map(|(host, _)| *host).collect()
    }

    /// A fault begins.
    pub(crate) fn begin(&mut self, fault: usize, host: usize, damage: Damage) {
        self.faults.insert(fault, (host, damage));
    }

    /// A fault ends. Returns its host and damage.
    pub(crate) fn end(&mut self, fault: usize) -> Option<(usize, Damage)> {
        self.faults.remove(&fault)
    }

    /// Whether a process is down because it was killed.
    pub(crate) fn is_down(&self, host: usize, victim: Victim) -> bool {
        let takes_down = |kind: Kind| kind.kills() && kind.victims().contains(&victim);
        self.faults.values().any(|(other, damage)| *other == host && takes_down(damage.kind))
    }

    /// The indices of all active faults.
    pub(crate) fn indices(&self) -> Vec<usize> {
        self.faults.keys().copied().collect()
    }

    /// The state of all links.
    pub(crate) fn links(&self) -> Links {
        let mut links = Links::open(self.hosts);
        for (host, _) in self.faults.values().filter(|(_, damage)| damage.has_cut) {
            links.isolate(*host);
        }
        links
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(kind: Kind) -> Damage {
        Damage { kind, has_cut: kind == Kind::Cut }
    }

    fn active(max_frozen: usize, faults: &[(usize, Kind)]) -> Active {
        let mut active = Active::new(5, max_frozen);
        for (index, (host, kind)) in faults.iter().enumerate() {
            active.begin(index, *host, plain(*kind));
        }
        active
    }

    #[test]
    fn one_killer_of_a_host_is_always_able_to_act() {
        let two = active(2, &[(1, Kind::FreezeRunGuardian)]);
        assert!(
            !two.allows(1, plain(Kind::FreezeNode))
                && !two.allows(1, plain(Kind::KillNode))
                && !two.allows(1, plain(Kind::KillHost))
        );
        assert!(
            two.allows(2, plain(Kind::FreezeNode))
                && two.allows(1, plain(Kind::Cut))
                && two.allows(1, plain(Kind::FreezeCommand))
        );
        let node = active(2, &[(1, Kind::KillNode)]);
        assert!(node.allows(1, plain(Kind::FreezeRun)) && !node.allows(1, plain(Kind::FreezeRunGuardian)));
        let one = active(1, &[(1, Kind::FreezeRun)]);
        assert!(!one.allows(1, plain(Kind::FreezeGuardian)) && one.allows(1, plain(Kind::KillGuardian)));
    }

    #[test]
    fn a_killed_run_leaves_nothing_to_kill() {
        let killed = active(1, &[(1, Kind::KillRun)]);
        assert!(killed.allows(1, plain(Kind::FreezeNode)));
        assert!(killed.is_down(1, Victim::Run) && !killed.is_down(1, Victim::Node) && !killed.is_down(2, Victim::Run));
    }

    #[test]
    fn a_guard_is_killed_alone_where_the_command_outlives_it() {
        let frozen = || active(2, &[(1, Kind::FreezeNode)]);
        let killed = || active(2, &[(1, Kind::KillGuardian)]);
        assert!(frozen().allows(1, plain(Kind::KillRun)) && killed().allows(1, plain(Kind::FreezeNode)));
        let (frozen, killed) = (frozen().with_kills_alone(true), killed().with_kills_alone(true));
        for kind in [Kind::KillRun, Kind::KillGuardian, Kind::KillHost] {
            assert!(!frozen.allows(1, plain(kind)) && frozen.allows(2, plain(kind)), "{kind:?}");
        }
        assert!(!killed.allows(1, plain(Kind::FreezeNode)) && killed.allows(2, plain(Kind::FreezeNode)));
        assert!(frozen.allows(1, plain(Kind::FreezeRun)), "the guardian is left");
    }

    #[test]
    fn a_victim_is_hit_once_at_a_time() {
        let mut faults = active(2, &[(1, Kind::FreezeRun), (2, Kind::Cut)]);
        assert!(!faults.allows(1, plain(Kind::KillRun)) && !faults.allows(2, plain(Kind::Cut)));
        assert_eq!(faults.find_host(1, plain(Kind::KillRun)), Some(2));
        assert_eq!(faults.end(0), Some((1, plain(Kind::FreezeRun))));
        assert!(faults.allows(1, plain(Kind::KillRun)));
    }

    #[test]
    fn a_majority_of_nodes_is_left() {
        let faults = active(2, &[(0, Kind::Cut), (1, Kind::FreezeNode)]);
        assert!(!faults.allows(2, plain(Kind::KillNode)) && faults.allows(2, plain(Kind::FreezeRunGuardian)));
        assert!(faults.allows(0, plain(Kind::FreezeNode)), "this node is cut off already");
        assert_eq!(faults.find_host(3, plain(Kind::FreezeNode)), Some(0));
        let with_cut = Damage { kind: Kind::FreezeRun, has_cut: true };
        assert!(!faults.allows(2, with_cut) && faults.allows(1, with_cut) && !faults.allows(0, with_cut));
        assert!(faults.links().is_isolated(0) && !faults.links().is_isolated(1));
    }
}
