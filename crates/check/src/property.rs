//! What is claimed of every execution.

use std::fmt;

/// Something that is claimed of every execution.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Property {
    /// Two nodes never lead in one epoch.
    OneLeader,
    /// Whoever is named as leader is the one that the algorithm promises.
    RightLeader,
    /// A node that names a leader goes on naming it, while nothing goes wrong.
    SteadyMind,
    /// When nothing more happens, all live nodes name the same live leader.
    Agreement,
    /// When nothing more happens, nobody is in the middle of an election.
    AllNormal,
    /// Every execution ends; where coins decide, from every world a good end can be reached.
    Termination,
    /// No execution sends more messages than the worst case of the catalogue.
    MessageBound,
}

impl Property {
    /// All of them, in the order of reports.
    pub const ALL: [Property; 7] = [
        Property::OneLeader,
        Property::RightLeader,
        Property::SteadyMind,
        Property::Agreement,
        Property::AllNormal,
        Property::Termination,
        Property::MessageBound,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Property::OneLeader => "one-leader",
            Property::RightLeader => "right-leader",
            Property::SteadyMind => "steady-mind",
            Property::Agreement => "agreement",
            Property::AllNormal => "all-normal",
            Property::Termination => "termination",
            Property::MessageBound => "message-bound",
        }
    }

    /// What it says.
    pub const fn says(self) -> &'static str {
        match self {
            Property::OneLeader => "never two live leaders in one epoch",
            Property::RightLeader => "whoever is named is the one that the algorithm promises",
            Property::SteadyMind => "while nothing fails, a node that names a leader goes on naming it",
            Property::Agreement => "when nothing more happens, all live nodes name the same live leader",
            Property::AllNormal => "when nothing more happens, nobody is in the middle of an election",
            Property::Termination => "every execution ends (with coins: from everywhere a good end can be reached)",
            Property::MessageBound => "no execution sends more than the worst case of the catalogue",
        }
    }

    /// Where it comes from.
    pub const fn source(self) -> &'static str {
        match self {
            Property::OneLeader => "McMaster's goal, one process is the leader; Crete, a single process is selected",
            Property::RightLeader => "the text of each algorithm: see its page in docs/families",
            Property::SteadyMind => "ours: whoever was told of a leader may have acted on it",
            Property::Agreement => "Datley's safety; Crete, every process agrees and knows who leads",
            Property::AllNormal => "Datley's liveness: all live processes are in state normal",
            Property::Termination => "McMaster's goal, each computation terminates",
            Property::MessageBound => "the costs in the catalogue",
        }
    }

    /// The mark of a world in which it is broken, for those that a single world can break.
    pub(crate) const fn mark(self) -> Option<Marks> {
        match self {
            Property::OneLeader => Some(Marks::TWO_LEADERS),
            Property::RightLeader => Some(Marks::WRONG_LEADER),
            Property::SteadyMind => Some(Marks::FICKLE),
            Property::Agreement => Some(Marks::DISAGREEMENT),
            Property::AllNormal => Some(Marks::BUSY),
            Property::Termination | Property::MessageBound => None,
        }
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What is the case in a world.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Marks(u16);

impl Marks {
    pub(crate) const TWO_LEADERS: Marks = Marks(1);
    pub(crate) const WRONG_LEADER: Marks = Marks(1 << 1);
    pub(crate) const FICKLE: Marks = Marks(1 << 2);
    /// An end without agreement.
    pub(crate) const DISAGREEMENT: Marks = Marks(1 << 3);
    /// An end in which somebody is in the middle of an election.
    pub(crate) const BUSY: Marks = Marks(1 << 4);
    /// Nothing more happens, unless something fails.
    pub(crate) const END: Marks = Marks(1 << 5);
    /// An end with agreement.
    pub(crate) const GOOD_END: Marks = Marks(1 << 6);
    /// Somebody leads.
    pub(crate) const LEADER: Marks = Marks(1 << 7);
    /// All agree, whether or not it is an end.
    pub(crate) const AGREEMENT: Marks = Marks(1 << 8);

    pub(crate) const fn has(self, mark: Marks) -> bool {
        self.0 & mark.0 != 0
    }

    pub(crate) fn put(&mut self, mark: Marks, is_so: bool) {
        if is_so {
            self.0 |= mark.0;
        }
    }
}
