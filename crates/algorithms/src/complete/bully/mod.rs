//! Bully: a node that misses the leader asks all higher ids; they answer and ask in turn; the highest live one
//! announces itself.
//!
//! - **Source**: H. Garcia-Molina, 1982; described by Shirali (§2) and Crete.
//! - **Needs** that every node knows all ranks, and that messages travel in at most `T` ticks and are handled in `M`.
//!   Messages carry no data: the port identifies the sender.
//! - **Guarantees** that the greatest live node leads and all nodes know it, despite crashes and recoveries.
//!   Partitions, losses and late answers need `adapt=on`.
//! - **Messages**, with ids 1..n, n down and detector d: Σ(n-i) `election` for i from d to n-1, Σ(n-1-i) `ok` for i
//!   from d to n-2, n-1 `coordinator`; quiescent at 4 (d = n-1: 3).
//!
//! Decided where the texts are silent:
//!
//! - A node names its leader until it accepts another, also while it holds an election.
//! - A node that holds an election and receives `coordinator` from a lower id continues with its own.
//! - `prepare` does not lengthen the wait for `coordinator`: above 3T+M, the waiting nodes ask again.
//! - With `recovery=defer` every live node answers, and says only whether it leads itself. So a node that names a dead
//!   leader cannot mislead.
//!
//! `adapt=on` (Crete's exercise: "temporary network partition (slow communication) and slow processes") assumes no
//! bound on delays:
//!
//! - A leader repeats `coordinator` every `period`. A node that does not hear from its leader for six periods holds an
//!   election. Two leaders that hear of each other become one: a greater leader is always accepted, a lower one starts
//!   an election.
//! - An `ok` that comes too late makes a winner step down. A leader that was given up and is heard again is followed
//!   again. Each timeout that proves too short doubles.
//!
//! Specified in `docs/model.md#bully`.

mod rules;

use alloc::string::String;
use alloc::{vec, vec::Vec};
use core::marker::PhantomData;
use core::num::NonZeroU64;

use hustings_protocol::Rank;

use self::rules::Rules;
use super::{COMPLETE, Highest, OnRejoin, Timeouts, sum_of_higher};
use crate::{About, Algorithm, Case, CheckCase, Cost, Instance, ParamValue, Setting, Source};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct Bully;

crate::choices! {
    /// Which nodes the winner tells.
    pub enum Tell {
        /// All others.
        All = "all",
        /// Those with lower ids.
        Lower = "lower",
    }
}

/// What a recovered or joined node does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Recovery {
    /// Like in the other algorithms on complete networks.
    Rejoin(OnRejoin),
    /// It asks for the leader, and holds an election unless a higher node leads.
    Defer,
}

impl ParamValue for Recovery {
    const ALLOWED: &'static str = "elect, announce, defer";

    fn parse(text: &str) -> Option<Self> {
        if text == "defer" { Some(Recovery::Defer) } else { OnRejoin::parse(text).map(Recovery::Rejoin) }
    }

    fn show(&self) -> String {
        match self {
            Recovery::Rejoin(way) => way.show(),
            Recovery::Defer => "defer".into(),
        }
    }
}

crate::choices! {
    /// Whether timeouts may be too short.
    pub enum Adapt {
        /// They are long enough.
        Off = "off",
        /// They may be too short, and partitions may come and go.
        On = "on",
    }
}

const PERIOD: NonZeroU64 = NonZeroU64::new(10).expect("not 0");

crate::params! {
    /// The parameters of bully.
    pub struct BullyParams {
        "what a node with nobody to ask does: wait for an answer all the same, or win at once"
            highest: Highest = Highest::Wait,
        "which nodes the winner tells: all others, or those with lower ids" tell: Tell = Tell::All,
        "ticks for which the winner collects state before it announces itself" prepare: u64 = 0,
        "longest travel time of a message in ticks; a bandwidth adds to it" "T" as travel: NonZeroU64 =
            NonZeroU64::MIN,
        "longest handling time of a message in ticks" "M" as handling: u64 = 0,
        "what a recovered or joined node does: hold an election, announce itself if highest, or ask first"
            recovery: Recovery = Recovery::Rejoin(OnRejoin::Elect),
        "whether to tolerate partitions and late answers" adapt: Adapt = Adapt::Off,
        "with adapt=on: ticks between two announcements of a leader" period: NonZeroU64 = PERIOD,
    }
}

impl Algorithm for Bully {
    type Params = BullyParams;
    type Protocol<R: Rank> = Rules<R>;

    const ABOUT: About = About {
        name: "bully",
        summary: "a node that misses the leader asks all higher ids; the highest live node announces itself",
        costs: &[
            Cost::exactly(Case::Best, "n-1", |n| (n - 1) as f64),
            Cost::exactly(Case::Average, "(n²-1)/3 + n-1", |n| (n * n - 1) as f64 / 3.0 + (n - 1) as f64),
            Cost::exactly(Case::Worst, "n²-1", |n| (n * n - 1) as f64),
        ],
        checks: &[
            CheckCase::quick("-n 3"),
            CheckCase::quick("-n 3 --initiators every-subset"),
            CheckCase::quick("-n 3 --crashes 1"),
            CheckCase::quick("-n 3 --runs --crashes 1"),
            CheckCase::quick("-n 2 --runs --crashes 1 --recoveries 1"),
            CheckCase::slow("-n 3 --runs --crashes 1 --recoveries 1 --initiators none --timing patient"),
        ],
        // Whoever knows that no higher member is up need not ask.
        cluster_params: &["highest=announce"],
        has_own_engine: true,
        source: Source {
            authors: "H. Garcia-Molina, 1982",
            title: "Elections in a distributed computing system, IEEE Transactions on Computers C-31(1)",
            text: "Shirali, Crete",
        },
        ..COMPLETE
    };

    fn protocol<R: Rank>(params: &BullyParams, setting: &Setting<'_, R>) -> Rules<R> {
        let timeouts = Timeouts::new(setting, params.travel, params.handling);
        Rules { timeouts, params: params.clone(), rank: PhantomData }
    }

    fn delay_bound(params: &BullyParams) -> Option<u64> {
        (params.adapt == Adapt::Off).then(|| params.travel.get())
    }

    /// Every node from the lowest starter on holds one election; all are up, and the greatest tells all others in time.
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
                let asked = sum_of_higher(lowest..size as u32, size);
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
    fn parses_and_shows_every_allowed_recovery() {
        for name in Recovery::ALLOWED.split(", ") {
            assert_eq!(Recovery::parse(name).map(|recovery| recovery.show()).as_deref(), Some(name));
        }
        assert_eq!(Recovery::parse("retire"), None);
    }
}
