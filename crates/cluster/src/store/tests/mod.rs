//! What a store keeps, what it loses, and what it refuses.

mod blobs;
mod crash;
mod damage;
mod disk_writer;
mod fake;
mod folder;
mod golden;
mod model;
mod offline;
mod raft_storage;
