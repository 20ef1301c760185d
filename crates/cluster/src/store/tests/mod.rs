//! What a store keeps, what it loses, and what it refuses.

mod crash;
mod damage;
mod disk_writer;
mod fake;
mod folder;
mod model;
mod raft_storage;
