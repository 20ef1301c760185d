//! What a node remembers of the computation it takes part in, and what it has to tell about it.

use alloc::boxed::Box;
use core::ops::{BitOr, BitOrAssign};

use hustings_protocol::{Id, Port, Rank};

use super::Ports;

/// What a diffusing computation is for, and whose it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Purpose<R> {
    /// To gather who could lead, for this source.
    Elect(Id),
    /// To tell everybody who leads. Its source is the leader.
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

/// A computation, by what it is for and its counter.
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

/// What computations are compared by. A node leaves a smaller one for a greater.
///
/// Only a node that lost its memory can use ⟨counter, source⟩ twice; then what announces a leader comes after what
/// looks for one.
pub(super) type Index = (u32, Id, bool);

/// A node's part in a computation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Part<R, V> {
    pub(super) counter: u32,
    /// The port it was drawn in from, or [`ROOT`], or [`PROXY`].
    pub(super) parent: u32,
    /// How many computations the node has taken part in.
    pub(super) turn: u16,
    /// The parent's turn, which the answer to it names.
    pub(super) answer: u16,
    /// Whether all answers are in: the parent has its answer, or the source its result.
    pub(super) done: bool,
    pub(super) purpose: Purpose<R>,
    /// The ports whose answer is missing.
    pub(super) awaited: Ports,
    pub(super) gathered: V,
}

/// The parent of a source.
pub(super) const ROOT: u32 = u32::MAX;
/// The parent of one that spreads the word for a winner whom it cannot reach.
pub(super) const PROXY: u32 = u32::MAX - 1;

impl<R: Rank, V> Part<R, V> {
    #[inline(always)]
    pub(super) fn computation(&self) -> Computation<R> {
        Computation { purpose: self.purpose, counter: self.counter }
    }

    #[inline(always)]
    pub(super) fn index(&self) -> Index {
        self.computation().index()
    }

    /// Whether an answer that names this turn and counter is to a question of this computation.
    #[inline(always)]
    pub(super) fn asked(&self, turn: u16, counter: u32) -> bool {
        self.turn == turn && self.counter == counter
    }
}

/// What a node remembers only when something goes wrong, or is looked out for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Rough {
    /// Ports behind which nobody is, as the outer algorithm said.
    pub(super) absent: Ports,
    /// Ports that have not answered the last probe, the last two, the last three.
    pub(super) silent: [Ports; 3],
    /// How many rounds of probes this computation has seen here.
    pub(super) rounds: u16,
    /// At the source, after its end: how many it may see before the winner must have spread the word.
    pub(super) allowed: u16,
    /// Whether a winner was late before, and nobody has led since.
    pub(super) late: bool,
    /// Whether the timer of the beacons runs.
    pub(super) watches: bool,
    /// How many periods went by without a beacon.
    pub(super) missed: u8,
    /// The number of the last beacon.
    pub(super) number: u16,
}

impl Rough {
    const NONE: Rough = Rough {
        absent: Ports::NONE,
        silent: [Ports::NONE; 3],
        rounds: 0,
        allowed: 0,
        late: false,
        watches: false,
        missed: 0,
        number: 0,
    };
}

/// What a node remembers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State<R, V> {
    pub(super) part: Option<Part<R, V>>,
    pub(super) rough: Option<Box<Rough>>,
}

impl<R: Rank, V> State<R, V> {
    /// Before anything has happened.
    pub const fn new() -> Self {
        State { part: None, rough: None }
    }

    /// Whom the node takes for the leader since the last election that it knows the end of; itself, perhaps. `None`
    /// also while it takes part in an election.
    pub fn leader(&self) -> Option<R> {
        match self.part.as_ref()?.purpose {
            Purpose::Elect(_) => None,
            Purpose::Lead(leader) => Some(leader),
        }
    }

    /// Whether it takes part in an election whose end it does not know.
    pub fn is_electing(&self) -> bool {
        self.part.as_ref().is_some_and(|part| !part.purpose.leads())
    }

    /// Whether it knows the leader, and has told so everybody it had to.
    pub(super) fn is_settled(&self) -> bool {
        self.part.as_ref().is_some_and(|part| part.purpose.leads() && part.done)
    }

    /// What was gathered: at the source when the election has ended there, and at the winner from then on.
    pub fn result(&self) -> Option<&V> {
        self.part
            .as_ref()
            .filter(|part| part.parent == ROOT && (part.done || part.purpose.leads()))
            .map(|part| &part.gathered)
    }

    /// The port that this node was drawn in from: its parent in the tree of the computation.
    pub fn parent(&self) -> Option<Port> {
        self.part.as_ref().filter(|part| part.parent < PROXY).map(|part| Port(part.parent))
    }

    pub(super) fn index(&self, own: Id) -> Index {
        self.part.as_ref().map_or((0, own, false), Part::index)
    }

    /// The counter of the last computation it knows of.
    pub fn counter(&self) -> u32 {
        self.part.as_ref().map_or(0, |part| part.counter)
    }

    pub(super) fn rough(&mut self) -> &mut Rough {
        self.rough.get_or_insert_with(|| Box::new(Rough::NONE))
    }
}

impl<R: Rank, V> Default for State<R, V> {
    fn default() -> Self {
        State::new()
    }
}

/// What a step came to, for an algorithm that is built on this one: any of the constants, together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[must_use]
pub struct News(u8);

impl News {
    /// Nothing to tell.
    pub const NOTHING: News = News(0);
    /// The node was drawn into an election, or started one.
    pub const ELECTS: News = News(1);
    /// The election of this source has ended: its result is there. The winner has been told.
    pub const ENDED: News = News(2);
    /// This node has become the leader, and spreads it.
    pub const WON: News = News(4);
    /// This node follows a leader (perhaps the same one again).
    pub const FOLLOWS: News = News(8);
    /// This node leads, and its last `leader-ack` is in.
    pub const CONFIRMED: News = News(16);

    /// Whether it holds all of these.
    pub const fn contains(self, news: News) -> bool {
        self.0 & news.0 == news.0
    }

    /// Whether there is nothing to tell.
    pub const fn is_nothing(self) -> bool {
        self.0 == 0
    }
}

impl BitOr for News {
    type Output = News;
    #[inline(always)]
    fn bitor(self, other: News) -> News {
        News(self.0 | other.0)
    }
}

impl BitOrAssign for News {
    #[inline(always)]
    fn bitor_assign(&mut self, other: News) {
        self.0 |= other.0;
    }
}
