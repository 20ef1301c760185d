//! What a message is called, and what it is about: for counters and traces.

use raft::eraftpb::MessageType;

use super::{Candidacy, Claims, Message};
use crate::core::table::OfficeName;

/// Defines the kinds with their names, so that no list of them can lack one.
macro_rules! kinds {
    ($($kind:ident = $name:literal),+ $(,)?) => {
        /// The kind of a message between members.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub(crate) enum MessageKind {
            $($kind),+
        }

        impl MessageKind {
            /// All kinds, in order.
            pub(crate) const ALL: &'static [MessageKind] = &[$(MessageKind::$kind),+];

            /// The name of the kind.
            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(MessageKind::$kind => $name),+
                }
            }
        }
    };
}

kinds! {
    Heartbeat = "heartbeat",
    Candidacy = "candidacy",
    View = "view",
    RaftAppend = "raft-append",
    RaftAppendResponse = "raft-append-response",
    RaftVoteRequest = "raft-vote-request",
    RaftVoteResponse = "raft-vote-response",
    RaftPreVoteRequest = "raft-pre-vote-request",
    RaftPreVoteResponse = "raft-pre-vote-response",
    RaftSnapshot = "raft-snapshot",
    RaftTimeoutNow = "raft-timeout-now",
    RaftOther = "raft-other",
    Election = "election",
    Claims = "claims",
    StepDown = "step-down",
    PauseCampaign = "pause-campaign",
    SteppedDown = "stepped-down",
    ReadinessRequest = "readiness-request",
    ReadinessResponse = "readiness-response",
    ForwardedRequest = "forwarded-request",
    ForwardedResponse = "forwarded-response",
    PeerDown = "peer-down",
    Relay = "relay",
    ReadIndexRequest = "read-index-request",
    PollRequest = "poll-request",
    PollResponse = "poll-response",
    ReadIndexResponse = "read-index-response",
    UnknownDisk = "unknown-disk",
    Leave = "leave",
    Removed = "removed",
    CandidacyRequest = "candidacy-request",
    CandidacyVersions = "candidacy-versions",
    StatePiece = "state-piece",
    StatePieceResponse = "state-piece-response",
    BlobRequest = "blob-request",
    BlobPiece = "blob-piece",
    TimeRequest = "time-request",
    TimeResponse = "time-response",
    DiskMark = "disk-mark",
    OldDisk = "old-disk",
    Superseded = "superseded",
}

/// What a message is about. A number is 0 if the message has none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Subject {
    pub(crate) office: Option<OfficeName>,
    pub(crate) term: u64,
    pub(crate) token: u64,
}

impl Subject {
    fn of_term(term: u64) -> Self {
        Subject { term, ..Subject::default() }
    }

    fn of_office(office: &OfficeName, token: u64) -> Self {
        Subject { office: Some(office.clone()), token, ..Subject::default() }
    }

    /// The office of a list that has only one.
    fn of_only<'a>(mut offices: impl Iterator<Item = &'a OfficeName>) -> Self {
        let first = offices.next().filter(|_| offices.next().is_none());
        Subject { office: first.cloned(), ..Subject::default() }
    }
}

impl Message {
    /// The kind of the message.
    pub(crate) fn kind(&self) -> MessageKind {
        match self {
            Message::Heartbeat(_) => MessageKind::Heartbeat,
            Message::Candidacy(_) => MessageKind::Candidacy,
            Message::View(_) => MessageKind::View,
            Message::Raft(message) => match message.message_type() {
                Some(MessageType::MsgAppend) => MessageKind::RaftAppend,
                Some(MessageType::MsgAppendResponse) => MessageKind::RaftAppendResponse,
                Some(MessageType::MsgRequestVote) => MessageKind::RaftVoteRequest,
                Some(MessageType::MsgRequestVoteResponse) => MessageKind::RaftVoteResponse,
                Some(MessageType::MsgRequestPreVote) => MessageKind::RaftPreVoteRequest,
                Some(MessageType::MsgRequestPreVoteResponse) => MessageKind::RaftPreVoteResponse,
                Some(MessageType::MsgSnapshot) => MessageKind::RaftSnapshot,
                Some(MessageType::MsgTimeoutNow) => MessageKind::RaftTimeoutNow,
                _ => MessageKind::RaftOther,
            },
            Message::Election { .. } => MessageKind::Election,
            Message::Claims(_) => MessageKind::Claims,
            Message::StepDown { .. } => MessageKind::StepDown,
            Message::PauseCampaign { .. } => MessageKind::PauseCampaign,
            Message::SteppedDown { .. } => MessageKind::SteppedDown,
            Message::ReadinessRequest { .. } => MessageKind::ReadinessRequest,
            Message::ReadinessResponse { .. } => MessageKind::ReadinessResponse,
            Message::ForwardedRequest(_) => MessageKind::ForwardedRequest,
            Message::ForwardedResponse { .. } => MessageKind::ForwardedResponse,
            Message::PeerDown(_) => MessageKind::PeerDown,
            Message::Relay(_) => MessageKind::Relay,
            Message::ReadIndexRequest { .. } => MessageKind::ReadIndexRequest,
            Message::PollRequest { .. } => MessageKind::PollRequest,
            Message::PollResponse { .. } => MessageKind::PollResponse,
            Message::ReadIndexResponse { .. } => MessageKind::ReadIndexResponse,
            Message::UnknownDisk => MessageKind::UnknownDisk,
            Message::Leave => MessageKind::Leave,
            Message::Removed => MessageKind::Removed,
            Message::CandidacyRequest => MessageKind::CandidacyRequest,
            Message::CandidacyVersions(_) => MessageKind::CandidacyVersions,
            Message::StatePiece(_) => MessageKind::StatePiece,
            Message::StatePieceResponse { .. } => MessageKind::StatePieceResponse,
            Message::BlobRequest { .. } => MessageKind::BlobRequest,
            Message::BlobPiece { .. } => MessageKind::BlobPiece,
            Message::TimeRequest { .. } => MessageKind::TimeRequest,
            Message::TimeResponse { .. } => MessageKind::TimeResponse,
            Message::DiskMark(_) => MessageKind::DiskMark,
            Message::OldDisk(_) => MessageKind::OldDisk,
            Message::Superseded => MessageKind::Superseded,
        }
    }

    /// What the message is about. This copies no text.
    pub(crate) fn subject(&self) -> Subject {
        match self {
            Message::Heartbeat(heartbeat) => {
                let leader = heartbeat.leader.map(|leader| leader.term);
                let follower = || heartbeat.follower.map(|follower| follower.term);
                Subject::of_term(leader.or_else(follower).unwrap_or(0))
            }
            Message::Raft(message) => Subject::of_term(message.term()),
            Message::DiskMark(reached) => Subject::of_term(reached.term),
            Message::PollRequest { term, .. } | Message::PollResponse { term, .. } => Subject::of_term(*term),
            Message::Candidacy(Candidacy { added, removed, .. }) => Subject::of_only(added.iter().chain(removed)),
            Message::Claims(Claims { added, removed, .. }) => {
                Subject::of_only(added.iter().map(|claim| &claim.office).chain(removed))
            }
            Message::StepDown { office, token, .. } | Message::SteppedDown { office, token, .. } => {
                Subject::of_office(office, *token)
            }
            Message::StatePiece(piece) => Subject::of_office(&piece.office, piece.token),
            Message::PauseCampaign { office }
            | Message::ReadinessRequest { office }
            | Message::ReadinessResponse { office, .. } => Subject::of_office(office, 0),
            _ => Subject::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::api::ChangeReason;
    use crate::wire::{Heartbeat, LeaderHeartbeat};

    #[test]
    fn kinds_have_different_names_and_their_own_positions() {
        let names: BTreeSet<&str> = MessageKind::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(names.len(), MessageKind::ALL.len());
        assert!(MessageKind::ALL.iter().enumerate().all(|(place, kind)| *kind as usize == place));
    }

    #[test]
    fn a_message_says_what_it_is_about() {
        let leader = Some(LeaderHeartbeat { term: 7, commit: 1, round: 1, confirmed: 1 });
        let heartbeat = Message::Heartbeat(Heartbeat { number: 0, leader, follower: None });
        assert_eq!((heartbeat.kind().name(), heartbeat.subject()), ("heartbeat", Subject::of_term(7)));
        let office = OfficeName::from("billing");
        let stop = Message::StepDown { office: office.clone(), token: 9, cause: ChangeReason::Preempted };
        assert_eq!((stop.kind().name(), stop.subject()), ("step-down", Subject::of_office(&office, 9)));
        let claims = |removed| Message::Claims(Claims { replaces_all: false, added: vec![], removed }).subject().office;
        assert_eq!(claims(vec![office.clone()]), Some(office.clone()));
        assert_eq!(claims(vec![office, "cron".into()]), None, "it is about several");
    }
}
