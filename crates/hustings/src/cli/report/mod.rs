//! Reports of an election's outcome, as text and as JSON.

pub(crate) mod json;
mod picture;
pub(crate) mod text;

use hustings_algorithms::{About, Cheat, Goal, Identity};
use hustings_elections::Election;
use hustings_protocol::Cheating;
use hustings_sim::outcome::Outcome;
use hustings_sim::scenario::Scenario;

/// The data of a report.
pub(crate) struct Report<'a> {
    pub(crate) about: &'static About,
    /// Whether nodes have ids that may be shown.
    pub(crate) named: bool,
    /// What was wanted.
    pub(crate) goal: Goal,
    pub(crate) kinds: &'static [&'static str],
    /// All parameters and their values.
    pub(crate) params: Vec<(&'static str, String)>,
    pub(crate) scenario: &'a Scenario,
    pub(crate) outcome: &'a Outcome,
    /// The number of messages that the formula gives, by kind.
    pub(crate) expected: Option<Vec<u64>>,
}

impl<'a> Report<'a> {
    pub(crate) fn new(
        election: &dyn Election,
        scenario: &'a Scenario,
        outcome: &'a Outcome,
        expected: Option<Vec<u64>>,
    ) -> Self {
        let about = election.about();
        Report {
            about,
            named: about.assumptions.identity == Identity::Unique,
            goal: about.goal,
            kinds: election.kinds(scenario.runs),
            params: election.params(),
            scenario,
            outcome,
            expected,
        }
    }

    /// The nodes that were told to cheat: their positions, and what was typed.
    pub(crate) fn cheats(&self) -> impl Iterator<Item = (u32, String)> {
        self.scenario.cheats.iter().map(|&(at, cheat)| match cheat {
            Cheat::Rank => (at, format!("{at}:rank")),
            Cheat::Ack => (at, format!("{at}:ack")),
        })
    }

    /// Whether this node has cheated.
    pub(crate) fn has_cheated(&self, at: u32) -> bool {
        self.outcome.cheating.contains(&(at, Cheating::Acted))
    }

    /// Who noticed that some node cheated, and by which rule, in order.
    pub(crate) fn notices(&self) -> Vec<(u32, NoticeRule)> {
        let rule = |&(at, cheating): &(u32, Cheating)| match cheating {
            Cheating::Acted => None,
            Cheating::SilentWinner => Some((at, NoticeRule::SilentWinner)),
            Cheating::PassedOver => Some((at, NoticeRule::PassedOver)),
        };
        self.outcome.cheating.iter().filter_map(rule).collect()
    }

    /// The id of a position, unless nodes are anonymous.
    pub(crate) fn id(&self, at: u32) -> Option<u64> {
        if self.named { self.scenario.ids.get(at as usize).copied() } else { None }
    }
}

/// The rule by which a node notices that another one cheats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NoticeRule {
    SilentWinner,
    PassedOver,
}

impl NoticeRule {
    /// The name in JSON.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            NoticeRule::SilentWinner => "silent-winner",
            NoticeRule::PassedOver => "passed-over",
        }
    }

    /// What the node noticed.
    pub(crate) const fn statement(self) -> &'static str {
        match self {
            NoticeRule::SilentWinner => "the winner did not answer, twice (silent-winner)",
            NoticeRule::PassedOver => "a lesser node won an election in which it took part (passed-over)",
        }
    }
}
