//! Keys and certificates: who a node is, and how others can tell.

mod authority;

pub use authority::{Authority, IssueError, Issued, dns_name};
