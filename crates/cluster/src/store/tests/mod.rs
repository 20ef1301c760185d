//! What a store keeps, what it loses, and what it refuses.

mod blobs;
mod crash;
mod damage;
mod disk_writer;
pub(crate) mod fake;
mod faults;
mod folder;
mod golden;
mod model;
mod offline;
mod raft_storage;
