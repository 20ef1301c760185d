//! Peterson: as Dolev–Klawe–Rodeh, but messages carry comparisons, and the last round ends with its first message.
//!
//! - **Source**: G. L. Peterson, 1982 (the first of his two versions); none of the five texts describes it.
//! - **Needs** a directed ring with distinct ids and FIFO links.
//! - **Guarantees** that the greatest *initiator* leads and all nodes know it. Usually another node announces it.
//! - **Messages**: exactly n `first` a round, n `second` in all rounds but the last, at most ⌊log₂ n⌋+1 rounds, and n
//!   `elected`.
//!
//! Specified in `docs/model.md#peterson`.

use alloc::{vec, vec::Vec};
use core::marker::PhantomData;

use hustings_protocol::{Context, Port, Rank};

use super::election::{DIRECTED_RING, RingElection, RingProtocol, Verdict};
use super::oracle;
use super::pairs::{Active, Message};
use crate::{About, Algorithm, Case, CheckCase, Cost, Instance, NoParams, Setting, Source};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct Peterson;

/// The rules of the election.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules<R>(PhantomData<R>);

impl<R: Rank> RingElection for Rules<R> {
    type Rank = R;
    type Active = Active<R>;
    type Message = Message<R>;

    #[inline(always)]
    fn enter<C: Context<RingProtocol<Self>>>(&self, cx: &mut C) -> Active<R> {
        Active::play(cx.rank(), cx)
    }

    #[inline(always)]
    fn step<C: Context<RingProtocol<Self>>>(
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
                // Out of turn: only if a node crashed during the run or links are not FIFO.
                None => {}
            },
            Message::Elected(_) => {}
        }
        Verdict::Active
    }
}

impl Algorithm for Peterson {
    type Params = NoParams;
    type Protocol<R: Rank> = RingProtocol<Rules<R>>;

    const ABOUT: About = About {
        name: "peterson",
        summary: "Dolev–Klawe–Rodeh with messages that carry comparisons: an id that meets itself wins at once",
        costs: &[
            Cost::exactly(Case::Best, "4n (n > 1)", |n| (2 * n * oracle::min_rounds(n)) as f64),
            Cost::described(Case::Average, "2nR, mean rounds R = 7/3 for n=4, 946/315 for n=8"),
            Cost::exactly(Case::Worst, "2n(⌊log₂ n⌋+1)", |n| (2 * n * oracle::max_rounds(n)) as f64),
        ],
        counts_depend_on_starters: true,
        checks: &[CheckCase::quick("-n 3 --ids all"), CheckCase::slow("-n 5 --ids all")],
        source: Source {
            authors: "G. L. Peterson, 1982",
            title: "An O(n log n) unidirectional algorithm for the circular extrema problem",
            text: "none of the five",
        },
        ..DIRECTED_RING
    };

    fn protocol<R: Rank>(_: &NoParams, _: &Setting<'_, R>) -> RingProtocol<Rules<R>> {
        RingProtocol(Rules(PhantomData))
    }

    /// The same nodes stay active as in Franklin.
    fn expect(_: &NoParams, instance: &Instance<'_>) -> Option<Vec<u64>> {
        let rounds = oracle::rounds(instance);
        let n = instance.size();
        Some(vec![n * rounds, n * rounds.saturating_sub(1), oracle::announcements(instance)])
    }
}
