//! Chang–Roberts: each id travels clockwise until it meets a greater one; the id that comes home leads.
//!
//! - **Source**: E. Chang and R. Roberts, 1979; McMaster, "Chang-Roberts Algorithm".
//! - **Needs** a directed ring with distinct ids; any delays, any order of messages.
//! - **Guarantees** that the greatest *initiator* leads and all nodes know it.
//! - **Messages**: n(n+1)/2 `candidate` at worst (ids falling clockwise), 2n-1 at best (rising), n·H_n on average, and
//!   n `elected`.
//!
//! Specified in `docs/model.md#chang-roberts`.

use alloc::{vec, vec::Vec};
use core::marker::PhantomData;

use hustings_protocol::{Context, Port, Rank};

use super::candidate::Message;
use super::election::{DIRECTED_RING, RingElection, RingProtocol, Verdict};
use super::oracle;
use crate::{About, Algorithm, Assumptions, Case, CheckCase, Cost, Instance, NoParams, Setting, Source};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct ChangRoberts;

/// The rules of the election. An active node has no state: its own candidate is in flight.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules<R>(PhantomData<R>);

impl<R: Rank> RingElection for Rules<R> {
    type Rank = R;
    type Active = ();
    type Message = Message<R>;

    /// A smaller candidate may arrive after the election is won.
    const ANNOUNCER_DROPS: bool = true;

    #[inline(always)]
    fn enter<C: Context<RingProtocol<Self>>>(&self, cx: &mut C) {
        cx.send(Port::NEXT, Message::Candidate(cx.rank()));
    }

    #[inline(always)]
    fn step<C: Context<RingProtocol<Self>>>(&self, _: &mut (), _: Port, message: Message<R>, cx: &mut C) -> Verdict<R> {
        let (candidate, own) = (message.rank(), cx.rank());
        if candidate > own {
            cx.send(Port::NEXT, message);
            Verdict::Passive
        } else if candidate == own {
            Verdict::Won(own)
        } else {
            Verdict::Active
        }
    }

    fn candidate(message: &Message<R>) -> Option<R> {
        matches!(message, Message::Candidate(_)).then(|| message.rank())
    }
}

impl Algorithm for ChangRoberts {
    type Params = NoParams;
    type Protocol<R: Rank> = RingProtocol<Rules<R>>;

    const ABOUT: About = About {
        name: "chang-roberts",
        aliases: &["cr"],
        summary: "each id travels clockwise until it meets a greater one; the id that comes home leads",
        assumptions: Assumptions { fifo: false, ..DIRECTED_RING.assumptions },
        costs: &[
            Cost::exactly(Case::Best, "3n-1", |n| (3 * n - 1) as f64),
            Cost::exactly(Case::Average, "n·H_n + n", average),
            Cost::exactly(Case::Worst, "n(n+1)/2 + n", |n| (n * (n + 1) / 2 + n) as f64),
        ],
        checks: &[
            CheckCase::quick("-n 3 --ids all"),
            CheckCase::slow("-n 5 --ids all"),
            CheckCase::quick("-n 3 --initiators every-subset --ids all"),
            CheckCase::quick("-n 3 --runs --crashes 1"),
            CheckCase::slow("-n 3 --runs --crashes 1 --recoveries 1 --initiators 0 --timing patient"),
        ],
        counts_depend_on_starters: true,
        withdraws: true,
        has_own_engine: true,
        source: Source {
            authors: "E. Chang and R. Roberts, 1979",
            title: "An improved algorithm for decentralized extrema-finding in circular configurations of processes",
            text: "McMaster",
        },
        ..DIRECTED_RING
    };

    fn protocol<R: Rank>(_: &NoParams, _: &Setting<'_, R>) -> RingProtocol<Rules<R>> {
        RingProtocol(Rules(PhantomData))
    }

    /// A candidate travels to the next greater initiator clockwise, the greatest all the way round.
    fn expect(_: &NoParams, instance: &Instance<'_>) -> Option<Vec<u64>> {
        let candidates = oracle::hops_to_greater(instance).iter().sum();
        Some(vec![candidates, oracle::announcements(instance)])
    }
}

fn average(n: u64) -> f64 {
    let harmonic: f64 = (1..=n).map(|k| 1.0 / k as f64).sum();
    n as f64 * (harmonic + 1.0)
}
