//! One suite for every arbiter. An arbiter takes part with a [`Subject`]: how its clusters are created. Each check is a
//! function of [`suite`], and `conformance!` makes a test of each of them.
//!
//! The arbiters are `raft`, an external store in memory, and `none`, for which little applies. The module [`broken`]
//! shows that the suite notices errors.

mod memory;
mod suite;
mod without;

use std::time::Duration;

use crate::tests::cluster::{BuiltIn, SimCluster};
use crate::tests::faults::Options;
use crate::timing::Timing;
use memory::{Fault, MemoryAuthority, Network};

/// How clusters with an arbiter are created.
pub(crate) trait Subject {
    /// A cluster. With `delay_ms`, every message to the authority takes that much longer.
    fn cluster(&self, nodes: usize, seed: u64, options: Options, delay_ms: u64) -> SimCluster;

    /// For how long the authority may be silent, at most, while a lease of a second continues.
    fn longest_silence_ms(&self) -> u64;

    /// How long a message to a slow authority takes.
    fn slow_ms(&self) -> u64;
}

/// Raft among the members: its messages go over the links between them.
struct Raft;

impl Subject for Raft {
    fn cluster(&self, nodes: usize, seed: u64, options: Options, delay_ms: u64) -> SimCluster {
        let timing = if delay_ms == 0 { options.timing } else { slow_links };
        let options = Options { extra_delay_ms: delay_ms, timing, ..options };
        SimCluster::with_authority(nodes, seed, options, Box::new(BuiltIn))
    }

    /// The members must not suspect each other.
    fn longest_silence_ms(&self) -> u64 {
        90
    }

    fn slow_ms(&self) -> u64 {
        200
    }
}

/// What an operator configures where messages take 200 ms. Not only the arbiter's messages are as slow, but also those
/// of the election algorithm, whose tick is an upper bound for the usual delay; and silence that is shorter than a
/// message takes must not count.
fn slow_links(timing: &mut Timing) {
    timing.tick = Duration::from_millis(250);
    timing.silence_floor = Duration::from_millis(600);
    timing.silence_ceiling = Duration::from_millis(2_000);
}

/// A store outside of the members.
struct Memory(Fault);

impl Subject for Memory {
    fn cluster(&self, nodes: usize, seed: u64, options: Options, delay_ms: u64) -> SimCluster {
        let network = Network { delay_ms, lost_one_in: 50 };
        let authority = MemoryAuthority::new(network, self.0, seed);
        SimCluster::with_authority(nodes, seed, options, Box::new(authority))
    }

    /// A keepalive every 50 ms, some of them lost.
    fn longest_silence_ms(&self) -> u64 {
        750
    }

    fn slow_ms(&self) -> u64 {
        200
    }
}

macro_rules! conformance {
    ($arbiter:ident, $subject:expr) => {
        mod $arbiter {
            use super::*;
            conformance!(@tests $subject,
                tokens_only_grow,
                exclusive_leases_never_overlap_under_faults,
                a_lease_that_is_renewed_in_time_continues,
                a_lease_that_is_not_renewed_ends_at_its_deadline,
                a_lease_counts_from_when_its_renewal_was_sent,
                a_released_office_goes_to_the_next_candidate,
                a_transfer_moves_an_office,
                completions_are_recorded_by_the_holder_alone,
                nothing_is_granted_while_elections_are_paused,
                a_better_candidate_preempts,
                every_node_sees_every_change_in_order,
                nothing_is_granted_while_the_authority_is_silent,
                tokens_do_not_regress_when_everything_is_restarted,
                a_thousand_offices_are_held_and_move,
                a_slow_authority_delays_grants_but_loses_none,
                clocks_may_drift_and_jump,
                a_node_that_leaves_hands_over,
            );
        }
    };
    (@tests $subject:expr, $($check:ident,)*) => {
        $(
            #[test]
            fn $check() {
                suite::$check(&$subject);
            }
        )*
    };
}

conformance!(raft, Raft);
conformance!(memory_store, Memory(Fault::None));

/// Arbiters with a deliberate error. The suite must notice each of them.
mod broken {
    use super::*;

    #[test]
    #[should_panic(expected = "token")]
    fn a_store_that_starts_over_is_noticed() {
        suite::tokens_do_not_regress_when_everything_is_restarted(&Memory(Fault::StateLost));
    }

    #[test]
    #[should_panic(expected = "but also")]
    fn a_coordinator_that_ignores_leases_is_noticed() {
        suite::exclusive_leases_never_overlap_under_faults(&Memory(Fault::LeasesIgnored));
    }

    #[test]
    #[should_panic(expected = "but also")]
    fn a_lease_that_counts_from_the_answer_is_noticed() {
        suite::a_lease_counts_from_when_its_renewal_was_sent(&Memory(Fault::LeaseFromAnswer));
    }

    #[test]
    #[should_panic(expected = "sees other changes")]
    fn a_watch_with_gaps_is_noticed() {
        suite::every_node_sees_every_change_in_order(&Memory(Fault::EntriesSkipped));
    }
}
