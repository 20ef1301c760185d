//! The configuration file of a new member, with comments for whoever opens it.

use std::fmt::Write as _;

use humantime::format_duration;

use super::{ArbiterKind, Choice};
use crate::member::Member;
use crate::timing::Timing;

/// What all members of a cluster agree on.
pub(super) struct Agreement<'a> {
    pub(super) cluster: &'a str,
    pub(super) members: &'a [Member],
    pub(super) algorithm: &'a Choice,
    pub(super) arbiter: ArbiterKind,
    pub(super) timing: &'a Timing,
}

/// The configuration of one of the members.
pub(super) fn configuration(agreement: &Agreement<'_>, own: &Member, join: bool) -> String {
    let mut text = format!(
        "# Hustings: member {} of the cluster {}. This folder belongs on its host; node.key is a secret.\n\
         # Paths are relative to this file. HUSTINGS_NODE, HUSTINGS_LISTEN, HUSTINGS_DATA and so on stand above it.\n\
         cluster = {}\n\
         node = {}\n\
         # listen = {}  # if it is to be reached at another address than it listens on\n\
         data = \"data\"             # what must not be forgotten: keep it, and never share it\n\
         socket = \"hustings.sock\"  # for programs on this host\n\n",
        own.name,
        agreement.cluster,
        quoted(agreement.cluster),
        quoted(&own.name),
        quoted(&own.address),
    );
    if join {
        text += "join = true               # the cluster was there before this member\n\n";
    }
    text += "# From here on every member says the same.\n";
    text += &election(agreement.algorithm, agreement.arbiter);
    text += "\n[tls]\nauthority = \"authority.crt\"\ncertificate = \"node.crt\"\nkey = \"node.key\"\n\n";
    text += &timing(agreement.timing);
    text += "\n# What holds for offices: exclusive ones wait until a lost holder has stopped for certain; fenced ones do not,\n\
             # and need something behind them that refuses old tokens. [[office]] blocks say otherwise for one of them.\n\
             [office-default]\nmode = \"exclusive\"   # or \"fenced\"\n\
             preempt = \"never\"    # or \"better\", or { better-after = \"30s\" }\n";
    text += &members(agreement.members);
    text
}

/// Who should lead, and who may.
pub(super) fn election(algorithm: &Choice, arbiter: ArbiterKind) -> String {
    let params = algorithm.params().iter().map(|param| quoted(param)).collect::<Vec<_>>().join(", ");
    let arbiter = match arbiter {
        ArbiterKind::Raft => {
            "\"raft\"  # a majority appoints; \"none\" lets every part of a split cluster have a leader"
        }
        ArbiterKind::None => "\"none\"  # every part of a split cluster has a leader; \"raft\" lets a majority appoint",
    };
    format!("algorithm = {}\nparams = [{params}]\narbiter = {arbiter}\n", quoted(algorithm.name()))
}

/// `[timing]`.
pub(super) fn timing(timing: &Timing) -> String {
    let mut text = "[timing]\n".to_string();
    for (name, value) in timing.named() {
        let value = quoted(&format_duration(value).to_string());
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{:<27}# {}", format!("{name} = {value}"), meaning(name));
    }
    let _ = writeln!(text, "{:<27}# {}", format!("drift-ppm = {}", timing.drift_ppm), meaning("drift-ppm"));
    text
}

fn meaning(name: &str) -> &'static str {
    match name {
        "heartbeat" => "how often members hear of each other",
        "silence-floor" => "nobody is suspected after a shorter silence",
        "silence-ceiling" => "everybody is suspected after a longer one",
        "lease" => "how long a holder may act after its last confirmed renewal",
        "stop" => "how long a holder takes to stop",
        "tick" => "how long a message should take at most",
        "settle" => "how long one must be up to take an office from a live holder",
        "hand-over" => "how long a hand-over may take",
        _ => "how wrong clocks may go, in parts per million",
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

/// A text as TOML writes it: the way of JSON, but for one character.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}
