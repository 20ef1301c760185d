//! Bully: whoever misses the leader asks all higher ids; those answer and ask on; the highest that is up announces
//! itself.
//!
//! - **Assumes** that everybody knows everybody's rank, and that messages travel in `T` ticks at most and are handled
//!   in `M`. A node answers in its own name only, so a port says everything: messages carry nothing.
//! - **Promises** that the greatest live node leads and everybody knows it, through crashes and recoveries. Not through
//!   partitions, losses or answers that are late: nobody looks again. `adapt=on` is for those.
//! - **Comes from** H. Garcia-Molina, 1982, as M. Shirali et al. (§2) and the slides of Crete tell it.
//! - **Costs**, with ids 1..n, n down and detector d: Σ(n-i) `election` over i from d to n-1, Σ(n-1-i) `ok` over i from
//!   d to n-2, n-1 `coordinator`; quiescent 4 (d = n-1: 3).
//!
//! What the texts leave open:
//!
//! - A node names its leader until it accepts another, also while it holds an election.
//! - A node that holds an election and gets `coordinator` from a lower id goes on with its own.
//! - `prepare` does not lengthen the wait for `coordinator`: above 3T+M, those who wait ask again, and are told to wait
//!   on.
//! - A node that recovers or joins is told so (`rejoin`) and does what `recovery` says. With `defer`,
//!   everybody that is up answers, and says only whether it leads: whoever names a dead leader cannot mislead.
//!
//! The adapted version (Crete's exercise: "temporary network partition (slow communication) and slow processes") knows
//! no bound on time, and finds out:
//!
//! - a leader says so again every `period`; whoever does not hear its leader for six periods holds an election, and
//!   two leaders that hear of each other again become one, because a greater one is always accepted and a lower one
//!   starts an election;
//! - an `ok` that comes after its time makes a winner stand back, and the leader that was given up and is heard again
//!   is followed again; whenever a wait proved too short, it doubles.

mod rules;

use alloc::string::String;
use alloc::{vec, vec::Vec};
use core::marker::PhantomData;
use core::num::NonZeroU64;

use hustings_protocol::Rank;

use self::rules::Rules;
use super::{COMPLETE, Highest, Return, Waits, all_above};
use crate::{About, Algorithm, Case, Cost, Instance, ParamValue, Setting, Source};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct Bully;

crate::choices! {
    /// Whom the winner tells.
    pub enum Tell {
        /// All others.
        All = "all",
        /// Those with lower ids.
        Lower = "lower",
    }
}

/// What a node does that recovers or joins.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Recovery {
    /// It comes back like any other.
    Return(Return),
    /// It asks who leads, and holds an election only if that is nobody above it.
    Defer,
}

impl ParamValue for Recovery {
    const ALLOWED: &'static str = "elect, announce, defer";

    fn parse(text: &str) -> Option<Self> {
        if text == "defer" { Some(Recovery::Defer) } else { Return::parse(text).map(Recovery::Return) }
    }

    fn show(&self) -> String {
        match self {
            Recovery::Return(way) => way.show(),
            Recovery::Defer => "defer".into(),
        }
    }
}

crate::choices! {
    /// Whether waits may be wrong.
    pub enum Adapt {
        /// They are right.
        Off = "off",
        /// They may be wrong, and partitions may come and go.
        On = "on",
    }
}

const PERIOD: NonZeroU64 = NonZeroU64::new(10).expect("it is not 0");

crate::params! {
    /// The parameters of bully.
    pub struct BullyParams {
        "what a node does that has nobody to ask: wait for an answer all the same, or win at once"
            highest: Highest = Highest::Wait,
        "whom the winner tells: all others, or those with lower ids" tell: Tell = Tell::All,
        "for how many ticks the winner collects state before it announces itself" prepare: u64 = 0,
        "the most ticks that a message travels; a bandwidth adds what it holds messages up" "T" as travel: NonZeroU64 =
            NonZeroU64::MIN,
        "the most ticks that it takes to handle a message" "M" as handling: u64 = 0,
        "what a node does that recovers or joins: hold an election, announce itself if it is the highest, or ask first"
            recovery: Recovery = Recovery::Return(Return::Elect),
        "whether it copes with partitions and with answers that are late" adapt: Adapt = Adapt::Off,
        "with adapt=on: every how many ticks a leader says that it leads" period: NonZeroU64 = PERIOD,
    }
}

impl Algorithm for Bully {
    type Params = BullyParams;
    type Protocol<R: Rank> = Rules<R>;

    const ABOUT: About = About {
        name: "bully",
        summary: "whoever misses the leader asks all higher ids; the highest that is up announces itself",
        costs: &[
            Cost::exactly(Case::Best, "n-1", |n| (n - 1) as f64),
            Cost::exactly(Case::Average, "(n²-1)/3 + n-1", |n| (n * n - 1) as f64 / 3.0 + (n - 1) as f64),
            Cost::exactly(Case::Worst, "n²-1", |n| (n * n - 1) as f64),
        ],
        source: Source {
            authors: "H. Garcia-Molina, 1982",
            title: "Elections in a distributed computing system, IEEE Transactions on Computers C-31(1)",
            text: "Shirali, Crete",
        },
        ..COMPLETE
    };

    fn protocol<R: Rank>(params: &BullyParams, setting: &Setting<'_, R>) -> Rules<R> {
        let waits = Waits::new(setting, params.travel, params.handling);
        Rules { waits, params: params.clone(), rank: PhantomData }
    }

    fn delay_bound(params: &BullyParams) -> Option<u64> {
        (params.adapt == Adapt::Off).then(|| params.travel.get())
    }

    /// Everybody from the lowest starter on holds one election, all are up, and the greatest tells everybody in time.
    fn expect(params: &BullyParams, instance: &Instance<'_>) -> Option<Vec<u64>> {
        let BullyParams { highest, prepare, travel, handling, adapt, .. } = *params;
        let in_time = prepare <= travel.get().saturating_mul(3).saturating_add(handling);
        if highest != Highest::Wait || adapt != Adapt::Off || !in_time {
            return None;
        }
        let size = instance.size();
        let places = instance.initiators.iter().map(|&at| instance.order[at as usize]);
        Some(match places.min() {
            Some(lowest) => {
                let asked = all_above(lowest..size as u32, size);
                vec![asked, asked, size - 1, 0, 0]
            }
            None => vec![0; 5],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recovery_that_is_allowed_is_understood_and_shown() {
        for word in Recovery::ALLOWED.split(", ") {
            assert_eq!(Recovery::parse(word).map(|recovery| recovery.show()).as_deref(), Some(word));
        }
        assert_eq!(Recovery::parse("retire"), None);
    }
}
