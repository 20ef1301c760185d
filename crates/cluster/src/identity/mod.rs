//! Keys and certificates: how nodes prove their identity to each other.

mod authority;
mod files;
mod seals;
mod tls;
mod validity;

pub(crate) use authority::IssueError;
pub(crate) use authority::{Authority, CertifiedKey, dns_name, fits};
pub(crate) use files::IdentityError;
pub(crate) use files::check_secrets;
pub(crate) use seals::{SealError, check_signature};
pub(crate) use tls::{Identity, is_certificate_of, member_name, unfinished};
pub(crate) use validity::{Expiry, not_after};
