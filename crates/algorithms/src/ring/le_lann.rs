//! Le Lann: every initiator's id goes all the way round, so every initiator sees them all.
//!
//! - **Assumes** a directed ring with distinct ids and FIFO links: when a node's own id is back, it has seen all
//!   others.
//! - **Promises** that the greatest *initiator* leads and everybody knows it.
//! - **Comes from** G. Le Lann, 1977; none of the five texts describes it, Datley's references name it.
//! - **Costs** k·n `candidate` with k initiators, whatever their order, and n `elected`.

use alloc::{vec, vec::Vec};
use core::marker::PhantomData;

use hustings_protocol::{Context, Port, Rank};

use super::candidate::Message;
use super::oracle;
use super::plain::{DIRECTED_RING, Plain, Race, Verdict};
use crate::{About, Algorithm, Cost, Instance, NoParams, Setting, Source};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct LeLann;

/// Its race.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules<R>(PhantomData<R>);

/// What a node remembers while its own candidate is on the way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Active {
    /// It has seen no greater candidate.
    Unbeaten,
    /// It has.
    Beaten,
}

impl<R: Rank> Race for Rules<R> {
    type Rank = R;
    type Active = Active;
    type Message = Message<R>;

    #[inline(always)]
    fn enter<C: Context<Plain<Self>>>(&self, cx: &mut C) -> Active {
        cx.send(Port::NEXT, Message::Candidate(cx.rank()));
        Active::Unbeaten
    }

    #[inline(always)]
    fn step<C: Context<Plain<Self>>>(
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

    /// An id that is home goes no further, also if it comes a second time: a copy would circle for ever.
    #[inline(always)]
    fn pass_on<C: Context<Plain<Self>>>(&self, _: Port, message: Message<R>, cx: &mut C) {
        if message.rank() != cx.rank() {
            cx.send(Port::NEXT, message);
        }
    }
}

impl Algorithm for LeLann {
    type Params = NoParams;
    type Protocol<R: Rank> = Plain<Rules<R>>;

    const ABOUT: About = About {
        name: "le-lann",
        aliases: &["lelann"],
        summary: "each id goes all the way round; the one that has seen no greater one leads",
        costs: &Cost::always("n² + n", |n| (n * n + n) as f64),
        source: Source {
            authors: "G. Le Lann, 1977",
            title: "Distributed systems: towards a formal approach",
            text: "none of the five; Datley's references name it",
        },
        ..DIRECTED_RING
    };

    fn protocol<R: Rank>(_: &NoParams, _: &Setting<'_, R>) -> Plain<Rules<R>> {
        Plain(Rules(PhantomData))
    }

    fn expect(_: &NoParams, instance: &Instance<'_>) -> Option<Vec<u64>> {
        let candidates = instance.initiators.len() as u64 * instance.size();
        Some(vec![candidates, oracle::announcements(instance)])
    }
}
