//! Tests of single safety mechanisms of the core. Each test fails if the mechanism that it is about is removed.

mod arbiter;
mod arbiter_none;
mod bounds;
mod completions;
mod consensus;
mod costs;
mod differences;
mod disks;
mod doubts;
mod formats;
mod founding;
pub(crate) mod harness;
mod incarnations;
mod known_voters;
mod lease_terms;
mod local_leases;
mod membership;
mod modes;
mod old_disks;
mod quorums;
mod refusals;
mod relays;
mod requests;
mod senders;
mod stuck_members;
mod versions;
mod watchers;
