//! Hirschberg–Sinclair: an id probes twice as far in each phase, and goes on only if no greater id is near.
//!
//! - **Source**: D. S. Hirschberg and J. B. Sinclair, 1980; none of the five texts describes it.
//! - **Needs** a two-way ring with distinct ids; any delays, any order of messages.
//! - **Guarantees** that the greatest *initiator* leads and all nodes know it.
//! - **Messages**: at most 8n + 8⌈n log₂ n⌉ `probe` and `reply` (quoted in Franklin's abstract), and n `elected`.
//! - **Decided**: replying to a greater probe does not beat a node; passing one on does.
//!
//! Specified in `docs/model.md#hirschberg-sinclair`.

use alloc::{vec, vec::Vec};
use core::marker::PhantomData;

use hustings_protocol::{Context, Port, Rank, kinds};
use serde::{Deserialize, Serialize};

use super::election::{DIRECTED_RING, RingElection, RingProtocol, Verdict, announces, opposite};
use super::oracle;
use crate::{About, Algorithm, Assumptions, Case, CheckCase, Cost, Direction, Instance, NoParams, Setting, Source};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct HirschbergSinclair;

/// The rules of the election.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules<R>(PhantomData<R>);

/// The state of an initiator. A beaten one stays active, because it still drops smaller probes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Active {
    /// Its probes go 2^phase hops.
    phase: u8,
    /// The sides from which a reply has arrived: bit 0 next, bit 1 previous.
    answered: u8,
    /// Whether it passed on a greater probe: then it starts no further phase.
    beaten: bool,
}

/// The messages.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
pub enum Message<R: Rank> {
    /// The rank of an initiator, on its way out.
    Probe {
        /// The rank.
        rank: R,
        /// The number of nodes still to reach, the receiver included.
        hops: u32,
    },
    /// On its way back: it met no greater initiator.
    Reply(R),
    /// The announcement: the winner's rank.
    Elected(R),
}
kinds!(Message<R>: Probe = "probe", Reply = "reply", Elected = "elected");
announces!(Message);

const BOTH_SIDES: u8 = 0b11;

/// 2^phase, saturating.
#[inline(always)]
fn reach(phase: u8) -> u32 {
    1u32.checked_shl(u32::from(phase)).unwrap_or(u32::MAX)
}

impl<R: Rank> Rules<R> {
    #[inline(always)]
    fn begin<C: Context<RingProtocol<Self>>>(phase: u8, cx: &mut C) -> Active {
        let probe = Message::Probe { rank: cx.rank(), hops: reach(phase) };
        cx.send_all_but(None, probe);
        Active { phase, answered: 0, beaten: false }
    }
}

impl<R: Rank> RingElection for Rules<R> {
    type Rank = R;
    type Active = Active;
    type Message = Message<R>;

    /// The winner's second probe comes round after the first.
    const ANNOUNCER_DROPS: bool = true;

    #[inline(always)]
    fn enter<C: Context<RingProtocol<Self>>>(&self, cx: &mut C) -> Active {
        Self::begin(0, cx)
    }

    #[inline(always)]
    fn step<C: Context<RingProtocol<Self>>>(
        &self,
        active: &mut Active,
        from: Port,
        message: Message<R>,
        cx: &mut C,
    ) -> Verdict<R> {
        let own = cx.rank();
        match message {
            Message::Probe { rank, .. } if rank == own => return Verdict::Won(own),
            Message::Probe { rank, .. } if rank < own => {}
            Message::Probe { hops, .. } => {
                // A node that only replies may still be greater than others nearby; its own next probe will tell.
                active.beaten |= hops > 1;
                self.pass_on(from, message, cx);
            }
            Message::Reply(rank) if rank == own => {
                active.answered |= 1 << (from.0 & 1);
                if active.answered == BOTH_SIDES && !active.beaten {
                    *active = Self::begin(active.phase.saturating_add(1), cx);
                }
            }
            Message::Reply(_) => self.pass_on(from, message, cx),
            Message::Elected(_) => {}
        }
        Verdict::Active
    }

    /// Also a node that only replies sends a `reply`, so a probe alone is a candidacy.
    fn candidate(message: &Message<R>) -> Option<R> {
        match *message {
            Message::Probe { rank, .. } => Some(rank),
            Message::Reply(_) | Message::Elected(_) => None,
        }
    }

    #[inline(always)]
    fn pass_on<C: Context<RingProtocol<Self>>>(&self, from: Port, message: Message<R>, cx: &mut C) {
        match message {
            Message::Probe { rank, hops: 0 | 1 } => cx.send(from, Message::Reply(rank)),
            Message::Probe { rank, hops } => cx.send(opposite(from), Message::Probe { rank, hops: hops - 1 }),
            Message::Reply(_) | Message::Elected(_) => cx.send(opposite(from), message),
        }
    }
}

impl Algorithm for HirschbergSinclair {
    type Params = NoParams;
    type Protocol<R: Rank> = RingProtocol<Rules<R>>;

    const ABOUT: About = About {
        name: "hirschberg-sinclair",
        aliases: &["hs"],
        summary: "each id probes twice as far in each phase, and goes on only if no greater id is near",
        assumptions: Assumptions { direction: Direction::TwoWay, fifo: false, ..DIRECTED_RING.assumptions },
        costs: &[
            Cost::exactly(Case::Best, "6n + 4·2^⌈log₂ n⌉ - 8 (n > 1)", best),
            Cost::described(Case::Average, "O(n log n)"),
            Cost::at_most(Case::Worst, "9n + 8⌈n log₂ n⌉", at_most),
        ],
        counts_depend_on_starters: true,
        withdraws: true,
        checks: &[
            CheckCase::quick("-n 3 --ids all"),
            CheckCase::quick("-n 4 --channels fifo"),
            CheckCase::slow("-n 5 --ids all --channels fifo"),
        ],
        source: Source {
            authors: "D. S. Hirschberg and J. B. Sinclair, 1980",
            title: "Decentralized extrema-finding in circular configurations of processors",
            text: "none of the five",
        },
        ..DIRECTED_RING
    };

    fn protocol<R: Rank>(_: &NoParams, _: &Setting<'_, R>) -> RingProtocol<Rules<R>> {
        RingProtocol(Rules(PhantomData))
    }

    /// All start at once and all answers take equally long, so all are in the same phase. An initiator with a greater
    /// one within 2^k on some side loses that probe there and does not reach phase k+1.
    fn expect(_: &NoParams, instance: &Instance<'_>) -> Option<Vec<u64>> {
        let ahead = oracle::hops_to_greater(instance);
        let behind = oracle::hops_back_to_greater(instance);
        let mut racing: Vec<[u64; 2]> = ahead.into_iter().zip(behind).map(|(a, b)| [a, b]).collect();
        let (mut probes, mut replies, mut reach) = (0, 0, 1);
        while !racing.is_empty() {
            for hops in racing.iter().flatten() {
                probes += reach.min(*hops);
                replies += if *hops > reach { reach } else { 0 };
            }
            racing.retain(|sides| sides.iter().all(|hops| *hops > reach));
            reach *= 2;
        }
        Some(vec![probes, replies, oracle::announcements(instance)])
    }
}

/// In phase 0 one of two neighbours gets a reply: 3n messages. From then on at least the greatest goes on, with 4·2^k
/// messages in phase k and 2n in the last; on a sorted ring it is the only one.
fn best(n: u64) -> f64 {
    let last = n.next_power_of_two();
    if n < 2 { (3 * n) as f64 } else { (6 * n + 4 * last - 8) as f64 }
}

fn at_most(n: u64) -> f64 {
    let n_log_n = n as f64 * log2(n);
    let whole = n_log_n as u64;
    (9 * n + 8 * (whole + u64::from(whole as f64 != n_log_n))) as f64
}

/// The logarithm bit by bit, because `core` has none: squaring a number doubles its logarithm. Exact for powers of two.
fn log2(n: u64) -> f64 {
    let whole = n.max(1).ilog2();
    let mut rest = n.max(1) as f64 / (1u64 << whole) as f64;
    let (mut result, mut bit) = (f64::from(whole), 0.5);
    while bit > f64::EPSILON {
        rest *= rest;
        if rest >= 2.0 {
            rest /= 2.0;
            result += bit;
        }
        bit /= 2.0;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_rounds_up() {
        assert_eq!(log2(1 << 40), 40.0);
        assert!((log2(10) - core::f64::consts::LOG2_10).abs() < 1e-12);
        assert_eq!(at_most(8), 72.0 + 8.0 * 24.0);
        // 10 log₂ 10 is 33.2.
        assert_eq!(at_most(10), 90.0 + 8.0 * 34.0);
    }
}
