//! Every value of a configuration, and where it comes from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use humantime::format_duration;
use toml::de::{DeTable, DeValue};

use super::environment::{Lookup, VARIABLES};
use super::read::read_text;
use super::values::size_text;
use super::{ArbiterKind, Config, ConfigError, Health, Http, Mode, Policy, Preempt, Probe, Scheduling};
use crate::election::Algorithms;
use crate::timing::Timing;

/// Where a value comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// Nothing sets it.
    Default,
    /// A line of the file, from 1.
    Line(usize),
    /// An environment variable.
    Variable(&'static str),
}

/// A value of the configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    /// The key: `timing.lease`, `member 2: address`, `office cron: mode`.
    pub key: String,
    /// The value that is in force.
    pub value: String,
    /// Where it comes from.
    pub origin: Origin,
}

impl Config {
    /// Reads the configuration from a file and the environment, with every value and its origin.
    pub fn read_explained(path: &Path, algorithms: &Algorithms) -> Result<(Config, Vec<Setting>), ConfigError> {
        read_explained_with(path, &|name| std::env::var_os(name), algorithms)
    }
}

fn read_explained_with(
    path: &Path,
    lookup: Lookup<'_>,
    algorithms: &Algorithms,
) -> Result<(Config, Vec<Setting>), ConfigError> {
    let text = read_text(path).map_err(|error| error.in_file(path))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let config = Config::parse_knowing(&text, folder, lookup, Some(algorithms)).map_err(|error| error.in_file(path))?;
    let lines = lines(&text);
    let settings = values(&config).into_iter().map(|(key, value)| {
        let origin = origin(&key, &lines, lookup);
        Setting { key, value, origin }
    });
    let settings = settings.collect();
    Ok((config, settings))
}

/// Environment variables stand above the file. `HUSTINGS_ALGORITHM` also replaces `params`.
fn origin(key: &str, lines: &BTreeMap<String, usize>, lookup: Lookup<'_>) -> Origin {
    let is_set = |name: &str| lookup(name).is_some_and(|value| !value.is_empty());
    let name = format!("HUSTINGS_{}", key.replace(['.', '-'], "_").to_uppercase());
    if let Some(variable) = VARIABLES.into_iter().find(|variable| *variable == name && is_set(variable)) {
        return Origin::Variable(variable);
    }
    match lines.get(key) {
        Some(_) if key == "params" && is_set("HUSTINGS_ALGORITHM") => Origin::Default,
        Some(line) => Origin::Line(*line),
        // A key of an office that is not given is taken from the defaults for all offices.
        None => match key.split_once(": ").filter(|_| key.starts_with("office ")) {
            Some((_, rest)) => {
                lines.get(&format!("office-default.{rest}")).map_or(Origin::Default, |line| Origin::Line(*line))
            }
            None => Origin::Default,
        },
    }
}

/// The lines of all keys of a file that was parsed before.
fn lines(text: &str) -> BTreeMap<String, usize> {
    let mut lines = BTreeMap::new();
    let Ok(table) = DeTable::parse(text) else { return lines };
    let line_at = |offset: usize| 1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count();
    for (key, value) in table.get_ref() {
        let (key, line) = (key.get_ref(), line_at(key.span().start));
        match value.get_ref() {
            DeValue::Table(inner) => {
                for (name, value) in inner {
                    let path = format!("{key}.{}", name.get_ref());
                    // `[http]` has tables of its own. Elsewhere a table is one value.
                    match value.get_ref().as_table().filter(|_| key == "http") {
                        None => _ = lines.insert(path, line_at(name.span().start)),
                        Some(inner) => lines.extend(
                            inner
                                .iter()
                                .map(|(name, _)| (format!("{path}.{}", name.get_ref()), line_at(name.span().start))),
                        ),
                    }
                }
            }
            DeValue::Array(blocks) if blocks.iter().any(|block| block.get_ref().is_table()) => {
                for (number, block) in blocks.iter().enumerate() {
                    let Some(block) = block.get_ref().as_table() else { continue };
                    let named = |wanted: &str| block.iter().find(|(name, _)| name.get_ref() == wanted);
                    let title = named(if key == "member" { "id" } else { "name" });
                    let title = title.map_or_else(|| number.to_string(), |(_, value)| title_of(value.get_ref()));
                    for (name, _) in block {
                        lines.insert(format!("{key} {title}: {}", name.get_ref()), line_at(name.span().start));
                    }
                }
            }
            _ => _ = lines.insert(key.to_string(), line),
        }
    }
    lines
}

/// What tells one block from the others: the name of an office, the id of a member.
fn title_of(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => number.as_str().to_string(),
        _ => String::new(),
    }
}

fn time(duration: Duration) -> String {
    format_duration(duration).to_string()
}

/// Every key with the value that is in force, in the order of the manual.
fn values(config: &Config) -> Vec<(String, String)> {
    let path = |path: &Path| path.display().to_string();
    let own = config.own().map_or_else(String::new, |member| member.name.clone());
    let arbiter = match config.arbiter {
        ArbiterKind::Raft => "raft",
        ArbiterKind::None => "none",
    };
    let scheduling = match config.scheduling {
        Scheduling::Normal => "normal",
        Scheduling::Realtime => "realtime",
    };
    let mut values: Vec<(String, String)> = [
        ("cluster", config.cluster.clone()),
        ("node", own),
        ("listen", config.listen.clone()),
        ("data", path(&config.data)),
        ("socket", path(&config.socket)),
        ("socket-group", config.socket_group.clone().unwrap_or_default()),
        ("algorithm", config.algorithm.name().to_string()),
        ("params", config.algorithm.params().join(" ")),
        ("arbiter", arbiter.to_string()),
        ("join", config.join.to_string()),
        ("scheduling", scheduling.to_string()),
        ("tls.authority", path(&config.tls.authority)),
        ("tls.certificate", path(&config.tls.certificate)),
        ("tls.key", path(&config.tls.key)),
        ("log.level", config.log.level.to_string()),
        ("log.format", config.log.format.to_string()),
        ("limits.connections", config.limits.connections.to_string()),
        ("limits.campaigns", config.limits.campaigns.to_string()),
        ("limits.watches", config.limits.watches.to_string()),
        ("limits.state", size_text(config.limits.state)),
        ("limits.state-total", size_text(config.limits.state_total)),
    ]
    .map(|(key, value)| (key.to_string(), value))
    .into();
    values.extend(timing(&config.timing));
    values.extend(config.http.iter().flat_map(http));
    values.extend(config.health.iter().flat_map(health));
    for member in &config.members {
        let key = |name: &str| format!("member {}: {name}", member.id);
        values.push((key("name"), member.name.clone()));
        values.push((key("address"), member.address.clone()));
        values.push((key("priority"), member.priority.to_string()));
        values.push((key("role"), member.role.to_string()));
    }
    values.extend(policy("office-default.", &config.default_policy, &config.timing));
    for (name, own) in &config.offices {
        values.extend(policy(&format!("office {name}: "), own, &config.timing));
    }
    values
}

fn http(http: &Http) -> Vec<(String, String)> {
    let file = |path: &PathBuf| path.display().to_string();
    let optional = |value: Option<String>| value.unwrap_or_default();
    let anonymous = serde_json::to_value(http.anonymous).ok();
    let mut values = vec![
        ("http.listen", http.listen.to_string()),
        ("http.probe-listen", optional(http.probe_listen.map(|address| address.to_string()))),
        ("http.tokens", optional(http.tokens.as_ref().map(file))),
        ("http.anonymous", optional(anonymous.and_then(|word| word.as_str().map(str::to_string)))),
        ("http.allowed-hosts", http.allowed_hosts.join(" ")),
    ];
    if let Some(tls) = &http.tls {
        values.push(("http.tls.certificate", file(&tls.certificate)));
        values.push(("http.tls.key", file(&tls.key)));
        values.push(("http.tls.client-authority", optional(tls.client_authority.as_ref().map(file))));
        values.push(("http.tls.client-right", tls.client_right.to_string()));
    }
    values.push(("http.limits.connections", http.limits.connections.to_string()));
    values.push(("http.limits.watchers", http.limits.watchers.to_string()));
    values.push(("http.limits.sessions", http.limits.sessions.to_string()));
    values.push(("http.limits.requests-per-second", http.limits.requests_per_second.to_string()));
    values.into_iter().map(|(key, value)| (key.to_string(), value)).collect()
}

fn timing(timing: &Timing) -> impl Iterator<Item = (String, String)> + use<> {
    let durations = timing.named().map(|(name, value)| (format!("timing.{name}"), time(value)));
    durations.into_iter().chain([("timing.drift-ppm".to_string(), timing.drift_ppm.to_string())])
}

fn health(health: &Health) -> [(String, String); 4] {
    let (key, probe) = match &health.probe {
        Probe::Command(command) => ("health.command", command.join(" ")),
        Probe::Http(url) => ("health.http", url.clone()),
    };
    [
        (key, probe),
        ("health.every", time(health.every)),
        ("health.timeout", time(health.timeout)),
        ("health.threshold", health.threshold.to_string()),
    ]
    .map(|(key, value)| (key.to_string(), value))
}

fn policy(prefix: &str, policy: &Policy, timing: &Timing) -> [(String, String); 4] {
    let mode = match policy.mode {
        Mode::Exclusive => "exclusive",
        Mode::Fenced => "fenced",
    };
    let preempt = match policy.preempt {
        Preempt::Never => "never".to_string(),
        Preempt::Better => "better".to_string(),
        Preempt::BetterAfter(after) => format!("better-after {}", time(after)),
    };
    let terms = policy.terms(timing);
    let (lease, stop) = (time(terms.lease), time(terms.stop));
    [("mode", mode.to_string()), ("preempt", preempt), ("lease", lease), ("stop", stop)]
        .map(|(key, value)| (format!("{prefix}{key}"), value))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    const FILE: &str = r#"cluster = "shop"
node = "a"
params = ["highest=announce"]
[timing]
lease = "400ms"
"#;

    /// The settings of a file, by key.
    fn explained(text: &str, variable: &str, value: &str) -> BTreeMap<String, (String, Origin)> {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let path = folder.path().join("hustings.toml");
        std::fs::write(&path, text).expect("the folder is ours");
        let lookup = |name: &str| (name == variable).then(|| OsString::from(value));
        let (_, settings) = read_explained_with(&path, &lookup, &Algorithms::default()).expect("the file is right");
        settings.into_iter().map(|setting| (setting.key, (setting.value, setting.origin))).collect()
    }

    #[test]
    fn values_come_from_lines_variables_and_defaults() {
        let text = format!(
            "{FILE}{}",
            "[office-default]\nmode = \"fenced\"\n[[member]]\nid = 7\nname = \"a\"\naddress = \"h:1\"\n\
             [[office]]\nname = \"cron\"\nlease = \"2s\"\n"
        );
        let settings = explained(&text, "HUSTINGS_TIMING_STOP", "20ms");
        let is = |key: &str, value: &str, origin: Origin| {
            assert_eq!(settings.get(key), Some(&(value.to_string(), origin)), "{key}: {settings:#?}");
        };
        is("cluster", "shop", Origin::Line(1));
        is("timing.lease", "400ms", Origin::Line(5));
        is("timing.stop", "20ms", Origin::Variable("HUSTINGS_TIMING_STOP"));
        is("timing.heartbeat", "50ms", Origin::Default);
        is("listen", "h:1", Origin::Default);
        is("params", "highest=announce", Origin::Line(3));
        is("member 7: address", "h:1", Origin::Line(11));
        is("member 7: priority", "0", Origin::Default);
        is("office cron: lease", "2s", Origin::Line(14));
        is("office cron: mode", "fenced", Origin::Line(7));
        is("office cron: preempt", "never", Origin::Default);
        let other = explained(&text, "HUSTINGS_ALGORITHM", "bully");
        assert_eq!(other["params"].1, Origin::Default, "those of the file belong to another algorithm");
    }

    #[test]
    fn every_key_of_the_manual_is_shown() {
        let manual = include_str!("../../../../docs/configuration.md");
        let example = manual.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
        let settings = explained(example, "", "");
        for (key, line) in lines(example) {
            let is_title = key.ends_with(": id") || key.starts_with("office ") && key.ends_with(": name");
            if !is_title {
                assert_eq!(settings.get(&key).map(|(_, origin)| origin), Some(&Origin::Line(line)), "{key}");
            }
        }
    }
}
