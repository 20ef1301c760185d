//! Preference: everybody votes, the votes are gathered as in aefa, and most votes win.
//!
//! - **Assumes** what aefa assumes: a connected graph, any delays.
//! - **Promises** that the node with most votes leads, of several the greatest, and everybody knows it. Only nodes that
//!   take part can win: a vote for one that is down is lost.
//! - **Comes from** S. Vasudevan et al., 2003, as I. Adams, "Two-Tier Leadership Election", §5.1 has it; Crete's slides
//!   on preference-based election.
//! - **Costs** what aefa costs: 2E-(n-1) each of `election`, `ack`, `leader` and `leader-ack`, and one `notify` unless
//!   the source wins. An `ack` grows with the number of nodes behind it.
//!
//! The computation itself is in [`super::diffusion`]. Where two leaders meet after a partition, the one of the greater
//! rank stays, whatever the votes: those of two elections cannot be compared.

use hustings_protocol::Rank;

use super::aefa::{ABOUT, AefaParams};
use super::diffusion::{Diffusion, Votes};
use crate::{About, Algorithm, Setting, Source, Takes};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct Preference;

impl Algorithm for Preference {
    type Params = AefaParams;
    type Protocol<R: Rank> = Diffusion<R, Votes<R>>;

    const ABOUT: About = About {
        name: "preference",
        summary: "everybody votes for whom it thinks best; the source gathers the votes, and most votes win",
        takes: Takes { votes: true, ..Takes::NOTHING },
        source: Source {
            authors: "S. Vasudevan, B. DeCleene, N. Immerman, J. Kurose and D. Towsley",
            title: "Leader election algorithms for wireless ad hoc networks (2003)",
            text: "Crete, Adams",
        },
        ..ABOUT
    };

    /// Of a node that is listed twice the last vote counts.
    fn protocol<R: Rank>(params: &AefaParams, setting: &Setting<'_, R>) -> Diffusion<R, Votes<R>> {
        let rank = |place: u32| setting.ranks.get(place as usize).copied();
        let vote = |&(voter, choice): &(u32, u32)| Some((rank(voter)?.id(), rank(choice)?));
        let given = setting.votes.iter().filter_map(vote).collect();
        Diffusion::new(Votes { given }).looking_out(params.probe, params.beacon)
    }
}
