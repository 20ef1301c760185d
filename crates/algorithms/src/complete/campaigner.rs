//! Campaigner: only the higher half of the ids, the campaigner set, is asked; the rest, the general set, if all of
//! those are down.
//!
//! - **Assumes** what bully does: everybody's rank is known, messages travel in `T` ticks at most.
//! - **Promises** that the greatest live node leads and everybody knows it, through crashes and recoveries; not through
//!   partitions, losses or late answers.
//! - **Comes from** A. Datley, B. Patel and S. Soni, "Amelioration on Coordinator Election Algorithm in synchronous
//!   distributed system".
//! - **Costs**, with ids 1..n, n down and c = ⌈n/2⌉: from the general set c `election`, c-1 `number` and n-1
//!   `coordinator`, quiescent 3; no campaigner up: a second round of questions, quiescent 5. A campaigner d: n-d,
//!   n-1-d, n-1. The coordinator's revival: n-1.
//!
//! The states of the text, *normal*, *elect* and *hold*, show in a trace as facts, `cdr` as the leader that is named.
//! What happens if the detector dies, or names one lower than a node that is up, the text does not say: see `canvass`.

use alloc::{vec, vec::Vec};
use core::marker::PhantomData;
use core::num::NonZeroU64;

use hustings_protocol::{Context, Port, Rank};

use super::canvass::{Canvass, Electorate, Message};
use super::{COMPLETE, Highest, Return, Waits, higher, send_where};
use crate::{About, Algorithm, Case, Cost, Instance, Setting, Source};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct Campaigner;

crate::params! {
    /// The parameters of campaigner.
    pub struct CampaignerParams {
        "what a node does that has nobody to ask: wait for an answer all the same, or go on at once"
            highest: Highest = Highest::Wait,
        "the most ticks that a message travels; a bandwidth adds what it holds messages up" "T" as travel: NonZeroU64 =
            NonZeroU64::MIN,
        "the most ticks that it takes to handle a message" "M" as handling: u64 = 0,
        "what a node does that recovers or joins: hold an election, or announce itself if it is the highest"
            recovery: Return = Return::Announce,
    }
}

/// How many members are in the campaigner set.
const fn campaigners(size: u32) -> u32 {
    size.div_ceil(2)
}

/// The campaigner set, or what is above a node in its own set.
#[derive(Clone, Debug)]
pub struct Sets;

impl Electorate for Sets {
    fn ask<R: Rank, C: Context<Canvass<R, Self>>>(round: u8, cx: &mut C) -> Option<u32> {
        let own = cx.rank();
        let is_campaigner = higher(cx) < campaigners(cx.size());
        match round {
            0 if is_campaigner => Some(send_where(cx, Message::Election, |rank| rank > own)),
            0 => {
                let least = least_campaigner(cx);
                Some(send_where(cx, Message::Election, |rank| rank >= least))
            }
            1 if !is_campaigner => {
                let least = least_campaigner(cx);
                Some(send_where(cx, Message::Election, |rank| rank > own && rank < least))
            }
            _ => None,
        }
    }
}

/// The lowest rank of the campaigner set.
fn least_campaigner<R: Rank, C: Context<Canvass<R, Sets>>>(cx: &C) -> R {
    let peers = (0..cx.degree()).filter_map(|port| cx.peer_rank(Port(port)));
    let mut ranks: Vec<R> = peers.chain([cx.rank()]).collect();
    let place = ranks.len() - campaigners(ranks.len() as u32) as usize;
    *ranks.select_nth_unstable(place).1
}

impl Algorithm for Campaigner {
    type Params = CampaignerParams;
    type Protocol<R: Rank> = Canvass<R, Sets>;

    const ABOUT: About = About {
        name: "campaigner",
        summary: "whoever misses the leader asks the higher half of the ids for their numbers, announces the greatest",
        costs: &[
            Cost::exactly(Case::Best, "n-1", |n| (n - 1) as f64),
            Cost::exactly(Case::Average, "(2c⌊n/2⌋ + c(c-1))/n + n-1, c = ⌈n/2⌉", |n| {
                let (asked, others) = (n.div_ceil(2), n / 2);
                (2 * asked * others + asked * (asked - 1)) as f64 / n as f64 + (n - 1) as f64
            }),
            Cost::exactly(Case::Worst, "2⌈n/2⌉ + n-1", |n| match n {
                1 => 0.0, // it has nobody to ask, and nobody is in the general set
                _ => (2 * n.div_ceil(2) + n - 1) as f64,
            }),
        ],
        source: Source {
            authors: "A. Datley, B. Patel and S. Soni",
            title: "Amelioration on coordinator election algorithm in synchronous distributed system",
            text: "Datley",
        },
        ..COMPLETE
    };

    fn protocol<R: Rank>(params: &CampaignerParams, setting: &Setting<'_, R>) -> Canvass<R, Sets> {
        let waits = Waits::new(setting, params.travel, params.handling);
        Canvass { waits, highest: params.highest, recovery: params.recovery, types: PhantomData }
    }

    fn delay_bound(params: &CampaignerParams) -> Option<u64> {
        Some(params.travel.get())
    }

    /// Every starter asks the campaigners, or those above it if it is one, and all of them answer.
    fn expect(_: &CampaignerParams, instance: &Instance<'_>) -> Option<Vec<u64>> {
        let size = instance.size();
        let set = u64::from(campaigners(size as u32));
        let above = |&at: &u32| size - 1 - u64::from(instance.order[at as usize]);
        let asked = instance.initiators.iter().map(|at| above(at).min(set)).sum();
        Some(vec![asked, asked, instance.initiators.len() as u64 * (size - 1)])
    }
}
