//! What follows an election among nodes that are alike: names for all, and how many there are.

use hustings_algorithms::anonymous::follow_up::{
    Embed, FollowUp, Message, WithFollowUp, lap::Lap, traversal::Traversal,
};
use hustings_algorithms::anonymous::{AnonymousEcho, AnonymousEchoParams, ItaiRodeh, ItaiRodehParams};
use hustings_protocol::{Context, Id, Port, Protocol, StartReason};
use hustings_sim::outcome::Outcome;
use hustings_sim::scenario::{Delay, Scenario, Start};
use hustings_sim::topology::{Network, Topology};
use proptest::prelude::*;

use crate::common::elections::simulate;
use crate::common::erased;
use crate::common::gossip::graph;

const ALL: [FollowUp; 4] = [FollowUp::Nothing, FollowUp::Names, FollowUp::Size, FollowUp::Both];

fn on_ring(then: FollowUp, scenario: &Scenario) -> Outcome {
    simulate::<ItaiRodeh>(&ItaiRodehParams { then, ..ItaiRodehParams::default() }, scenario)
}

fn on_graph(then: FollowUp, scenario: &Scenario) -> Outcome {
    simulate::<AnonymousEcho>(&AnonymousEchoParams { then }, scenario)
}

/// Whether everybody has what was asked for, and nobody what was not.
fn assert_told(then: FollowUp, outcome: &Outcome, size: u32) {
    assert_eq!(outcome.estimate, then.size().then_some(size.into()), "{then:?}");
    let mut names: Vec<u64> = outcome.names.iter().map(|(_, name)| *name).collect();
    names.sort_unstable();
    let all = if then.names() { size.into() } else { 0 };
    assert_eq!(names, (0..all).collect::<Vec<_>>(), "{then:?}");
    if then.names() {
        let leader = outcome.leader.expect("somebody leads");
        assert!(outcome.names.contains(&(leader, 0)), "the leader is the first");
    }
}

/// On a ring: n `name`; n `count` and n `size`; n `name` and n `size`. The election itself is as it was.
#[test]
fn on_a_ring_a_lap_does_either() {
    for size in 1..=10 {
        for seed in 0..20 {
            let mut scenario = Scenario::new(Network::Ring(size)).started_by_all();
            scenario.seed = seed;
            let plain = on_ring(FollowUp::Nothing, &scenario);
            let (n, elected) = (u64::from(size), plain.time.elected.expect("somebody leads"));
            let all = [
                (FollowUp::Nothing, [0, 0, 0], 1),
                (FollowUp::Names, [n, 0, 0], 1),
                (FollowUp::Size, [0, n, n], 2),
                (FollowUp::Both, [n, 0, n], 2),
            ];
            for (then, counts, laps) in all {
                let outcome = on_ring(then, &scenario);
                assert_eq!(outcome.by_kind[..2], plain.by_kind[..2]);
                assert_eq!(outcome.by_kind[2..], counts, "{then:?}");
                assert_eq!((outcome.leader, outcome.time.agreed), (plain.leader, plain.time.agreed));
                assert_eq!(outcome.time.quiescent, Some(elected + laps * n), "{then:?}");
                assert_told(then, &outcome, size);
                let leader = outcome.leader.expect("somebody leads");
                let in_order = |&(at, name): &(u32, u64)| u64::from((at + size - leader) % size) == name;
                assert!(outcome.names.iter().all(in_order), "{:?}", outcome.names);
            }
        }
    }
}

/// A leader by decree: it shows that the rest follows any election whose messages can carry it.
struct Appointed;

#[derive(Clone, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
struct Said(Message);

impl hustings_protocol::Message for Said {
    const KINDS: &'static [&'static str] = <Message as hustings_protocol::Message>::KINDS;
    fn kind(&self) -> usize {
        self.0.kind()
    }
}

impl Embed<Message> for Said {
    fn embed(message: Message) -> Self {
        Said(message)
    }
    fn extract(self) -> Result<Message, Self> {
        Ok(self.0)
    }
}

impl Protocol for Appointed {
    type Rank = Id;
    type State = ();
    type Message = Said;
    fn init(&self) {}
    fn handle_start<C: Context<Self>>(&self, (): &mut (), _: StartReason, cx: &mut C) {
        cx.lead();
    }
    fn handle_message<C: Context<Self>>(&self, (): &mut (), _: Port, _: Said, _: &mut C) {}
}

fn appointed<S: Protocol<Rank = Id, Message = Message>>(follow_up: S, scenario: &Scenario) -> Outcome {
    let ranks: Vec<Id> = scenario.ids.iter().copied().map(Id).collect();
    erased::run(WithFollowUp { election: Appointed, follow_up }, &ranks, scenario, None)
}

#[test]
fn it_follows_any_leader() {
    let mut scenario = Scenario::new(Network::Ring(5)).started_by_all();
    scenario.starts.retain(|start| start.at == 3);
    let outcome = appointed(Lap::new(FollowUp::Both), &scenario);
    assert_eq!((outcome.by_kind, outcome.estimate), (vec![5, 0, 5], Some(5)));
    assert_eq!(outcome.names, [(0, 2), (1, 3), (2, 4), (3, 0), (4, 1)]);
    scenario.network = Topology::Line.build(5, 0).expect("a line of five");
    let outcome = appointed(Traversal::new(FollowUp::Both), &scenario);
    assert_eq!((outcome.by_kind, outcome.estimate), (vec![8, 8, 4], Some(5)));
    // From position 3 the walk goes down the line first, then up.
    assert_eq!(outcome.names, [(0, 3), (1, 2), (2, 1), (3, 0), (4, 4)]);
    // 8 ticks for the walk; the wave is home 6 ticks later, three out and three back; the news are out after three.
    assert_eq!(outcome.time.quiescent, Some(8 + 6 + 3));
}

/// A second start signal at the leader changes nothing.
#[test]
fn it_follows_only_once() {
    let mut scenario = Scenario::new(Network::Ring(5));
    scenario.starts = [0, 1, 7].map(|tick| Start { at: 2, tick }).into();
    assert_eq!(appointed(Lap::new(FollowUp::Size), &scenario).by_kind, [0, 5, 5]);
    scenario.network = graph(5, 4, 1);
    let links = scenario.network.links();
    assert_eq!(appointed(Traversal::new(FollowUp::Names), &scenario).by_kind, [2 * links, 0, 0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// On a graph: 2E `name`; 2E `count` and 2E-(n-1) `size`; or all of them. However messages travel.
    #[test]
    fn on_a_graph_a_walk_and_a_wave(
        size in 1..20u32,
        more in 0..60u32,
        seed: u64,
        delayed: bool,
        unordered: bool,
    ) {
        let mut scenario = Scenario::new(graph(size, more, seed)).started_by_all();
        scenario.seed = seed;
        scenario.unordered = unordered;
        if delayed {
            scenario.delay = Delay::Uniform(1, 9);
        }
        let twice = 2 * scenario.network.links();
        let flood = twice + 1 - u64::from(size);
        let counts = [[0, 0, 0], [twice, 0, 0], [0, twice, flood], [twice, twice, flood]];
        for (then, counts) in ALL.into_iter().zip(counts) {
            let outcome = on_graph(then, &scenario);
            prop_assert!(outcome.agreement && outcome.leaders.len() == 1 && !outcome.hung);
            prop_assert_eq!(&outcome.by_kind[1..], [&[flood][..], &counts].concat());
            assert_told(then, &outcome, size);
        }
    }

    /// On a ring too.
    #[test]
    fn on_a_ring_however_messages_travel(size in 1..12u32, seed: u64, unordered: bool) {
        let mut scenario = Scenario::new(Network::Ring(size)).started_by_all();
        scenario.seed = seed;
        scenario.unordered = unordered;
        scenario.delay = Delay::Exponential(4.0);
        for then in ALL {
            let outcome = on_ring(then, &scenario);
            prop_assert!(outcome.agreement && !outcome.hung);
            assert_told(then, &outcome, size);
        }
    }
}
