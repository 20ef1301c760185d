//! The table of the messages: what each kind is called, who may send it and why, and an example.

use raft::eraftpb::MessageType;

use super::Message;
use crate::format::FIRST;

/// Who may send a message: what the sender must be to the receiver, as far as the receiver knows. The receiver's core
/// checks it before anything else (see `core::senders`). A message of anybody else is dropped and counted.
///
/// Whoever is connected has a certificate of the cluster. That alone says little: a certificate is issued before its
/// member is added, and stays valid after the member was removed. Such a peer is a *guest*.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Sender {
    /// Also a guest. What it sends concerns nobody but itself, and costs no more than the frame that carries it.
    Anybody,
    /// Somebody whom the table names, observers included.
    Member,
    /// An elector, by the table: who may hold offices.
    Elector,
    /// Who votes, by the table or the log; or by the word of a voter that has applied more of the log (`voters`); or,
    /// if its id is above all that the table has named so far, by this node's configuration. So a member that was away
    /// follows a leader that was added meanwhile. Who was removed is never one.
    Voter,
    /// A voter that may lead: the leader that this node follows. If it follows none, or the message has a later term,
    /// any voter. There is one leader in a term at most.
    Claimant,
    /// The leader that this node follows.
    Leader,
}

/// The table of the messages: each kind with its name and who may send it, and why. There is no list of kinds besides,
/// so none can lack one.
macro_rules! kinds {
    ($($(#[doc = $why:literal])+ $kind:ident = $name:literal, $sender:expr;)+) => {
        /// The kind of a message between members.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub(crate) enum MessageKind {
            $($(#[doc = $why])+ $kind),+
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

            /// Who may send it.
            pub(crate) fn sender(self) -> Sender {
                match self {
                    $(MessageKind::$kind => $sender),+
                }
            }
        }
    };
}

kinds! {
    /// A sign of life is about its sender only. What a leader adds needs a `Claimant`, what a follower adds a `Member`.
    Heartbeat = "heartbeat", Sender::Anybody;
    /// What a member is. Offices count only if it is an elector. A new member is asked for it when the table names it.
    Candidacy = "candidacy", Sender::Member;
    /// Elections among the members of another view than the coordinator's do not end. It may come before the first
    /// heartbeat of its sender.
    View = "view", Sender::Claimant;
    /// The log is the leader's. Its sender may be unknown to a member that lags: see `Voter`.
    RaftAppend = "raft-append", Sender::Claimant;
    /// Observers have the log, too. But they elect nobody: their terms do not depose a leader.
    RaftAppendResponse = "raft-append-response", Sender::Member;
    /// Raises the receiver's term, and takes its vote.
    RaftVoteRequest = "raft-vote-request", Sender::Voter;
    /// The library counts those of its voters.
    RaftVoteResponse = "raft-vote-response", Sender::Voter;
    /// Delays the receiver's own campaign.
    RaftPreVoteRequest = "raft-pre-vote-request", Sender::Voter;
    /// A refusal raises the receiver's term.
    RaftPreVoteResponse = "raft-pre-vote-response", Sender::Voter;
    /// As `raft-append`.
    RaftSnapshot = "raft-snapshot", Sender::Claimant;
    /// The leader hands its role over, to a voter that has its whole log and so follows it.
    RaftTimeoutNow = "raft-timeout-now", Sender::Leader;
    /// No peer sends one. The arbiter drops it.
    RaftOther = "raft-other", Sender::Voter;
    /// Elections are among electors.
    Election = "election", Sender::Elector;
    /// Offices are for electors.
    Claims = "claims", Sender::Elector;
    /// Ends a lease. A holder that does not know the coordinator yet is asked again.
    StepDown = "step-down", Sender::Leader;
    /// Keeps the receiver from campaigning.
    PauseCampaign = "pause-campaign", Sender::Leader;
    /// Counts with the sender's own token only. A holder may have become an observer meanwhile.
    SteppedDown = "stepped-down", Sender::Member;
    /// It is answered, and nothing else.
    ReadinessRequest = "readiness-request", Sender::Member;
    /// Counts only if the sender was asked.
    ReadinessResponse = "readiness-response", Sender::Member;
    /// Whatever an operator may ask for. Observers get a refusal in words.
    ForwardedRequest = "forwarded-request", Sender::Member;
    /// Counts only if it comes from whom the request was sent to, which may have stepped down since.
    ForwardedResponse = "forwarded-response", Sender::Voter;
    /// A majority of the voters declares a holder lost.
    PeerDown = "peer-down", Sender::Voter;
    /// It is handled as a message of the member that has sealed it. Who passes it on is checked in `core::relays`.
    Relay = "relay", Sender::Anybody;
    /// Makes the leader ask all voters.
    ReadIndexRequest = "read-index-request", Sender::Member;
    /// Asks whether the receiver follows the sender.
    PollRequest = "poll-request", Sender::Leader;
    /// A majority of the voters confirms a read.
    PollResponse = "poll-response", Sender::Voter;
    /// The index that reads wait for.
    ReadIndexResponse = "read-index-response", Sender::Leader;
    /// Stops the receiver if two voters say so, or all that it can ask. See `core::doubts`.
    UnknownDisk = "unknown-disk", Sender::Voter;
    /// Its sender holds nothing any more.
    Leave = "leave", Sender::Member;
    /// Stops the receiver, which does not get the entry that removed it. As `unknown-disk`.
    Removed = "removed", Sender::Voter;
    /// Is answered with a list of many names, so not often. A coordinator that the receiver does not know is a voter.
    CandidacyRequest = "candidacy-request", Sender::Member;
    /// Makes the receiver ask all members for their lists.
    CandidacyVersions = "candidacy-versions", Sender::Leader;
    /// Becomes an entry of the log. An operator may store through any voter; observers get a refusal in words.
    StatePiece = "state-piece", Sender::Member;
    /// Counts only if it comes from whom the piece was sent to.
    StatePieceResponse = "state-piece-response", Sender::Voter;
    /// Is answered with many bytes. Only a member is sent a snapshot that refers to them.
    BlobRequest = "blob-request", Sender::Member;
    /// Counts only if it comes from the sender of the snapshot that refers to it.
    BlobPiece = "blob-piece", Sender::Voter;
    /// The node answers it with its clock, and the core does not see it.
    TimeRequest = "time-request", Sender::Anybody;
    /// It is about its sender's clock, which is only displayed.
    TimeResponse = "time-response", Sender::Anybody;
    /// Is written to disk. Of an observer's disk, nothing depends on it.
    DiskMark = "disk-mark", Sender::Voter;
    /// As `unknown-disk`.
    OldDisk = "old-disk", Sender::Voter;
    /// As `unknown-disk`, but another process is refused, not the disk.
    Superseded = "superseded", Sender::Voter;
    /// What a member that lags takes for granted: see `Voter`. The word of whom it knows by another's word only does
    /// not count.
    Voters = "voters", Sender::Voter;
    /// As `unknown-disk`, but it is the program that is refused.
    OldProgram = "old-program", Sender::Voter;
}

impl MessageKind {
    /// The version of the formats in which this kind came. It is sent only where it is known.
    pub(crate) fn version(self) -> u8 {
        FIRST
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
            Message::UnknownDisk(_) => MessageKind::UnknownDisk,
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
            Message::Voters { .. } => MessageKind::Voters,
            Message::OldProgram { .. } => MessageKind::OldProgram,
        }
    }
}

/// Messages of every kind, with plain values: for the golden files, and to begin with.
#[cfg(test)]
pub(crate) mod examples {
    use std::collections::BTreeSet;

    use hustings_protocol::Id;
    use raft::eraftpb::{self, EntryType, MessageType};

    use super::MessageKind;
    use crate::api::{ChangeReason, Request, RequestError};
    use crate::clock::Timestamp;
    use crate::config::{ConfigDigest, Mode, Preempt};
    use crate::core::table::{OfficeName, StatePiece, UploadId};
    use crate::store::{DiskPosition, DiskState, KnownDisk};
    use crate::timing::LeaseTerms;
    use crate::wire::{
        Candidacy, Claim, Claims, FollowerHeartbeat, ForwardedRequest, Heartbeat, LeaderHeartbeat, Message,
        RaftMessage, Relay, Seal,
    };

    /// An append message with a command and a membership change, and a message with a snapshot.
    fn raft_messages() -> [Message; 2] {
        let mut append = eraftpb::Message { term: 5, log_term: 4, index: 7, commit: 6, ..Default::default() };
        append.set_msg_type(MessageType::MsgAppend);
        let command = eraftpb::Entry { term: 4, index: 8, data: vec![1, 2, 3].into(), ..Default::default() };
        let mut change = eraftpb::Entry { term: 5, index: 9, context: vec![4, 5].into(), ..Default::default() };
        change.set_entry_type(EntryType::EntryConfChangeV2);
        append.entries = vec![command, change].into();
        let mut install = eraftpb::Message { term: 5, ..Default::default() };
        install.set_msg_type(MessageType::MsgSnapshot);
        let snapshot = install.mut_snapshot();
        snapshot.data = vec![9; 5].into();
        (snapshot.mut_metadata().index, snapshot.mut_metadata().term) = (300, 5);
        snapshot.mut_metadata().mut_conf_state().voters = vec![1, 2, 3];
        snapshot.mut_metadata().mut_conf_state().learners = vec![4];
        [append, install].map(|message| Message::Raft(RaftMessage::from(&message)))
    }

    pub(crate) fn every_message() -> Vec<Message> {
        let office = || OfficeName::from("billing");
        let ms = std::time::Duration::from_millis;
        let leader = Some(LeaderHeartbeat { term: 5, commit: 300, round: 9, confirmed: 8 });
        let follower = Some(FollowerHeartbeat { term: 5, round: 9, applied: 300 });
        let (token, cause) = (300, ChangeReason::Preempted);
        let claim = Claim {
            office: office(),
            mode: Mode::Fenced,
            preempt: Preempt::BetterAfter(ms(1500)),
            terms: LeaseTerms { lease: ms(300), stop: ms(10) },
        };
        let refusal = RequestError { code: "busy".to_string(), message: "try again".to_string() };
        let position = DiskPosition { term: 5, log_term: 4, index: 300 };
        let candidacy = Candidacy {
            incarnation: 1 << 60,
            store_id: 7,
            disk: DiskState {
                now: position,
                started_at: DiskPosition { index: 200, ..position },
                refused_as: Some(300),
            },
            health: 90,
            disk_fails: true,
            digest: ConfigDigest::default(),
            reads: 1,
            version: 12,
            base: Some(11),
            added: vec![office(), "leader".into()],
            removed: vec!["cron".into()],
        };
        let mut all = vec![
            Message::Heartbeat(Heartbeat { number: 7, leader, follower: None }),
            Message::Heartbeat(Heartbeat { number: 8, leader: None, follower }),
            Message::Candidacy(candidacy),
            Message::View(vec![Id(1), Id(300)]),
            Message::Election { key: u64::MAX, bytes: vec![1, 2, 3] },
            Message::Claims(Claims { replaces_all: true, added: vec![claim], removed: vec![office()] }),
            Message::StepDown { office: office(), token, cause },
            Message::PauseCampaign { office: office() },
            Message::SteppedDown { office: office(), token, cause },
            Message::ReadinessRequest { office: office() },
            Message::ReadinessResponse { office: office(), is_ready: true },
            Message::ForwardedRequest(ForwardedRequest::new(5, &Request::Resign { office: office().to_string() })),
            Message::ForwardedResponse { number: 5, result: Ok(()) },
            Message::ForwardedResponse { number: 6, result: Err(refusal) },
            Message::PeerDown(Id(2)),
            Message::Relay(Relay {
                from: Id(1),
                incarnation: 300,
                to: Id(2),
                to_incarnation: 301,
                number: 5,
                is_bulk: false,
                bytes: Message::Leave.encode(),
                seal: Some(Seal { scheme: 0x0403, signature: vec![1, 2, 3], chain: vec![vec![4, 5], vec![6]] }),
            }),
            Message::ReadIndexRequest { number: 4 },
            Message::PollRequest { term: 5, poll: 3 },
            Message::PollResponse { term: 5, poll: 3 },
            Message::ReadIndexResponse { number: 4, committed: 300 },
            Message::UnknownDisk(300),
            Message::Leave,
            Message::Removed,
            Message::CandidacyRequest,
            Message::CandidacyVersions(vec![(Id(1), 300), (Id(2), 0)]),
            Message::StatePiece(StatePiece {
                office: office(),
                token,
                upload: UploadId { node: Id(2), incarnation: 1 << 60, number: 300 },
                size: 5,
                checksum: 0x0102_0304,
                unix_ms: 1_700_000_000_000,
                index: 0,
                data: vec![1, 2, 3, 4, 5].into(),
            }),
            Message::StatePieceResponse { number: 300, result: Ok(Some(7)) },
            Message::BlobRequest { blob: 300, piece: 7 },
            Message::BlobPiece { blob: 300, piece: 7, data: Some(vec![1, 2].into()) },
            Message::TimeRequest { sent: Timestamp(1 << 40) },
            Message::TimeResponse { sent: Timestamp(1 << 40), received: Timestamp(300), replied: Timestamp(301) },
            Message::DiskMark(position),
            Message::OldDisk(KnownDisk { store_id: 7, incarnation: 1 << 60, reached: position, refused_as: None }),
            Message::Superseded,
            Message::Voters { applied: 300, voters: vec![Id(1), Id(300)] },
            Message::OldProgram { version: 2 },
        ];
        all.extend(raft_messages());
        all
    }

    /// A message of each kind that is of one variant of its own, and of the log what has a form of its own.
    #[test]
    fn every_kind_has_an_example_a_name_and_its_position() {
        let names: BTreeSet<&str> = MessageKind::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(names.len(), MessageKind::ALL.len());
        assert!(MessageKind::ALL.iter().enumerate().all(|(place, kind)| *kind as usize == place));
        let shown: BTreeSet<MessageKind> = every_message().iter().map(Message::kind).collect();
        let is_missing = |kind: &&MessageKind| !kind.name().starts_with("raft-") && !shown.contains(kind);
        assert_eq!(MessageKind::ALL.iter().find(is_missing), None, "it has no example");
    }
}
