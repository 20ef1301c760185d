//! Divided and sun-divided: a token starts round the ring as in token-ring; an informer outside the ring then divides
//! it at known points, and all parts are gathered in parallel.
//!
//! - **Source**: Shirali, §6 and figure 7.
//! - **Needs** a directed ring of which every node has a map, and an informer that reaches the top points; any delays,
//!   any order of messages (late replies to the informer only cost speed).
//! - **Guarantees** that the greatest live node leads and all nodes know it, with any nodes down from the start,
//!   including the informer and points. It does not tolerate a crash of the detector, nor one between the `coordinator`
//!   of the detector and that of the last node.
//! - **Messages** with p points, t of them top points, and a detector on a top point: n `election`, n `coordinator`, 1
//!   `crash`, t each of `probe` and `reply`, p each of `divide`, `info` and `appoint`.
//!
//! Decided where the text is silent:
//!
//! - Dead nodes are skipped along the ring, as in token-ring, and on the levels of sun-divided, as in sun. A part
//!   reaches from one live point to the next.
//! - A token says which live point it started at or first passed, and a `divide` where the part starts that ends at the
//!   point. So a point knows which tokens have seen its whole part, also with several detectors and with dead points.
//! - The sub-points of a dead top point are ordinary nodes in this run; in sun-divided, where they could not pass a
//!   part on, all top points must reply. The sub-points of any other dead point are taken over by the point above it.
//! - Several detectors: each token is reported to the informer once. A detector drops the token of a smaller one as in
//!   token-ring, unless that token has met a point: it may be the only token of that point's part.
//! - A token that comes home before the ring is divided (n ≤ 4) ends the election as in token-ring; a later `divide` is
//!   ignored.
//! - With `backoff=B` the informer waits 2B ticks longer, and a starter (1+B) times as long.
//!
//! Specified in `docs/model.md#divided` and `docs/model.md#sun-divided`.

mod informer;
mod member;
mod message;
mod oracle;
mod point;

use alloc::boxed::Box;
use alloc::vec::Vec;

use hustings_protocol::{Context, Rank};

use super::backoff::Backoff;
use super::layout::Points;
use super::params::{Aggregate, Branching, Depth, Parts};
use super::run::{CoordinatorTimeout, RunNumber};
use super::segments::{self, Kind, Segments};
use super::strikes::Strikes;
use super::{SHIRALI, check};
use crate::ring::election::DIRECTED_RING;
use crate::ring::{TokenContents, token_ring};
use crate::{
    About, Algorithm, Assumptions, Case, CheckCase, Cost, CostDelays, Family, Initiators, Instance, Knowledge,
    NetworkKind, ParamConflict, Setting, Source, Winner,
};
use informer::Informer;
use message::Message;
use point::PointState;

/// Divided, for the catalogue.
#[derive(Debug)]
pub struct Divided;

/// Sun-divided, for the catalogue.
#[derive(Debug)]
pub struct SunDivided;

crate::params! {
    /// The parameters of divided.
    pub struct DividedParams {
        "number of parts of each division" "u" as branching: Branching = Branching::FOUR,
        "number of divisions; max: until a part has at most u nodes" depth: Depth = Depth::ONCE,
        "lengths of the parts" parts: Parts = Parts::EVEN,
        "each node waits a random 0 to B ticks before its first message" backoff: u64 = 0,
    }
}

crate::params! {
    /// The parameters of sun-divided.
    pub struct SunDividedParams {
        "number of parts of each division, and the branching factor of the levels"
            "u" as branching: Branching = Branching::FOUR,
        "number of divisions; max: until a part has at most u nodes" depth: Depth = Depth::ONCE,
        "number of levels of each part above the ring; max: until the last has at most u nodes"
            "sun-depth" as sun_depth: Depth = Depth::ONCE,
        "how results of middle levels are gathered" aggregate: Aggregate = Aggregate::Lazy,
        "lengths of the parts" parts: Parts = Parts::EVEN,
        "each node waits a random 0 to B ticks before its first message" backoff: u64 = 0,
    }
}

/// The protocol of both; `SUN`: parts have levels.
#[derive(Clone, Debug)]
pub struct Rules<R, const SUN: bool> {
    branching: Branching,
    depth: Depth,
    inner: Option<Depth>,
    aggregate: Aggregate,
    parts: Parts,
    backoff: u64,
    ring: token_ring::Rules<R>,
}

/// The state of a node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State<R> {
    /// The newest run that it knows.
    run: RunNumber,
    timeout: CoordinatorTimeout,
    /// Its state in that run.
    ring: token_ring::State,
    /// Additional state of a few nodes.
    role: Option<Box<Role<R>>>,
}

/// The additional state of a node, by its role.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Role<R> {
    /// It is a point.
    Point(PointState<R>),
    /// It is on a middle level of a part.
    Middle(Segments<R>, Strikes),
    /// It is the informer.
    Informer(Informer<R>),
}

impl<R: Rank, const SUN: bool> Rules<R, SUN> {
    #[inline(always)]
    fn points(&self, size: u32) -> Points<'_> {
        Points::new(size, self.branching, self.depth, self.inner, &self.parts)
    }
}

impl<R> State<R> {
    /// The dead nodes that it skips on the levels of its part, if it is on several. A node on the ring alone skips with
    /// [`Context::skip`].
    fn strikes(&self) -> &Strikes {
        const NOBODY: &Strikes = &Strikes::NOBODY;
        match self.role.as_deref() {
            Some(Role::Point(point_state)) => &point_state.strikes,
            Some(Role::Middle(_, strikes)) => strikes,
            Some(Role::Informer(_)) | None => NOBODY,
        }
    }
}

/// Sends to the next live node on a level of a part.
#[inline(always)]
fn level_sender<'a, R: Rank, C: Context<Rules<R, SUN>>, const SUN: bool>(
    run: RunNumber,
    points: Points<'a>,
    strikes: &'a Strikes,
    cx: &'a mut C,
) -> impl FnMut(Kind, u32, R) + 'a {
    let at = cx.index();
    segments::level_sender(
        cx,
        strikes,
        move |place, level| points.next(place, level),
        move |kind, level, number| Message::on_level(run, at, kind, level, number),
    )
}

/// The common parts of both descriptions.
const DIVIDED_RING: About = About {
    family: Family::Hierarchy,
    network: NetworkKind::InformedRing,
    sends_by_map: true,
    assumptions: Assumptions { fifo: false, knows: Knowledge::Size, ..DIRECTED_RING.assumptions },
    initiators: Initiators::LowestLive,
    repeats: true,
    winner: Winner::Greatest,
    cost_delays: CostDelays::Equal,
    ..DIRECTED_RING
};

impl Algorithm for Divided {
    type Params = DividedParams;
    type Protocol<R: Rank> = Backoff<Rules<R, false>>;

    const ABOUT: About = About {
        name: "divided",
        summary: "an informer outside the ring divides it at known points, and all parts are gathered in parallel",
        costs: &[
            Cost::at_most(Case::Best, "2n + 3u^m + 2u + 1, by default 2n + 21", |n| (2 * n + 21) as f64),
            Cost::at_most(Case::Average, "2n + 3u^m + 2u + 1, by default 2n + 21", |n| (2 * n + 21) as f64),
            Cost::at_most(Case::Worst, "2n + 3u^m + 2u + 1, by default 2n + 21", |n| (2 * n + 21) as f64),
        ],
        checks: &[
            CheckCase::quick("-n 4 --timing patient"),
            CheckCase::slow("-n 4 -p u=2 --timing patient --initiators every-subset"),
        ],
        has_own_engine: true,
        source: Source { title: "Leader election algorithms: History and novel schemes, §6", ..SHIRALI },
        ..DIVIDED_RING
    };

    fn protocol<R: Rank>(params: &DividedParams, _: &Setting<'_, R>) -> Self::Protocol<R> {
        let DividedParams { branching, depth, ref parts, backoff } = *params;
        let rules = Rules {
            branching,
            depth,
            inner: None,
            aggregate: Aggregate::Lazy,
            parts: parts.clone(),
            backoff,
            ring: token_ring::Rules::new(TokenContents::Max),
        };
        Backoff { inner: rules, max: backoff }
    }

    fn check(params: &DividedParams, size: u32) -> Result<(), ParamConflict> {
        check::divided(params.branching, params.depth, None, &params.parts, size)
    }

    fn level(params: &DividedParams, size: u32, at: u32) -> u32 {
        Points::new(size, params.branching, params.depth, None, &params.parts).level(at)
    }

    fn expect(params: &DividedParams, instance: &Instance<'_>) -> Option<Vec<u64>> {
        let size = instance.order.len() as u32;
        let points = Points::new(size, params.branching, params.depth, None, &params.parts);
        (params.backoff == 0).then(|| oracle::divided(&points, instance))?
    }
}

impl Algorithm for SunDivided {
    type Params = SunDividedParams;
    type Protocol<R: Rank> = Backoff<Rules<R, true>>;

    const ABOUT: About = About {
        name: "sun-divided",
        summary: "an informer outside the ring divides it at known points, and each part is gathered as in sun",
        costs: &[
            Cost::described(Case::Best, "2(L₁+…+L_{k+1}) + n/u^m + 3u^m + 2u + 1"),
            Cost::described(Case::Average, "2(L₁+…+L_{k+1}) + n/u^m + 3u^m + 2u + 1"),
            Cost::described(Case::Worst, "2(L₁+…+L_{k+1}) + n/u^m + 3u^m + 2u + 1"),
        ],
        checks: &[
            CheckCase::quick("-n 4 -p u=2 --timing patient"),
            CheckCase::slow("-n 4 -p u=2 --timing patient --initiators every-subset"),
        ],
        source: Source { title: "Leader election algorithms: History and novel schemes, figure 7", ..SHIRALI },
        ..DIVIDED_RING
    };

    fn protocol<R: Rank>(params: &SunDividedParams, _: &Setting<'_, R>) -> Self::Protocol<R> {
        let SunDividedParams { branching, depth, sun_depth, aggregate, ref parts, backoff } = *params;
        let rules = Rules {
            branching,
            depth,
            inner: Some(sun_depth),
            aggregate,
            parts: parts.clone(),
            backoff,
            ring: token_ring::Rules::new(TokenContents::Max),
        };
        Backoff { inner: rules, max: backoff }
    }

    fn check(params: &SunDividedParams, size: u32) -> Result<(), ParamConflict> {
        check::divided(params.branching, params.depth, Some(params.sun_depth), &params.parts, size)
    }

    fn level(params: &SunDividedParams, size: u32, at: u32) -> u32 {
        Points::new(size, params.branching, params.depth, Some(params.sun_depth), &params.parts).level(at)
    }

    fn expect(params: &SunDividedParams, instance: &Instance<'_>) -> Option<Vec<u64>> {
        let size = instance.order.len() as u32;
        let points = Points::new(size, params.branching, params.depth, Some(params.sun_depth), &params.parts);
        (params.backoff == 0).then(|| oracle::sun_divided(&points, params.aggregate, instance))?
    }
}
