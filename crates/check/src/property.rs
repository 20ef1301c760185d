//! The properties that the checker knows, and the labels of states.

use std::fmt;

/// A property of all executions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Property {
    /// No two live nodes lead in the same epoch.
    OneLeader,
    /// A node that is named as leader is the one that the specification expects.
    RightLeader,
    /// While no fault happens, a node does not replace its leader.
    Stability,
    /// A candidate that has passed on a greater candidacy does not renew its own.
    Withdrawal,
    /// In terminal states all live nodes name the same live leader.
    Agreement,
    /// In terminal states no node is in the middle of an election.
    AllNormal,
    /// Every fair execution ends; for randomised algorithms, with probability 1 under every fair scheduler.
    Termination,
    /// No execution sends more messages than the algorithm's worst case with these ids and initiators, if it is known,
    /// or else than its worst case with this number of nodes.
    MessageBound,
}

impl Property {
    /// All properties, in the order of reports.
    pub const ALL: [Property; 8] = [
        Property::OneLeader,
        Property::RightLeader,
        Property::Stability,
        Property::Withdrawal,
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
            Property::Stability => "stability",
            Property::Withdrawal => "withdrawal",
            Property::Agreement => "agreement",
            Property::AllNormal => "all-normal",
            Property::Termination => "termination",
            Property::MessageBound => "message-bound",
        }
    }

    /// The property in one sentence.
    pub const fn statement(self) -> &'static str {
        match self {
            Property::OneLeader => "no two live leaders in the same epoch",
            Property::RightLeader => "a node that is named as leader is the one that the algorithm specifies",
            Property::Stability => "while no fault happens, a node does not replace its leader",
            Property::Withdrawal => "a candidate that has passed on a greater candidacy does not renew its own",
            Property::Agreement => "in terminal states all live nodes name the same live leader",
            Property::AllNormal => "in terminal states no node is in the middle of an election",
            Property::Termination => {
                "every fair execution ends (randomised: with probability 1, whatever a fair scheduler does)"
            }
            Property::MessageBound => "no execution sends more messages than the algorithm's rules allow",
        }
    }

    /// The source of the property.
    pub const fn source(self) -> &'static str {
        match self {
            Property::OneLeader => "McMaster's goal, one process is the leader; Crete, a single process is selected",
            Property::RightLeader => "the text of each algorithm: see its page in docs/families",
            Property::Stability => "ours: a program that was told of a leader may have acted on it",
            Property::Withdrawal => "the text of each algorithm: a candidate that meets a greater one gives up",
            Property::Agreement => "Datley's safety; Crete, every process agrees and knows who leads",
            Property::AllNormal => "Datley's liveness: all live processes are in state normal",
            Property::Termination => "McMaster's goal, each computation terminates",
            Property::MessageBound => "the costs in the catalogue",
        }
    }

    /// The label of states that violate it, if a single state can.
    pub(crate) const fn violation_label(self) -> Option<Labels> {
        match self {
            Property::OneLeader => Some(Labels::TWO_LEADERS),
            Property::RightLeader => Some(Labels::WRONG_LEADER),
            Property::Stability => Some(Labels::LEADER_CHANGED),
            Property::Withdrawal => Some(Labels::RENEWED),
            Property::Agreement => Some(Labels::DISAGREEMENT),
            Property::AllNormal => Some(Labels::ELECTING),
            Property::Termination | Property::MessageBound => None,
        }
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The labels of a global state: atomic propositions that hold in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Labels(u16);

impl Labels {
    pub(crate) const TWO_LEADERS: Labels = Labels(1);
    pub(crate) const WRONG_LEADER: Labels = Labels(1 << 1);
    pub(crate) const LEADER_CHANGED: Labels = Labels(1 << 2);
    /// A terminal state without agreement.
    pub(crate) const DISAGREEMENT: Labels = Labels(1 << 3);
    /// A terminal state in which some node is in the middle of an election.
    pub(crate) const ELECTING: Labels = Labels(1 << 4);
    /// A terminal state: only faults can still happen.
    pub(crate) const TERMINAL: Labels = Labels(1 << 5);
    /// A terminal state with agreement.
    pub(crate) const TERMINAL_AGREEMENT: Labels = Labels(1 << 6);
    /// Some node leads.
    pub(crate) const LEADER: Labels = Labels(1 << 7);
    /// All live nodes agree; the state need not be terminal.
    pub(crate) const AGREEMENT: Labels = Labels(1 << 8);

    /// A node renewed its candidacy after it had passed on a greater one.
    pub(crate) const RENEWED: Labels = Labels(1 << 9);
    /// Only periodic messages are in transit, and only periodic timers are set.
    pub(crate) const PERIODIC: Labels = Labels(1 << 10);
    /// Only faults can still happen, and no live node has handled anything: all initiators crashed before they started.
    pub(crate) const UNSTARTED: Labels = Labels(1 << 11);
    /// Not terminal, but a fair infinite execution stays in it: all that can happen need not change the state.
    pub(crate) const IDLE: Labels = Labels(1 << 12);

    /// All labels of states that violate a property.
    pub(crate) const VIOLATION: Labels = Labels(
        Self::TWO_LEADERS.0
            | Self::WRONG_LEADER.0
            | Self::LEADER_CHANGED.0
            | Self::RENEWED.0
            | Self::DISAGREEMENT.0
            | Self::ELECTING.0,
    );

    /// Whether any of these labels is set.
    pub(crate) const fn has(self, labels: Labels) -> bool {
        self.0 & labels.0 != 0
    }

    pub(crate) fn insert_if(&mut self, label: Labels, holds: bool) {
        if holds {
            self.0 |= label.0;
        }
    }
}
