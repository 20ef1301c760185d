//! What fuzzers call, and the test that replays their corpora: everything that reads bytes from outside.
//!
//! Each function takes any bytes, and panics if a promise is broken. It returns whether anything in the bytes made
//! sense, so that the test notices when a corpus no longer fits the formats and reaches nothing.

use std::path::Path;
use std::sync::LazyLock;

use hustings_algorithms::catalogue::ENTRIES;
use hustings_protocol::Id;

use crate::config::{Choice, Config};
use crate::election::{self, Action, Election, SharedState};
use crate::member::MemberRank;
pub use crate::store::fuzzing::store;
use crate::transport::frame::{Decoder, FrameError};
use crate::wire::Message;

/// The largest frame here: large enough for every kind of message, small enough to be exceeded.
const FRAME_LIMIT: usize = 2048;

/// A stream of frames, and the messages in them.
///
/// The first byte says in pieces of how many bytes it comes. However it comes, the same frames are found.
pub fn frames(bytes: &[u8]) -> bool {
    let Some((&piece, stream)) = bytes.split_first() else { return false };
    let (found, end) = split(stream, stream.len().max(1));
    let size = usize::from(piece) + 1;
    assert_eq!(split(stream, size), (found.clone(), end), "in pieces of {size} bytes");
    found.iter().filter(|payload| message(payload)).count() > 0
}

/// All payloads of a stream that comes in pieces of this size, and why it ended before it was over.
fn split(stream: &[u8], size: usize) -> (Vec<Vec<u8>>, Option<FrameError>) {
    let (mut decoder, mut found) = (Decoder::new(FRAME_LIMIT), Vec::new());
    for piece in stream.chunks(size) {
        decoder.push(piece);
        loop {
            match decoder.next_frame() {
                Ok(Some(frame)) => found.push(decoder.payload(frame).to_vec()),
                Ok(None) => break,
                Err(error) => return (found, Some(error)),
            }
        }
    }
    (found, None)
}

/// What is heard can be said again, and what it carries can be looked at.
fn message(bytes: &[u8]) -> bool {
    let Ok(heard) = Message::decode(bytes) else { return false };
    assert_eq!(Message::decode(&heard.encode()).as_ref(), Ok(&heard), "said again");
    match &heard {
        Message::Raft(raft) => {
            if let Some(raft) = raft.to_raft(1, 2) {
                let again = crate::wire::RaftMessage::from(&raft).to_raft(1, 2);
                assert_eq!(again, Some(raft), "said again");
            }
        }
        Message::ForwardedRequest(forwarded) => {
            if let Ok(request) = forwarded.parse() {
                assert_eq!(
                    crate::wire::ForwardedRequest::new(forwarded.number, &request).parse(),
                    Ok(request),
                    "asked again"
                );
            }
        }
        // It is shorter than what carries it, so this ends.
        Message::Relay { bytes, .. } => {
            message(bytes);
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

/// A line of a program on the same host.
pub fn request(bytes: &[u8]) -> bool {
    match crate::node::read_request(bytes) {
        Ok(request) => {
            let line = serde_json::to_vec(&request).expect("a request is plain data");
            assert_eq!(crate::node::read_request(&line), Ok(request), "asked again");
            true
        }
        Err(refusal) => {
            assert!(!refusal.is_empty(), "a refusal says what is wrong");
            false
        }
    }
}

/// Every algorithm that elects leaders of clusters, with its usual parameters.
static CHOICES: LazyLock<Vec<Choice>> = LazyLock::new(|| {
    let named = ENTRIES.iter().map(|entry| Choice::named(entry.about.name, None));
    named.filter(|choice| Election::check(choice).is_ok()).collect()
});

/// A letter of this length is none: an alarm rings instead.
const RING: u8 = u8::MAX;

/// An election, as one of four candidates incarnations through it.
///
/// The first byte names the algorithm, the second the candidate. Then come letters: a sender, a length and so many
/// bytes. Returns whether one of them was understood.
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
                    assert!(to != own && candidates.iter().any(|one| one.id == to), "mail to node {to}");
                    assert!(bytes.len() <= election::MAX_MESSAGE_BYTES, "mail of {} bytes", bytes.len());
                }
                Action::SetTimer { ticks, token } => {
                    assert!(ticks > 0, "an alarm is in the future");
                    timers.push(token);
                }
            }
        }
        if *length == RING {
            if let Some(token) = timers.pop() {
                election.handle_timer(token, &mut shared, &mut actions);
            }
            script = rest;
            continue;
        }
        let (letter, rest) = rest.split_at(rest.len().min(usize::from(*length)));
        let before = (election.leader(), election.view());
        match election.handle_message(Id(u64::from(*from)), letter, &mut shared, &mut actions) {
            Ok(()) => any = true,
            Err(_) => {
                assert_eq!(
                    (election.leader(), election.view(), actions.len()),
                    (before.0, before.1, 0),
                    "it changed nothing"
                )
            }
        }
        script = rest;
    }
    any
}
