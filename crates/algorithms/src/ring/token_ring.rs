//! Token ring: a node that misses the leader sends a token round, which comes home with the greatest number.
//!
//! - **Source**: Shirali, §3.
//! - **Needs** a directed ring of which every node has a map; any delays, any order of messages.
//! - **Guarantees** that the greatest *live* node leads and all nodes know it, unless a detector crashes before its
//!   token is home: the token then circulates until a greater detector drops it, or until the end of the run.
//! - **Messages**: n `election` and n `coordinator` with one detector; with f nodes down from the start n and n-f.
//! - **Decided**: a token that comes home after another detector's `coordinator` is announced all the same.
//!
//! Specified in `docs/model.md#token-ring`.

use alloc::{sync::Arc, vec, vec::Vec};
use core::marker::PhantomData;

use hustings_protocol::{Context, Port, Protocol, Rank, StartReason, kinds};
use serde::{Deserialize, Serialize};

use super::election::{DIRECTED_RING, set_leader};
use super::oracle;
use crate::{About, Algorithm, Assumptions, CheckCase, Cost, Initiators, Instance, Knowledge, Setting, Source, Winner};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct TokenRing;

crate::choices! {
    /// The contents of a token.
    pub enum TokenContents {
        /// The greatest number so far.
        Max = "max",
        /// Every number.
        Collect = "collect",
    }
}

crate::params! {
    /// The parameters of token-ring.
    pub struct TokenRingParams {
        "contents of the token: all numbers, or the greatest so far" token: TokenContents = TokenContents::Max,
    }
}

/// The protocol.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules<R> {
    contents: TokenContents,
    rank: PhantomData<R>,
}

/// The state of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    /// It knows of no election and names nobody.
    Idle,
    /// Its own token is in flight.
    Detector,
    /// It has passed on a token and waits for a `coordinator`.
    Voter,
    /// It names a leader.
    Settled,
}

/// The messages.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
pub enum Message<R: Rank> {
    /// The token. It grows with `token=collect`; behind an `Arc`, it is changed in place if there is no other
    /// reference.
    Election(Arc<Token<R>>),
    /// The new leader.
    Coordinator {
        /// The leader.
        leader: R,
        /// The announcer's place on the map. With several announcers, each must recognize its own announcement.
        by: u32,
    },
}
kinds!(Message<R>: Election = "election", Coordinator = "coordinator");

/// A token.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
pub struct Token<R: Rank> {
    /// The detector that sent it.
    pub detector: R,
    /// The numbers gathered so far.
    pub numbers: Numbers<R>,
}

/// The numbers on a token.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
pub enum Numbers<R: Rank> {
    /// The greatest so far.
    Greatest(R),
    /// All, in the order of the ring.
    All(Vec<R>),
}

impl State {
    /// Whether a node in this state starts an election on a start signal.
    pub(crate) fn accepts_start(self, reason: StartReason) -> bool {
        match self {
            State::Idle => true,
            State::Detector | State::Voter => false,
            State::Settled => reason == StartReason::LeaderLost,
        }
    }
}

impl<R: Rank> Token<R> {
    fn new(detector: R, contents: TokenContents) -> Self {
        let numbers = match contents {
            TokenContents::Max => Numbers::Greatest(detector),
            TokenContents::Collect => Numbers::All(vec![detector]),
        };
        Token { detector, numbers }
    }

    /// Adds a node's number. The token of a dead detector visits every node again and again, so the list is bounded by
    /// the number of members.
    fn add(&mut self, number: R, members: u32) {
        match &mut self.numbers {
            Numbers::Greatest(greatest) => *greatest = number.max(*greatest),
            Numbers::All(numbers) if numbers.len() < members as usize => numbers.push(number),
            Numbers::All(_) => {}
        }
    }

    /// The greatest number that it has gathered so far.
    pub(crate) fn winner(&self) -> R {
        match &self.numbers {
            Numbers::Greatest(greatest) => *greatest,
            Numbers::All(numbers) => numbers.iter().copied().fold(self.detector, R::max),
        }
    }
}

/// For algorithms that embed this one.
impl<R: Rank> Rules<R> {
    /// The rules, with these token contents.
    pub(crate) const fn new(contents: TokenContents) -> Self {
        Rules { contents, rank: PhantomData }
    }

    /// Whether a detector drops the token of another.
    #[inline(always)]
    fn drops(state: State, own: R, token: &Token<R>) -> bool {
        state == State::Detector && own > token.detector
    }

    /// Adds the node's number to another detector's token and passes it on.
    #[inline(always)]
    pub(crate) fn pass_on<C: Context<Self>>(&self, state: &mut State, mut token: Arc<Token<R>>, cx: &mut C) {
        if *state != State::Detector {
            *state = State::Voter;
        }
        Arc::make_mut(&mut token).add(cx.rank(), cx.size());
        cx.send(Port::NEXT, Message::Election(token));
    }
}

impl<R: Rank> Protocol for Rules<R> {
    type Rank = R;
    type State = State;
    type Message = Message<R>;

    fn init(&self) -> State {
        State::Idle
    }

    #[inline(always)]
    fn handle_start<C: Context<Self>>(&self, state: &mut State, reason: StartReason, cx: &mut C) {
        if state.accepts_start(reason) {
            *state = State::Detector;
            cx.send(Port::NEXT, Message::Election(Arc::new(Token::new(cx.rank(), self.contents))));
        }
    }

    #[inline(always)]
    fn handle_message<C: Context<Self>>(&self, state: &mut State, _: Port, message: Message<R>, cx: &mut C) {
        match message {
            Message::Election(token) => {
                let own = cx.rank();
                if token.detector == own {
                    // Also if another `coordinator` came first: the nodes that passed this token on wait for its
                    // announcement.
                    *state = State::Settled;
                    let leader = token.winner();
                    set_leader(leader, cx);
                    cx.send(Port::NEXT, Message::Coordinator { leader, by: cx.index() });
                } else if !Self::drops(*state, own, &token) {
                    self.pass_on(state, token, cx);
                }
            }
            Message::Coordinator { leader, by } => {
                if by != cx.index() {
                    *state = State::Settled;
                    set_leader(leader, cx);
                    cx.send(Port::NEXT, Message::Coordinator { leader, by });
                }
            }
        }
    }

    fn handle_unreachable<C: Context<Self>>(&self, _: &mut State, port: Port, _: Message<R>, cx: &mut C) {
        cx.skip(port);
    }
}

impl Algorithm for TokenRing {
    type Params = TokenRingParams;
    type Protocol<R: Rank> = Rules<R>;

    const ABOUT: About = About {
        name: "token-ring",
        summary: "a token travels round and gathers the numbers; its sender then announces the greatest",
        assumptions: Assumptions { fifo: false, knows: Knowledge::Size, ..DIRECTED_RING.assumptions },
        initiators: Initiators::LowestLive,
        repeats: true,
        costs: &Cost::always("2n", |n| (2 * n) as f64),
        counts_depend_on_starters: true,
        checks: &[
            CheckCase::quick("-n 3 --ids all"),
            CheckCase::slow("-n 5 --ids all"),
            CheckCase::quick("-n 4 --initiators every-subset"),
            CheckCase::quick("-n 4 --ids all --initiators every-subset --channels fifo"),
        ],
        source: Source {
            authors: "M. Shirali, A. HaghghatToroghi and M. Vojdani",
            title: "Leader election algorithms: History and novel schemes, §3",
            text: "Shirali",
        },
        winner: Winner::Greatest,
        ..DIRECTED_RING
    };

    fn protocol<R: Rank>(params: &TokenRingParams, _: &Setting<'_, R>) -> Rules<R> {
        Rules::new(params.token)
    }

    /// All tokens start at once, so all detectors stay detectors until the greatest one's token is home. Every other
    /// token travels to the next greater detector, like a candidate of Chang–Roberts.
    fn expect(_: &TokenRingParams, instance: &Instance<'_>) -> Option<Vec<u64>> {
        let tokens = oracle::hops_to_greater(instance).iter().sum();
        Some(vec![tokens, oracle::announcements(instance)])
    }
}
