//! Keys and certificates: how nodes prove their identity to each other.

mod authority;
mod tls;

pub use authority::IssueError;
pub(crate) use authority::{Authority, CertifiedKey, dns_name};
pub use tls::IdentityError;
pub(crate) use tls::{Identity, is_certificate_of, member_name};
