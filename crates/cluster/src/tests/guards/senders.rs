//! What a guest or an observer sends changes nothing that counts, and no single number ends anything for good.
//!
//! A guest has a certificate of the cluster and is no member: it was never added, or removed.

use std::time::Duration;

use hustings_protocol::Id;
use raft::Storage;
use raft::eraftpb::{self, MessageType};

use super::harness::{TestCluster, config, disk_with, incarnation, members};
use crate::api::{ChangeReason, Reply, Request};
use crate::config::{Mode, Preempt};
use crate::core::table::{StatePiece, Table, UploadId, checksum_of};
use crate::member::Role;
use crate::store::{DiskPosition, KnownDisk, RaftStorage};
use crate::timing::LeaseTerms;
use crate::wire::examples::every_message;
use crate::wire::{
    Candidacy, Claim, Claims, ForwardedRequest, Heartbeat, LeaderHeartbeat, MAX_INDEX, Message, RaftMessage,
};

pub(super) const ROLES: [(u64, Role); 4] =
    [(1, Role::Elector), (2, Role::Elector), (3, Role::Elector), (OBSERVER, Role::Observer)];
pub(super) const VOTERS: [u64; 3] = [1, 2, 3];
const OBSERVER: u64 = 4;
const GUEST: u64 = 9;
pub(super) const CLIENT: u64 = 1;

/// Three voters, of which the first leads the arbiter and the third holds `job`. An observer and a guest, which the
/// test plays, are connected to all.
pub(super) fn cluster() -> TestCluster {
    let mut cluster = TestCluster::new(VOTERS.map(|node| config(node, &ROLES)).to_vec());
    cluster.advance_ms(1_000);
    cluster.campaign(3, CLIENT, "job", None);
    cluster.advance_ms(500);
    assert_eq!(cluster.arbiter_leader(2), Some(1));
    assert!(cluster.token(3, "job").is_some());
    for (from, to) in [OBSERVER, GUEST].into_iter().flat_map(|from| VOTERS.map(|to| (from, to))) {
        cluster.drive(to, |core, now| core.handle_connected(Id(from), incarnation(from), now));
    }
    cluster.advance_ms(100);
    cluster
}

/// What a node has on disk, whom it follows, whether it runs, and what it holds: nothing of it is anybody else's to
/// change.
fn state(cluster: &mut TestCluster, node: u64) -> impl PartialEq + std::fmt::Debug + use<> {
    let disk = cluster.node(node).disk.copy();
    let written = disk.initial_state().expect("it is sound").hard_state;
    let (job, leader) = (cluster.token(node, "job"), cluster.arbiter_leader(node));
    (
        written.term,
        written.vote,
        disk.last_index().expect("it is sound"),
        disk.refused_as(),
        cluster.node(node).exit,
        job,
        leader,
    )
}

pub(super) fn term(cluster: &mut TestCluster) -> u64 {
    cluster.node(1).core.arbiter_term()
}

/// Neither the observer nor the guest changes anything by this message, whichever node gets it, now or a while later.
fn assert_ignored(message: impl Fn(&mut TestCluster) -> Message) {
    let mut cluster = cluster();
    let message = message(&mut cluster);
    for from in [OBSERVER, GUEST] {
        for to in VOTERS {
            let before = VOTERS.map(|node| state(&mut cluster, node));
            (0..3).for_each(|_| cluster.deliver(from, to, message.clone()));
            assert_eq!(VOTERS.map(|node| state(&mut cluster, node)), before, "{from} to {to}: {message:?}");
            cluster.advance_ms(700);
            assert_eq!(VOTERS.map(|node| state(&mut cluster, node)), before, "{from} to {to}, later: {message:?}");
        }
    }
}

/// Who may send what, as the table says: for each kind of sender, what it may and those before it may not.
const TABLE: [(&str, &str); 5] = [
    ("guest", "heartbeat time-request time-response"),
    (
        "observer",
        "candidacy raft-append-response stepped-down readiness-request readiness-response forwarded-request \
         read-index-request leave candidacy-request blob-request state-piece",
    ),
    (
        "witness",
        "raft-vote-request raft-vote-response raft-pre-vote-request raft-pre-vote-response raft-other \
         forwarded-response peer-down poll-response unknown-disk removed state-piece-response blob-piece disk-mark \
         old-disk superseded voters old-program",
    ),
    ("elector", "election claims"),
    (
        "leader",
        "view raft-append raft-snapshot raft-timeout-now step-down pause-campaign poll-request read-index-response \
         candidacy-versions",
    ),
];

/// Node 1 alone, which follows node 2 in term 5. The test plays the others, and a guest.
fn follower() -> TestCluster {
    let roles = [1, 2, 3, 4, 5].map(|id| match id {
        3 => (id, Role::Witness),
        4 => (id, Role::Observer),
        _ => (id, Role::Elector),
    });
    let mut cluster = TestCluster::new(vec![config(1, &roles)]);
    for other in [2, 3, 4, 5, GUEST] {
        cluster.drive(1, |core, now| core.handle_connected(Id(other), incarnation(other), now));
    }
    cluster.deliver(2, 1, leads(5, 0));
    assert_eq!((cluster.arbiter_leader(1), term(&mut cluster)), (Some(2), 5));
    cluster
}

/// How many messages node 1 has dropped because of their senders.
fn dropped(cluster: &mut TestCluster) -> u64 {
    cluster.request(1, 99, Request::Metrics);
    let replies = cluster.take_replies(1, 99);
    // A node does nothing more when it has read a table that is none: it did not drop that.
    let [Reply::Metrics(metrics)] = &replies[..] else { return 0 };
    let found = metrics.counters.iter().find(|(name, _)| name == "messages-of-wrong-senders");
    found.map_or(0, |(_, count)| *count)
}

#[test]
fn the_table_of_the_messages() {
    let senders = [("guest", GUEST), ("observer", 4), ("witness", 3), ("elector", 5), ("leader", 2)];
    let mut messages: Vec<Message> = every_message();
    messages.push(Message::Heartbeat(Heartbeat { number: 1, leader: None, follower: None }));
    let kinds = [
        MessageType::MsgAppendResponse,
        MessageType::MsgRequestVote,
        MessageType::MsgRequestVoteResponse,
        MessageType::MsgRequestPreVote,
        MessageType::MsgRequestPreVoteResponse,
        MessageType::MsgTimeoutNow,
        MessageType::MsgBeat,
    ];
    messages.extend(kinds.map(|kind| raft(kind, 5, |_| {})));
    let mut seen = std::collections::BTreeSet::new();
    for message in messages.into_iter().filter(|message| !matches!(message, Message::Relay(_))) {
        let name = match &message {
            // What a leader or a follower adds has a row of its own.
            Message::Heartbeat(Heartbeat { leader: Some(_), .. }) => "view",
            Message::Heartbeat(Heartbeat { follower: Some(_), .. }) => "candidacy",
            message => message.kind().name(),
        };
        seen.insert(message.kind());
        let place = TABLE.iter().position(|(_, kinds)| kinds.split_whitespace().any(|kind| kind == name));
        let first = place.unwrap_or_else(|| panic!("{name} is in no row: who may send it?"));
        for (place, (sender, id)) in senders.into_iter().enumerate() {
            let mut cluster = follower();
            let before = dropped(&mut cluster);
            cluster.deliver(id, 1, message.clone());
            let is_admitted = dropped(&mut cluster) == before;
            assert_eq!(is_admitted, place >= first, "{name} of a {sender}: {message:?}");
        }
    }
    assert_eq!(seen.len() + 1, crate::wire::MessageKind::ALL.len(), "all but relays");
}

pub(super) fn leads(term: u64, commit: u64) -> Message {
    let leader = Some(LeaderHeartbeat { term, commit, round: 1, confirmed: 1 });
    Message::Heartbeat(Heartbeat { number: 1, leader, follower: None })
}

fn raft(kind: MessageType, term: u64, change: impl FnOnce(&mut eraftpb::Message)) -> Message {
    let mut message = eraftpb::Message { term, ..Default::default() };
    message.set_msg_type(kind);
    change(&mut message);
    Message::Raft(RaftMessage::from(&message))
}

#[test]
fn only_voters_lead() {
    assert_ignored(|cluster| leads(term(cluster) + 1, 0));
    assert_ignored(|cluster| leads(term(cluster), MAX_INDEX));
    assert_ignored(|_| leads(MAX_INDEX, 0));
    for ahead in [0, 1] {
        assert_ignored(|cluster| {
            let last = cluster.node(1).disk.last_index().expect("it is sound");
            let at = term(cluster);
            raft(MessageType::MsgAppend, at + ahead, |append| {
                (append.index, append.log_term, append.commit) = (last, at, last + 1);
                append.entries = vec![eraftpb::Entry { term: at, index: last + 1, ..Default::default() }].into();
            })
        });
    }
    assert_ignored(|cluster| raft(MessageType::MsgTimeoutNow, term(cluster), |_| {}));
}

#[test]
fn only_voters_ask_for_votes_and_only_voters_depose_by_their_term() {
    let kinds = [
        MessageType::MsgRequestVote,
        MessageType::MsgRequestPreVote,
        MessageType::MsgRequestVoteResponse,
        MessageType::MsgRequestPreVoteResponse,
        MessageType::MsgAppendResponse,
    ];
    for kind in kinds {
        for term_of in [|term: u64| term + 1, |_| MAX_INDEX] {
            assert_ignored(|cluster| {
                let term = term_of(term(cluster));
                raft(kind, term, |message| {
                    (message.index, message.log_term) = (1 << 40, 1);
                    message.reject = kind != MessageType::MsgRequestVote;
                    message.context = b"CampaignTransfer".to_vec().into();
                })
            });
        }
    }
}

#[test]
fn only_voters_end_a_node_and_only_the_coordinator_gives_orders() {
    let reached = DiskPosition { term: MAX_INDEX, log_term: MAX_INDEX, index: MAX_INDEX };
    for node in VOTERS {
        assert_ignored(|_| {
            Message::OldDisk(KnownDisk { store_id: 70 + node, incarnation: 1, reached, refused_as: None })
        });
    }
    for message in [Message::UnknownDisk(99), Message::Superseded, Message::Removed, Message::DiskMark(reached)] {
        assert_ignored(|_| message.clone());
    }
    assert_ignored(|cluster| Message::StepDown {
        office: "job".into(),
        token: cluster.token(3, "job").expect("it holds it"),
        cause: ChangeReason::Preempted,
    });
    assert_ignored(|_| Message::PauseCampaign { office: "job".into() });
    assert_ignored(|_| Message::View(vec![Id(1)]));
    assert_ignored(|_| Message::PeerDown(Id(3)));
}

#[test]
fn orders_of_operators_come_from_voters() {
    for request in [
        Request::Pause,
        Request::Resign { office: "job".to_string() },
        Request::RemoveMember { name: "n2".to_string(), force: true },
    ] {
        assert_ignored(|_| Message::ForwardedRequest(ForwardedRequest::new(1, &request)));
    }
    let mut cluster = cluster();
    cluster.deliver(OBSERVER, 1, Message::ForwardedRequest(ForwardedRequest::new(7, &Request::Pause)));
    let is_refusal = |(to, message): &(Id, Message)| {
        let refused = |result: &Result<(), crate::api::RequestError>| {
            result.as_ref().is_err_and(|refusal| refusal.code == "observer" && refusal.message.contains("voter"))
        };
        *to == Id(OBSERVER) && matches!(message, Message::ForwardedResponse { number: 7, result } if refused(result))
    };
    assert!(cluster.node(1).sent.iter().any(is_refusal), "whoever asked is told");
}

#[test]
fn a_leaderless_node_is_not_ended_by_who_is_no_voter() {
    for from in [OBSERVER, GUEST] {
        let mut cluster = TestCluster::new(vec![config(1, &ROLES)]);
        cluster.drive(1, |core, now| core.handle_connected(Id(from), incarnation(from), now));
        cluster.advance_ms(100);
        cluster.deliver(from, 1, Message::Removed);
        cluster.advance_ms(100);
        assert_eq!((cluster.arbiter_leader(1), cluster.node(1).exit), (None, None), "{from}");
    }
}

#[test]
fn an_office_is_granted_to_electors_only() {
    let mut cluster = cluster();
    let claim = Claim {
        office: "mine".into(),
        mode: Mode::Exclusive,
        preempt: Preempt::Better,
        terms: LeaseTerms { lease: Duration::from_millis(300), stop: Duration::ZERO },
    };
    for from in [OBSERVER, GUEST] {
        for to in VOTERS {
            let Message::Candidacy(candidacy) = super::incarnations::candidacy(incarnation(from), 70 + from) else {
                unreachable!("it is one")
            };
            cluster.deliver(from, to, Message::Candidacy(Candidacy { added: vec!["mine".into()], ..candidacy }));
            let claims = Claims { replaces_all: true, added: vec![claim.clone()], removed: Vec::new() };
            cluster.deliver(from, to, Message::Claims(claims));
        }
    }
    // It also answers what the leader asks, so that it stays up.
    for _ in 0..40 {
        cluster.advance_ms(50);
        cluster.deliver(OBSERVER, 1, Message::ReadinessRequest { office: "mine".into() });
    }
    cluster.request(1, CLIENT, Request::Leader { office: "mine".to_string() });
    cluster.advance_ms(50);
    let replies = cluster.take_replies(1, CLIENT);
    let [.., Reply::Office(office)] = &replies[..] else { panic!("{replies:?}") };
    assert_eq!((office.holder.as_deref(), office.token), (None, 0));
}

/// Node 2's read, and its number.
fn begin_read(cluster: &mut TestCluster) -> u64 {
    cluster.node(2).sent.clear();
    cluster.request(2, CLIENT, Request::Leader { office: "job".to_string() });
    let number = cluster.node(2).sent.iter().find_map(|(_, message)| match message {
        Message::ReadIndexRequest { number } => Some(*number),
        _ => None,
    });
    number.expect("it asks the leader")
}

/// Whether a read of node 2 is answered as current.
fn is_read_current(cluster: &mut TestCluster) -> bool {
    cluster.advance_ms(200);
    let replies = cluster.take_replies(2, CLIENT);
    let [Reply::Office(office)] = &replies[..] else { panic!("one answer is expected: {replies:?}") };
    office.current
}

#[test]
fn a_forged_commit_index_does_not_block_reads() {
    for from in [OBSERVER, GUEST, 3, 1] {
        let mut cluster = cluster();
        cluster.lost_reads = true;
        let number = begin_read(&mut cluster);
        cluster.deliver(from, 2, Message::ReadIndexResponse { number, committed: u64::MAX });
        cluster.lost_reads = false;
        assert!(is_read_current(&mut cluster), "the leader's next answer counts, after that of {from}");
        begin_read(&mut cluster);
        assert!(is_read_current(&mut cluster), "{from}");
    }
}

#[test]
fn terms_do_not_jump() {
    const JUMP: u64 = 1 << 32;
    let mut cluster = cluster();
    let before = term(&mut cluster);
    for ahead in [JUMP + 1, MAX_INDEX - before, 3 * JUMP] {
        for to in [1, 2] {
            cluster.deliver(3, to, leads(before + ahead, 0));
            let vote = |vote: &mut eraftpb::Message| vote.context = b"CampaignTransfer".to_vec().into();
            cluster.deliver(3, to, raft(MessageType::MsgRequestVote, before + ahead, vote));
        }
        assert_eq!(term(&mut cluster), before + JUMP, "it jumps once, and not by {ahead}");
    }
    cluster.advance_ms(3_000);
    assert!(term(&mut cluster) < before + 2 * JUMP, "only elections raise it when nobody lies any more");
    cluster.deliver(3, 1, leads(MAX_INDEX, 0));
    assert!(term(&mut cluster) > before + 2 * JUMP, "a member that was away for years may return");
    cluster.advance_ms(3_000);
    cluster.campaign(2, CLIENT, "other", None);
    cluster.advance_ms(1_000);
    assert!(cluster.token(2, "other").is_some(), "the cluster goes on in a later term");
}

/// A voter lied to the first one for some seconds, and then vanished. The second one was away.
#[test]
fn voters_whose_terms_are_far_apart_meet_again() {
    let disk = |term| {
        let disk = disk_with(&Table::with_members(&members(&ROLES)), 100, &[]);
        let mut snapshot = disk.latest_snapshot();
        snapshot.mut_metadata().mut_conf_state().voters = VOTERS.to_vec();
        let disk = RaftStorage::empty();
        disk.install(snapshot).expect("an empty disk accepts a snapshot");
        disk.set_hard_state(eraftpb::HardState { term, commit: 100, ..Default::default() });
        disk
    };
    // A lie of some seconds takes some seconds; one of minutes, minutes.
    for (terms, seconds) in [([1, 5 << 32], 20), ([5 << 32, 1], 20), ([2 + (1 << 32), 1], 20), ([1, 100 << 32], 115)] {
        let nodes = [1, 2].into_iter().zip(terms).map(|(node, term)| (config(node, &ROLES), disk(term)));
        let mut cluster = TestCluster::with_disks(nodes.collect());
        cluster.advance_ms(seconds * 1_000);
        assert!(cluster.arbiter_leader(1).is_some(), "{terms:?}");
        assert_eq!(cluster.arbiter_leader(1), cluster.arbiter_leader(2), "{terms:?}");
    }
}

/// How long a member must be up before it preempts is multiplied while it flaps.
#[test]
fn a_claim_may_ask_for_any_delay() {
    let mut cluster = TestCluster::new(VOTERS.map(|node| config(node, &ROLES)).to_vec());
    cluster.advance_ms(1_000);
    cluster.campaign(2, CLIENT, "job", None);
    cluster.advance_ms(500);
    let token = cluster.token(2, "job").expect("nobody else wants it");
    for _ in 0..3 {
        cluster.restart(3);
        cluster.advance_ms(500);
    }
    cluster.campaign(3, CLIENT, "job", None);
    cluster.advance_ms(100);
    let claim = Claim {
        office: "job".into(),
        mode: Mode::Exclusive,
        preempt: Preempt::BetterAfter(Duration::MAX),
        terms: LeaseTerms { lease: Duration::MAX, stop: Duration::MAX },
    };
    cluster.deliver(3, 1, Message::Claims(Claims { replaces_all: true, added: vec![claim], removed: Vec::new() }));
    cluster.advance_ms(1_000);
    assert_eq!(cluster.token(2, "job"), Some(token), "never is later than now");
}

#[test]
fn a_state_is_stored_through_voters_only() {
    let mut cluster = cluster();
    let token = cluster.token(3, "job").expect("it holds it");
    let data: &[u8] = b"forged";
    let piece = |node: u64| {
        Message::StatePiece(StatePiece {
            office: "job".into(),
            token,
            upload: UploadId { node: Id(node), incarnation: incarnation(node), number: 1 },
            size: data.len() as u64,
            checksum: checksum_of(0, data),
            unix_ms: 0,
            index: 0,
            data: data.to_vec().into(),
        })
    };
    let last = |cluster: &mut TestCluster| cluster.node(1).disk.last_index().expect("it is sound");
    let before = last(&mut cluster);
    for from in [OBSERVER, GUEST] {
        cluster.deliver(from, 1, piece(from));
        assert_eq!(last(&mut cluster), before, "{from}");
    }
    let is_refusal = |(to, message): &(Id, Message)| {
        let refused = |result: &Result<_, crate::api::RequestError>| {
            result.as_ref().is_err_and(|refusal: &crate::api::RequestError| refusal.code == "observer")
        };
        *to == Id(OBSERVER) && matches!(message, Message::StatePieceResponse { result, .. } if refused(result))
    };
    assert!(cluster.node(1).sent.iter().any(is_refusal), "whoever stores it is told");
    cluster.deliver(2, 1, piece(2));
    assert!(last(&mut cluster) > before, "an operator stores through any voter");
}

#[test]
fn a_guest_costs_little() {
    let mut cluster = cluster();
    let asks = [
        Message::BlobRequest { blob: 1, piece: 0 },
        Message::ReadIndexRequest { number: 1 },
        Message::ReadinessRequest { office: "job".into() },
    ];
    for message in asks {
        cluster.node(1).sent.clear();
        (0..10).for_each(|_| cluster.deliver(GUEST, 1, message.clone()));
        let answered = cluster.node(1).sent.iter().filter(|(to, _)| *to == Id(GUEST)).count();
        assert_eq!(answered, 0, "{message:?}");
    }
    // A list of candidacies may have thousands of names.
    cluster.node(1).sent.clear();
    (0..100).for_each(|_| cluster.deliver(OBSERVER, 1, Message::CandidacyRequest));
    let lists = |(to, message): &&(Id, Message)| *to == Id(OBSERVER) && matches!(message, Message::Candidacy(_));
    assert_eq!(cluster.node(1).sent.iter().filter(lists).count(), 1, "not more often than it makes sense");
}

/// The library panics where it looks for a place before the beginning of its log.
#[test]
fn an_append_that_contradicts_what_is_committed_is_dropped() {
    let data = Table::with_members(&members(&ROLES)).encode().into();
    let mut snapshot = eraftpb::Snapshot { data, ..Default::default() };
    let meta = snapshot.mut_metadata();
    (meta.index, meta.term) = (100, 5);
    meta.mut_conf_state().voters = VOTERS.to_vec();
    let disk = RaftStorage::empty();
    disk.install(snapshot).expect("an empty disk accepts a snapshot");
    disk.set_hard_state(eraftpb::HardState { term: 5, commit: 100, ..Default::default() });
    let mut cluster = TestCluster::with_disks(vec![(config(1, &ROLES), disk)]);
    cluster.drive(1, |core, now| core.handle_connected(Id(2), incarnation(2), now));
    let append = raft(MessageType::MsgAppend, 6, |append| (append.index, append.log_term) = (100, 3));
    cluster.deliver(2, 1, append);
    assert_eq!((cluster.node(1).exit, cluster.arbiter_leader(1)), (None, None));
}
