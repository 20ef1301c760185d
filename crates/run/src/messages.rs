//! What `run` and its guardian tell each other, one JSON object per line.

use std::fmt;

use hustings_cluster::api::ChangeReason;
use serde::{Deserialize, Serialize};

/// What `run` tells its guardian.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Instruction {
    /// `run` received a signal.
    Signal {
        signal: i32,
        /// Whether the command has received it already, because it came from the terminal.
        is_delivered: bool,
    },
}

/// What the guardian tells `run`: how the campaign and the command are doing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(crate) enum Event {
    /// The guardian campaigns for the office.
    Waiting,
    /// The guardian has lost the connection to the node, and tries to connect again.
    NodeGone,
    /// The office is held.
    Acquired {
        /// The fencing token.
        token: u64,
    },
    /// Work is about to start: the shared deadline counts.
    Working,
    /// The command was started.
    Started {
        /// The fencing token.
        token: u64,
    },
    /// The command has ended.
    Ended {
        /// How it ended.
        end: CommandEnd,
    },
    /// The command will be started again.
    Restarting {
        /// After this many milliseconds.
        after_ms: u64,
    },
    /// The command failed too often: the office is given up, and nothing happens for a while.
    StandingBack {
        /// For this many milliseconds.
        for_ms: u64,
    },
    /// The command is being stopped.
    Stopping {
        /// Why.
        reason: StopReason,
    },
    /// The command did not stop in time: its processes are killed.
    Killing,
    /// A hook failed.
    HookFailed {
        /// Its option.
        hook: String,
        /// How it ended, or why it could not be started.
        problem: String,
    },
    /// The hook of `--on-lose` has run.
    LoseHookDone,
    /// The office was given up, and the command's processes are gone.
    Released,
    /// The guardian is done. It is the last event.
    Finished {
        /// The result.
        outcome: Outcome,
    },
}

/// How a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommandEnd {
    /// It exited with this code.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
}

impl CommandEnd {
    /// The exit code that a shell would report.
    pub fn exit_code(self) -> u8 {
        match self {
            CommandEnd::Code(code) => code as u8,
            CommandEnd::Signal(signal) => 128u8.wrapping_add(signal as u8),
        }
    }

    /// Whether it succeeded.
    pub fn is_success(self) -> bool {
        self == CommandEnd::Code(0)
    }
}

impl fmt::Display for CommandEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommandEnd::Code(code) => write!(f, "exited with code {code}"),
            CommandEnd::Signal(signal) => write!(f, "was killed by signal {signal}"),
        }
    }
}

/// Why a command is stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// The node takes the office away, or has lost it.
    Office(ChangeReason),
    /// The lease was not renewed in time.
    LeaseEnds,
    /// The connection to the node ended.
    NodeGone,
    /// The health check failed.
    Unhealthy,
    /// The guardian was killed.
    GuardianGone,
    /// `run` received this signal before the command was started.
    Signal(i32),
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            StopReason::Office(reason) => return f.write_str(describe(*reason)),
            StopReason::LeaseEnds => "the lease was not renewed in time",
            StopReason::NodeGone => "the node is gone",
            StopReason::Unhealthy => "the health check failed",
            StopReason::GuardianGone => "the guardian was killed",
            StopReason::Signal(signal) => return write!(f, "signal {signal}"),
        };
        f.write_str(text)
    }
}

fn describe(reason: ChangeReason) -> &'static str {
    match reason {
        ChangeReason::Expired => "the lease expired",
        ChangeReason::Resigned => "the office was resigned",
        ChangeReason::Left => "the node shuts down",
        ChangeReason::Preempted => "a higher-ranked member takes the office",
        ChangeReason::Transferred => "the office is transferred",
        ChangeReason::Unhealthy => "the host is unhealthy",
        ChangeReason::Removed => "the node was removed from the cluster",
        ChangeReason::ModeMismatch => "the office has another mode",
        ChangeReason::Disconnected | ChangeReason::Silent | ChangeReason::Vacant | ChangeReason::Elected => {
            "the office was lost"
        }
    }
}

/// The result of `run`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum Outcome {
    /// The command ended by itself.
    Command {
        /// How.
        end: CommandEnd,
    },
    /// The command was stopped because the office was lost.
    LostLeadership {
        /// Why.
        reason: StopReason,
    },
    /// The office was not held before the time to wait was over.
    NeverLed,
    /// Another run has already completed this key: nothing was started.
    AlreadyCompleted {
        /// The token of the run that did.
        token: u64,
    },
    /// A signal ended `run` while no command was running.
    Signal {
        /// The signal.
        signal: i32,
    },
    /// It could not be done.
    Failure {
        /// Why.
        message: String,
    },
}

impl Outcome {
    /// The exit code of `run`.
    pub fn exit_code(&self) -> u8 {
        match self {
            Outcome::Command { end } => end.exit_code(),
            Outcome::LostLeadership { .. } => LOST_LEADERSHIP,
            Outcome::NeverLed => NEVER_LED,
            Outcome::AlreadyCompleted { .. } => 0,
            Outcome::Signal { signal } => CommandEnd::Signal(*signal).exit_code(),
            Outcome::Failure { .. } => COULD_NOT,
        }
    }
}

/// The exit code if the command was stopped because leadership was lost (`EX_TEMPFAIL`).
pub const LOST_LEADERSHIP: u8 = 75;
/// The exit code if the office was not held within the time to wait (`EX_UNAVAILABLE`).
pub const NEVER_LED: u8 = 69;
/// The exit code if something could not be done.
pub const COULD_NOT: u8 = 3;
