//! Campaigner: a detector asks only the higher half of the ids, the campaigner set; it asks the rest, the general set,
//! if no campaigner is up.
//!
//! - **Source**: Datley.
//! - **Needs** the same as bully: all ranks are known, messages travel in at most `T` ticks.
//! - **Guarantees** that the greatest live node leads and all nodes know it, despite crashes and recoveries; not with
//!   partitions, losses or late answers.
//! - **Messages**, with ids 1..n, n down and c = ⌈n/2⌉: from the general set c `election`, c-1 `number` and n-1
//!   `coordinator`, quiescent at 3; with no campaigner up a second round of questions, quiescent at 5. From a
//!   campaigner d: n-d, n-1-d, n-1. Revival of the coordinator: n-1.
//! - **Decided**: a lost detector and a winner lower than a live node are handled as `survey` says. The states of the
//!   text, *normal*, *elect* and *hold*, are reported as facts, `cdr` as the named leader.
//!
//! Specified in `docs/model.md#campaigner`.

use alloc::{vec, vec::Vec};
use core::marker::PhantomData;
use core::num::NonZeroU64;

use hustings_protocol::{Context, Port, Rank};

use super::survey::{Message, Survey, SurveyTargets};
use super::{COMPLETE, Highest, OnRejoin, Timeouts, count_higher, send_where};
use crate::{About, Algorithm, Case, CheckCase, Cost, Instance, Setting, Source};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct Campaigner;

crate::params! {
    /// The parameters of campaigner.
    pub struct CampaignerParams {
        "what a node with nobody to ask does: wait for an answer all the same, or go on at once"
            highest: Highest = Highest::Wait,
        "longest travel time of a message in ticks; a bandwidth adds to it" "T" as travel: NonZeroU64 =
            NonZeroU64::MIN,
        "longest handling time of a message in ticks" "M" as handling: u64 = 0,
        "what a recovered or joined node does: hold an election, or announce itself if it is the highest"
            recovery: OnRejoin = OnRejoin::Announce,
    }
}

/// The size of the campaigner set.
const fn campaigners(size: u32) -> u32 {
    size.div_ceil(2)
}

/// Asks the campaigner set, or the higher nodes of a node's own set.
#[derive(Clone, Debug)]
pub struct Sets;

impl SurveyTargets for Sets {
    fn ask<R: Rank, C: Context<Survey<R, Self>>>(round: u8, cx: &mut C) -> Option<u32> {
        let own = cx.rank();
        let is_campaigner = count_higher(cx) < campaigners(cx.size());
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
fn least_campaigner<R: Rank, C: Context<Survey<R, Sets>>>(cx: &C) -> R {
    let peers = (0..cx.degree()).filter_map(|port| cx.peer_rank(Port(port)));
    let mut ranks: Vec<R> = peers.chain([cx.rank()]).collect();
    let place = ranks.len() - campaigners(ranks.len() as u32) as usize;
    *ranks.select_nth_unstable(place).1
}

impl Algorithm for Campaigner {
    type Params = CampaignerParams;
    type Protocol<R: Rank> = Survey<R, Sets>;

    const ABOUT: About = About {
        name: "campaigner",
        summary: "a node that misses the leader asks the higher half of the ids and announces the greatest",
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
        checks: &[
            CheckCase::quick("-n 3"),
            CheckCase::quick("-n 3 --crashes 1"),
            CheckCase::slow("-n 4 --initiators every-subset"),
        ],
        source: Source {
            authors: "A. Datley, B. Patel and S. Soni",
            title: "Amelioration on coordinator election algorithm in synchronous distributed system",
            text: "Datley",
        },
        ..COMPLETE
    };

    fn protocol<R: Rank>(params: &CampaignerParams, setting: &Setting<'_, R>) -> Survey<R, Sets> {
        let timeouts = Timeouts::new(setting, params.travel, params.handling);
        Survey { timeouts, highest: params.highest, recovery: params.recovery, types: PhantomData }
    }

    fn delay_bound(params: &CampaignerParams) -> Option<u64> {
        Some(params.travel.get())
    }

    /// Each starter asks the campaigners, or the higher nodes if it is a campaigner, and all of them answer.
    fn expect(_: &CampaignerParams, instance: &Instance<'_>) -> Option<Vec<u64>> {
        let size = instance.size();
        let set = u64::from(campaigners(size as u32));
        let above = |&at: &u32| size - 1 - u64::from(instance.order[at as usize]);
        let asked = instance.initiators.iter().map(|at| above(at).min(set)).sum();
        Some(vec![asked, asked, instance.initiators.len() as u64 * (size - 1)])
    }
}
