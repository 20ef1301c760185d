//! AEFA: a tree grows from whoever misses the leader, shrinks back with the greatest rank, and the winner tells
//! everybody the same way.
//!
//! - **Assumes** a connected graph, any delays; one election at a time, or several, of which the latest prevails.
//! - **Promises** that the greatest node leads and everybody knows it. With `probe` and `beacon` it also survives
//!   crashes, recoveries, cuts, partitions, and the loss of up to one message in ten: when all is over, each connected
//!   part has one leader. Both need periods that are longer than a message travels there and back.
//! - **Comes from** S. Vasudevan, B. DeCleene, N. Immerman, J. Kurose and D. Towsley, 2003, and S. Vasudevan, J.
//!   Kurose and D. Towsley, 2004; I. Adams, "Two-Tier Leadership Election", §2.1.
//! - **Costs** 2E-(n-1) each of `election`, `ack`, `leader` and `leader-ack`, and one `notify` unless the source wins.
//!   A neighbour that is down costs a lost message each wave. A `beacon` costs 2E-(n-1) each period.
//!
//! The computation itself is in [`super::diffusion`]. Where the texts are silent:
//!
//! - The announcement is a computation too, ⟨counter + 1, leader⟩: so it prevails over the election that it ends.
//! - A node that loses its parent holds an election of its own, later than the one that it was in. (To announce the
//!   best of its subtree, as some tell it, makes as many leaders as the lost parent had children.)
//! - An election with an index from the past meets nodes that have a leader: they say so (`reply`), and it is held
//!   anew.
//! - A neighbour is struck off for the computation under way only, after three probes without an answer; where the
//!   network says that it is down, at once.
//! - A winner that does not spread the word in time is elected once more; then the source spreads it for that winner.
//! - Beacons are flooded. Who heard none in a period repeats the last one, for those who missed that.

use alloc::vec;
use alloc::vec::Vec;

use hustings_protocol::Rank;

use super::diffusion::{Diffusion, Greatest};
use super::plain::ANY_GRAPH;
use crate::{About, Algorithm, Case, Cost, Initiators, Instance, Setting, Source, Tolerates};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct Aefa;

crate::params! {
    /// The parameters of aefa.
    pub struct AefaParams {
        "ticks between two probes of every neighbour that something is expected of; 0: none" probe: u64 = 0,
        "ticks between two beacons of the leader, six of which may be missed; 0: none" beacon: u64 = 0,
    }
}

/// The description, which others on the same computation take over.
pub(super) const ABOUT: About = About {
    name: "aefa",
    summary: "a tree grows from the source and shrinks back with the greatest; the winner tells everybody likewise",
    initiators: Initiators::LowestLive,
    repeats: true,
    tolerates: Tolerates {
        down: true,
        crashes: true,
        recoveries: true,
        partitions: true,
        loss: true,
        // Longer than a message takes there and back, or the living are struck off as well.
        with: &["probe=25", "beacon=25"],
    },
    costs: &[
        Cost::described(Case::Best, "4(2E-(n-1))"),
        Cost::described(Case::Average, "4(2E-(n-1)) + 1"),
        Cost::described(Case::Worst, "4(2E-(n-1)) + 1"),
    ],
    source: Source {
        authors: "S. Vasudevan, J. Kurose and D. Towsley",
        title: "Design and analysis of a leader election algorithm for mobile ad hoc networks (2004)",
        text: "Adams",
    },
    ..ANY_GRAPH
};

impl Algorithm for Aefa {
    type Params = AefaParams;
    type Protocol<R: Rank> = Diffusion<R, Greatest>;

    const ABOUT: About = ABOUT;

    fn protocol<R: Rank>(params: &AefaParams, _: &Setting<'_, R>) -> Diffusion<R, Greatest> {
        Diffusion::new(Greatest).looking_out(params.probe, params.beacon)
    }

    /// With one source every link is used once each way, but for the links of the tree: those once.
    fn expect(params: &AefaParams, instance: &Instance<'_>) -> Option<Vec<u64>> {
        if *params != AefaParams::default() {
            return None;
        }
        let &[source] = instance.initiators else { return None };
        let wave = (2 * instance.links + 1).checked_sub(instance.size())?;
        let is_greatest = u64::from(instance.order[source as usize]) + 1 == instance.size();
        Some(vec![wave, wave, u64::from(!is_greatest), wave, wave, 0, 0, 0])
    }
}
