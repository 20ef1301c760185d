//! The inputs of one tick, by node and then in the order in which a node handles them.

use std::iter::Peekable;
use std::vec::Drain;

use hustings_protocol::Timer;

use super::in_flight::Transmission;
use super::reachability::ReachabilityUpdate;

/// A timer that was set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DueTimer {
    pub(crate) at: u32,
    /// The incarnation of the node that set it.
    pub(crate) incarnation: u32,
    /// The number of the record that set it.
    pub(crate) cause: u64,
    pub(crate) timer: Timer,
}

/// A change of a node's status before its turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StatusChange {
    Crashed,
    Recovered,
    Joined,
}

/// Why a node gets a start signal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StartSignal {
    /// The scenario has it.
    Planned,
    /// The failure detector has noticed the loss of the leader.
    LeaderLost,
}

/// The inputs of one tick. Each list is sorted by node.
#[derive(Debug)]
pub(crate) struct TickInputs<M> {
    pub(crate) status_changes: Vec<(u32, StatusChange)>,
    pub(crate) signals: Vec<(u32, StartSignal)>,
    pub(crate) updates: Vec<ReachabilityUpdate>,
    /// By receiver.
    pub(crate) transmission: Vec<Transmission<M>>,
    /// By sender.
    pub(crate) returned: Vec<Transmission<M>>,
    pub(crate) timers: Vec<DueTimer>,
    pub(crate) retiring: Vec<u32>,
}

impl<M> Default for TickInputs<M> {
    fn default() -> Self {
        TickInputs {
            status_changes: Vec::new(),
            signals: Vec::new(),
            updates: Vec::new(),
            transmission: Vec::new(),
            returned: Vec::new(),
            timers: Vec::new(),
            retiring: Vec::new(),
        }
    }
}

impl<M> TickInputs<M> {
    /// Sorts the lists by node. The inputs of one node stay in order.
    pub(crate) fn sort(&mut self) {
        self.status_changes.sort_by_key(|&(at, _)| at);
        self.signals.sort_by_key(|&(at, _)| at);
        self.returned.sort_by_key(|transmission| (transmission.from, transmission.order));
        self.timers.sort_by_key(|timer| timer.at);
        self.retiring.sort_unstable();
    }

    /// Iterates over the inputs and leaves the lists empty.
    pub(crate) fn turns(&mut self) -> NodeInputs<'_, M> {
        NodeInputs {
            status_changes: self.status_changes.drain(..).peekable(),
            signals: self.signals.drain(..).peekable(),
            updates: self.updates.drain(..).peekable(),
            transmission: self.transmission.drain(..),
            returned: self.returned.drain(..).peekable(),
            timers: self.timers.drain(..).peekable(),
            retiring: self.retiring.drain(..).peekable(),
        }
    }
}

/// The inputs of a tick that are not handled yet.
#[derive(Debug)]
pub(crate) struct NodeInputs<'a, M> {
    status_changes: Peekable<Drain<'a, (u32, StatusChange)>>,
    signals: Peekable<Drain<'a, (u32, StartSignal)>>,
    updates: Peekable<Drain<'a, ReachabilityUpdate>>,
    transmission: Drain<'a, Transmission<M>>,
    returned: Peekable<Drain<'a, Transmission<M>>>,
    timers: Peekable<Drain<'a, DueTimer>>,
    retiring: Peekable<Drain<'a, u32>>,
}

impl<M> NodeInputs<'_, M> {
    /// The next node that has inputs.
    #[inline]
    pub(crate) fn next_node(&mut self) -> Option<u32> {
        let transmission = self.transmission.as_slice().first().map(|transmission| transmission.to);
        let timer = self.timers.peek().map(|timer| timer.at);
        let returned = self.returned.peek().map(|transmission| transmission.from);
        let signal = self.signals.peek().map(|&(at, _)| at);
        let update = self.updates.peek().map(|update| update.at);
        let status_change = self.status_changes.peek().map(|&(at, _)| at);
        let retiring = self.retiring.peek().copied();
        [transmission, timer, returned, signal, update, status_change, retiring].into_iter().flatten().min()
    }

    /// The next status change of this node. The methods below do the same for other inputs.
    pub(crate) fn status_change(&mut self, node: u32) -> Option<StatusChange> {
        self.status_changes.next_if(|&(at, _)| at == node).map(|(_, status_change)| status_change)
    }

    pub(crate) fn signal(&mut self, node: u32) -> Option<StartSignal> {
        self.signals.next_if(|&(at, _)| at == node).map(|(_, signal)| signal)
    }

    pub(crate) fn update(&mut self, node: u32) -> Option<ReachabilityUpdate> {
        self.updates.next_if(|update| update.at == node)
    }

    #[inline]
    pub(crate) fn transmission(&mut self, node: u32) -> Option<Transmission<M>> {
        self.transmission.as_slice().first().filter(|transmission| transmission.to == node)?;
        self.transmission.next()
    }

    /// The messages that are not handled yet.
    #[inline]
    pub(crate) fn waiting(&self) -> &[Transmission<M>] {
        self.transmission.as_slice()
    }

    pub(crate) fn returned(&mut self, node: u32) -> Option<Transmission<M>> {
        self.returned.next_if(|transmission| transmission.from == node)
    }

    pub(crate) fn timer(&mut self, node: u32) -> Option<DueTimer> {
        self.timers.next_if(|timer| timer.at == node)
    }

    pub(crate) fn retires(&mut self, node: u32) -> bool {
        self.retiring.next_if(|&at| at == node).is_some()
    }
}
