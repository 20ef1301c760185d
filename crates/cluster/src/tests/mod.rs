//! Tests of the core, in clusters that one thread simulates. `README.md` says what they watch.

mod cluster;
mod conformance;
mod election;
mod faults;
mod guards;
mod hostile;
mod lease_checker;
mod simulation;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};

use hustings_protocol::Id;

use crate::config::{AlgorithmConfig, ArbiterKind, Config, Tls};
use crate::member::{Member, Role};
use crate::timing::Timing;
use crate::wire::{Message, Relay, Seal};

/// Says that a test is skipped. Where everything must be there (HUSTINGS_REQUIRE_TOOLS=1), as in `.ci/run`, it fails.
pub(crate) fn skip(reason: &str) {
    let is_required = std::env::var_os("HUSTINGS_REQUIRE_TOOLS").is_some_and(|value| value == "1");
    assert!(!is_required, "must not be skipped: {reason}");
    // Past the test harness, which hides what tests that pass print. Without standard error there is nobody to tell.
    let _ = writeln!(io::stderr(), "SKIPPED: {reason}");
}

/// Does what the node of a relayed message's sender does: seals it. A simulated seal is a number that follows from what
/// is sealed, and that tests make for the right sender only.
pub(crate) fn seal(relay: &mut Relay) {
    relay.seal = Some(simulated_seal(relay));
}

/// Whether the receiver's node lets a message in: it is not relayed to this member, or sealed by its sender.
pub(crate) fn is_authentic(to: u64, message: &Message) -> bool {
    let Message::Relay(relay) = message else { return true };
    relay.to != Id(to) || relay.seal.as_ref() == Some(&simulated_seal(relay))
}

fn simulated_seal(relay: &Relay) -> Seal {
    let mut hasher = DefaultHasher::new();
    relay.signed_bytes("test").hash(&mut hasher);
    Seal { scheme: 0, signature: hasher.finish().to_le_bytes().to_vec(), chain: Vec::new() }
}

/// A member that is called after its id.
pub(crate) fn member(id: u64, role: Role) -> Member {
    Member { id: Id(id), name: format!("n{id}"), address: format!("h{id}:1"), priority: 0, role }
}

/// The configuration of one of these members, without files: defaults for everything.
pub(crate) fn config(node: u64, members: Vec<Member>) -> Config {
    Config {
        cluster: "test".to_string(),
        node: Id(node),
        members,
        listen: String::new(),
        algorithm: AlgorithmConfig::default(),
        arbiter: ArbiterKind::Raft,
        timing: Timing::default(),
        offices: Vec::new(),
        default_policy: Default::default(),
        health: None,
        log: Default::default(),
        limits: Default::default(),
        http: None,
        data: Default::default(),
        socket: Default::default(),
        socket_group: None,
        tls: Tls { authority: Default::default(), certificate: Default::default(), key: Default::default() },
        join: false,
        scheduling: Default::default(),
    }
}

/// The seeds of a random test: those in an environment variable, such as `0-1000000`, or else some.
pub(crate) fn seeds(variable: &str, default: std::ops::Range<u64>) -> std::ops::Range<u64> {
    let Ok(text) = std::env::var(variable) else { return default };
    let seeds = text.split_once('-').and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    seeds.unwrap_or_else(|| panic!("{variable}={text}: a range such as 0-1000 is expected"))
}
