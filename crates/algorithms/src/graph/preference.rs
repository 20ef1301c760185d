//! Preference: every node votes, the votes are gathered as in aefa, and most votes win.
//!
//! - **Source**: S. Vasudevan et al., 2003, as described by Adams, §5.1; Crete's slides on preference-based election.
//! - **Needs** the same as aefa: a connected graph, any delays.
//! - **Guarantees** that the node with most votes leads and all nodes know it; ties go to the greater rank. Only nodes
//!   that take part can win: a vote for a dead node is lost.
//! - **Messages** as in aefa. An `ack` grows with the number of nodes in the subtree.
//! - **Decided**: if two leaders meet after a partition, the greater rank stays, whatever the votes: votes of two
//!   elections cannot be compared.
//!
//! The computation itself is in [`super::diffusion`]. Specified in `docs/model.md#preference`.

use alloc::vec;
use alloc::vec::Vec;

use hustings_protocol::Rank;

use super::aefa::{ABOUT, Aefa, AefaParams};
use super::diffusion::{Diffusion, Votes};
use crate::{About, Algorithm, CheckCase, Inputs, Instance, Setting, Source, Winner};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct Preference;

impl Algorithm for Preference {
    type Params = AefaParams;
    type Protocol<R: Rank> = Diffusion<R, Votes<R>>;

    const ABOUT: About = About {
        name: "preference",
        summary: "every node votes; the source gathers the votes, and most votes win",
        inputs: Inputs { votes: true, ..Inputs::NOTHING },
        checks: &[CheckCase::quick("-n 3 --topology complete --timing patient")],
        source: Source {
            authors: "S. Vasudevan, B. DeCleene, N. Immerman, J. Kurose and D. Towsley",
            title: "Leader election algorithms for wireless ad hoc networks (2003)",
            text: "Crete, Adams",
        },
        winner: Winner::MostVotes,
        ..ABOUT
    };

    /// If a node is listed twice, its last vote counts.
    fn protocol<R: Rank>(params: &AefaParams, setting: &Setting<'_, R>) -> Diffusion<R, Votes<R>> {
        let rank = |place: u32| setting.ranks.get(place as usize).copied();
        let vote = |&(voter, choice): &(u32, u32)| Some((rank(voter)?.id(), rank(choice)?));
        let given = setting.votes.iter().filter_map(vote).collect();
        Diffusion::new(Votes { given }).with_fault_detection(params.probe, params.beacon)
    }

    /// As in aefa, but the source notifies the winner of the votes, unless that is itself.
    fn expect(params: &AefaParams, instance: &Instance<'_>) -> Option<Vec<u64>> {
        let mut counts = Aefa::expect(params, instance)?;
        counts[NOTIFY] = u64::from(!instance.initiators.contains(&winner(instance)));
        Some(counts)
    }
}

/// The index of `notify` among the kinds of messages.
const NOTIFY: usize = 2;

/// The position with most votes, the greater rank on ties. A node without a given vote votes for the greatest among
/// itself and its neighbours.
fn winner(instance: &Instance<'_>) -> u32 {
    let order = |at: u32| instance.order[at as usize];
    let positions = 0..instance.order.len() as u32;
    let mut choices: Vec<u32> = positions.clone().collect();
    for at in positions.clone() {
        let choice = &mut choices[at as usize];
        instance.neighbours.each(at, &mut |peer| {
            if order(peer) > order(*choice) {
                *choice = peer;
            }
        });
    }
    for &(voter, choice) in instance.votes {
        choices[voter as usize] = choice;
    }
    let mut votes = vec![0u32; choices.len()];
    choices.iter().for_each(|&choice| votes[choice as usize] += 1);
    positions.max_by_key(|&at| (votes[at as usize], order(at))).unwrap_or(0)
}
