//! What all requests share.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use hustings_cluster::clock::Clock;
use hustings_cluster::node::RefusalLimit;
use tokio::sync::Semaphore;

use crate::auth::{Authenticator, Caller};
use crate::error::{ApiError, Code};
use crate::hosts::Hosts;
use crate::link::Link;
use crate::offices::Offices;
use crate::rate::RateLimit;
use crate::sessions::Sessions;

/// Where lines for the node's log go.
pub type Log = Arc<dyn Fn(fmt::Arguments<'_>) + Send + Sync>;

/// What all requests share.
pub(crate) type Shared = Arc<State>;

pub(crate) struct State {
    /// The name of this node.
    pub(crate) node: String,
    pub(crate) link: Link,
    pub(crate) offices: Offices,
    pub(crate) sessions: Sessions,
    pub(crate) watchers: Arc<Semaphore>,
    pub(crate) max_watchers: usize,
    /// The largest state of an office, and how many are read or stored at the same time.
    pub(crate) max_state_bytes: usize,
    pub(crate) state_transfers: Semaphore,
    pub(crate) authenticator: Authenticator,
    pub(crate) hosts: Hosts,
    pub(crate) rate: RateLimit,
    pub(crate) clock: Clock,
    pub(crate) log: Log,
    /// Of the audit log.
    pub(crate) refusals: Mutex<RefusalLimit>,
}

impl State {
    /// Logs who did what to the cluster, and what came of it. Never pass a secret.
    pub(crate) fn audit<T>(&self, caller: &Caller, what: fmt::Arguments<'_>, result: &Result<T, ApiError>) {
        match result {
            Ok(_) => (self.log)(format_args!("audit: caller={} request={what} result=done", caller.name)),
            Err(error) => {
                let line = format!("audit: caller={} request={what} result={}", caller.name, error.code.text());
                let is_refusal = matches!(error.code, Code::Forbidden | Code::BadRequest | Code::StaleToken);
                let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
                let line = if is_refusal { refusals.admit(line, self.clock.now()) } else { Some(line) };
                drop(refusals);
                line.into_iter().for_each(|line| (self.log)(format_args!("{line}")));
            }
        }
    }
}
