//! The state of a node in a diffusing computation.

use alloc::boxed::Box;
use core::ops::{BitOr, BitOrAssign};

use hustings_protocol::{Id, Port, Rank};

use super::Ports;

/// The purpose and owner of a computation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Purpose<R> {
    /// Gathers the candidates for this source.
    Elect(Id),
    /// Announces the leader, which is the source.
    Lead(R),
}

impl<R: Rank> Purpose<R> {
    #[inline(always)]
    pub(super) fn source(self) -> Id {
        match self {
            Purpose::Elect(source) => source,
            Purpose::Lead(leader) => leader.id(),
        }
    }

    #[inline(always)]
    pub(super) fn leads(self) -> bool {
        matches!(self, Purpose::Lead(_))
    }
}

/// A computation: its purpose and counter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Computation<R> {
    pub(super) purpose: Purpose<R>,
    pub(super) counter: u32,
}

impl<R: Rank> Computation<R> {
    #[inline(always)]
    pub(super) fn index(self) -> Index {
        (self.counter, self.purpose.source(), self.purpose.leads())
    }
}

/// The order of computations. A node leaves a smaller one for a greater.
///
/// Only a node that lost its state can use ⟨counter, source⟩ twice; an announcement then prevails over an election.
pub(super) type Index = (u32, Id, bool);

/// The participation of a node in a computation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Participation<R, V> {
    pub(super) counter: u32,
    /// The port of the parent, or [`ROOT`], or [`PROXY`].
    pub(super) parent: u32,
    /// The number of computations that the node has taken part in.
    pub(super) turn: u16,
    /// The parent's turn, for the answer to it.
    pub(super) answer: u16,
    /// Whether all answers have arrived and the node has answered its parent or determined the result.
    pub(super) done: bool,
    pub(super) purpose: Purpose<R>,
    /// The ports whose answer is missing.
    pub(super) awaited: Ports,
    pub(super) gathered: V,
}

/// The parent of a source.
pub(super) const ROOT: u32 = u32::MAX;
/// The parent of a node that announces a winner on its behalf.
pub(super) const PROXY: u32 = u32::MAX - 1;

impl<R: Rank, V> Participation<R, V> {
    #[inline(always)]
    pub(super) fn computation(&self) -> Computation<R> {
        Computation { purpose: self.purpose, counter: self.counter }
    }

    #[inline(always)]
    pub(super) fn index(&self) -> Index {
        self.computation().index()
    }

    /// Whether an answer with this turn and counter belongs to this computation.
    #[inline(always)]
    pub(super) fn asked(&self, turn: u16, counter: u32) -> bool {
        self.turn == turn && self.counter == counter
    }
}

/// State that is needed only for fault detection and after faults.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct FaultState {
    /// Ports of unreachable neighbours, as reported by the outer algorithm.
    pub(super) absent: Ports,
    /// Ports that did not answer the last probe, the last two, the last three.
    pub(super) silent: [Ports; 3],
    /// The number of probe rounds in this computation.
    pub(super) rounds: u16,
    /// At the source after the election: the number of probe rounds within which the winner must announce itself.
    pub(super) allowed: u16,
    /// Whether a winner was late before and nobody has led since.
    pub(super) late: bool,
    /// Whether the beacon timer runs.
    pub(super) beacon_timer_runs: bool,
    /// The number of periods without a beacon.
    pub(super) missed: u8,
    /// The number of the last beacon.
    pub(super) number: u16,
}

impl FaultState {
    const NONE: FaultState = FaultState {
        absent: Ports::NONE,
        silent: [Ports::NONE; 3],
        rounds: 0,
        allowed: 0,
        late: false,
        beacon_timer_runs: false,
        missed: 0,
        number: 0,
    };
}

/// The state of a node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State<R, V> {
    pub(super) part: Option<Participation<R, V>>,
    pub(super) faults: Option<Box<FaultState>>,
}

impl<R: Rank, V> State<R, V> {
    /// The initial state.
    pub const fn new() -> Self {
        State { part: None, faults: None }
    }

    /// The leader announced by the last finished election, possibly this node. `None` during an election.
    pub(crate) fn leader(&self) -> Option<R> {
        match self.part.as_ref()?.purpose {
            Purpose::Elect(_) => None,
            Purpose::Lead(leader) => Some(leader),
        }
    }

    /// Whether the node takes part in an election that it does not know to be over.
    pub(crate) fn is_electing(&self) -> bool {
        self.part.as_ref().is_some_and(|part| !part.purpose.leads())
    }

    /// Whether the node knows the leader and has told all neighbours that it had to.
    pub(super) fn is_settled(&self) -> bool {
        self.part.as_ref().is_some_and(|part| part.purpose.leads() && part.done)
    }

    /// Whether the node has answered its parent before all others have answered it, as only a node that cheats does.
    pub(crate) fn has_answered_early(&self) -> bool {
        self.part.as_ref().is_some_and(|part| part.done && !part.awaited.is_empty())
    }

    /// The gathered value: at the source when its election has ended, and at the winner from then on.
    pub fn result(&self) -> Option<&V> {
        self.part
            .as_ref()
            .filter(|part| part.parent == ROOT && (part.done || part.purpose.leads()))
            .map(|part| &part.gathered)
    }

    /// The parent of this node in the tree of the computation.
    pub(crate) fn parent(&self) -> Option<Port> {
        self.part.as_ref().filter(|part| part.parent < PROXY).map(|part| Port(part.parent))
    }

    pub(super) fn index(&self, own: Id) -> Index {
        self.part.as_ref().map_or((0, own, false), Participation::index)
    }

    /// The counter of the latest known computation.
    pub(crate) fn counter(&self) -> u32 {
        self.part.as_ref().map_or(0, |part| part.counter)
    }

    pub(super) fn faults(&mut self) -> &mut FaultState {
        self.faults.get_or_insert_with(|| Box::new(FaultState::NONE))
    }
}

impl<R: Rank, V> Default for State<R, V> {
    fn default() -> Self {
        State::new()
    }
}

/// What a step achieved, for algorithms built on this one: a set of the constants.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[must_use]
pub struct Progress(u8);

impl Progress {
    /// Nothing.
    pub(crate) const NONE: Progress = Progress(0);
    /// The node joined or started an election.
    pub const ELECTING: Progress = Progress(1);
    /// The election of this source has ended; its result is available and the winner was notified.
    pub const ENDED: Progress = Progress(2);
    /// This node has become the leader and announces itself.
    pub const WON: Progress = Progress(4);
    /// This node follows a leader, perhaps the same one again.
    pub const FOLLOWING: Progress = Progress(8);
    /// This node leads, and its last `leader-ack` has arrived.
    pub const CONFIRMED: Progress = Progress(16);

    /// Whether the set contains all of these.
    pub const fn contains(self, progress: Progress) -> bool {
        self.0 & progress.0 == progress.0
    }

    /// Whether nothing was achieved.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }
}

impl BitOr for Progress {
    type Output = Progress;
    #[inline(always)]
    fn bitor(self, other: Progress) -> Progress {
        Progress(self.0 | other.0)
    }
}

impl BitOrAssign for Progress {
    #[inline(always)]
    fn bitor_assign(&mut self, other: Progress) {
        self.0 |= other.0;
    }
}
