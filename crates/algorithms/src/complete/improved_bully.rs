//! Improved bully: those asked answer with their numbers, and whoever asked picks the greatest and announces it.
//!
//! - **Assumes** what bully does: everybody's rank is known, messages travel in `T` ticks at most.
//! - **Promises** that the greatest live node leads and everybody knows it, through crashes and recoveries; not through
//!   partitions, losses or late answers.
//! - **Comes from** M. Shirali et al., "Leader election algorithms: History and novel schemes", §2.1; Datley's table
//!   has it as "M.Bully", after M. Gholipour et al., 2009.
//! - **Costs**, with ids 1..n, n down and detector d: n-d `election`, n-1-d `number`, n-1 `coordinator`; quiescent 3.
//!   k detectors: each runs to the end.
//!
//! The text does not say what happens if the detector dies: see `canvass`. A node that recovers or joins holds an
//! election; the highest may announce itself at once (`recovery=announce`), which costs the same n-1 messages.

use alloc::{vec, vec::Vec};
use core::marker::PhantomData;
use core::num::NonZeroU64;

use hustings_protocol::{Context, Rank};

use super::canvass::{Canvass, Electorate, Message};
use super::{COMPLETE, Highest, Return, Waits, all_above, send_where};
use crate::{About, Algorithm, Case, Cost, Instance, Setting, Source};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct ImprovedBully;

crate::params! {
    /// The parameters of improved-bully.
    pub struct ImprovedBullyParams {
        "what a node does that has nobody to ask: wait for an answer all the same, or win at once"
            highest: Highest = Highest::Wait,
        "the most ticks that a message travels; a bandwidth adds what it holds messages up" "T" as travel: NonZeroU64 =
            NonZeroU64::MIN,
        "the most ticks that it takes to handle a message" "M" as handling: u64 = 0,
        "what a node does that recovers or joins: hold an election, or announce itself if it is the highest"
            recovery: Return = Return::Elect,
    }
}

/// All higher ones.
#[derive(Clone, Debug)]
pub struct Higher;

impl Electorate for Higher {
    fn ask<R: Rank, C: Context<Canvass<R, Self>>>(round: u8, cx: &mut C) -> Option<u32> {
        let own = cx.rank();
        (round == 0).then(|| send_where(cx, Message::Election, |rank| rank > own))
    }
}

impl Algorithm for ImprovedBully {
    type Params = ImprovedBullyParams;
    type Protocol<R: Rank> = Canvass<R, Higher>;

    const ABOUT: About = About {
        name: "improved-bully",
        aliases: &["m-bully"],
        summary: "whoever misses the leader asks all higher ids for their numbers and announces the greatest",
        costs: &[
            Cost::exactly(Case::Best, "n-1", |n| (n - 1) as f64),
            Cost::exactly(Case::Average, "2(n-1)", |n| (2 * (n - 1)) as f64),
            Cost::exactly(Case::Worst, "3(n-1)", |n| (3 * (n - 1)) as f64),
        ],
        source: Source {
            authors: "M. Shirali, A. HaghghatToroghi and M. Vojdani",
            title: "Leader election algorithms: History and novel schemes, §2.1",
            text: "Shirali, Datley",
        },
        ..COMPLETE
    };

    fn protocol<R: Rank>(params: &ImprovedBullyParams, setting: &Setting<'_, R>) -> Canvass<R, Higher> {
        let waits = Waits::new(setting, params.travel, params.handling);
        Canvass { waits, highest: params.highest, recovery: params.recovery, types: PhantomData }
    }

    fn delay_bound(params: &ImprovedBullyParams) -> Option<u64> {
        Some(params.travel.get())
    }

    /// Every starter asks all above it, and all of them answer.
    fn expect(_: &ImprovedBullyParams, instance: &Instance<'_>) -> Option<Vec<u64>> {
        let (size, starters) = (instance.size(), instance.initiators.len() as u64);
        let asked = all_above(instance.initiators.iter().map(|&at| instance.order[at as usize]), size);
        Some(vec![asked, asked, starters * (size - 1)])
    }
}
