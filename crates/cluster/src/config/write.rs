//! Writes the configuration file of a new member, with comments for its reader.

use std::fmt::Write as _;

use humantime::format_duration;

use super::{AlgorithmConfig, ArbiterKind};
use crate::member::Member;
use crate::timing::Timing;

/// The settings that all members of a cluster share.
pub(super) struct SharedConfig<'a> {
    pub(super) cluster: &'a str,
    pub(super) members: &'a [Member],
    pub(super) algorithm: &'a AlgorithmConfig,
    pub(super) arbiter: ArbiterKind,
    pub(super) timing: &'a Timing,
}

/// The configuration file of one member.
pub(super) fn configuration(shared: &SharedConfig<'_>, own: &Member, join: bool) -> String {
    let mut text = format!(
        "# Hustings: member {} of the cluster {}. Copy this folder to its host; node.key is a secret.\n\
         # Paths are relative to this file. Variables such as HUSTINGS_NODE, HUSTINGS_LISTEN and HUSTINGS_DATA override it.\n\
         cluster = {}\n\
         node = {}\n\
         # listen = {}  # set it if peers reach the node at another address\n\
         data = \"data\"             # persistent state: never delete, share or restore it\n\
         socket = \"hustings.sock\"  # for programs on this host\n\
         # socket-group = \"hustings\"  # who may campaign here, beside root and the node's user; set `socket` to\n\
         #                            # a path in a folder of its own as well, such as /run/hustings/hustings.sock\n\n",
        own.name,
        shared.cluster,
        quoted(shared.cluster),
        quoted(&own.name),
        quoted(&own.address),
    );
    if join {
        text += "join = true               # this member joins an existing cluster\n\n";
    }
    text += "# All members must agree on everything below.\n";
    text += &election(shared.algorithm, shared.arbiter);
    text += "\n[tls]\nauthority = \"authority.crt\"\ncertificate = \"node.crt\"\nkey = \"node.key\"\n\n";
    text += &timing(shared.timing);
    text += "\n# The policy of offices. An exclusive office waits until the lease of a failed holder has expired. A fenced one does\n\
             # not, and relies on storage that rejects old tokens. [[office]] blocks set the policy of a single office.\n\
             [office-default]\nmode = \"exclusive\"   # or \"fenced\"\n\
             preempt = \"never\"    # or \"better\", or { better-after = \"30s\" }\n";
    text += &members(shared.members);
    text
}

/// The algorithm and the arbiter.
pub(super) fn election(algorithm: &AlgorithmConfig, arbiter: ArbiterKind) -> String {
    let params = algorithm.params().iter().map(|param| quoted(param)).collect::<Vec<_>>().join(", ");
    let arbiter = match arbiter {
        ArbiterKind::Raft => {
            "\"raft\"  # a majority appoints; with \"none\", each part of a partitioned cluster has a leader"
        }
        ArbiterKind::None => {
            "\"none\"  # each part of a partitioned cluster has a leader; with \"raft\", a majority appoints"
        }
    };
    format!("algorithm = {}\nparams = [{params}]\narbiter = {arbiter}\n", quoted(algorithm.name()))
}

/// `[timing]`.
pub(super) fn timing(timing: &Timing) -> String {
    let mut text = "[timing]\n".to_string();
    for (name, value) in timing.named() {
        let value = quoted(&format_duration(value).to_string());
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{:<27}# {}", format!("{name} = {value}"), description(name));
    }
    let _ = writeln!(text, "{:<27}# {}", format!("drift-ppm = {}", timing.drift_ppm), description("drift-ppm"));
    text
}

fn description(name: &str) -> &'static str {
    match name {
        "heartbeat" => "time between two heartbeats",
        "silence-floor" => "shortest silence that makes a member suspected",
        "silence-ceiling" => "longest silence before a member is suspected",
        "lease" => "how long a holder may work after its last confirmed renewal",
        "stop" => "how long a holder needs to stop its work",
        "tick" => "expected upper bound for the delay of a message",
        "settle" => "how long a member must be up before it preempts a live holder",
        "hand-over" => "how long a hand-over may take before it is given up",
        _ => "bound on the drift between two clocks, in parts per million",
    }
}

/// `[[member]]` blocks.
pub(super) fn members(members: &[Member]) -> String {
    let mut text = String::new();
    for Member { id, name, address, priority, role } in members {
        let _ = write!(
            text,
            "\n[[member]]\nid = {id}\nname = {}\naddress = {}\npriority = {priority}\nrole = \"{role}\"\n",
            quoted(name),
            quoted(address),
        );
    }
    text
}

/// A TOML string. JSON's escapes are valid TOML except for one character.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}
