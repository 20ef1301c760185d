//! Where a tenure is: what the guardian does, holds and waits for.

use std::time::Duration;

use hustings_cluster::clock::Timestamp;

use crate::messages::{CommandEnd, Outcome, StopReason};

/// The lease that is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Held {
    pub(super) token: u64,
    pub(super) deadline: Timestamp,
    pub(super) lease: Duration,
    pub(super) stop: Duration,
    /// The node renews the lease no more.
    pub(super) is_final: bool,
}

/// What the guardian does, and what it waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// Not connected; try again at this time.
    Connecting(Timestamp),
    /// The campaign's request is on its way, or the office is not held yet.
    Campaigning,
    /// No campaign until this time.
    StandingBack(Timestamp),
    /// Is the key completed? Asked again at this time.
    Checking(Timestamp),
    /// The hook that precedes the command runs.
    Acquiring,
    /// The command has run since this time. The next health check begins, or the present one must have ended, then.
    Running {
        since: Timestamp,
        health_at: Timestamp,
        is_checking: bool,
    },
    /// The office is kept, and the command starts again at this time.
    Backoff(Timestamp),
    /// The command must stop, and is killed at `kill_at` at the latest.
    Stopping {
        reason: StopReason,
        kill_at: Timestamp,
        is_killed: bool,
    },
    /// The command has ended, or could not be started; the rest of its tree is being killed.
    Clearing(Ended),
    /// The success is being recorded; tried again at this time.
    Completing(CommandEnd, Timestamp),
    /// The hook that follows the command runs.
    Losing(Next),
    /// The office is given up; the node has not confirmed it, and need not after this time.
    Releasing(Next, Timestamp),
    /// The office is given up, and the hook that had no time before runs until this time.
    LosingLate(Next, Timestamp),
    Finished,
}

/// How the command came to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Ended {
    Exited(CommandEnd),
    NotStarted(String),
}

/// What follows when the office is given up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Next {
    Finish(Outcome),
    Campaign,
    StandBack,
}

/// A request that waits for its answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Asked {
    Campaign,
    IsCompleted,
    Complete,
    Stopped,
    Withdraw,
}
