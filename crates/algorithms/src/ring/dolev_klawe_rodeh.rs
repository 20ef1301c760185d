//! Dolev–Klawe–Rodeh: Franklin's rounds on a directed ring; each active node compares on behalf of its predecessor.
//!
//! - **Source**: D. Dolev, M. Klawe and M. Rodeh, 1982 (the first, simple version); McMaster, "Dolev-Klawe-Rodeh
//!   Algorithm".
//! - **Needs** a directed ring with distinct ids and FIFO links.
//! - **Guarantees** that the greatest *initiator* leads and all nodes know it. Usually another node announces it.
//! - **Messages**: exactly n `first` and n `second` a round, the last included, at most ⌊log₂ n⌋+1 rounds, and n
//!   `elected`.
//!
//! Specified in `docs/model.md#dolev-klawe-rodeh`.

use alloc::{vec, vec::Vec};
use core::marker::PhantomData;

use hustings_protocol::{Context, Port, Rank};

use super::election::{DIRECTED_RING, RingElection, RingProtocol, Verdict};
use super::oracle;
use super::pairs::{Active, Message};
use crate::{About, Algorithm, Case, CheckCase, Cost, Instance, NoParams, Setting, Source};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct DolevKlaweRodeh;

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
            Message::First(middle) => {
                active.before = Some(middle);
                cx.send(Port::NEXT, Message::Second(middle));
            }
            Message::Second(far) => {
                let Active { current: near, before } = *active;
                match before {
                    // The survivor continues with the middle id, not with its own: keeping its own would take n²/2
                    // messages on a sorted ring.
                    Some(middle) if middle > near && middle > far => *active = Active::play(middle, cx),
                    Some(middle) if middle == near && middle == far => return Verdict::Won(middle),
                    Some(_) => return Verdict::Passive,
                    // Out of turn: only if a node crashed during the run or links are not FIFO.
                    None => {}
                }
            }
            Message::Elected(_) => {}
        }
        Verdict::Active
    }
}

impl Algorithm for DolevKlaweRodeh {
    type Params = NoParams;
    type Protocol<R: Rank> = RingProtocol<Rules<R>>;

    const ABOUT: About = About {
        name: "dolev-klawe-rodeh",
        aliases: &["dkr"],
        summary: "Franklin's rounds on a directed ring: each node compares on behalf of its predecessor",
        costs: &[
            Cost::exactly(Case::Best, "5n (n > 1)", |n| (n * (2 * oracle::min_rounds(n) + 1)) as f64),
            Cost::described(Case::Average, "n(2R+1), mean rounds R = 7/3 for n=4, 946/315 for n=8"),
            Cost::exactly(Case::Worst, "n(2⌊log₂ n⌋+3)", |n| (n * (2 * oracle::max_rounds(n) + 1)) as f64),
        ],
        counts_depend_on_starters: true,
        checks: &[CheckCase::quick("-n 3 --ids all"), CheckCase::slow("-n 5 --ids all")],
        source: Source {
            authors: "D. Dolev, M. Klawe and M. Rodeh, 1982",
            title: "An O(n log n) unidirectional distributed algorithm for extrema finding in a circle",
            text: "McMaster",
        },
        ..DIRECTED_RING
    };

    fn protocol<R: Rank>(_: &NoParams, _: &Setting<'_, R>) -> RingProtocol<Rules<R>> {
        RingProtocol(Rules(PhantomData))
    }

    /// The same nodes stay active as in Franklin; in each round every link carries one message of each kind.
    fn expect(_: &NoParams, instance: &Instance<'_>) -> Option<Vec<u64>> {
        let each = instance.size() * oracle::rounds(instance);
        Some(vec![each, each, oracle::announcements(instance)])
    }
}
