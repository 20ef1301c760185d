//! What was asked for ([`Request`]), and the way from there to a scenario.

use hustings_algorithms::{About, Algorithm};
use hustings_protocol::Best;

use super::plan::Plan;
use super::{Refusal, Warning};
use crate::parse::{CheatAt, Healing, Ids, LinkAt, NodeAt, Split, Starts, Values, Votes};
use crate::scenario::{Delay, Medium, Notice, Scenario};
use crate::topology::Topology;

/// One simulated election as it was asked for: parsed, not yet checked. What is `None` gets the algorithm's default.
#[derive(Clone, PartialEq, Debug)]
pub struct Request {
    /// How many nodes. Default: as many as the lists or the topology say, else 8.
    pub nodes: Option<u32>,
    /// Their ids. Default: the positions (on complete networks: from 1 on).
    pub ids: Option<Ids>,
    /// What is compared before the ids.
    pub values: Option<Values>,
    /// Who votes for whom.
    pub votes: Option<Votes>,
    /// Who cheats, and how.
    pub cheats: Vec<CheatAt>,
    /// Which end of the order wins.
    pub best: Best,
    /// Who is linked to whom. Default: what the algorithm runs on.
    pub topology: Option<Topology>,
    /// Who starts. Default: as the catalogue says.
    pub initiators: Option<Starts>,
    /// How a dead leader is noticed.
    pub notice: Notice,
    /// Whether the algorithm runs in views of those who reach each other.
    pub runs: bool,
    /// Who stops, and when.
    pub crashes: Vec<NodeAt>,
    /// Who comes back.
    pub recoveries: Vec<NodeAt>,
    /// Who enters.
    pub joins: Vec<NodeAt>,
    /// Who leaves in good order.
    pub retirements: Vec<NodeAt>,
    /// Which links are cut.
    pub cuts: Vec<LinkAt>,
    /// Which links work again.
    pub heals: Vec<Healing>,
    /// Which groups are kept apart.
    pub partitions: Vec<Split>,
    /// How long messages travel.
    pub delay: Delay,
    /// Whether they may overtake each other.
    pub unordered: bool,
    /// The probability that one is lost.
    pub loss: f64,
    /// The probability that one is delivered twice.
    pub duplicate: f64,
    /// The most messages per tick.
    pub bandwidth: Option<u64>,
    /// What a send to all neighbours costs.
    pub medium: Medium,
    /// Decides everything random.
    pub seed: u64,
    /// The last tick. Default: `100·n + 10,000`, and more for algorithms that are slower than a few laps.
    pub until: Option<u64>,
    /// How many threads may work on it.
    pub threads: usize,
}

impl Default for Request {
    fn default() -> Self {
        Request {
            nodes: None,
            ids: None,
            values: None,
            votes: None,
            cheats: Vec::new(),
            best: Best::Max,
            topology: None,
            initiators: None,
            notice: Notice::Oracle,
            runs: false,
            crashes: Vec::new(),
            recoveries: Vec::new(),
            joins: Vec::new(),
            retirements: Vec::new(),
            cuts: Vec::new(),
            heals: Vec::new(),
            partitions: Vec::new(),
            delay: Delay::Unit,
            unordered: false,
            loss: 0.0,
            duplicate: 0.0,
            bandwidth: None,
            medium: Medium::Links,
            seed: 0,
            until: None,
            threads: 1,
        }
    }
}

/// A scenario that passed all checks, and what is odd about it.
#[derive(Clone, PartialEq, Debug)]
pub struct Planned {
    /// Ready to run.
    pub scenario: Scenario,
    /// Allowed, but perhaps not meant.
    pub warnings: Vec<Warning>,
}

impl Request {
    /// Checks the request against the algorithm and builds everything. Reads the files it names.
    pub fn scenario(&self, about: &About) -> Result<Planned, Refusal> {
        Plan::new(self, about).build()
    }

    /// The same, checked against the algorithm's parameters too.
    pub fn scenario_for<A: Algorithm>(&self, params: &A::Params) -> Result<Planned, Refusal> {
        let mut planned = self.scenario(&A::ABOUT)?;
        A::check(params, planned.scenario.network.members())?;
        if let (Some(trusted), longest) = (A::delay_bound(params), self.delay.longest())
            && longest.is_none_or(|longest| longest > trusted)
        {
            planned.warnings.push(Warning::TooSlow { algorithm: A::ABOUT.name, trusted, longest });
        }
        Ok(planned)
    }
}
