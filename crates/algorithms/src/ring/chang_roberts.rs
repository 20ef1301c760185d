//! Chang–Roberts: the id that survives a lap leads.
//!
//! - **Assumes** a directed ring with distinct ids; any delays, any order of messages.
//! - **Promises** that the greatest *initiator* leads and everybody knows it.
//! - **Comes from** E. Chang and R. Roberts, 1979; McMaster's slides, "Chang-Roberts Algorithm".
//! - **Costs** n(n+1)/2 `candidate` at worst (ids falling clockwise), 2n-1 at best (rising), n·H_n on average, and n
//!   `elected`.

use alloc::{vec, vec::Vec};
use core::marker::PhantomData;

use hustings_protocol::{Context, Port, Rank};

use super::candidate::Message;
use super::oracle;
use super::plain::{DIRECTED_RING, Plain, Race, Verdict};
use crate::{About, Algorithm, Assumptions, Case, Cost, Instance, NoParams, Setting, Source};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct ChangRoberts;

/// Its race: an active node's own candidate is on the way, and that is all there is to remember.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules<R>(PhantomData<R>);

impl<R: Rank> Race for Rules<R> {
    type Rank = R;
    type Active = ();
    type Message = Message<R>;

    /// A smaller candidate may come in late, after its sender's rival has been elected.
    const ANNOUNCER_DROPS: bool = true;

    #[inline(always)]
    fn enter<C: Context<Plain<Self>>>(&self, cx: &mut C) {
        cx.send(Port::NEXT, Message::Candidate(cx.rank()));
    }

    #[inline(always)]
    fn step<C: Context<Plain<Self>>>(&self, _: &mut (), _: Port, message: Message<R>, cx: &mut C) -> Verdict<R> {
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
}

impl Algorithm for ChangRoberts {
    type Params = NoParams;
    type Protocol<R: Rank> = Plain<Rules<R>>;

    const ABOUT: About = About {
        name: "chang-roberts",
        aliases: &["cr"],
        summary: "each id goes clockwise until it meets a greater one; the one that comes home leads",
        assumptions: Assumptions { fifo: false, ..DIRECTED_RING.assumptions },
        costs: &[
            Cost::exactly(Case::Best, "3n-1", |n| (3 * n - 1) as f64),
            Cost::exactly(Case::Average, "n·H_n + n", average),
            Cost::exactly(Case::Worst, "n(n+1)/2 + n", |n| (n * (n + 1) / 2 + n) as f64),
        ],
        source: Source {
            authors: "E. Chang and R. Roberts, 1979",
            title: "An improved algorithm for decentralized extrema-finding in circular configurations of processes",
            text: "McMaster",
        },
        ..DIRECTED_RING
    };

    fn protocol<R: Rank>(_: &NoParams, _: &Setting<'_, R>) -> Plain<Rules<R>> {
        Plain(Rules(PhantomData))
    }

    /// A candidate travels to the next greater initiator clockwise, the greatest all the way.
    fn expect(_: &NoParams, instance: &Instance<'_>) -> Option<Vec<u64>> {
        let candidates = oracle::hops_to_greater(instance).iter().sum();
        Some(vec![candidates, oracle::announcements(instance)])
    }
}

fn average(n: u64) -> f64 {
    let harmonic: f64 = (1..=n).map(|k| 1.0 / k as f64).sum();
    n as f64 * (harmonic + 1.0)
}
