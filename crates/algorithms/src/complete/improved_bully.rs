//! Improved bully: the nodes that are asked answer with their numbers, and the detector announces the greatest.
//!
//! - **Source**: Shirali, §2.1; Datley's "M.Bully", after M. Gholipour et al., 2009.
//! - **Needs** the same as bully: all ranks are known, messages travel in at most `T` ticks.
//! - **Guarantees** that the greatest live node leads and all nodes know it, despite crashes and recoveries; not with
//!   partitions, losses or late answers.
//! - **Messages**, with ids 1..n, n down and detector d: n-d `election`, n-1-d `number`, n-1 `coordinator`; quiescent
//!   at 3. With k detectors each runs to the end.
//! - **Decided**: a lost detector is handled as `survey` says. A recovered or joined node holds an election; with
//!   `recovery=announce` the highest announces itself, which costs the same n-1 messages.
//!
//! Specified in `docs/model.md#improved-bully`.

use alloc::{vec, vec::Vec};
use core::marker::PhantomData;
use core::num::NonZeroU64;

use hustings_protocol::{Context, Rank};

use super::survey::{Message, Survey, SurveyTargets};
use super::{COMPLETE, Highest, OnRejoin, Timeouts, send_where, sum_of_higher};
use crate::{About, Algorithm, Case, CheckCase, Cost, Instance, Setting, Source};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct ImprovedBully;

crate::params! {
    /// The parameters of improved-bully.
    pub struct ImprovedBullyParams {
        "what a node with nobody to ask does: wait for an answer all the same, or win at once"
            highest: Highest = Highest::Wait,
        "longest travel time of a message in ticks; a bandwidth adds to it" "T" as travel: NonZeroU64 =
            NonZeroU64::MIN,
        "longest handling time of a message in ticks" "M" as handling: u64 = 0,
        "what a recovered or joined node does: hold an election, or announce itself if it is the highest"
            recovery: OnRejoin = OnRejoin::Elect,
    }
}

/// Asks all higher nodes.
#[derive(Clone, Debug)]
pub struct Higher;

impl SurveyTargets for Higher {
    fn ask<R: Rank, C: Context<Survey<R, Self>>>(round: u8, cx: &mut C) -> Option<u32> {
        let own = cx.rank();
        (round == 0).then(|| send_where(cx, Message::Election, |rank| rank > own))
    }
}

impl Algorithm for ImprovedBully {
    type Params = ImprovedBullyParams;
    type Protocol<R: Rank> = Survey<R, Higher>;

    const ABOUT: About = About {
        name: "improved-bully",
        aliases: &["m-bully"],
        summary: "a node that misses the leader asks all higher ids for their numbers and announces the greatest",
        costs: &[
            Cost::exactly(Case::Best, "n-1", |n| (n - 1) as f64),
            Cost::exactly(Case::Average, "2(n-1)", |n| (2 * (n - 1)) as f64),
            Cost::exactly(Case::Worst, "3(n-1)", |n| (3 * (n - 1)) as f64),
        ],
        checks: &[
            CheckCase::quick("-n 3"),
            CheckCase::quick("-n 3 --initiators every-subset"),
            CheckCase::quick("-n 3 --crashes 1"),
        ],
        source: Source {
            authors: "M. Shirali, A. HaghghatToroghi and M. Vojdani",
            title: "Leader election algorithms: History and novel schemes, §2.1",
            text: "Shirali, Datley",
        },
        ..COMPLETE
    };

    fn protocol<R: Rank>(params: &ImprovedBullyParams, setting: &Setting<'_, R>) -> Survey<R, Higher> {
        let timeouts = Timeouts::new(setting, params.travel, params.handling);
        Survey { timeouts, highest: params.highest, recovery: params.recovery, types: PhantomData }
    }

    fn delay_bound(params: &ImprovedBullyParams) -> Option<u64> {
        Some(params.travel.get())
    }

    /// Each starter asks all higher nodes, and all of them answer.
    fn expect(_: &ImprovedBullyParams, instance: &Instance<'_>) -> Option<Vec<u64>> {
        let (size, starters) = (instance.size(), instance.initiators.len() as u64);
        let asked = sum_of_higher(instance.initiators.iter().map(|&at| instance.order[at as usize]), size);
        Some(vec![asked, asked, starters * (size - 1)])
    }
}
