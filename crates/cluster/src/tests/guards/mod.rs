//! Tests of single safety mechanisms of the core. Each test fails if the mechanism that it is about is removed.

mod arbiter;
mod arbiter_none;
mod bounds;
mod completions;
mod costs;
mod differences;
mod disks;
mod formats;
mod founding;
mod harness;
mod incarnations;
mod lease_terms;
mod local_leases;
mod membership;
mod modes;
mod old_disks;
mod quorums;
mod relays;
mod requests;
mod stuck_members;
mod watchers;
