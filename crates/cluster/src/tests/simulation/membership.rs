//! Members leave, and the others die at the worst moment.

use crate::api::{Reply, Request};
use crate::member::Role;
use crate::tests::cluster::SimCluster;
use crate::tests::faults::Options;

/// A cluster in which somebody asks to take out the arbiter's leader.
struct Departure {
    cluster: SimCluster,
    leaving: usize,
    /// Those that remain, without the one that is missing.
    left: Vec<usize>,
}

impl Departure {
    /// A cluster of this size, in which one more member is missing if the others are a majority without it.
    fn begin(size: usize, seed: u64, request: fn(String) -> Request) -> Departure {
        let mut cluster = SimCluster::new(size, seed, Options::default());
        cluster.run_ms(2_000);
        let leaving = cluster.arbiter_leader(0).expect("the arbiter has a leader");
        let mut left: Vec<usize> = (0..size).filter(|node| *node != leaving).collect();
        if size > 3 {
            let missing = left.remove(seed as usize % left.len());
            cluster.kill(missing);
            cluster.run_ms(1_000);
        }
        cluster.request(left[0], request(format!("n{}", leaving + 1)));
        Departure { cluster, leaving, left }
    }

    fn is_done(&mut self) -> bool {
        let replies = self.cluster.take_operator_replies();
        assert!(replies.iter().all(|reply| *reply == Reply::Done), "seed {}: {replies:?}", self.cluster.seed);
        !replies.is_empty()
    }

    /// All that remain are killed and started again.
    fn restart(&mut self) {
        self.left.iter().for_each(|node| self.cluster.kill(*node));
        self.left.iter().for_each(|node| self.cluster.start(*node));
    }

    /// Checks that somebody still decides.
    fn check(&mut self, when: &str) {
        self.cluster.run_ms(4_000);
        let holders = self.cluster.holders("job");
        let context = format!("seed {}, {when}: {holders:?} of {:?}", self.cluster.seed, self.left);
        assert!(holders.iter().any(|holder| self.left.contains(holder)), "{context}: {}", self.cluster.debug_state());
    }
}

const REMOVE: fn(String) -> Request = |name| Request::RemoveMember { name, force: false };
const DEMOTE: fn(String) -> Request =
    |name| Request::SetMember { name, priority: None, role: Some(Role::Observer), address: None, force: false };

#[test]
fn a_voter_that_left_is_not_needed_when_all_that_remain_are_killed() {
    for (size, request) in [(2, REMOVE), (4, REMOVE), (2, DEMOTE), (4, DEMOTE)] {
        for seed in 0..12 {
            let mut departure = Departure::begin(size, seed, request);
            let latest = departure.cluster.now + 5_000_000_000;
            while !departure.is_done() {
                assert!(departure.cluster.now < latest, "{size} members, seed {seed}: it is answered");
                departure.cluster.run_ms(1);
            }
            departure.cluster.kill(departure.leaving);
            departure.restart();
            departure.check(&format!("{size} members"));
        }
    }
}

#[test]
fn a_voter_stays_until_it_is_not_needed_any_more() {
    for size in [2, 4] {
        for seed in 0..60 {
            let mut departure = Departure::begin(size, seed, REMOVE);
            departure.cluster.run_ms(seed / 2);
            // The member that leaves lives on, unless it has left by itself or may have been switched off.
            if departure.is_done() {
                departure.cluster.kill(departure.leaving);
            }
            departure.restart();
            departure.check(&format!("{size} members"));
        }
    }
}

#[test]
fn a_voter_that_joined_may_be_one_of_those_that_are_left() {
    // Two of three are a majority; the one that joined does not help those that take it for no voter.
    for seed in 0..12 {
        let mut cluster = SimCluster::new(3, seed, Options::default());
        cluster.run_ms(2_000);
        let leader = cluster.arbiter_leader(0).expect("the arbiter has a leader");
        let [changed, other] = [(leader + 1) % 3, (leader + 2) % 3];
        for role in [Role::Observer, Role::Elector] {
            let name = format!("n{}", changed + 1);
            let request = Request::SetMember { name, priority: None, role: Some(role), address: None, force: false };
            cluster.request(leader, request);
            cluster.run_ms(1_000);
        }
        assert_eq!(cluster.take_operator_replies(), [Reply::Done, Reply::Done], "seed {seed}");
        (0..3).for_each(|node| cluster.kill(node));
        [leader, changed].into_iter().for_each(|node| cluster.start(node));
        cluster.run_ms(4_000);
        assert!(!cluster.holders("job").is_empty(), "seed {seed}, without {other}: {}", cluster.debug_state());
    }
}
