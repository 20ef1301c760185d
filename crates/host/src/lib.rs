//! What a node, its HTTP API and `hustings run` need of a Linux host.
//!
//! - [`input_file`]: files of bounded length; who may read those that hold a secret.
//! - [`process_tree`]: the descendants of a process, and their end.
//! - [`socket_peer`]: who opened a connection to a Unix socket.

pub mod input_file;
pub mod process_tree;
pub mod socket_peer;
