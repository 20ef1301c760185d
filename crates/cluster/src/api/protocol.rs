//! The vocabulary of the socket.

use serde::{Deserialize, Serialize};

use crate::clock::Moment;
use crate::config::{ArbiterKind, Mode};
use crate::member::Role;

/// No line is longer, in either direction.
pub const MAX_BYTES_A_LINE: usize = 1 << 20;

/// What a program may ask: `{"do":"leader","office":"leader"}`. Every request is answered by one [`Reply`], in order;
/// `watch` and `campaign` are followed by more as things happen. What others must be asked about is answered when they
/// have: `status`, `leader`, `watch`, and what an operator wants done.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// Who is up, who leads, what this node thinks: [`Reply::Status`].
    Status,
    /// Who holds an office: [`Reply::Office`].
    Leader {
        /// Its name.
        office: String,
    },
    /// The same, now and whenever it changes: [`Reply::Office`] for ever.
    Watch {
        /// Its name; all offices without one.
        #[serde(default)]
        office: Option<String>,
    },
    /// The last changes: [`Reply::History`].
    History {
        /// Of this office only.
        #[serde(default)]
        office: Option<String>,
    },
    /// The holder lets go and somebody else takes over: [`Reply::Done`] when it has. Whichever node is asked.
    Resign {
        /// Its name.
        office: String,
    },
    /// The office goes to this member: [`Reply::Done`] when it has.
    Transfer {
        /// Its name.
        office: String,
        /// The member's name.
        to: String,
    },
    /// Nobody new is elected from now on.
    Pause,
    /// Elections go on.
    Resume,
    /// A new member: [`Reply::Done`] when the cluster has taken it in.
    AddMember {
        /// Its number, which is in its certificate: greater than every one there ever was.
        id: u64,
        /// Its name.
        name: String,
        /// Host and port.
        address: String,
        /// Compared first.
        priority: u32,
        /// What it may do.
        role: Role,
    },
    /// A member leaves for good.
    RemoveMember {
        /// Its name.
        name: String,
    },
    /// This program wants an office, from now until it says otherwise or its connection ends. Answered by
    /// [`Reply::Done`], then [`Reply::Held`], [`Reply::Renewed`] …, [`Reply::Stop`], [`Reply::Lost`], [`Reply::Held`] …
    Campaign {
        /// Its name.
        office: String,
        /// What it expects of the office; refused if the office is of the other kind. If it turns out to be so only
        /// when it is granted, the program is told [`Reply::Lost`] with [`Cause::OtherMode`], and its campaign has
        /// ended.
        #[serde(default)]
        mode: Option<Mode>,
    },
    /// This program no longer wants the office, and has stopped its work.
    Withdraw {
        /// Its name.
        office: String,
    },
    /// This program was told to stop, and has.
    Stopped {
        /// Its name.
        office: String,
        /// The token it held.
        token: u64,
    },
}

/// What a node answers: `{"is":"done"}`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Reply {
    /// It is done.
    Done,
    /// It is not done.
    Refused(Refusal),
    /// See [`Request::Status`].
    Status(Box<Status>),
    /// See [`Request::Leader`] and [`Request::Watch`].
    Office(OfficeStatus),
    /// See [`Request::History`]: oldest first.
    History {
        /// At most 100 an office; fewer where there are more than 800 offices.
        changes: Vec<Change>,
    },
    /// The program holds the office from now on.
    Held(Holding),
    /// The program still holds the office, and may act until a later deadline.
    Renewed(Holding),
    /// The program is asked to stop its work and say [`Request::Stopped`]; its deadline still holds.
    Stop {
        /// The office.
        office: String,
        /// The token it holds.
        token: u64,
        /// Why.
        why: Cause,
    },
    /// The program does not hold the office any more.
    Lost {
        /// The office.
        office: String,
        /// The token it held.
        token: u64,
        /// Why.
        why: Cause,
    },
}

/// Why something was not done.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// A word for programs: `no-majority`, `not-held`, `unknown-member`, `timed-out`, `paused`, `bad-request`, …
    pub code: String,
    /// A sentence for people.
    pub message: String,
}

/// An office that a program on this host holds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Holding {
    /// The office.
    pub office: String,
    /// Greater than every token of this office before.
    pub token: u64,
    /// The program must have stopped by then, by this host's `CLOCK_BOOTTIME`, in nanoseconds.
    pub deadline: Moment,
}

/// Who holds an office, as far as a node knows.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OfficeStatus {
    /// The office.
    pub office: String,
    /// What kind it is.
    pub mode: Mode,
    /// The name of the holder.
    pub holder: Option<String>,
    /// Where the holder listens.
    pub address: Option<String>,
    /// Its token, or the last one there was.
    pub token: u64,
    /// When it was appointed, in milliseconds since 1970 by the appointer's wall clock: for people, not for decisions.
    pub since_unix_ms: u64,
    /// Why it was appointed.
    pub why: Cause,
    /// Whether it was so at a moment after the question was asked; if not, it is how things were, as far as the node
    /// knows.
    pub current: bool,
}

/// Why an office changed hands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Nobody held it.
    #[default]
    Vacant,
    /// The connection to its holder ended.
    Disconnected,
    /// Its holder was silent for too long.
    Silent,
    /// The lease of its holder ran out.
    Expired,
    /// Its holder gave it up.
    Resigned,
    /// Its holder left in good order.
    Left,
    /// Somebody better was there.
    Preempted,
    /// An operator said so.
    Transferred,
    /// Its holder is not well.
    Unwell,
    /// Its holder was removed from the cluster.
    Removed,
    /// The elected of this part of the cluster, without an arbiter.
    Elected,
    /// It is not of the kind that the program asked for.
    OtherMode,
}

/// An office changed hands.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Change {
    /// The office.
    pub office: String,
    /// The new holder; none if it became vacant.
    pub holder: Option<String>,
    /// The token.
    pub token: u64,
    /// Why.
    pub why: Cause,
    /// When, by the appointer's wall clock.
    pub unix_ms: u64,
}

/// What a node knows of its cluster.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Status {
    /// The cluster.
    pub cluster: String,
    /// This node.
    pub node: String,
    /// The algorithm.
    pub algorithm: String,
    /// The arbiter.
    pub arbiter: ArbiterKind,
    /// The member that leads the arbiter.
    pub arbiter_leader: Option<String>,
    /// The arbiter's term.
    pub term: u64,
    /// Whether the node is in touch with a majority: it made sure after the question was asked.
    pub current: bool,
    /// Whether elections are paused.
    pub paused: bool,
    /// Everybody, this node included.
    pub members: Vec<MemberStatus>,
    /// Every office.
    pub offices: Vec<OfficeStatus>,
    /// What was counted since the start, by name.
    pub counters: Vec<(String, u64)>,
}

/// What a node knows of a member.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MemberStatus {
    /// Its number.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Where it listens.
    pub address: String,
    /// What it may do.
    pub role: Role,
    /// Compared first.
    pub priority: u32,
    /// 0 to 100, as it last said.
    pub health: u8,
    /// Whether it is up, as far as this node can tell.
    pub up: bool,
}
