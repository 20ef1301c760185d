//! Reports of an election's outcome, as text and as JSON.

pub(crate) mod json;
mod picture;
pub(crate) mod text;

use hustings_algorithms::{About, Goal, Identity};
use hustings_elections::Election;
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

    /// The id of a position, unless nodes are anonymous.
    pub(crate) fn id(&self, at: u32) -> Option<u64> {
        if self.named { self.scenario.ids.get(at as usize).copied() } else { None }
    }
}
