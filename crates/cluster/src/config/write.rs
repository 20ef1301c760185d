//! Writes the configuration file of a new member, with comments for its reader.

use std::fmt::Write as _;
use std::time::Duration;

use humantime::format_duration;

use super::{AlgorithmConfig, ArbiterKind, Config, Mode, Policy, Preempt};
use crate::member::Member;
use crate::timing::Timing;

/// The settings in which all members of a cluster must agree.
pub(super) struct Settings<'a> {
    pub(super) algorithm: &'a AlgorithmConfig,
    pub(super) arbiter: ArbiterKind,
    pub(super) timing: &'a Timing,
    pub(super) default_policy: Policy,
    pub(super) offices: &'a [(String, Policy)],
}

impl Config {
    /// The part of a configuration file in which all members must agree, except for the members, for the file of a new
    /// one.
    pub(crate) fn settings(&self) -> String {
        let Config { algorithm, arbiter, timing, default_policy, offices, .. } = self;
        Settings { algorithm, arbiter: *arbiter, timing, default_policy: *default_policy, offices }.text()
    }
}

impl Settings<'_> {
    pub(super) fn text(&self) -> String {
        let mut text = election(self.algorithm, self.arbiter) + "\n" + &timing(self.timing);
        text += "\n# The policy of offices. An exclusive office waits until the lease of a failed holder has expired. A fenced\n\
                 # one does not, and relies on storage that rejects old tokens. [[office]] blocks set the policy of single\n\
                 # offices.\n\
                 [office-default]\n";
        let Policy { mode, preempt, lease, stop } = self.default_policy;
        text += &match mode {
            Mode::Exclusive => "mode = \"exclusive\"   # or \"fenced\"\n".to_string(),
            Mode::Fenced => "mode = \"fenced\"      # or \"exclusive\"\n".to_string(),
        };
        text += &match preempt {
            Preempt::Never => "preempt = \"never\"    # or \"better\", or { better-after = \"30s\" }\n".to_string(),
            other => preempt_line(other),
        };
        text += &time_lines(lease, stop);
        for (name, policy) in self.offices {
            // What is not written is as in the defaults.
            let changed = |own, default| if own == default { None } else { own };
            text += &format!("\n[[office]]\nname = {}\n", quoted(name));
            if policy.mode != mode {
                let mode = if policy.mode == Mode::Fenced { "fenced" } else { "exclusive" };
                text += &format!("mode = \"{mode}\"\n");
            }
            if policy.preempt != preempt {
                text += &preempt_line(policy.preempt);
            }
            text += &time_lines(changed(policy.lease, lease), changed(policy.stop, stop));
        }
        text
    }
}

fn preempt_line(preempt: Preempt) -> String {
    match preempt {
        Preempt::Never => "preempt = \"never\"\n".to_string(),
        Preempt::Better => "preempt = \"better\"\n".to_string(),
        Preempt::BetterAfter(time) => {
            format!("preempt = {{ better-after = {} }}\n", quoted(&format_duration(time).to_string()))
        }
    }
}

fn time_lines(lease: Option<Duration>, stop: Option<Duration>) -> String {
    let line = |(name, time): (&str, Option<Duration>)| {
        time.map(|time| format!("{name} = {}\n", quoted(&format_duration(time).to_string()))).unwrap_or_default()
    };
    [("lease", lease), ("stop", stop)].map(line).concat()
}

/// The configuration file of one member. `settings` is the part in which all members must agree.
pub(super) fn configuration(cluster: &str, own: &Member, join: bool, settings: &str, all: &[Member]) -> String {
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
        cluster,
        quoted(cluster),
        quoted(&own.name),
        quoted(&own.address),
    );
    if join {
        text += "join = true               # this member joins an existing cluster\n\n";
    }
    text += "# All members must agree on everything below.\n";
    text += settings;
    text += "\n[tls]\nauthority = \"authority.crt\"\ncertificate = \"node.crt\"\nkey = \"node.key\"\n";
    text += &members(all);
    text
}

/// The algorithm and the arbiter.
fn election(algorithm: &AlgorithmConfig, arbiter: ArbiterKind) -> String {
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
fn timing(timing: &Timing) -> String {
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
