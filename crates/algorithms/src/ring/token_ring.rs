//! Token ring: the node that misses the leader sends a token round, which comes home with the greatest number.
//!
//! - **Assumes** a directed ring of which every node has a map; any delays, any order of messages.
//! - **Promises** that the greatest *live* node leads and everybody knows it, as long as no node that sent a token dies
//!   before it is home: then the token circles until a greater detector kills it, or for ever.
//! - **Comes from** M. Shirali, A. HaghghatToroghi and M. Vojdani, "Leader election algorithms: History and novel
//!   schemes", §3.
//! - **Costs** n `election` and n `coordinator` with one detector; with f nodes down from the start n and n-f.

use alloc::{sync::Arc, vec, vec::Vec};
use core::marker::PhantomData;

use hustings_protocol::{Context, Port, Protocol, Rank, StartReason, kinds};
use serde::{Deserialize, Serialize};

use super::oracle;
use super::plain::{DIRECTED_RING, name};
use crate::{About, Algorithm, Assumptions, Cost, Initiators, Instance, Knowledge, Setting, Source, Winner};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct TokenRing;

crate::choices! {
    /// What a token carries.
    pub enum Gather {
        /// The greatest number so far.
        Max = "max",
        /// Every number.
        Collect = "collect",
    }
}

crate::params! {
    /// The parameters of token-ring.
    pub struct TokenRingParams {
        "what the token carries: every number, or only the greatest so far" token: Gather = Gather::Max,
    }
}

/// Its state machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules<R> {
    gather: Gather,
    rank: PhantomData<R>,
}

/// What a node remembers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    /// It knows of no election and names nobody.
    Idle,
    /// Its own token is on the way.
    Detector,
    /// It has passed on a token, and no `coordinator` has come since.
    Voter,
    /// It names a leader.
    Settled,
}

/// What nodes say.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
pub enum Message<R: Rank> {
    /// The token. Behind a handle, because it grows; whoever holds the only handle changes it in place.
    Election(Arc<Token<R>>),
    /// The new leader.
    Coordinator {
        /// Who leads.
        leader: R,
        /// The place of the announcer on the map of members. There may be several announcers, and each has to know its
        /// own lap from the others'.
        by: u32,
    },
}
kinds!(Message<R>: Election = "election", Coordinator = "coordinator");

/// A token on its way round.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
pub struct Token<R: Rank> {
    /// Who sent it.
    pub detector: R,
    /// What it found.
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
    /// Whether a node in this state begins an election when it is asked to.
    pub(crate) fn heeds(self, reason: StartReason) -> bool {
        match self {
            State::Idle => true,
            State::Detector | State::Voter => false,
            State::Settled => reason == StartReason::LeaderLost,
        }
    }
}

impl<R: Rank> Token<R> {
    fn new(detector: R, gather: Gather) -> Self {
        let numbers = match gather {
            Gather::Max => Numbers::Greatest(detector),
            Gather::Collect => Numbers::All(vec![detector]),
        };
        Token { detector, numbers }
    }

    /// Adds a node's number. A token that has lost its detector passes every node again and again: it holds no more
    /// numbers than there are members.
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

/// What algorithms that are made of this one need beside its handlers.
impl<R: Rank> Rules<R> {
    /// The rules with tokens that gather so.
    pub(crate) const fn new(gather: Gather) -> Self {
        Rules { gather, rank: PhantomData }
    }

    /// Whether a node with this number stops a token of another one.
    #[inline(always)]
    fn kills(state: State, own: R, token: &Token<R>) -> bool {
        state == State::Detector && own > token.detector
    }

    /// Adds the node's number to another one's token and passes it on.
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
        if state.heeds(reason) {
            *state = State::Detector;
            cx.send(Port::NEXT, Message::Election(Arc::new(Token::new(cx.rank(), self.gather))));
        }
    }

    #[inline(always)]
    fn handle_message<C: Context<Self>>(&self, state: &mut State, _: Port, message: Message<R>, cx: &mut C) {
        match message {
            Message::Election(token) => {
                let own = cx.rank();
                if token.detector == own {
                    // Also when another's `coordinator` came first: those who passed this token on wait for this one's.
                    *state = State::Settled;
                    let leader = token.winner();
                    name(leader, cx);
                    cx.send(Port::NEXT, Message::Coordinator { leader, by: cx.index() });
                } else if !Self::kills(*state, own, &token) {
                    self.pass_on(state, token, cx);
                }
            }
            Message::Coordinator { leader, by } => {
                if by != cx.index() {
                    *state = State::Settled;
                    name(leader, cx);
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
        summary: "a token goes round and gathers the numbers; home again, its sender announces the greatest",
        assumptions: Assumptions { fifo: false, knows: Knowledge::Size, ..DIRECTED_RING.assumptions },
        initiators: Initiators::LowestLive,
        repeats: true,
        costs: &Cost::always("2n", |n| (2 * n) as f64),
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

    /// All tokens start at once, so nobody stops being a detector before the greatest one's token is home: each of the
    /// others gets as far as the next greater detector, like a candidate of Chang–Roberts.
    fn expect(_: &TokenRingParams, instance: &Instance<'_>) -> Option<Vec<u64>> {
        let tokens = oracle::hops_to_greater(instance).iter().sum();
        Some(vec![tokens, oracle::announcements(instance)])
    }
}
