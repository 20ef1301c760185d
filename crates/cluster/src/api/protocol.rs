//! The requests and replies of the node's Unix socket.

use std::ops::RangeInclusive;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    Base64, Change, ChangeReason, Guard, Metrics, OfficeStatus, StateInfo, StatePart, Status, Trace, nanoseconds,
};
use crate::clock::Timestamp;
use crate::config::Mode;
use crate::member::Role;

/// The longest line that either side may send, in bytes.
pub const MAX_LINE_BYTES: usize = 1 << 20;

/// The shortest and the longest time to live of a connection, in milliseconds.
const TIMES_TO_LIVE_MS: RangeInclusive<u64> = 100..=3_600_000;

/// The most bytes of a state that one reply contains.
pub(crate) const MAX_STATE_PART_BYTES: usize = 256 * 1024;
/// The most bytes of a state that one request contains.
pub const MAX_PUT_PART_BYTES: usize = 32 * 1024;

/// A request to the node, such as `{"type":"leader","office":"leader"}`.
///
/// The node answers every request with one [`Reply`], in order. `watch` and `campaign` are followed by further replies
/// as things change. Requests that need the other members (`status`, `leader`, `watch` and every change) are answered
/// once those have replied.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// Asks for the state of the cluster. Answered by [`Reply::Status`].
    Status,
    /// Asks for the offices whose names follow `after`, in order. Answered by [`Reply::Offices`]. [`Reply::Status`]
    /// has the first ones.
    Offices {
        /// The last office of the list before; from the first one if absent.
        #[serde(default)]
        after: Option<String>,
        /// How many at most; 1,000 if absent or more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<usize>,
    },
    /// Asks for the holder of an office. Answered by [`Reply::Office`].
    Leader {
        /// The name of the office.
        office: String,
    },
    /// Asks for the holder of an office, now and after every change. Answered by a stream of [`Reply::Office`].
    Watch {
        /// The name of the office; every office if absent.
        #[serde(default)]
        office: Option<String>,
    },
    /// Asks for the most recent changes. Answered by [`Reply::History`].
    History {
        /// The name of the office; every office if absent.
        #[serde(default)]
        office: Option<String>,
    },
    /// Asks for what the node counts and measures. Answered by [`Reply::Metrics`] at once.
    Metrics,
    /// Asks for the messages and events that the node remembers. Answered by [`Reply::Trace`] at once.
    Trace {
        /// The first record wanted: 0, or [`Trace::next`] of the page before.
        #[serde(default)]
        from: u64,
    },
    /// Asks for the part of the configuration file in which all members must agree, for the file of a new member.
    /// Answered by [`Reply::Settings`] at once.
    Settings {
        /// Where to begin. A reply has at most 256 KiB; ask again for the rest.
        #[serde(default)]
        offset: usize,
    },
    /// Asks for the terms of an office for a holder on this node. Answered by [`Reply::Terms`] at once.
    Terms {
        /// The name of the office.
        office: String,
    },
    /// Asks whether a key was recorded as completed by a holder of an office. Answered by [`Reply::Completed`].
    Completed {
        /// The name of the office.
        office: String,
        /// The key.
        key: String,
    },
    /// Records that the holder of an office has completed what the key names. Answered by [`Reply::Done`] once the
    /// record is committed; also if there is one already, which is kept. Rejected with the code `stale-token` if the
    /// office is not held with this token.
    ///
    /// The cluster remembers the last 1,000 records of all offices together.
    Complete {
        /// The name of the office.
        office: String,
        /// The token that the program holds.
        token: u64,
        /// The key: 1 to 128 bytes without control characters.
        key: String,
    },
    /// Asks for the state that a holder of an office has stored. Answered by [`Reply::State`].
    GetState {
        /// The name of the office.
        office: String,
        /// Where to begin. A reply has at most 256 KiB; ask again for the rest.
        #[serde(default)]
        offset: u64,
    },
    /// Stores a state for the next holders of an office. Rejected with the code `stale-token` if the office is not held
    /// with this token; then nothing has changed.
    ///
    /// A state is sent in parts of at most [`MAX_PUT_PART_BYTES`] bytes, one after the other. Each is answered by
    /// [`Reply::Done`]: the last one when a majority has stored the whole state, the others at once.
    PutState {
        /// The name of the office.
        office: String,
        /// The token that the program holds.
        token: u64,
        /// The size of the whole state.
        bytes: u64,
        /// Where this part begins.
        #[serde(default)]
        offset: u64,
        /// The bytes of this part.
        data: Base64,
    },
    /// Asks for the states that holders of offices have stored, without their bytes: those of the offices whose names
    /// follow `after`, in order. Answered by [`Reply::States`].
    States {
        /// The last office of the list before; from the first one if absent.
        #[serde(default)]
        after: Option<String>,
    },
    /// Deletes the state of an office. Answered by [`Reply::Done`] once a majority has recorded it. Rejected with the
    /// code `no-state` if there is none.
    ///
    /// The holder of the office sends its token; the request is rejected with the code `stale-token` if the office is
    /// not held with it. Without a token, the request needs [`Right::Operate`](super::Right::Operate), whoever holds
    /// the office.
    DeleteState {
        /// The name of the office.
        office: String,
        /// The token that the program holds; absent if an operator asks.
        #[serde(default)]
        token: Option<u64>,
    },
    /// Makes the holder give the office up. Answered by [`Reply::Done`] once another member holds it. Any node accepts
    /// this request.
    Resign {
        /// The name of the office.
        office: String,
    },
    /// Hands the office over to a member. Answered by [`Reply::Done`] once that member holds it.
    Transfer {
        /// The name of the office.
        office: String,
        /// The name of the member.
        to: String,
    },
    /// Pauses elections: holders keep their offices, vacant offices stay vacant.
    Pause,
    /// Resumes elections.
    Resume,
    /// Adds a member. Answered by [`Reply::Done`] once the change is committed. An elector or witness does not vote
    /// before it runs and has caught up; until then, [`MemberStatus::joining`](super::MemberStatus::joining) is set.
    AddMember {
        /// The id in the member's certificate. It must be greater than every id that was ever used.
        id: u64,
        /// The member's name.
        name: String,
        /// The address that peers connect to, `host:port`.
        address: String,
        /// The priority; the member with the highest priority is preferred.
        priority: u32,
        /// The member's role.
        role: Role,
    },
    /// Removes a member for good.
    RemoveMember {
        /// The member's name.
        name: String,
        /// Whether to remove it even if the remaining voters have no majority that is up.
        #[serde(default)]
        force: bool,
    },
    /// Changes a member's priority, role or address. Answered by [`Reply::Done`] once the change is committed.
    SetMember {
        /// The member's name.
        name: String,
        /// The new priority; unchanged if absent.
        #[serde(default)]
        priority: Option<u32>,
        /// The new role; unchanged if absent. An observer that is to vote does so when it has caught up.
        #[serde(default)]
        role: Option<Role>,
        /// The new address that peers connect to, `host:port`; unchanged if absent.
        #[serde(default)]
        address: Option<String>,
        /// Whether to change the role even if the remaining voters have no majority that is up.
        #[serde(default)]
        force: bool,
    },
    /// Campaigns for an office until the program withdraws or its connection ends.
    ///
    /// Answered by [`Reply::Done`], then by [`Reply::Held`], [`Reply::Renewed`], [`Reply::Stop`] and [`Reply::Lost`] as
    /// the lease changes.
    Campaign {
        /// The name of the office.
        office: String,
        /// The mode that the program expects. The node rejects the request if the office has the other mode. If the
        /// mismatch shows only when the office is granted, the program gets [`Reply::Lost`] with
        /// [`ChangeReason::ModeMismatch`], and its campaign has ended.
        #[serde(default)]
        mode: Option<Mode>,
        /// What contains the program's work, if the node is to kill it when it misses its deadline. Once a connection
        /// has a guard, it covers all leases of the connection, and another one is rejected.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        guard: Option<Guard>,
    },
    /// Sets how long this connection lives without a word from the program, and is such a word, as every other request.
    /// Answered by [`Reply::Done`] at once. A program that lets more time pass may be frozen: the node closes the
    /// connection, and treats its campaigns as those of a program that is gone. Without this request, the program keeps
    /// its offices as long as its connection is open.
    KeepAlive {
        /// The time to live in milliseconds: 100 to 3,600,000.
        ttl_ms: u64,
    },
    /// Ends a campaign. The program has stopped its work.
    Withdraw {
        /// The name of the office.
        office: String,
    },
    /// Confirms a [`Reply::Stop`], or gives the office up: the program has stopped its work.
    ///
    /// Another program may say it for one whose connection has ended. While that one is connected, the node rejects it
    /// with the code `held-by-another`.
    Stopped {
        /// The name of the office.
        office: String,
        /// The token that the program held.
        token: u64,
    },
}

impl Request {
    /// The time to live that the request sets for its connection.
    pub(crate) fn time_to_live(&self) -> Option<Result<Duration, RequestError>> {
        let Request::KeepAlive { ttl_ms } = self else { return None };
        if TIMES_TO_LIVE_MS.contains(ttl_ms) {
            return Some(Ok(Duration::from_millis(*ttl_ms)));
        }
        let (least, most) = TIMES_TO_LIVE_MS.into_inner();
        let message = format!("`ttl_ms` is {ttl_ms}: it must be between {least} and {most}");
        Some(Err(RequestError { code: "bad-request".to_string(), message }))
    }
}

/// How much work an answer is. A node does a bounded amount in each pass of its loop, and in each turn of its core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effort {
    /// It concerns one office, or nothing.
    Small,
    /// A part of a state.
    Bytes,
    /// It may concern all offices.
    Offices,
    /// All offices, and all that was counted.
    Everything,
}

impl Request {
    /// How much work its answer is.
    pub(crate) fn effort(&self) -> Effort {
        match self {
            Request::Metrics => Effort::Everything,
            Request::Status
            | Request::Offices { .. }
            | Request::States { .. }
            | Request::Trace { .. }
            | Request::History { office: None }
            | Request::Watch { office: None } => Effort::Offices,
            Request::GetState { .. } => Effort::Bytes,
            _ => Effort::Small,
        }
    }
}

/// A reply of the node, such as `{"type":"done"}`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Reply {
    /// The request was carried out.
    Done,
    /// The request was not carried out.
    Error(RequestError),
    /// The answer to [`Request::Status`].
    Status(Box<Status>),
    /// The answer to [`Request::Offices`]: at most 1,000 of them.
    Offices {
        /// The offices, by name.
        offices: Vec<OfficeStatus>,
        /// The name of the last one, if there are more.
        next: Option<String>,
    },
    /// An answer to [`Request::Leader`] or [`Request::Watch`].
    Office(OfficeStatus),
    /// The answer to [`Request::Metrics`].
    Metrics(Box<Metrics>),
    /// The answer to [`Request::Trace`]: one page.
    Trace(Box<Trace>),
    /// The answer to [`Request::Settings`].
    Settings {
        /// A part of the text.
        text: String,
        /// Where the next part begins; absent in the last one.
        next: Option<usize>,
    },
    /// The answer to [`Request::Terms`].
    Terms(OfficeTerms),
    /// The answer to [`Request::Completed`].
    Completed {
        /// The record; absent if there is none.
        completion: Option<Completion>,
        /// Whether a majority confirmed this after the request arrived. Otherwise it is what the node last heard of.
        current: bool,
    },
    /// The answer to [`Request::GetState`]. A majority confirmed it after the request arrived.
    State {
        /// The state; absent if the office has none.
        state: Option<StatePart>,
    },
    /// The answer to [`Request::States`]: at most 1,000 of them. A majority confirmed it after the request arrived.
    States {
        /// The states, by office.
        states: Vec<StateInfo>,
        /// The office of the last one, if there are more.
        next: Option<String>,
    },
    /// The answer to [`Request::History`], oldest change first.
    History {
        /// At most 100 changes per office; fewer if there are more than 700 offices.
        changes: Vec<Change>,
    },
    /// The program holds the office from now on.
    Held(Lease),
    /// All leases of the program were renewed, except those that it was told to stop: each now lasts for its own length
    /// ([`Lease::lease`]) from this time.
    Renewed {
        /// The time, in nanoseconds of this host's `CLOCK_BOOTTIME`.
        #[serde(rename = "from_boottime_ns")]
        from: Timestamp,
    },
    /// The program must stop its work and send [`Request::Stopped`]. Its deadline still applies.
    Stop {
        /// The name of the office.
        office: String,
        /// The token that the program holds.
        token: u64,
        /// Why the office is taken away.
        reason: ChangeReason,
    },
    /// The program no longer holds the office.
    Lost {
        /// The name of the office.
        office: String,
        /// The token that the program held.
        token: u64,
        /// Why the office was lost.
        reason: ChangeReason,
    },
}

/// Why a node did not carry out a request.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct RequestError {
    /// A stable code for programs: `no-majority`, `disk`, `not-held`, `stale-token`, `held-by-another`,
    /// `unknown-member`, `timed-out`, `paused`, `not-permitted`, `bad-request` and others.
    pub code: String,
    /// A sentence for people.
    pub message: String,
}

/// A lease on an office, held by a program on this host.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Lease {
    /// The name of the office.
    pub office: String,
    /// The fencing token: greater than every earlier token of this office.
    pub token: u64,
    /// The time by which the program must have stopped, in nanoseconds of this host's `CLOCK_BOOTTIME`.
    #[serde(rename = "deadline_boottime_ns")]
    pub deadline: Timestamp,
    /// How long the lease lasts after a renewal.
    #[serde(rename = "lease_ns", with = "nanoseconds")]
    pub lease: Duration,
    /// How long before the deadline the program must begin to stop.
    #[serde(rename = "stop_ns", with = "nanoseconds")]
    pub stop: Duration,
}

/// The terms of an office for a holder on one node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OfficeTerms {
    /// The name of the cluster.
    pub cluster: String,
    /// The name of this node.
    pub node: String,
    /// The name of the office.
    pub office: String,
    /// What happens when the holder fails.
    pub mode: Mode,
    /// How long a lease lasts after a renewal, as in [`Lease::lease`].
    #[serde(rename = "lease_ns", with = "nanoseconds")]
    pub lease: Duration,
    /// How long before the deadline the holder must begin to stop.
    #[serde(rename = "stop_ns", with = "nanoseconds")]
    pub stop: Duration,
}

/// A record that a holder of an office has completed something.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Completion {
    /// The name of the member that held the office.
    pub holder: String,
    /// The token that it held.
    pub token: u64,
    /// When it was recorded, in milliseconds since 1970 by the arbiter's wall clock. For display only.
    pub unix_ms: u64,
}
