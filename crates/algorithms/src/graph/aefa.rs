//! AEFA: a spanning tree grows from the node that misses the leader, shrinks back with the greatest rank, and the
//! winner announces itself the same way.
//!
//! - **Source**: S. Vasudevan, B. DeCleene, N. Immerman, J. Kurose and D. Towsley, 2003, and S. Vasudevan, J. Kurose
//!   and D. Towsley, 2004; described by Adams, §2.1.
//! - **Needs** a connected graph; any delays. Of several elections the latest prevails.
//! - **Guarantees** that the greatest node leads and all nodes know it. With `probe` and `beacon` it also tolerates
//!   crashes, recoveries, cuts, partitions, and the loss of one message in ten: afterwards each connected part has one
//!   leader. Both periods must exceed a round trip.
//! - **Messages**: 2E-(n-1) each of `election`, `ack`, `leader` and `leader-ack`, and one `notify` unless the source
//!   wins. A dead neighbour costs one lost message per wave. Beacons cost 2E-(n-1) per period.
//!
//! The computation itself is in [`super::diffusion`]. Decided where the texts are silent:
//!
//! - The announcement is a computation too, ⟨counter + 1, leader⟩, so it prevails over the election that it ends.
//! - A node that loses its parent holds an election of its own with a greater index. (If it announced the best of its
//!   subtree instead, there could be as many leaders as the lost parent had children.)
//! - An election with an outdated index meets nodes that have a leader: they say so (`reply`), and it is repeated.
//! - A neighbour is removed for the current computation only: at once if a message to it was undeliverable, otherwise
//!   after three probes without a reply.
//! - If the winner does not announce itself in time, the election is repeated once; then the source announces the
//!   winner.
//! - Beacons are flooded. A node that heard none in a period repeats the last one, for neighbours that missed it.
//!
//! Specified in `docs/model.md#aefa`.

use alloc::vec;
use alloc::vec::Vec;

use hustings_protocol::Rank;

use super::diffusion::{Diffusion, Greatest};
use crate::{About, Algorithm, Case, CheckCase, Cost, Initiators, Instance, NetworkKind, Setting, Source, Tolerates};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct Aefa;

crate::params! {
    /// The parameters of aefa.
    pub struct AefaParams {
        "ticks between two probes of each neighbour that owes an answer; 0: off" probe: u64 = 0,
        "ticks between two beacons of the leader; a node may miss six; 0: off" beacon: u64 = 0,
    }
}

/// The description, shared by the algorithms built on the same computation.
pub(super) const ABOUT: About = About {
    name: "aefa",
    summary: "a tree grows from the source and shrinks back with the greatest; the winner announces itself likewise",
    initiators: Initiators::LowestLive,
    repeats: true,
    tolerates: Tolerates {
        down: true,
        crashes: true,
        recoveries: true,
        partitions: true,
        loss: true,
        // Longer than a round trip, otherwise live neighbours are removed too.
        with: &["probe=25", "beacon=25"],
    },
    costs: &[
        Cost::described(Case::Best, "4(2E-(n-1))"),
        Cost::described(Case::Average, "4(2E-(n-1)) + 1"),
        Cost::described(Case::Worst, "4(2E-(n-1)) + 1"),
    ],
    checks: &[CheckCase::quick("-n 3 --topology complete --timing patient")],
    source: Source {
        authors: "S. Vasudevan, J. Kurose and D. Towsley",
        title: "Design and analysis of a leader election algorithm for mobile ad hoc networks (2004)",
        text: "Adams",
    },
    ..About::on(NetworkKind::Graph)
};

impl Algorithm for Aefa {
    type Params = AefaParams;
    type Protocol<R: Rank> = Diffusion<R, Greatest>;

    const ABOUT: About = About { has_own_engine: true, ..ABOUT };

    fn protocol<R: Rank>(params: &AefaParams, _: &Setting<'_, R>) -> Diffusion<R, Greatest> {
        Diffusion::new(Greatest).with_fault_detection(params.probe, params.beacon)
    }

    /// With one source every link is used once in each direction, but the links of the tree only once.
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
