//! A global state of an election: every node's state, the messages in transit, and the faults that may still happen.
//!
//! Node states and messages appear as numbers from the [transition table](crate::transition_table). So a global state
//! is small, cheap to copy and hash, and of the same type for every protocol. It is canonical: two states that differ
//! only in the order of insertions are equal. It contains no absolute time, only the ticks that are left.

use std::hash::{BuildHasher, Hash, Hasher};

use hustings_protocol::{Port, Timer};

use crate::property::Labels;

/// The number of a node state.
pub(crate) type StateNo = u32;

/// The number of a message.
pub(crate) type MessageNo = u32;

/// One state of the whole election.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct GlobalState {
    /// The hash of everything else; states are told apart by it.
    pub(crate) fingerprint: u64,
    pub(crate) nodes: Vec<NodeState>,
    /// Messages in transit, ordered by channel; within a channel by age on FIFO links, otherwise by value.
    pub(crate) envelopes: Vec<Envelope>,
    /// Timers that are set, in order.
    pub(crate) timers: Vec<PendingTimer>,
    /// Reachability updates that nodes have not handled yet, oldest first.
    pub(crate) reachability_updates: Vec<ReachabilityUpdate>,
    pub(crate) faults_left: FaultBudget,
    /// Whether a node has replaced its leader although no fault had happened.
    pub(crate) leader_changed: bool,
    /// Whether a node has sent its own candidacy after it had passed on a greater one.
    pub(crate) candidacy_renewed: bool,
    /// The properties of this state.
    pub(crate) labels: Labels,
}

/// The observable state of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct NodeState {
    pub(crate) state: StateNo,
    /// The number of nodes, once the node has found it out.
    pub(crate) estimate: Option<u32>,
    /// The position that the node names as leader.
    pub(crate) leader: Option<u8>,
    pub(crate) is_leader: bool,
    pub(crate) is_live: bool,
    /// Whether the node has yet to get its start signal.
    pub(crate) start_pending: bool,
    /// Whether it got the start signal before any message, where that matters.
    pub(crate) started_itself: bool,
    /// Whether it has passed on a greater candidacy than its own and names no leader yet, where that matters.
    pub(crate) has_withdrawn: bool,
    /// Whether it reports that it is in the middle of an election.
    pub(crate) is_electing: bool,
    /// On a ring: the number of neighbours that it skips on each side.
    pub(crate) skipped: [u8; 2],
}

impl NodeState {
    /// A live node in this protocol state that has done nothing yet.
    pub(crate) const fn new(state: StateNo, start_pending: bool) -> Self {
        NodeState {
            state,
            estimate: None,
            leader: None,
            is_leader: false,
            is_live: true,
            start_pending,
            started_itself: false,
            has_withdrawn: false,
            is_electing: false,
            skipped: [0, 0],
        }
    }
}

/// A message in transit, or on its way back to a sender that could not reach the receiver.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Envelope {
    pub(crate) channel: Channel,
    pub(crate) message: MessageNo,
    /// The ticks within which it must arrive; 0 where time does not matter.
    pub(crate) ticks_left: u32,
    /// Whether the sender has crashed since, so that it will not learn of a loss.
    pub(crate) sender_crashed: bool,
    /// Whether it was delivered once already; it is not duplicated again.
    pub(crate) duplicated: bool,
}

/// The route of a message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Channel {
    /// Whether the receiver was down and the message is on its way back.
    pub(crate) is_returning: bool,
    pub(crate) from: u8,
    pub(crate) to: u8,
    /// The sender's port; [`DIRECT`] if the message is addressed by id.
    pub(crate) out_port: u8,
}

/// The [`Channel::out_port`] of messages that are addressed by id.
pub(crate) const DIRECT: u8 = u8::MAX;

impl Channel {
    /// The node that handles the message when it arrives.
    pub(crate) fn receiver(self) -> u8 {
        if self.is_returning { self.from } else { self.to }
    }

    /// The sender's port, if the channel is a link.
    pub(crate) fn port(self) -> Option<Port> {
        (self.out_port != DIRECT).then_some(Port(self.out_port.into()))
    }
}

/// A timer that is set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct PendingTimer {
    pub(crate) at: u8,
    pub(crate) timer: Timer,
    /// The ticks until it is due; 0 where it may fire at any time.
    pub(crate) ticks_left: u32,
}

/// An update that tells a node which nodes it can reach.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ReachabilityUpdate {
    pub(crate) at: u8,
    /// The reachable positions, as bits.
    pub(crate) reachable: u64,
}

/// The maximum number of faults of each kind in one execution.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct FaultBudget {
    /// Nodes that crash.
    pub crashes: u8,
    /// Nodes that recover, with fresh state.
    pub recoveries: u8,
    /// Messages that are lost.
    pub losses: u8,
    /// Messages that are delivered twice.
    pub duplicates: u8,
}

impl GlobalState {
    /// A state without nodes, to leave in the place of one that is moved out.
    pub(crate) fn empty() -> Self {
        GlobalState {
            fingerprint: 0,
            nodes: Vec::new(),
            envelopes: Vec::new(),
            timers: Vec::new(),
            reachability_updates: Vec::new(),
            faults_left: FaultBudget::default(),
            leader_changed: false,
            candidacy_renewed: false,
            labels: Labels::default(),
        }
    }

    /// Recomputes the fingerprint after a change.
    pub(crate) fn update_fingerprint(&mut self) {
        // Fixed keys give the same state the same fingerprint in every run.
        let mut hasher = ahash::RandomState::with_seeds(1, 2, 3, 4).build_hasher();
        self.nodes.hash(&mut hasher);
        self.envelopes.hash(&mut hasher);
        self.timers.hash(&mut hasher);
        self.reachability_updates.hash(&mut hasher);
        self.faults_left.hash(&mut hasher);
        self.leader_changed.hash(&mut hasher);
        self.candidacy_renewed.hash(&mut hasher);
        self.fingerprint = hasher.finish();
    }

    /// Puts a message in transit.
    pub(crate) fn send(&mut self, envelope: Envelope, is_fifo: bool) {
        let place = match is_fifo {
            true => self.envelopes.partition_point(|other| other.channel <= envelope.channel),
            false => self.envelopes.partition_point(|other| *other <= envelope),
        };
        self.envelopes.insert(place, envelope);
    }

    pub(crate) fn set_timer(&mut self, pending: PendingTimer) {
        let place = self.timers.partition_point(|other| *other <= pending);
        self.timers.insert(place, pending);
    }

    /// The live nodes, as bits.
    pub(crate) fn live_nodes(&self) -> u64 {
        self.nodes.iter().enumerate().filter(|(_, node)| node.is_live).fold(0, |bits, (at, _)| bits | 1 << at)
    }
}

impl Hash for GlobalState {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.fingerprint);
    }
}
