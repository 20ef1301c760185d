//! What decides in a simulated cluster: the members themselves, or something outside of them.

use super::SimCluster;
use crate::clock::Timestamp;
use crate::core::{Core, Setup};

/// Creates the cores of a cluster, each with its arbiter, and simulates the authority behind the arbiters.
pub(crate) trait Authority {
    /// Creates the core of a node that starts now.
    fn core(&mut self, setup: Setup, now: Timestamp) -> Core;

    /// The true time at which the authority must be called.
    fn next_event(&self) -> u64 {
        u64::MAX
    }

    /// The true time is this. Returns the nodes that something has arrived for.
    fn advance(&mut self, now: u64) -> Vec<usize> {
        let _ = now;
        Vec::new()
    }

    /// The authority outside of the members, if there is one.
    fn external(&mut self) -> Option<&mut dyn External> {
        None
    }
}

/// An authority outside of the members.
pub(crate) trait External {
    /// It stops answering, or answers again.
    fn set_silent(&mut self, is_silent: bool);

    /// It is restarted: what is under way is lost.
    fn restart(&mut self);

    /// It can no longer be reached from a node, or can be again.
    fn set_reachable(&mut self, node: usize, is_reachable: bool);

    /// Its answers to a node take this much longer.
    fn set_answer_delay(&mut self, node: usize, ms: u64);
}

/// The arbiters that the configuration can name: `raft` and `none`.
pub(crate) struct BuiltIn;

impl Authority for BuiltIn {
    fn core(&mut self, setup: Setup, now: Timestamp) -> Core {
        Core::new(setup, now).expect("the disk is valid")
    }
}

/// Faults of the authority, whatever it is.
impl SimCluster {
    /// Nobody can decide anything any more.
    pub(crate) fn silence_authority(&mut self) {
        match self.authority.external() {
            Some(external) => external.set_silent(true),
            None => {
                let pairs = (0..self.size()).flat_map(|one| (0..one).map(move |other| (one, other)));
                pairs.collect::<Vec<_>>().into_iter().for_each(|(one, other)| self.cut(one, other));
            }
        }
    }

    /// The authority can decide again. What was lost stays lost.
    pub(crate) fn restore_authority(&mut self) {
        match self.authority.external() {
            Some(external) => external.set_silent(false),
            None => {
                let was_cut = std::mem::take(&mut self.cut);
                was_cut.into_iter().for_each(|(one, other)| self.disconnect(one, other));
            }
        }
    }

    /// The authority is restarted, and keeps what it has decided.
    pub(crate) fn restart_authority(&mut self) {
        match self.authority.external() {
            Some(external) => external.restart(),
            None => {
                (0..self.size()).for_each(|node| self.kill(node));
                (0..self.size()).for_each(|node| self.start(node));
            }
        }
    }

    /// Cuts a node off from the others and from the authority.
    pub(crate) fn isolate(&mut self, node: usize) {
        (0..self.size()).filter(|other| *other != node).for_each(|other| self.cut(node, other));
        if let Some(external) = self.authority.external() {
            external.set_reachable(node, false);
        }
    }

    /// What the authority sends to a node takes this much longer. What the node sends is as fast as before.
    pub(crate) fn delay_answers(&mut self, node: usize, ms: u64) {
        match self.authority.external() {
            Some(external) => external.set_answer_delay(node, ms),
            None => _ = self.receiving_delays_ms.insert(node, ms),
        }
    }

    /// Ends the faults of the authority, and all others.
    pub(crate) fn heal_everything(&mut self) {
        self.restore_authority();
        for node in 0..self.size() {
            self.delay_answers(node, 0);
            if let Some(external) = self.authority.external() {
                external.set_reachable(node, true);
            }
        }
        self.heal();
    }
}
