//! Two-tier: after an election the leader forms a clique with a few subordinates; when it is lost, one of them takes
//! over, and nobody else has to vote.
//!
//! - **Assumes** a connected graph whose nodes reach those whose ids they know directly, and know the ranks of all
//!   members; any delays. Members are told whom they can reach when that changes.
//! - **Promises** what [AEFA](super::Aefa) promises; then, after the loss of a leader, that the first live subordinate
//!   leads and everybody knows it; with the whole clique lost, that whoever is told to start holds an election.
//!   With `probe` and `beacon` it survives crashes, recoveries, cuts, partitions and losses by itself; without them,
//!   crashes of which what is left hangs together.
//! - **Comes from** I. Adams, "Two-Tier Leadership Election".
//! - **Costs** AEFA's messages, then for s subordinates s `invite`, s(s+1)/2 `ping`, as many `pong`, s `confirm`; after
//!   the loss of the leader s-1 `failed`, s-1 `agree`, the same clique again, and 2(2E'-(n'-1)) to tell everybody.
//!
//! Where the text is silent:
//!
//! - Everybody knows the ranks of all members, dead or alive, as the map gives them; who is alive is found out.
//! - A new subordinate is the last of the roll; with `choice=best` the roll is ordered by rank.
//! - A lost subordinate is replaced as after a failover: all s are invited to the new clique, and verified.
//! - What the leader knows travels with `invite`, and `confirm` says that it is kept: a clique stands, and a new leader
//!   announces itself, only when every subordinate has it.
//! - A subordinate that is asked to agree and has not heard of the loss itself looks first: a `ping` to the leader.
//! - Whoever names another leader declines an invitation (`decline`), and somebody else is invited.
//! - While a full election is under way, no subordinate takes over: the election decides.
//! - A leader that retires says `failed` to its first subordinate.

mod cheat;
mod choice;
mod clique;
mod message;
mod roll;
mod rules;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::num::NonZeroU64;

use hustings_protocol::Rank;

use super::diffusion::{self, Diffusion};
use super::{Aefa, AefaParams};
use crate::{
    About, Algorithm, Assumptions, Case, Cost, Inputs, Instance, Knowledge, ParamConflict, ParamValue, Setting, Source,
};

pub use cheat::Gather;
pub use choice::Choice;
use choice::Roster;
pub use message::Message;
pub use roll::{Number, Roll};
pub use rules::State;

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct TwoTier;

crate::params! {
    /// The parameters of two-tier.
    pub struct TwoTierParams {
        "how many subordinates stand by" subordinates: u64 = 3,
        "by what they are chosen" choice: Choice = Choice::Neighbours,
        "how many bytes the leader knows that its successor needs" "state" as bytes: Bytes = Bytes(0),
        "how many subordinates notice the leader's loss at once" noticing: NonZeroU64 = NonZeroU64::MIN,
        "ticks between two probes, as in aefa; 0: none" probe: u64 = 0,
        "ticks between two beacons, as in aefa; 0: none" beacon: u64 = 0,
    }
}

/// How many bytes a leader knows.
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

type Inner<R> = Diffusion<R, Gather<R>>;
type Diffused<R> = diffusion::Message<R, R>;

/// Its state machine.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Rules<R> {
    diffusion: Inner<R>,
    roster: Roster<R>,
    choice: Choice,
    subordinates: usize,
    bytes: usize,
    noticing: usize,
    /// How long an answer may take.
    patience: u64,
    /// How long a new leader may take to announce itself.
    announcement: u64,
}

/// An answer takes two ticks; a clique that is formed anew takes four, and a word of a crash two.
const PATIENCE: u64 = 16;

impl Algorithm for TwoTier {
    type Params = TwoTierParams;
    type Protocol<R: Rank> = Rules<R>;

    const ABOUT: About = About {
        name: "two-tier",
        aliases: &["2-tier"],
        summary: "an election as in aefa; then the leader's subordinates stand by, and one takes over when it is lost",
        assumptions: Assumptions { knows: Knowledge::Members, ..Aefa::ABOUT.assumptions },
        inputs: Inputs { cheats: true, ..Inputs::NOTHING },
        costs: &[
            Cost::described(Case::Best, "4(2E-(n-1)) + s(s+3)"),
            Cost::described(Case::Average, "4(2E-(n-1)) + 1 + s(s+3)"),
            Cost::described(Case::Worst, "4(2E-(n-1)) + 1 + s(s+3)"),
        ],
        source: Source { authors: "I. Adams", title: "Two-Tier Leadership Election", text: "Adams" },
        ..Aefa::ABOUT
    };

    fn protocol<R: Rank>(params: &TwoTierParams, setting: &Setting<'_, R>) -> Rules<R> {
        let capped = |number: u64, most: u64| usize::try_from(number.min(most)).unwrap_or(usize::MAX);
        Rules {
            diffusion: Diffusion::new(Gather::new(setting)).looking_out(params.probe, params.beacon),
            roster: Roster::new(setting.ranks, setting.bandwidth),
            choice: params.choice,
            subordinates: capped(params.subordinates, setting.ranks.len() as u64),
            bytes: params.bytes.0 as usize,
            noticing: capped(params.noticing.get(), setting.ranks.len() as u64),
            patience: setting.travel(1).saturating_mul(PATIENCE),
            // First its clique has to stand, whoever is silent in it; then a wave has to cross the network.
            announcement: setting.travel(1).saturating_mul(8 * PATIENCE + setting.ranks.len() as u64),
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

    use hustings_protocol::{Effect, Id, Peers, Place, Protocol, Recorder};

    use super::*;

    #[test]
    fn numbers_beyond_which_there_are_none_do_no_harm() {
        let (own, leader) = (Id(1), Id(9));
        let rules = TwoTier::protocol(&TwoTierParams::default(), &Setting::of(&[own, leader]));
        let place = Place { rank: own, index: 0, size: 2, peers: Peers::Known(vec![leader]) };
        for (term, version) in [(1, u32::MAX), (u32::MAX, 1), (u32::MAX, u32::MAX)] {
            let (mut state, mut effects) = (rules.init(), Vec::new());
            let number = Number { term, version };
            let roll = Roll { number, leader, predecessor: None, subordinates: vec![own], knowledge: [].into() };
            for message in [Message::Invite(Arc::new(roll)), Message::Failed(number)] {
                let mut cx = Recorder::new(&place, |_| 0, &mut effects);
                rules.handle_direct(&mut state, leader, message, &mut cx);
            }
            assert!(effects.contains(&Effect::Lead), "it takes over");
        }
    }
}
