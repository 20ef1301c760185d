//! Sun: the ring gets inner rings of ever fewer nodes; a token goes round the innermost, and from each of its nodes
//! tokens go out like rays, so that all stretches of the ring are gathered at the same time.
//!
//! - **Assumes** a directed ring of which every node has a map; any delays, any order of messages.
//! - **Promises** that the greatest node leads and everybody knows it. With nodes down from the start the greatest
//!   *live* one does, by the last resort: sun skips nobody, but a starter that hears no `coordinator` within 8n ticks
//!   runs token-ring. What it does not survive: a crash after the starter has its `coordinator` and before everybody
//!   has theirs (nobody waits for those), and that of the starter itself.
//! - **Comes from** M. Shirali, A. HaghghatToroghi and M. Vojdani, "Leader election algorithms: History and novel
//!   schemes", §4–5.
//! - **Costs** with levels of lengths L_1 = n to L_r: L_1+…+L_r `election`, as many `coordinator`, L_r `m-coordinator`
//!   (`aggregate=eager`: L_2+…+L_r), and the climb of a starter that is not on top.
//!
//! Several starters may find several informers. The text has informers drop what smaller ones send round the top; here
//! every node does so: it serves the greatest informer it has heard of. A node on top that already serves one drops a
//! climb. After a last resort that does not end either, another one follows, after twice the time.

mod message;

use alloc::{sync::Arc, vec, vec::Vec};

use hustings_protocol::{Context, Id, Port, Protocol, Rank, StartReason, Timer};

use super::layout::Levels;
use super::params::{Aggregate, Depth, Fan, Parts};
use super::run::{Run, Watch, patience};
use super::wheel::{self, Phase, Wheel, Word};
use super::{SHIRALI, check};
use crate::ring::plain::{DIRECTED_RING, name};
use crate::ring::{Gather, token_ring};
use crate::within::Within;
use crate::{
    About, Algorithm, Assumptions, Cost, Family, Initiators, Instance, Knowledge, ParamConflict, Setting, Source,
    Winner,
};

use message::Message;

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct Sun;

crate::params! {
    /// The parameters of sun.
    pub struct SunParams {
        "every u-th node of a level is on the next one" "u" as fan: Fan = Fan::FOUR,
        "how many levels there are above the ring; max: until the innermost is no longer than u"
            depth: Depth = Depth::ONCE,
        "how the results of middle levels are gathered" aggregate: Aggregate = Aggregate::Lazy,
        "the lengths of the stretches between the nodes of level 2" parts: Parts = Parts::EVEN,
    }
}

/// Its state machine.
#[derive(Clone, Debug)]
pub struct Rules<R> {
    params: SunParams,
    /// All ranks, ascending: an informer goes by its place among them, which is shorter than its rank.
    order: Arc<[R]>,
    ring: token_ring::Rules<R>,
}

/// What a node remembers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct State<R> {
    /// The newest election it has heard of.
    run: Run,
    watch: Watch,
    /// The greatest informer of that election, while it serves one.
    informer: u32,
    course: Course<R>,
}

/// Where a node stands in the newest election.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Course<R> {
    /// It knows of none.
    Idle,
    /// Somebody climbs; no informer is known.
    Climbing,
    /// It serves an informer.
    Wheel(Wheel<R>),
    /// The last resort.
    Ring(token_ring::State),
}

/// Sends to the next node on a level.
#[inline(always)]
fn roller<'a, R: Rank, C: Context<Rules<R>>>(
    run: Run,
    informer: u32,
    levels: Levels<'a>,
    cx: &'a mut C,
) -> impl FnMut(Word, u32, R) + 'a {
    let at = cx.index();
    let next = move |level| levels.next(at, level);
    wheel::roller(cx, next, move |word, level, number| Message::wheeled(run, informer, word, level, number))
}

impl<R: Rank> Rules<R> {
    #[inline(always)]
    fn levels(&self, size: u32) -> Levels<'_> {
        let SunParams { fan, depth, parts, .. } = &self.params;
        Levels::new(size, *fan, *depth, parts)
    }

    /// Moves what climbs one step up; on top, the node becomes the informer, unless it serves one.
    fn climb<C: Context<Self>>(&self, state: &mut State<R>, cx: &mut C) {
        let (levels, at, run) = (self.levels(cx.size()), cx.index(), state.run);
        match levels.height(at) {
            height if height == levels.top => {
                if matches!(state.course, Course::Climbing) {
                    self.inform(state, cx);
                }
            }
            1 => cx.send(Port::NEXT, Message::Climb { run }),
            height => cx.send_to(levels.next(at, height), Message::Climb { run }),
        }
    }

    /// The node becomes an informer: its token goes round the top.
    fn inform<C: Context<Self>>(&self, state: &mut State<R>, cx: &mut C) {
        let own = cx.rank();
        state.informer = self.order.binary_search(&own).unwrap_or_else(|place| place) as u32;
        state.course = Course::Wheel(Wheel::new(own, true));
        let levels = self.levels(cx.size());
        let mut roll = roller(state.run, state.informer, levels, cx);
        roll(Word::Election, levels.top, own);
        wheel::start(Word::Election, levels.top, own, self.params.aggregate, &mut roll);
    }

    /// Joins a newer election. Says whether this one is the newest.
    #[inline(always)]
    fn join<C: Context<Self>>(&self, state: &mut State<R>, run: Run, cx: &mut C) -> bool {
        let State { run: newest, watch, course, .. } = state;
        newest.join(run, watch, 0, cx, || {
            *course = if run.is_resort() { Course::Ring(token_ring::State::Idle) } else { Course::Climbing };
        })
    }

    /// The wheel of this informer, if the node serves no greater one.
    #[inline(always)]
    fn serve<'s>(&self, state: &'s mut State<R>, informer: u32, own: R) -> Option<&'s mut Wheel<R>> {
        match state.course {
            Course::Wheel(_) if informer < state.informer => return None,
            Course::Wheel(_) if informer == state.informer => {}
            Course::Wheel(_) | Course::Climbing => {
                state.informer = informer;
                state.course = Course::Wheel(Wheel::new(own, false));
            }
            Course::Idle | Course::Ring(_) => return None,
        }
        if let Course::Wheel(wheel) = &mut state.course { Some(wheel) } else { None }
    }

    /// An `election` or `m-coordinator` came along a level.
    #[inline(always)]
    fn gather<C: Context<Self>>(&self, state: &mut State<R>, word: Word, level: u32, number: R, cx: &mut C) {
        let (levels, own, aggregate) = (self.levels(cx.size()), cx.rank(), self.params.aggregate);
        let (run, informer, height) = (state.run, state.informer, levels.height(cx.index()));
        let Course::Wheel(wheel) = &mut state.course else { return };
        if level == 0 || level > height || wheel.phase == Phase::Settled {
            return;
        }
        let mut roll = roller(run, informer, levels, cx);
        if level < height {
            wheel.end(word, level, number, aggregate);
        } else if height < levels.top {
            match height {
                1 => roll(word, 1, number.max(own)),
                _ => wheel.pass(word, number, (height, own), aggregate, &mut roll),
            }
            return;
        } else if word == Word::Gather {
            wheel.hold(number);
        } else if wheel.is_hub {
            roll(Word::Gather, height, own);
        } else {
            roll(word, height, number);
            wheel::start(word, height, own, aggregate, &mut roll);
        }
        if height < levels.top {
            wheel.release(height, aggregate, &mut roll);
        } else if wheel.is_ready(height) {
            let best = wheel.best;
            if wheel.is_hub {
                drop(roll);
                self.settle(state, best, cx);
                let mut roll = roller(run, informer, levels, cx);
                roll(Word::Coordinator, height, best);
                wheel::start(Word::Coordinator, height, best, aggregate, &mut roll);
            } else {
                roll(Word::Gather, height, best);
            }
        }
    }

    /// A `coordinator` came along a level.
    #[inline(always)]
    fn tell<C: Context<Self>>(&self, state: &mut State<R>, level: u32, leader: R, cx: &mut C) {
        let levels = self.levels(cx.size());
        let (run, informer, height) = (state.run, state.informer, levels.height(cx.index()));
        self.settle(state, leader, cx);
        let Course::Wheel(wheel) = state.course else { return };
        let is_home = wheel.is_hub && height == levels.top;
        if level == height && !is_home {
            let mut roll = roller(run, informer, levels, cx);
            roll(Word::Coordinator, height, leader);
            wheel::start(Word::Coordinator, height, leader, self.params.aggregate, &mut roll);
        }
    }

    /// The leader is known.
    #[inline(always)]
    fn settle<C: Context<Self>>(&self, state: &mut State<R>, leader: R, cx: &mut C) {
        state.watch.end();
        if let Course::Wheel(wheel) = &mut state.course
            && wheel.phase != Phase::Settled
        {
            wheel.phase = Phase::Settled;
            name(leader, cx);
        }
    }

    /// A message of the last resort.
    fn resort<C: Context<Self>>(&self, state: &mut State<R>, message: token_ring::Message<R>, cx: &mut C) {
        let run = state.run;
        let Course::Ring(ring) = &mut state.course else { return };
        self.ring.handle_message(ring, Port::PREVIOUS, message, &mut inside(run, cx));
        if *ring == token_ring::State::Settled {
            state.watch.end();
        }
    }

    #[inline(always)]
    fn hear<C: Context<Self>>(&self, state: &mut State<R>, message: Message<R>, cx: &mut C) {
        if !self.join(state, message.run(), cx) {
            return;
        }
        match message {
            Message::Climb { .. } => self.climb(state, cx),
            Message::Election { informer, level, number, .. } => {
                if self.serve(state, informer, cx.rank()).is_some() {
                    self.gather(state, Word::Election, level.into(), number, cx);
                }
            }
            Message::MCoordinator { informer, level, number, .. } => {
                if self.serve(state, informer, cx.rank()).is_some() {
                    self.gather(state, Word::Gather, level.into(), number, cx);
                }
            }
            Message::Coordinator { informer, level, leader, .. } => {
                if self.serve(state, informer, cx.rank()).is_some() {
                    self.tell(state, level.into(), leader, cx);
                }
            }
            Message::Token { token, .. } => self.resort(state, token_ring::Message::Election(token), cx),
            Message::Lap { by, leader, .. } => {
                self.resort(state, token_ring::Message::Coordinator { leader, by }, cx);
            }
        }
    }
}

/// The surroundings of the last resort.
fn inside<R: Rank, C: Context<Rules<R>>>(
    run: Run,
    cx: &mut C,
) -> Within<'_, Rules<R>, C, impl Fn(token_ring::Message<R>) -> Message<R>> {
    Within::new(cx, move |message| Message::of_ring(run, message))
}

impl<R: Rank> Protocol for Rules<R> {
    type Rank = R;
    type State = State<R>;
    type Message = Message<R>;

    fn init(&self) -> State<R> {
        State { run: Run::default(), watch: Watch::default(), informer: 0, course: Course::Idle }
    }

    fn handle_start<C: Context<Self>>(&self, state: &mut State<R>, reason: StartReason, cx: &mut C) {
        let heeds = match state.course {
            Course::Idle => true,
            Course::Climbing => false,
            Course::Wheel(wheel) => wheel.phase == Phase::Settled && reason == StartReason::LeaderLost,
            Course::Ring(ring) => ring.heeds(reason),
        };
        if heeds {
            state.run = state.run.next();
            state.course = Course::Climbing;
            state.watch.end();
            state.watch.begin(patience(cx.size(), 0), cx);
            self.climb(state, cx);
        }
    }

    #[inline(always)]
    fn handle_message<C: Context<Self>>(&self, state: &mut State<R>, _: Port, message: Message<R>, cx: &mut C) {
        self.hear(state, message, cx);
    }

    #[inline(always)]
    fn handle_direct<C: Context<Self>>(&self, state: &mut State<R>, _: Id, message: Message<R>, cx: &mut C) {
        self.hear(state, message, cx);
    }

    fn handle_unreachable<C: Context<Self>>(&self, state: &mut State<R>, port: Port, message: Message<R>, cx: &mut C) {
        // Only the last resort skips.
        if message.run() == state.run && state.run.is_resort() {
            cx.skip(port);
        }
    }

    fn handle_timer<C: Context<Self>>(&self, state: &mut State<R>, timer: Timer, cx: &mut C) {
        if state.watch.is_over(timer) {
            state.run = state.run.next_resort();
            state.watch.begin(patience(cx.size(), 0), cx);
            let mut ring = token_ring::State::Idle;
            self.ring.handle_start(&mut ring, StartReason::Start, &mut inside(state.run, cx));
            state.course = Course::Ring(ring);
        }
    }
}

impl Algorithm for Sun {
    type Params = SunParams;
    type Protocol<R: Rank> = Rules<R>;

    const ABOUT: About = About {
        name: "sun",
        summary: "inner rings of every u-th node: a token goes round the innermost and sends others down the stretches",
        family: Family::Hierarchy,
        assumptions: Assumptions { fifo: false, knows: Knowledge::Size, ..DIRECTED_RING.assumptions },
        initiators: Initiators::LowestLive,
        repeats: true,
        costs: &Cost::always("2(L₁+…+L_r) + L_r, as it stands 11n/4", |n| (2 * n + 3 * n.div_ceil(4)) as f64),
        source: Source { title: "Leader election algorithms: History and novel schemes, §4–5", ..SHIRALI },
        winner: Winner::Greatest,
        ..DIRECTED_RING
    };

    fn protocol<R: Rank>(params: &SunParams, setting: &Setting<'_, R>) -> Rules<R> {
        let mut order = setting.ranks.to_vec();
        order.sort_unstable();
        Rules { params: params.clone(), order: order.into(), ring: token_ring::Rules::new(Gather::Max) }
    }

    fn check(params: &SunParams, size: u32) -> Result<(), ParamConflict> {
        check::sun(params.fan, params.depth, &params.parts, size)
    }

    /// With one starter. Several may find several informers.
    fn expect(params: &SunParams, instance: &Instance<'_>) -> Option<Vec<u64>> {
        let levels = Levels::new(instance.order.len() as u32, params.fan, params.depth, &params.parts);
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
