//! Chang–Roberts: the id that survives a lap leads.
//!
//! - **Assumes** a directed ring with distinct ids; any delays, any order of messages.
//! - **Promises** that the greatest *initiator* leads and everybody knows it.
//! - **Comes from** E. Chang and R. Roberts, 1979; McMaster's slides, "Chang-Roberts Algorithm".
//! - **Costs** n(n+1)/2 `candidate` at worst (ids falling clockwise), 2n-1 at best (rising), n·H_n on average, and n `elected`.

use alloc::{vec, vec::Vec};
use core::marker::PhantomData;

use hustings_protocol::{Context, Port, Protocol, Rank, Summons, kinds};
use serde::{Deserialize, Serialize};

use crate::{
    About, Algorithm, Assumptions, Case, Certainty, Cost, Direction, Family, Identity, Initiators, Instance,
    NetworkKind, NoParams, Source, Synchrony,
};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct ChangRoberts;

/// Its state machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules<R>(PhantomData<R>);

/// What a node remembers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    /// Not drawn in yet.
    Idle,
    /// Its own candidate is on the way.
    Active,
    /// Passes everything on.
    Passive,
    /// Its candidate came back.
    Leader,
}

/// What nodes say.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
pub enum Message<R: Rank> {
    /// An initiator's rank, on its way round.
    Candidate(R),
    /// The winner's.
    Elected(R),
}
kinds!(Message<R>: Candidate = "candidate", Elected = "elected");

impl<R: Rank> Protocol for Rules<R> {
    type Rank = R;
    type State = State;
    type Message = Message<R>;

    fn init(&self) -> State {
        State::Idle
    }

    #[inline(always)]
    fn start<C: Context<Self>>(&self, state: &mut State, _: Summons, cx: &mut C) {
        if *state == State::Idle {
            *state = State::Active;
            cx.send(Port::NEXT, Message::Candidate(cx.rank()));
        }
    }

    #[inline(always)]
    fn receive<C: Context<Self>>(&self, state: &mut State, _: Port, message: Message<R>, cx: &mut C) {
        match message {
            Message::Candidate(candidate) => {
                if *state == State::Active {
                    let own = cx.rank();
                    if candidate < own {
                        return;
                    }
                    if candidate == own {
                        *state = State::Leader;
                        cx.lead();
                        cx.send(Port::NEXT, Message::Elected(own));
                        return;
                    }
                }
                if *state != State::Leader {
                    *state = State::Passive;
                    cx.send(Port::NEXT, Message::Candidate(candidate));
                }
            }
            Message::Elected(leader) => {
                if *state != State::Leader {
                    *state = State::Passive;
                    cx.follow(leader.id());
                    cx.send(Port::NEXT, Message::Elected(leader));
                }
            }
        }
    }

    fn unreachable<C: Context<Self>>(&self, _: &mut State, port: Port, _: Message<R>, cx: &mut C) {
        cx.skip(port);
    }
}

impl Algorithm for ChangRoberts {
    type Params = NoParams;
    type Protocol<R: Rank> = Rules<R>;

    const ABOUT: About = About {
        name: "chang-roberts",
        aliases: &["cr"],
        summary: "each id goes clockwise until it meets a greater one; the one that comes home leads",
        family: Family::Ring,
        network: NetworkKind::Ring,
        assumptions: Assumptions {
            direction: Direction::Directed,
            fifo: false,
            identity: Identity::Unique,
            synchrony: Synchrony::Asynchronous,
            knows_size: false,
        },
        certainty: Certainty::Always,
        initiators: Initiators::All,
        repeats: false,
        costs: &[
            Cost { case: Case::Best, formula: "3n-1", messages: Some(|n| (3 * n - 1) as f64) },
            Cost { case: Case::Average, formula: "n·H_n + n", messages: Some(average) },
            Cost { case: Case::Worst, formula: "n(n+1)/2 + n", messages: Some(|n| (n * (n + 1) / 2 + n) as f64) },
        ],
        source: Source {
            authors: "E. Chang and R. Roberts, 1979",
            title: "An improved algorithm for decentralized extrema-finding in circular configurations of processes",
            text: "McMaster",
        },
    };

    fn protocol<R: Rank>(_: &NoParams) -> Rules<R> {
        Rules(PhantomData)
    }

    /// A candidate travels to the next greater initiator clockwise, the greatest all the way.
    fn expect(_: &NoParams, instance: &Instance<'_>) -> Option<Vec<u64>> {
        let n = instance.size();
        let starters = instance.initiators;
        if starters.is_empty() {
            return Some(vec![0, 0]);
        }
        // Two laps backwards with a stack of the initiators that may still be somebody's next greater one.
        let mut greater: Vec<u32> = Vec::new();
        let mut candidates = 0;
        for (lap, &at) in (0..2).flat_map(|lap| starters.iter().rev().map(move |at| (lap, at))) {
            while greater.last().is_some_and(|&other| instance.order[other as usize] < instance.order[at as usize]) {
                greater.pop();
            }
            if lap == 1 {
                let hops = greater.last().map_or(0, |&other| (u64::from(other) + n - u64::from(at)) % n);
                candidates += if hops == 0 { n } else { hops };
            }
            greater.push(at);
        }
        Some(vec![candidates, n])
    }
}

fn average(n: u64) -> f64 {
    let harmonic: f64 = (1..=n).map(|k| 1.0 / k as f64).sum();
    n as f64 * (harmonic + 1.0)
}
