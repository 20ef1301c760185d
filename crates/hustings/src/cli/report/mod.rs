//! What an election came to, for people and for programs.

pub(crate) mod json;
mod picture;
pub(crate) mod text;

use hustings_algorithms::runs::Envelope;
use hustings_algorithms::{Algorithm, Goal, Identity, NetworkKind, Params};
use hustings_protocol::{Id, Message, Protocol};
use hustings_sim::outcome::Outcome;
use hustings_sim::scenario::Scenario;

/// Everything a report may say.
pub(crate) struct Report<'a> {
    pub(crate) algorithm: &'static str,
    /// What it is meant for.
    pub(crate) network: NetworkKind,
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
    pub(crate) fn new<A: Algorithm>(
        params: &A::Params,
        scenario: &'a Scenario,
        outcome: &'a Outcome,
        expected: Option<Vec<u64>>,
    ) -> Self {
        let described = <A::Params as Params>::DESCRIPTIONS.iter();
        Report {
            algorithm: A::ABOUT.name,
            network: A::ABOUT.network,
            named: A::ABOUT.assumptions.identity == Identity::Unique,
            goal: A::ABOUT.goal,
            kinds: if scenario.runs {
                <Envelope<<A::Protocol<Id> as Protocol>::Message>>::KINDS
            } else {
                <<A::Protocol<Id> as Protocol>::Message>::KINDS
            },
            params: described.map(|one| (one.name, params.get(one.name).unwrap_or_default())).collect(),
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
