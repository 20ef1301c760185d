//! Sun: inner rings of ever fewer nodes; a token goes round the innermost one and starts tokens down the segments, so
//! that all segments of the ring are gathered in parallel.
//!
//! - **Source**: Shirali, §4–5.
//! - **Needs** a directed ring of which every node has a map; any delays, any order of messages.
//! - **Guarantees** that the greatest *live* node leads and all nodes know it, with any nodes but the starter down from
//!   the start: dead nodes are skipped on every level, as on a ring. After a death during the run, a starter without a
//!   `coordinator` after 8n ticks runs token-ring. It does not tolerate a crash of the starter, nor one between the
//!   `coordinator` of the starter and that of the last node.
//! - **Messages** with levels of lengths L_1 = n to L_r: L_1+…+L_r each of `election` and `coordinator`, L_r
//!   `m-coordinator` (`aggregate=eager`: L_2+…+L_r), and the climb of a starter below the top. A node that is down
//!   costs an attempt of `election` on each of its levels, and saves the later messages to it.
//! - **Decided**: several starters may find several informers. In the text informers drop the messages of smaller ones;
//!   here every node does, and serves the greatest informer it knows. A top node that already serves one drops a climb.
//!   If a fallback does not end either, another follows after twice the time.
//!
//! Specified in `docs/model.md#sun`.

mod message;
mod rules;

use alloc::{vec, vec::Vec};

use hustings_protocol::Rank;

use self::rules::Rules;
use super::layout::Levels;
use super::params::{Aggregate, Branching, Depth, Parts};
use super::{SHIRALI, check};
use crate::ring::election::DIRECTED_RING;
use crate::ring::{TokenContents, token_ring};
use crate::{
    About, Algorithm, Assumptions, CheckCase, Cost, CostDelays, Family, Initiators, Instance, Knowledge, ParamConflict,
    Setting, Source, Winner,
};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct Sun;

crate::params! {
    /// The parameters of sun.
    pub struct SunParams {
        "the branching factor: every u-th node of a level is on the next one" "u" as branching: Branching = Branching::FOUR,
        "number of levels above the ring; max: until the innermost ring has at most u nodes"
            depth: Depth = Depth::ONCE,
        "how results of middle levels are gathered" aggregate: Aggregate = Aggregate::Lazy,
        "lengths of the segments between the nodes of level 2" parts: Parts = Parts::EVEN,
    }
}

impl Algorithm for Sun {
    type Params = SunParams;
    type Protocol<R: Rank> = Rules<R>;

    const ABOUT: About = About {
        name: "sun",
        summary: "inner rings of every u-th node: a token on the innermost ring starts tokens down all segments",
        family: Family::Hierarchy,
        assumptions: Assumptions { fifo: false, knows: Knowledge::Size, ..DIRECTED_RING.assumptions },
        initiators: Initiators::LowestLive,
        repeats: true,
        costs: &Cost::always("2(L₁+…+L_r) + L_r, by default 11n/4", |n| (2 * n + 3 * n.div_ceil(4)) as f64),
        cost_delays: CostDelays::Equal,
        sends_by_map: true,
        checks: &[
            CheckCase::quick("-n 4 --timing patient"),
            CheckCase::quick("-n 4 -p u=2 --timing patient --initiators every-subset"),
        ],
        has_own_engine: true,
        source: Source { title: "Leader election algorithms: History and novel schemes, §4–5", ..SHIRALI },
        winner: Winner::Greatest,
        ..DIRECTED_RING
    };

    fn protocol<R: Rank>(params: &SunParams, setting: &Setting<'_, R>) -> Rules<R> {
        let mut order = setting.ranks.to_vec();
        order.sort_unstable();
        Rules { params: params.clone(), order: order.into(), ring: token_ring::Rules::new(TokenContents::Max) }
    }

    fn check(params: &SunParams, size: u32) -> Result<(), ParamConflict> {
        check::sun(params.branching, params.depth, &params.parts, size)
    }

    fn level(params: &SunParams, size: u32, at: u32) -> u32 {
        Levels::new(size, params.branching, params.depth, &params.parts).height(at)
    }

    /// Only with one starter: several may find several informers.
    fn expect(params: &SunParams, instance: &Instance<'_>) -> Option<Vec<u64>> {
        let levels = Levels::new(instance.order.len() as u32, params.branching, params.depth, &params.parts);
        let lengths = |from: u32| (from..=levels.top).map(|level| levels.length(level)).sum::<u64>();
        let gathered = match params.aggregate {
            Aggregate::Lazy => lengths(levels.top),
            Aggregate::Eager => lengths(2.min(levels.top)),
        };
        match instance.initiators {
            [] => Some(vec![0; 4]),
            [starter] => Some(vec![levels.climb(*starter), lengths(1), gathered, lengths(1)]),
            _ => None,
        }
    }
}
