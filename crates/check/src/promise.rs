//! What an algorithm of the catalogue promises for one election.

use hustings_algorithms::{About, Case, Certainty, Goal, NetworkKind, Synchrony, Winner};

use crate::property::Property;
use crate::scene::Scene;
use crate::world::Budget;

/// What is promised.
#[derive(Clone, Debug)]
pub struct Promise {
    /// What comes of the algorithm.
    pub goal: Goal,
    /// Who is to lead.
    pub right: Right,
    /// Which properties are checked.
    pub properties: Vec<Property>,
    /// The most messages that an execution may send, if that is known.
    pub most_messages: Option<u64>,
    /// Whether coins decide: then executions may go on for ever, as long as a good end can always be reached.
    pub has_coins: bool,
}

/// Who is to lead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Right {
    /// Whoever it is.
    Anyone,
    /// This position, from the moment on at which anybody is named.
    Position(u32),
    /// The greatest of those who started before they were drawn in, from the moment on at which anybody is named.
    GreatestEntrant,
    /// The greatest of those who live in the end.
    GreatestLive,
}

impl Promise {
    /// What the description of an algorithm promises in a scene. `votes` are those that are given; `runs` says that it
    /// is held anew whenever somebody fails.
    pub fn of<R: Ord>(about: &About, scene: &Scene<R>, votes: &[(u32, u32)], runs: bool) -> Self {
        let is_faultless = scene.budget == Budget::default();
        let right = match about.winner {
            Winner::Anyone => Right::Anyone,
            // Who was drawn in before it could start need not win, however great it is.
            Winner::GreatestInitiator if !is_faultless => Right::Anyone,
            _ if !is_faultless => Right::GreatestLive,
            Winner::Greatest => greatest(scene, 0..scene.members),
            Winner::GreatestInitiator => Right::GreatestEntrant,
            Winner::GreatestInTheEnd => Right::GreatestLive,
            Winner::MostVotes => most_voted(scene, votes),
        };
        let properties = Property::ALL.into_iter().filter(|property| match property {
            // An election that trusts in a bound on time counts from its start; members adopt a view, and answer, later
            // than that. So runs of it promise one leader in the end only.
            Property::OneLeader if runs && !is_faultless => about.assumptions.synchrony == Synchrony::Asynchronous,
            // Groups that merge have leaders of their own before.
            Property::OneLeader | Property::SteadyMind => {
                about.goal == Goal::Leader && about.winner != Winner::GreatestInTheEnd
            }
            Property::RightLeader => about.goal == Goal::Leader && right != Right::Anyone,
            Property::AllNormal => about.network == NetworkKind::Complete && !runs,
            Property::MessageBound => is_faultless && !runs,
            Property::Agreement | Property::Termination => true,
        });
        let worst = about.costs.iter().find(|cost| cost.case == Case::Worst).and_then(|cost| cost.messages);
        Promise {
            goal: about.goal,
            right,
            properties: properties.collect(),
            most_messages: worst.map(|worst| worst(scene.members.into()).floor() as u64),
            has_coins: about.certainty == Certainty::LasVegas,
        }
    }
}

fn greatest<R: Ord>(scene: &Scene<R>, among: impl Iterator<Item = u32>) -> Right {
    among.max_by_key(|&at| &scene.ranks[at as usize]).map_or(Right::Anyone, Right::Position)
}

/// Everybody votes for the greatest among itself and its neighbours, or as it is given.
fn most_voted<R: Ord>(scene: &Scene<R>, votes: &[(u32, u32)]) -> Right {
    let rank = |at: u32| &scene.ranks[at as usize];
    let choice = |voter: u32| {
        let given = votes.iter().rev().find(|(at, _)| *at == voter).map(|&(_, choice)| choice);
        let near = scene.links[voter as usize].iter().map(|&(peer, _)| peer).chain([voter]);
        given.or_else(|| near.max_by_key(|&at| rank(at)))
    };
    let mut count = vec![0u32; scene.members as usize];
    (0..scene.members).filter_map(choice).for_each(|choice| count[choice as usize] += 1);
    (0..scene.members).max_by_key(|&at| (count[at as usize], rank(at))).map_or(Right::Anyone, Right::Position)
}
