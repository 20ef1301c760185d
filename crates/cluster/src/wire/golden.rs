//! The messages of this version, byte by byte.

use hustings_protocol::Id;
use raft::eraftpb::{self, EntryType, MessageType};

use super::{
    Candidacy, Claim, Claims, FollowerHeartbeat, ForwardedRequest, Heartbeat, LeaderHeartbeat, Message, RaftMessage,
    Relay, Seal,
};
use crate::api::{ChangeReason, Request, RequestError};
use crate::clock::Timestamp;
use crate::config::{ConfigDigest, Mode, Preempt};
use crate::core::table::{OfficeName, StatePiece, UploadId};
use crate::golden;
use crate::store::{DiskPosition, KnownDisk};
use crate::timing::LeaseTerms;

/// Fails to compile when a message is added, which then also belongs into `every_message`.
fn name(message: &Message) -> &'static str {
    match message {
        Message::Heartbeat(_) => "heartbeat",
        Message::Candidacy(_) => "candidacy",
        Message::View(_) => "view",
        Message::Raft(_) => "raft",
        Message::Election { .. } => "election",
        Message::Claims(_) => "claims",
        Message::StepDown { .. } => "step-down",
        Message::PauseCampaign { .. } => "pause-campaign",
        Message::SteppedDown { .. } => "stepped-down",
        Message::ReadinessRequest { .. } => "readiness-request",
        Message::ReadinessResponse { .. } => "readiness-response",
        Message::ForwardedRequest(_) => "forwarded-request",
        Message::ForwardedResponse { .. } => "forwarded-response",
        Message::PeerDown(_) => "peer-down",
        Message::Relay(_) => "relay",
        Message::ReadIndexRequest { .. } => "read-index-request",
        Message::PollRequest { .. } => "poll-request",
        Message::PollResponse { .. } => "poll-response",
        Message::ReadIndexResponse { .. } => "read-index-response",
        Message::UnknownDisk => "unknown-disk",
        Message::Leave => "leave",
        Message::Removed => "removed",
        Message::CandidacyRequest => "candidacy-request",
        Message::CandidacyVersions(_) => "candidacy-versions",
        Message::StatePiece(_) => "state-piece",
        Message::StatePieceResponse { .. } => "state-piece-response",
        Message::BlobRequest { .. } => "blob-request",
        Message::BlobPiece { .. } => "blob-piece",
        Message::TimeRequest { .. } => "time-request",
        Message::TimeResponse { .. } => "time-response",
        Message::DiskMark(_) => "disk-mark",
        Message::OldDisk(_) => "old-disk",
        Message::Superseded => "superseded",
    }
}

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

fn every_message() -> Vec<Message> {
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
        disk: position,
        health: 90,
        disk_fails: true,
        digest: ConfigDigest::default(),
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
        Message::UnknownDisk,
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
        Message::OldDisk(KnownDisk { store_id: 7, incarnation: 1 << 60, reached: position }),
        Message::Superseded,
    ];
    all.extend(raft_messages());
    all
}

#[test]
fn messages_of_version_1() {
    let cases: Vec<_> = every_message().into_iter().map(|message| (name(&message), message)).collect();
    golden::check("messages-v1", &cases, Message::encode, |bytes| Message::decode(bytes).expect("a message"));
    assert_eq!(crate::transport::PROTOCOL_VERSION, 1, "a new version gets a new golden file");
}
