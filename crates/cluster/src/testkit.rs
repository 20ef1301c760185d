//! The entry points of the fuzzers, one for each place that reads bytes from outside. `crates/testkit` has the corpora
//! and the test that replays them.
//!
//! Each function accepts any bytes and panics if an invariant is broken. It returns whether any of the bytes were
//! valid, so that the test notices a corpus that no longer fits the formats.

use std::path::Path;
use std::sync::LazyLock;

use hustings_algorithms::catalogue::ENTRIES;
use hustings_protocol::Id;

use crate::config::{AlgorithmConfig, Config};
use crate::election::{Action, Election, MAX_MESSAGE_BYTES, SharedState};
use crate::member::MemberRank;
use crate::node::read_request;
use crate::transport::frame::Decoder;
use crate::wire::{ForwardedRequest, Message, RaftMessage};

/// The largest frame: large enough for every kind of message, small enough for a fuzzer to exceed.
const FRAME_LIMIT: usize = 2048;

/// A stream of frames, and the messages in them.
///
/// The first byte is the size of the pieces in which the stream arrives. The frames do not depend on it.
pub fn frames(bytes: &[u8]) -> bool {
    let Some((&piece, stream)) = bytes.split_first() else { return false };
    let (found, end) = split_frames(stream, stream.len().max(1), FRAME_LIMIT);
    let size = usize::from(piece) + 1;
    assert_eq!(split_frames(stream, size, FRAME_LIMIT), (found.clone(), end), "in pieces of {size} bytes");
    found.iter().filter(|payload| message(payload)).count() > 0
}

/// The payloads of a stream of frames that arrives in pieces of this size, and the error that ended it.
fn split_frames(stream: &[u8], size: usize, limit: usize) -> (Vec<Vec<u8>>, Option<String>) {
    let (mut decoder, mut found) = (Decoder::new(limit), Vec::new());
    for piece in stream.chunks(size) {
        decoder.push(piece);
        loop {
            match decoder.next_frame() {
                Ok(Some(frame)) => found.push(decoder.payload(frame).to_vec()),
                Ok(None) => break,
                Err(error) => return (found, Some(error.to_string())),
            }
        }
    }
    (found, None)
}

/// Whether the bytes are a message. It survives encoding and decoding, and so does what it carries.
fn message(bytes: &[u8]) -> bool {
    let Ok(decoded) = Message::decode(bytes) else { return false };
    assert_eq!(Message::decode(&decoded.encode()).as_ref(), Ok(&decoded), "encoded and decoded");
    match &decoded {
        Message::Raft(raft) => {
            if let Some(raft) = raft.to_raft(1, 2) {
                let again = RaftMessage::from(&raft).to_raft(1, 2);
                assert_eq!(again, Some(raft), "encoded and decoded");
            }
        }
        Message::ForwardedRequest(forwarded) => {
            if let Ok(request) = forwarded.parse() {
                assert_eq!(
                    ForwardedRequest::new(forwarded.number, &request).parse(),
                    Ok(request),
                    "encoded and decoded"
                );
            }
        }
        // The inner message is shorter than the outer one, so this terminates.
        Message::Relay(relay) => {
            message(&relay.bytes);
        }
        _ => {}
    }
    true
}

/// A configuration file.
pub fn configuration(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    match Config::parse(text, Path::new("/etc/hustings")) {
        Ok(config) => {
            assert!(config.own().is_some(), "the node is a member");
            assert!(config.members.is_sorted_by(|one, next| one.id < next.id), "members are ascending by id");
            assert!(config.timing.check().is_ok(), "the times fit each other");
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty(), "an error says what is wrong");
            false
        }
    }
}

/// The files of a store, which are made in this folder from the bytes.
pub fn store(folder: &Path, bytes: &[u8]) -> bool {
    crate::store::fuzzing::open_store(folder, bytes)
}

/// A line that a client on the same host sent.
pub fn request(bytes: &[u8]) -> bool {
    match read_request(bytes) {
        Ok(request) => {
            let line = serde_json::to_vec(&request).expect("a request is plain data");
            assert_eq!(read_request(&line), Ok(request), "encoded and decoded");
            true
        }
        Err(refusal) => {
            assert!(!refusal.is_empty(), "a refusal says what is wrong");
            false
        }
    }
}

/// Every algorithm that can elect the leader of a cluster, with its default parameters.
static CHOICES: LazyLock<Vec<AlgorithmConfig>> = LazyLock::new(|| {
    let named = ENTRIES.iter().map(|entry| AlgorithmConfig::named(entry.about.name, None));
    named.filter(|choice| Election::check(choice).is_ok()).collect()
});

/// Instead of a message of this length, a timer fires.
const TIMER: u8 = u8::MAX;

/// An election from the view of one of four candidates.
///
/// The first byte selects the algorithm, the second the candidate. Messages follow: a sender, a length and that many
/// bytes. Returns whether any message was accepted.
pub fn election(bytes: &[u8]) -> bool {
    let [algorithm, own, script @ ..] = bytes else { return false };
    let mut script = script;
    let choice = &CHOICES[usize::from(*algorithm) % CHOICES.len()];
    let candidates = [1, 2, 3, 4].map(|id| MemberRank { priority: 0, health: 100, id: Id(id) });
    let own = candidates[usize::from(*own) % candidates.len()].id;
    let (mut shared, mut actions, mut timers, mut any) = (SharedState::new(1), Vec::new(), Vec::new(), false);
    let mut election =
        Election::start(choice, own, &candidates, &mut shared, &mut actions).expect("the choice was checked");
    while let [from, length, rest @ ..] = script {
        for action in actions.drain(..) {
            match action {
                Action::Send { to, bytes } => {
                    assert!(to != own && candidates.iter().any(|one| one.id == to), "message to node {to}");
                    assert!(bytes.len() <= MAX_MESSAGE_BYTES, "message of {} bytes", bytes.len());
                }
                Action::SetTimer { ticks, token } => {
                    assert!(ticks > 0, "a timer is in the future");
                    timers.push(token);
                }
            }
        }
        if *length == TIMER {
            if let Some(token) = timers.pop() {
                election.handle_timer(token, &mut shared, &mut actions);
            }
            script = rest;
            continue;
        }
        let (message, rest) = rest.split_at(rest.len().min(usize::from(*length)));
        let before = (election.leader(), election.view());
        match election.handle_message(Id(u64::from(*from)), message, &mut shared, &mut actions) {
            Ok(()) => any = true,
            Err(_) => {
                assert_eq!(
                    (election.leader(), election.view(), actions.len()),
                    (before.0, before.1, 0),
                    "a rejected message changes nothing"
                )
            }
        }
        script = rest;
    }
    any
}
