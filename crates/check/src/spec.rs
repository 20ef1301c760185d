//! The specification of an election: the properties that its executions must have.

use hustings_algorithms::{About, Case, Certainty, Goal, NetworkKind, Synchrony, Winner};

use crate::global_state::FaultBudget;
use crate::model::Model;
use crate::property::Property;

/// What every execution must satisfy.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Whether the algorithm elects a leader or estimates the number of nodes.
    pub goal: Goal,
    /// The node that must lead.
    pub leader: ExpectedLeader,
    /// The properties to check.
    pub properties: Vec<Property>,
    /// The maximum number of messages of an execution, if it is known.
    pub max_messages: Option<u64>,
    /// Whether coins are fair, as for an algorithm that terminates with probability 1. Otherwise the scheduler chooses
    /// their outcomes.
    pub has_fair_coins: bool,
}

/// The node that must lead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExpectedLeader {
    /// Any node.
    Anyone,
    /// This position, whenever a node names a leader.
    Position(u32),
    /// The greatest of the nodes that started before a message reached them, whenever a node names a leader.
    GreatestStarter,
    /// The greatest live node, in terminal states.
    GreatestLive,
}

impl Spec {
    /// What the description of an algorithm guarantees in a model. `runs` says that the election is repeated whenever
    /// reachability changes.
    pub fn of<R: Ord>(about: &About, model: &Model<R>, votes: &[(u32, u32)], runs: bool) -> Self {
        let is_faultless = model.budget == FaultBudget::default();
        let leader = match about.winner {
            Winner::Anyone => ExpectedLeader::Anyone,
            // A node that a message reached before its start need not win, however great it is.
            Winner::GreatestInitiator if !is_faultless => ExpectedLeader::Anyone,
            _ if !is_faultless => ExpectedLeader::GreatestLive,
            Winner::Greatest => greatest(model, 0..model.members),
            Winner::GreatestInitiator => ExpectedLeader::GreatestStarter,
            Winner::GreatestInTheEnd => ExpectedLeader::GreatestLive,
            Winner::MostVotes => most_voted(model, votes),
        };
        let properties = Property::ALL.into_iter().filter(|property| match property {
            // An algorithm with timeouts measures time from its own start, but members adopt a view at different times.
            // So in runs it guarantees one leader only in the end.
            Property::OneLeader if runs && !is_faultless => about.assumptions.synchrony == Synchrony::Asynchronous,
            // Groups have leaders of their own until they merge.
            Property::OneLeader | Property::Stability => {
                about.goal == Goal::Leader && about.winner != Winner::GreatestInTheEnd
            }
            Property::RightLeader => about.goal == Goal::Leader && leader != ExpectedLeader::Anyone,
            Property::Withdrawal => about.withdraws && is_faultless && !runs,
            Property::AllNormal => about.network == NetworkKind::Complete && !runs,
            Property::MessageBound => is_faultless && !runs,
            Property::Agreement | Property::Termination => true,
        });
        let worst = about.costs.iter().find(|cost| cost.case == Case::Worst).and_then(|cost| cost.messages);
        Spec {
            goal: about.goal,
            leader,
            properties: properties.collect(),
            max_messages: worst.map(|worst| worst(model.members.into()).floor() as u64),
            has_fair_coins: about.certainty == Certainty::LasVegas,
        }
    }
}

fn greatest<R: Ord>(model: &Model<R>, among: impl Iterator<Item = u32>) -> ExpectedLeader {
    among.max_by_key(|&at| &model.ranks[at as usize]).map_or(ExpectedLeader::Anyone, ExpectedLeader::Position)
}

/// A node without a given vote votes for the greatest among itself and its neighbours.
fn most_voted<R: Ord>(model: &Model<R>, votes: &[(u32, u32)]) -> ExpectedLeader {
    let rank = |at: u32| &model.ranks[at as usize];
    let choice = |voter: u32| {
        let given = votes.iter().rev().find(|(at, _)| *at == voter).map(|&(_, choice)| choice);
        let near = model.links[voter as usize].iter().map(|&(peer, _)| peer).chain([voter]);
        given.or_else(|| near.max_by_key(|&at| rank(at)))
    };
    let mut count = vec![0u32; model.members as usize];
    (0..model.members).filter_map(choice).for_each(|choice| count[choice as usize] += 1);
    (0..model.members)
        .max_by_key(|&at| (count[at as usize], rank(at)))
        .map_or(ExpectedLeader::Anyone, ExpectedLeader::Position)
}
