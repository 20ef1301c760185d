//! Two-tier: after an election the leader forms a clique with a few subordinates; when it is lost, one of them takes
//! over without a full election.
//!
//! - **Source**: Adams.
//! - **Needs** a connected graph whose nodes can send directly to known ids, know the ranks of all members, and get
//!   reachability updates; any delays.
//! - **Guarantees** what [AEFA](super::Aefa) guarantees; after the loss of the leader the first live subordinate leads
//!   and all nodes know it. If the whole clique is lost, a node that is started holds an election. With `probe` and
//!   `beacon` it tolerates crashes, recoveries, cuts, partitions and losses by itself; without them, crashes that leave
//!   the rest connected.
//! - **Messages**: those of AEFA, then for s subordinates s `invite`, s(s+1)/2 each of `ping` and `pong`, s `confirm`;
//!   after the loss of the leader s-1 `failed`, s-1 `agree`, a new clique, and 2(2E'-(n'-1)) to tell all nodes.
//!
//! Decided where the text is silent:
//!
//! - All nodes know the ranks of all members, dead or alive; which are alive is found out.
//! - A new subordinate is the last on the list; with `choice=best` the list is ordered by rank.
//! - A lost subordinate is replaced as after a failover: all s are invited to the new clique and verified.
//! - `invite` carries what the leader knows, and `confirm` says that it is stored. A new leader announces itself only
//!   when every subordinate has it.
//! - A subordinate that is asked to agree but has not been told of the loss first sends a `ping` to the leader.
//! - A node that names another leader declines an invitation (`decline`), and another node is invited.
//! - No subordinate takes over while a full election is under way: the election decides.
//! - A leader that retires sends `failed` to its first subordinate.
//!
//! Specified in `docs/model.md#two-tier`.

mod cheat;
mod choice;
mod clique;
mod membership;
mod message;
mod rules;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::num::NonZeroU64;

use hustings_protocol::Rank;

use super::diffusion::{self, Diffusion};
use super::{Aefa, AefaParams};
use crate::{
    About, Algorithm, Assumptions, Case, CheckCase, Cost, CostDelays, Inputs, Instance, Knowledge, ParamConflict,
    ParamValue, Setting, Source,
};

pub use cheat::CheatingGreatest;
pub use choice::Choice;
use choice::Roster;
pub use membership::{CliqueNumber, Membership};
pub use message::Message;
pub use rules::State;

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct TwoTier;

crate::params! {
    /// The parameters of two-tier.
    pub struct TwoTierParams {
        "number of subordinates" subordinates: u64 = 3,
        "how subordinates are chosen" choice: Choice = Choice::Neighbours,
        "bytes of state that the leader hands to its subordinates" "state" as bytes: Bytes = Bytes(0),
        "number of subordinates that notice the loss of the leader at once" noticing: NonZeroU64 = NonZeroU64::MIN,
        "ticks between two probes, as in aefa; 0: off" probe: u64 = 0,
        "ticks between two beacons, as in aefa; 0: off" beacon: u64 = 0,
    }
}

/// The size of what a leader knows, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Bytes(u32);

impl ParamValue for Bytes {
    const ALLOWED: &'static str = "a whole number from 0 to 16777216";

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().filter(|&bytes| bytes <= 1 << 24).map(Bytes)
    }

    fn show(&self) -> String {
        self.0.to_string()
    }
}

type Inner<R> = Diffusion<R, CheatingGreatest<R>>;
type Diffused<R> = diffusion::Message<R, R>;

/// The protocol.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Rules<R> {
    diffusion: Inner<R>,
    roster: Roster<R>,
    choice: Choice,
    subordinates: usize,
    bytes: usize,
    noticing: usize,
    /// The timeout for an answer.
    answer_timeout: u64,
    /// The timeout for the announcement of a new leader.
    announcement: u64,
}

/// An answer takes two ticks, forming a clique four, and a reachability update two.
const ANSWER_TIMEOUT: u64 = 16;

impl Algorithm for TwoTier {
    type Params = TwoTierParams;
    type Protocol<R: Rank> = Rules<R>;

    const ABOUT: About = About {
        name: "two-tier",
        aliases: &["2-tier"],
        summary: "an election as in aefa; then one of the leader's subordinates takes over when the leader is lost",
        assumptions: Assumptions { knows: Knowledge::Members, ..Aefa::ABOUT.assumptions },
        inputs: Inputs { cheats: true, ..Inputs::NOTHING },
        costs: &[
            Cost::described(Case::Best, "4(2E-(n-1)) + s(s+3)"),
            Cost::described(Case::Average, "4(2E-(n-1)) + 1 + s(s+3)"),
            Cost::described(Case::Worst, "4(2E-(n-1)) + 1 + s(s+3)"),
        ],
        cost_delays: CostDelays::AtMost(1),
        checks: &[CheckCase::quick("-n 3 -p subordinates=2 --topology complete --timing patient")],
        // It holds the state of the election beside its own.
        max_state_bytes: 112,
        has_own_engine: true,
        source: Source { authors: "I. Adams", title: "Two-Tier Leadership Election", text: "Adams" },
        ..Aefa::ABOUT
    };

    fn protocol<R: Rank>(params: &TwoTierParams, setting: &Setting<'_, R>) -> Rules<R> {
        let capped = |number: u64, most: u64| usize::try_from(number.min(most)).unwrap_or(usize::MAX);
        Rules {
            diffusion: Diffusion::new(CheatingGreatest::new(setting)).with_fault_detection(params.probe, params.beacon),
            roster: Roster::new(setting.ranks, setting.bandwidth),
            choice: params.choice,
            subordinates: capped(params.subordinates, setting.ranks.len() as u64),
            bytes: params.bytes.0 as usize,
            noticing: capped(params.noticing.get(), setting.ranks.len() as u64),
            answer_timeout: setting.travel(1).saturating_mul(ANSWER_TIMEOUT),
            // First the clique has to be formed, also if members are silent; then a wave has to cross the network.
            announcement: setting.travel(1).saturating_mul(8 * ANSWER_TIMEOUT + setting.ranks.len() as u64),
        }
    }

    fn check(params: &TwoTierParams, size: u32) -> Result<(), ParamConflict> {
        if params.subordinates < u64::from(size) {
            return Ok(());
        }
        Err(ParamConflict {
            name: "subordinates",
            value: params.subordinates.to_string(),
            size,
            problem: "a leader and its subordinates are all different nodes".to_string(),
            instead: size.checked_sub(1).map(|others| format!("-p subordinates={others}")),
        })
    }

    /// The clique adds the same to every election.
    fn expect(params: &TwoTierParams, instance: &Instance<'_>) -> Option<Vec<u64>> {
        let s = params.subordinates.min(instance.size().saturating_sub(1));
        let pairs = s * (s + 1) / 2;
        let election = AefaParams { probe: params.probe, beacon: params.beacon };
        let mut counts = Aefa::expect(&election, instance)?;
        counts.extend([s, pairs, pairs, s, 0, 0, 0]);
        Some(counts)
    }
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;
    use alloc::vec;

    use hustings_protocol::{Effect, Id, NodeInfo, Peers, Protocol, Recorder};

    use super::*;

    #[test]
    fn the_greatest_possible_numbers_do_not_overflow() {
        let (own, leader) = (Id(1), Id(9));
        let rules = TwoTier::protocol(&TwoTierParams::default(), &Setting::of(&[own, leader]));
        let place = NodeInfo { rank: own, index: 0, size: 2, peers: Peers::Known(vec![leader]) };
        for (term, version) in [(1, u32::MAX), (u32::MAX, 1), (u32::MAX, u32::MAX)] {
            let (mut state, mut effects) = (rules.init(), Vec::new());
            let number = CliqueNumber { term, version };
            let membership =
                Membership { number, leader, predecessor: None, subordinates: vec![own], knowledge: [].into() };
            for message in [Message::Invite(Arc::new(membership)), Message::Failed(number)] {
                let mut cx = Recorder::new(&place, |_| 0, &mut effects);
                rules.handle_direct(&mut state, leader, message, &mut cx);
            }
            assert!(effects.contains(&Effect::Lead), "it takes over");
        }
    }
}
