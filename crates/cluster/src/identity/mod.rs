//! Keys and certificates: who a node is, and how others can tell.

mod authority;
mod tls;

pub use authority::{Authority, IssueError, Issued, dns_name};
pub use tls::{Identity, IdentityError, MAX_PEM_BYTES, is_member};
