//! Divided and sun-divided: a token starts round the ring as in token-ring, but an informer outside the ring has it
//! divided at points of which it knows, and all parts are gathered at the same time.
//!
//! - **Assumes** a directed ring of which every node has a map, and an informer that reaches the top points; any
//!   delays, any order of messages (late answers to the informer only cost speed).
//! - **Promises** that the greatest live node leads and everybody knows it, with any nodes down from the start, the
//!   informer and points included. What it does not survive: a crash after the detector has its `coordinator` and
//!   before everybody has theirs (nobody waits for those), and that of the detector itself.
//! - **Comes from** M. Shirali, A. HaghghatToroghi and M. Vojdani, "Leader election algorithms: History and novel
//!   schemes", §6 and figure 7.
//! - **Costs** with p points of which t are top, and a detector on a top point: n `election`, n `coordinator`, 1
//!   `crash`, t each of `probe` and `reply`, p each of `divide`, `info` and `appoint`.
//!
//! Where the text is silent:
//!
//! - Nodes that are down are skipped along the ring, as in token-ring; not inside the levels of sun-divided, as in sun.
//! - A token says where it started, a `divide` where the part starts that ends at the point. So a point knows which
//!   tokens have seen its whole part, and takes no other for its result: also with several detectors, and where points
//!   are down.
//! - Several detectors: each token is told to the informer once. A detector stops the token of a smaller one as in
//!   token-ring, unless it has met a point already, for which it may be the only token of its part.
//! - A token that comes home before the informer has divided the ring (with 4 nodes or less) ends the election as in
//!   token-ring; a `divide` that comes after that is ignored.
//! - With `backoff=B` the informer waits 2B ticks longer, and a starter (1+B) times as long.

mod informer;
mod member;
mod message;
mod oracle;
mod point;

use alloc::boxed::Box;
use alloc::vec::Vec;

use hustings_protocol::{Context, Rank};

use super::backoff::Hesitant;
use super::layout::Points;
use super::params::{Aggregate, Depth, Fan, Parts};
use super::run::{Run, Watch};
use super::wheel::{self, Wheel, Word};
use super::{SHIRALI, check};
use crate::ring::plain::DIRECTED_RING;
use crate::ring::{Gather, token_ring};
use crate::{
    About, Algorithm, Assumptions, Case, Cost, Family, Initiators, Instance, Knowledge, NetworkKind, ParamConflict,
    Setting, Source, Winner,
};
use informer::Informer;
use message::Message;
use point::Seat;

/// Divided, for the catalogue.
#[derive(Debug)]
pub struct Divided;

/// Sun-divided, for the catalogue.
#[derive(Debug)]
pub struct SunDivided;

crate::params! {
    /// The parameters of divided.
    pub struct DividedParams {
        "into how many parts the ring is divided, and each part again" "u" as fan: Fan = Fan::FOUR,
        "how often it is divided; max: until a part is no longer than u" depth: Depth = Depth::ONCE,
        "the lengths of the parts" parts: Parts = Parts::EVEN,
        "a node waits a random 0 to B ticks before it says anything for the first time" backoff: u64 = 0,
    }
}

crate::params! {
    /// The parameters of sun-divided.
    pub struct SunDividedParams {
        "into how many parts the ring is divided, and every how many nodes of a level are on the next one"
            "u" as fan: Fan = Fan::FOUR,
        "how often the ring is divided; max: until a part is no longer than u" depth: Depth = Depth::ONCE,
        "how many levels each part has above the ring; max: until the last is no longer than u"
            "sun-depth" as sun_depth: Depth = Depth::ONCE,
        "how the results of middle levels are gathered" aggregate: Aggregate = Aggregate::Lazy,
        "the lengths of the parts" parts: Parts = Parts::EVEN,
        "a node waits a random 0 to B ticks before it says anything for the first time" backoff: u64 = 0,
    }
}

/// The state machine of both; `SUN`: parts have levels.
#[derive(Clone, Debug)]
pub struct Rules<R, const SUN: bool> {
    fan: Fan,
    depth: Depth,
    inner: Option<Depth>,
    aggregate: Aggregate,
    parts: Parts,
    backoff: u64,
    ring: token_ring::Rules<R>,
}

/// What a node remembers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State<R> {
    /// The newest election it has heard of.
    run: Run,
    watch: Watch,
    /// Where it stands in that election.
    ring: token_ring::State,
    /// What only few nodes have to remember.
    desk: Option<Box<Desk<R>>>,
}

/// What a node remembers beside its part in the ring.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Desk<R> {
    /// It is a point.
    Point(Seat<R>),
    /// It is on a middle level of a part.
    Middle(Wheel<R>),
    /// It is the informer.
    Informer(Informer<R>),
}

impl<R: Rank, const SUN: bool> Rules<R, SUN> {
    #[inline(always)]
    fn points(&self, size: u32) -> Points<'_> {
        Points::new(size, self.fan, self.depth, self.inner, &self.parts)
    }
}

/// Sends to the next node on a level of a part.
#[inline(always)]
fn roller<'a, R: Rank, C: Context<Rules<R, SUN>>, const SUN: bool>(
    run: Run,
    points: Points<'a>,
    cx: &'a mut C,
) -> impl FnMut(Word, u32, R) + 'a {
    let at = cx.index();
    let next = move |level| points.next(at, level);
    wheel::roller(cx, next, move |word, level, number| Message::wheeled(run, at, word, level, number))
}

/// What both descriptions have in common.
const DIVIDED_RING: About = About {
    family: Family::Hierarchy,
    network: NetworkKind::InformedRing,
    assumptions: Assumptions { fifo: false, knows: Knowledge::Size, ..DIRECTED_RING.assumptions },
    initiators: Initiators::LowestLive,
    repeats: true,
    winner: Winner::Greatest,
    ..DIRECTED_RING
};

impl Algorithm for Divided {
    type Params = DividedParams;
    type Protocol<R: Rank> = Hesitant<Rules<R, false>>;

    const ABOUT: About = About {
        name: "divided",
        summary: "an informer outside divides the ring at its points, and all parts are gathered at the same time",
        costs: &[
            Cost::at_most(Case::Best, "2n + 3u^m + 2u + 1, as it stands 2n + 21", |n| (2 * n + 21) as f64),
            Cost::at_most(Case::Average, "2n + 3u^m + 2u + 1, as it stands 2n + 21", |n| (2 * n + 21) as f64),
            Cost::at_most(Case::Worst, "2n + 3u^m + 2u + 1, as it stands 2n + 21", |n| (2 * n + 21) as f64),
        ],
        source: Source { title: "Leader election algorithms: History and novel schemes, §6", ..SHIRALI },
        ..DIVIDED_RING
    };

    fn protocol<R: Rank>(params: &DividedParams, _: &Setting<'_, R>) -> Self::Protocol<R> {
        let DividedParams { fan, depth, ref parts, backoff } = *params;
        let rules = Rules {
            fan,
            depth,
            inner: None,
            aggregate: Aggregate::Lazy,
            parts: parts.clone(),
            backoff,
            ring: token_ring::Rules::new(Gather::Max),
        };
        Hesitant { inner: rules, most: backoff }
    }

    fn check(params: &DividedParams, size: u32) -> Result<(), ParamConflict> {
        check::divided(params.fan, params.depth, None, &params.parts, size)
    }

    fn expect(params: &DividedParams, instance: &Instance<'_>) -> Option<Vec<u64>> {
        let size = instance.order.len() as u32;
        let points = Points::new(size, params.fan, params.depth, None, &params.parts);
        (params.backoff == 0).then(|| oracle::divided(&points, instance))?
    }
}

impl Algorithm for SunDivided {
    type Params = SunDividedParams;
    type Protocol<R: Rank> = Hesitant<Rules<R, true>>;

    const ABOUT: About = About {
        name: "sun-divided",
        summary: "an informer outside divides the ring at its points, and each part is gathered as sun gathers a ring",
        costs: &[
            Cost::described(Case::Best, "2(L₁+…+L_{k+1}) + n/u^m + 3u^m + 2u + 1"),
            Cost::described(Case::Average, "2(L₁+…+L_{k+1}) + n/u^m + 3u^m + 2u + 1"),
            Cost::described(Case::Worst, "2(L₁+…+L_{k+1}) + n/u^m + 3u^m + 2u + 1"),
        ],
        source: Source { title: "Leader election algorithms: History and novel schemes, figure 7", ..SHIRALI },
        ..DIVIDED_RING
    };

    fn protocol<R: Rank>(params: &SunDividedParams, _: &Setting<'_, R>) -> Self::Protocol<R> {
        let SunDividedParams { fan, depth, sun_depth, aggregate, ref parts, backoff } = *params;
        let rules = Rules {
            fan,
            depth,
            inner: Some(sun_depth),
            aggregate,
            parts: parts.clone(),
            backoff,
            ring: token_ring::Rules::new(Gather::Max),
        };
        Hesitant { inner: rules, most: backoff }
    }

    fn check(params: &SunDividedParams, size: u32) -> Result<(), ParamConflict> {
        check::divided(params.fan, params.depth, Some(params.sun_depth), &params.parts, size)
    }

    fn expect(params: &SunDividedParams, instance: &Instance<'_>) -> Option<Vec<u64>> {
        let size = instance.order.len() as u32;
        let points = Points::new(size, params.fan, params.depth, Some(params.sun_depth), &params.parts);
        (params.backoff == 0).then(|| oracle::sun_divided(&points, params.aggregate, instance))?
    }
}
