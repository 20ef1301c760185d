//! Le Lann: the id of every initiator travels the whole ring, so every initiator sees all of them.
//!
//! - **Source**: G. Le Lann, 1977; none of the five texts describes it, Datley's references name it.
//! - **Needs** a directed ring with distinct ids and FIFO links: when a node's own id is back, it has seen all others.
//! - **Guarantees** that the greatest *initiator* leads and all nodes know it.
//! - **Messages**: k·n `candidate` with k initiators, and n `elected`.
//! - **Decided**: a duplicate of an id that comes home a second time is dropped.
//!
//! Specified in `docs/model.md#le-lann`.

use alloc::{vec, vec::Vec};
use core::marker::PhantomData;

use hustings_protocol::{Context, Port, Rank};

use super::candidate::Message;
use super::election::{DIRECTED_RING, RingElection, RingProtocol, Verdict};
use super::oracle;
use crate::{About, Algorithm, CheckCase, Cost, Instance, NoParams, Setting, Source};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct LeLann;

/// The rules of the election.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules<R>(PhantomData<R>);

/// The state of an initiator while its candidate is in flight.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Active {
    /// It has seen no greater candidate.
    Unbeaten,
    /// It has seen a greater candidate.
    Beaten,
}

impl<R: Rank> RingElection for Rules<R> {
    type Rank = R;
    type Active = Active;
    type Message = Message<R>;

    #[inline(always)]
    fn enter<C: Context<RingProtocol<Self>>>(&self, cx: &mut C) -> Active {
        cx.send(Port::NEXT, Message::Candidate(cx.rank()));
        Active::Unbeaten
    }

    #[inline(always)]
    fn step<C: Context<RingProtocol<Self>>>(
        &self,
        active: &mut Active,
        _: Port,
        message: Message<R>,
        cx: &mut C,
    ) -> Verdict<R> {
        let (candidate, own) = (message.rank(), cx.rank());
        if candidate == own {
            return match active {
                Active::Unbeaten => Verdict::Won(own),
                Active::Beaten => Verdict::Passive,
            };
        }
        if candidate > own {
            *active = Active::Beaten;
        }
        cx.send(Port::NEXT, message);
        Verdict::Active
    }

    /// An id that is home goes no further, also a duplicate: it would circulate until the end of the run.
    #[inline(always)]
    fn pass_on<C: Context<RingProtocol<Self>>>(&self, _: Port, message: Message<R>, cx: &mut C) {
        if message.rank() != cx.rank() {
            cx.send(Port::NEXT, message);
        }
    }
}

impl Algorithm for LeLann {
    type Params = NoParams;
    type Protocol<R: Rank> = RingProtocol<Rules<R>>;

    const ABOUT: About = About {
        name: "le-lann",
        aliases: &["lelann"],
        summary: "each id travels the whole ring; an initiator that has seen no greater id leads",
        costs: &Cost::always("n² + n", |n| (n * n + n) as f64),
        counts_depend_on_starters: true,
        checks: &[CheckCase::quick("-n 3 --ids all"), CheckCase::slow("-n 5 --ids all")],
        has_own_engine: true,
        source: Source {
            authors: "G. Le Lann, 1977",
            title: "Distributed systems: towards a formal approach",
            text: "none of the five; Datley's references name it",
        },
        ..DIRECTED_RING
    };

    fn protocol<R: Rank>(_: &NoParams, _: &Setting<'_, R>) -> RingProtocol<Rules<R>> {
        RingProtocol(Rules(PhantomData))
    }

    fn expect(_: &NoParams, instance: &Instance<'_>) -> Option<Vec<u64>> {
        let candidates = instance.initiators.len() as u64 * instance.size();
        Some(vec![candidates, oracle::announcements(instance)])
    }
}
