//! What an election came to, for people and for programs.

pub(crate) mod json;
mod picture;
pub(crate) mod text;

use hustings_algorithms::{About, Goal, Identity};
use hustings_elections::Election;
use hustings_sim::outcome::Outcome;
use hustings_sim::scenario::Scenario;

/// Everything a report may say.
pub(crate) struct Report<'a> {
    pub(crate) about: &'static About,
    /// Whether nodes have ids that may be shown.
    pub(crate) named: bool,
    /// What was wanted.
    pub(crate) goal: Goal,
    pub(crate) kinds: &'static [&'static str],
    /// All parameters, as they would be typed.
    pub(crate) params: Vec<(&'static str, String)>,
    pub(crate) scenario: &'a Scenario,
    pub(crate) outcome: &'a Outcome,
    /// What the formula gives, by kind.
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

    /// The id of a position, if nodes have one.
    pub(crate) fn id(&self, at: u32) -> Option<u64> {
        if self.named { self.scenario.ids.get(at as usize).copied() } else { None }
    }
}
