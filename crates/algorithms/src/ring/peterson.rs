//! Peterson: like Dolev–Klawe–Rodeh, but the comparison travels, and the last round ends at the first message.
//!
//! - **Assumes** a directed ring with distinct ids and FIFO links.
//! - **Promises** that the greatest *initiator* leads and everybody knows it. The node that finds out is usually
//!   another.
//! - **Comes from** G. L. Peterson, 1982 (the first of his two versions); none of the five texts describes it.
//! - **Costs** exactly n `first` a round, n `second` in all rounds but the last, at most ⌊log₂ n⌋+1 rounds, and n
//!   `elected`.

use alloc::{vec, vec::Vec};
use core::marker::PhantomData;

use hustings_protocol::{Context, Port, Rank};

use super::oracle;
use super::pairs::{Active, Message};
use super::plain::{DIRECTED_RING, Plain, Race, Verdict};
use crate::{About, Algorithm, Case, Cost, Instance, NoParams, Setting, Source};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct Peterson;

/// Its race.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules<R>(PhantomData<R>);

impl<R: Rank> Race for Rules<R> {
    type Rank = R;
    type Active = Active<R>;
    type Message = Message<R>;

    #[inline(always)]
    fn enter<C: Context<Plain<Self>>>(&self, cx: &mut C) -> Active<R> {
        Active::play(cx.rank(), cx)
    }

    #[inline(always)]
    fn step<C: Context<Plain<Self>>>(
        &self,
        active: &mut Active<R>,
        _: Port,
        message: Message<R>,
        cx: &mut C,
    ) -> Verdict<R> {
        match message {
            Message::First(middle) if middle == active.current => return Verdict::Won(middle),
            Message::First(middle) => {
                active.before = Some(middle);
                cx.send(Port::NEXT, Message::Second(middle.max(active.current)));
            }
            Message::Second(greater) => match active.before {
                Some(middle) if middle > active.current && middle == greater => *active = Active::play(middle, cx),
                Some(_) => return Verdict::Passive,
                // Out of turn: only where a node died during the run or links are not FIFO.
                None => {}
            },
            Message::Elected(_) => {}
        }
        Verdict::Active
    }
}

impl Algorithm for Peterson {
    type Params = NoParams;
    type Protocol<R: Rank> = Plain<Rules<R>>;

    const ABOUT: About = About {
        name: "peterson",
        summary: "Dolev–Klawe–Rodeh with travelling comparisons: an id that meets itself is announced at once",
        costs: &[
            Cost::exactly(Case::Best, "4n (n > 1)", |n| (2 * n * oracle::fewest_rounds(n)) as f64),
            Cost::described(Case::Average, "2nR, mean rounds R = 7/3 for n=4, 946/315 for n=8"),
            Cost::exactly(Case::Worst, "2n(⌊log₂ n⌋+1)", |n| (2 * n * oracle::most_rounds(n)) as f64),
        ],
        source: Source {
            authors: "G. L. Peterson, 1982",
            title: "An O(n log n) unidirectional algorithm for the circular extrema problem",
            text: "none of the five",
        },
        ..DIRECTED_RING
    };

    fn protocol<R: Rank>(_: &NoParams, _: &Setting<'_, R>) -> Plain<Rules<R>> {
        Plain(Rules(PhantomData))
    }

    /// Who stays is who stays in Franklin's.
    fn expect(_: &NoParams, instance: &Instance<'_>) -> Option<Vec<u64>> {
        let rounds = oracle::rounds(instance);
        let n = instance.size();
        Some(vec![n * rounds, n * rounds.saturating_sub(1), oracle::announcements(instance)])
    }
}
