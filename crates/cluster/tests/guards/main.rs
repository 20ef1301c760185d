//! Guards of the core: each of these tests fails when the guard that it is about is taken out.

mod arbiter;
mod arbiter_none;
mod bounds;
mod harness;
mod incarnations;
mod local_leases;
mod modes;
