//! The messages between nodes.

use bytes::Bytes;
use hustings_protocol::Id;
use serde::{Deserialize, Serialize};

use super::{RaftMessage, Relay};
use crate::api::{ChangeReason, Request, RequestError};
use crate::clock::Timestamp;
use crate::config::{ConfigDigest, Mode, Preempt, office_name};
use crate::core::table::{OfficeName, PIECE_BYTES, StatePiece};
use crate::store::{DiskPosition, DiskState, KnownDisk};
use crate::timing::LeaseTerms;

/// The maximum length of a list in a message. It exceeds the number of members of a cluster. Longer lists of offices
/// are sent in several messages.
pub(crate) const MAX_LIST_LEN: usize = 512;

/// A message from one node to another.
///
/// Variants are encoded by their position, so they must not be reordered.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) enum Message {
    /// A sign of life, with what the arbiter's leader and its followers add to it.
    Heartbeat(Heartbeat),
    /// What the sender is, and how the list of offices that it is a candidate for changed.
    Candidacy(Candidacy),
    /// From the coordinator: the members that are up.
    View(Vec<Id>),
    /// A message of the raft library.
    Raft(RaftMessage),
    /// A message of the election with this key.
    Election {
        /// See [`crate::election::key`].
        key: u64,
        /// The algorithm's message.
        bytes: Vec<u8>,
    },
    /// To the coordinator: how the list of offices that the sender was elected for and does not hold changed.
    Claims(Claims),
    /// From the coordinator to a holder: stop, the office goes to somebody else.
    StepDown {
        /// The office.
        office: OfficeName,
        /// The holder's token.
        token: u64,
        /// Why.
        cause: ChangeReason,
    },
    /// From the coordinator to a holder: do not be a candidate for this office for a while.
    PauseCampaign {
        /// The office.
        office: OfficeName,
    },
    /// From a holder to the coordinator: the work for the office has stopped.
    SteppedDown {
        /// The office.
        office: OfficeName,
        /// The holder's token.
        token: u64,
        /// Why it stopped, if it was not asked to.
        cause: ChangeReason,
    },
    /// From the coordinator: are you ready to take over this office?
    ReadinessRequest {
        /// The office.
        office: OfficeName,
    },
    /// The response to a `ReadinessRequest`.
    ReadinessResponse {
        /// The office.
        office: OfficeName,
        /// Whether the sender is a candidate for the office and its disk works.
        is_ready: bool,
    },
    /// A client's request that only the coordinator can carry out.
    ForwardedRequest(ForwardedRequest),
    /// The response to a `ForwardedRequest`.
    ForwardedResponse {
        /// The number of the request.
        number: u64,
        /// The outcome.
        result: Result<(), RequestError>,
    },
    /// To the coordinator: the sender's connection to this member has ended.
    PeerDown(Id),
    /// A message that is relayed because its sender has no connection to its receiver.
    Relay(Relay),
    /// To the arbiter's leader: what is the commit index?
    ReadIndexRequest {
        /// The sender's number for the request.
        number: u64,
    },
    /// From the arbiter's leader to the voters: do you still follow me in this term?
    PollRequest {
        /// The term.
        term: u64,
        /// The leader's number for the poll.
        poll: u64,
    },
    /// The response to a `PollRequest`: the sender still follows the leader.
    PollResponse {
        /// The term.
        term: u64,
        /// The leader's number for the poll.
        poll: u64,
    },
    /// The response to a `ReadIndexRequest`.
    ReadIndexResponse {
        /// The number of the request.
        number: u64,
        /// The commit index at some time after the request was sent.
        committed: u64,
    },
    /// The receiver's disk is not the one that is registered for it, which is this one.
    UnknownDisk(u64),
    /// The sender is about to stop, and no longer acts as a holder.
    Leave,
    /// From the coordinator: the receiver was removed from the cluster.
    Removed,
    /// Asks for the receiver's whole candidacy, because a part of it was lost.
    CandidacyRequest,
    /// From the coordinator, now and then: the versions of the candidacies that it knows.
    CandidacyVersions(Vec<(Id, u64)>),
    /// To the coordinator: a piece of a state that a program on the sender's host stores.
    StatePiece(StatePiece),
    /// The response to a `StatePiece`.
    StatePieceResponse {
        /// The sender's number for the upload.
        number: u64,
        /// The next piece that is expected, or `None` if the state is stored.
        result: Result<Option<u32>, RequestError>,
    },
    /// Asks for a piece of a blob that a snapshot refers to.
    BlobRequest {
        /// The blob.
        blob: u64,
        /// The number of the piece, from 0.
        piece: u32,
    },
    /// The response to a `BlobRequest`.
    BlobPiece {
        /// The blob.
        blob: u64,
        /// The number of the piece.
        piece: u32,
        /// Its bytes; `None` if the sender does not have them.
        #[serde(with = "crate::byte_string::optional")]
        data: Option<Bytes>,
    },
    /// Asks for the receiver's clock, to estimate the round trip time and the offset between the clocks. The node
    /// itself answers it; the core does not know of clocks.
    TimeRequest {
        /// When it was sent, on the sender's clock.
        sent: Timestamp,
    },
    /// The response to a `TimeRequest`.
    TimeResponse {
        /// When the request was sent, on the requester's clock.
        sent: Timestamp,
        /// When the request arrived, on the responder's clock.
        received: Timestamp,
        /// When the response was sent, on the responder's clock.
        replied: Timestamp,
    },
    /// How far the sender's disk certainly is: what it will still hold after every restart.
    DiskMark(DiskPosition),
    /// The receiver's disk is older than this, which the sender remembers of it, or comes from a copy that was.
    OldDisk(KnownDisk),
    /// A process that was started later runs as the same member as the receiver.
    Superseded,
    /// Who votes, when the log is applied up to this index.
    Voters {
        /// The index.
        applied: u64,
        /// The voters, ascending.
        voters: Vec<Id>,
    },
    /// The cluster writes this version of the formats, which the receiver does not read.
    OldProgram {
        /// The version.
        version: u8,
    },
}

/// A sign of life.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Heartbeat {
    /// The sender's number for its heartbeats to the receiver.
    pub number: u64,
    /// Set by the arbiter's leader.
    pub leader: Option<LeaderHeartbeat>,
    /// Set in an answer to the arbiter's leader.
    pub follower: Option<FollowerHeartbeat>,
}

/// What the arbiter's leader adds to a heartbeat. The receiver must answer it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct LeaderHeartbeat {
    /// The leader's term.
    pub term: u64,
    /// The commit index that the receiver may use.
    pub commit: u64,
    /// The lease round that this heartbeat belongs to.
    pub round: u64,
    /// The highest number of the receiver's heartbeats that is confirmed: a quorum still followed this leader when that
    /// heartbeat arrived, or later.
    pub confirmed: u64,
}

/// What a follower adds to a heartbeat that answers the leader's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct FollowerHeartbeat {
    /// The leader's term.
    pub term: u64,
    /// The lease round that this heartbeat answers.
    pub round: u64,
    /// The index up to which the sender has applied the log.
    pub applied: u64,
}

/// What a node is, and how the list of offices that it is a candidate for changed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Candidacy {
    /// Identifies the node's process.
    pub incarnation: u64,
    /// Identifies its disk.
    pub store_id: u64,
    /// What it holds.
    pub disk: DiskState,
    /// Its health score, 0–100.
    pub health: u8,
    /// Whether its disk does not take writes.
    pub disk_fails: bool,
    /// What must be the same on all members.
    pub digest: ConfigDigest,
    /// The highest version of the formats that it reads.
    pub reads: u8,
    /// The version of the list after this change.
    pub version: u64,
    /// The version that the change applies to; `None` if it applies to an empty list.
    pub base: Option<u64>,
    /// The offices that the list gained.
    pub added: Vec<OfficeName>,
    /// The offices that the list lost.
    pub removed: Vec<OfficeName>,
}

/// How the claims of a node changed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Claims {
    /// Whether these claims replace all earlier ones.
    pub replaces_all: bool,
    /// New claims, and claims that are repeated because they had no effect.
    pub added: Vec<Claim>,
    /// Offices that the node no longer claims.
    pub removed: Vec<OfficeName>,
}

/// An office that a node was elected for.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct Claim {
    /// The office.
    pub office: OfficeName,
    /// The office's mode in the claimant's configuration.
    pub mode: Mode,
    /// Whether the claimant may take the office from a live holder, by its configuration.
    pub preempt: Preempt,
    /// The lease that the claimant asks for.
    pub terms: LeaseTerms,
}

/// A client's request on its way to the arbiter's leader.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct ForwardedRequest {
    /// The forwarding node's number for the request.
    pub number: u64,
    /// The request as JSON, as it came from the client's socket.
    pub request: String,
}

impl ForwardedRequest {
    /// Wraps a request.
    pub(crate) fn new(number: u64, request: &Request) -> Self {
        ForwardedRequest { number, request: serde_json::to_string(request).expect("a request is plain data") }
    }

    /// Parses the request.
    pub(crate) fn parse(&self) -> Result<Request, DecodeError> {
        serde_json::from_str(&self.request).map_err(|_| DecodeError)
    }
}

/// The bytes are not a valid message of this version.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("not a valid message of this version")]
pub(crate) struct DecodeError;

impl Message {
    /// Whether other messages may overtake this one: it may be large, and nobody suspects a member without it. Messages
    /// of the raft library stay in order among themselves.
    pub(crate) fn is_bulk(&self) -> bool {
        match self {
            Message::Relay(relay) => relay.is_bulk,
            Message::Raft(_)
            | Message::StatePiece(_)
            | Message::StatePieceResponse { .. }
            | Message::BlobRequest { .. }
            | Message::BlobPiece { .. } => true,
            _ => false,
        }
    }

    /// The term in which the sender claims to lead the arbiter, if it does.
    pub(crate) fn leader_term(&self) -> Option<u64> {
        match self {
            Message::Heartbeat(heartbeat) => heartbeat.leader.map(|leader| leader.term),
            Message::Raft(message) => Some(message.term()),
            _ => None,
        }
    }

    /// Encodes the message.
    pub(crate) fn encode(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("messages are plain data")
    }

    /// Decodes a message, which must use up all bytes.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Message, DecodeError> {
        let (message, rest) = postcard::take_from_bytes::<Message>(bytes).map_err(|_| DecodeError)?;
        if rest.is_empty() && message.is_valid() { Ok(message) } else { Err(DecodeError) }
    }

    /// Whether no list is too long and every office name is valid. Office names of peers end up in the table, which
    /// must fit into one frame.
    fn is_valid(&self) -> bool {
        let is_office = |name: &str| office_name(name).is_ok();
        match self {
            Message::Candidacy(Candidacy { added, removed, .. }) => {
                added.len() + removed.len() <= MAX_LIST_LEN && added.iter().chain(removed).all(|name| is_office(name))
            }
            Message::View(members) | Message::Voters { voters: members, .. } => {
                members.len() <= MAX_LIST_LEN && members.is_sorted_by(|one, next| one < next)
            }
            Message::CandidacyVersions(versions) => versions.len() <= MAX_LIST_LEN,
            Message::Claims(Claims { added, removed, .. }) => {
                added.len() + removed.len() <= MAX_LIST_LEN
                    && added.iter().map(|claim| &claim.office).chain(removed).all(|name| is_office(name))
            }
            Message::StepDown { office, .. }
            | Message::PauseCampaign { office }
            | Message::SteppedDown { office, .. }
            | Message::ReadinessRequest { office }
            | Message::ReadinessResponse { office, .. } => is_office(office),
            Message::StatePiece(piece) => is_office(&piece.office) && piece.data.len() <= PIECE_BYTES,
            Message::BlobPiece { data: Some(data), .. } => data.len() <= PIECE_BYTES,
            Message::Relay(relay) => relay.is_bounded(),
            // Requests are checked against the table, and relayed messages are decoded by their receiver.
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests;
