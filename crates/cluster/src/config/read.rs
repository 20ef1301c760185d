//! From a file to a [`Config`].

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hustings_protocol::Id;

use super::document::{
    Document, HealthDocument, MemberDocument, PolicyDocument, PreemptDocument, Text, TimingDocument,
};
use super::environment::{Lookup, overrule};
use super::error::{ConfigError, nearest, toml_error, wrong};
use super::values::{MAX_SOCKET_PATH, address, algorithm, duration, http, name, word};
use super::{ArbiterKind, Choice, Config, Health, MAX_BYTES, MAX_MEMBERS, MAX_OFFICES, Policy, Preempt, Probe, Tls};
use crate::election::Algorithms;
use crate::member::{Member, Role};
use crate::timing::Timing;

const MAX_PARAMS: usize = 64;
const AN_HOUR: Duration = Duration::from_secs(3600);

impl Config {
    /// From a file and the environment; see [`super::VARIABLES`]. Relative paths in it are relative to its folder. The
    /// algorithm must be a built-in one.
    pub fn read(path: &Path) -> Result<Config, ConfigError> {
        Config::read_with(path, &environment)
    }

    /// From a file, with what this function says instead of the environment.
    pub fn read_with(path: &Path, lookup: Lookup<'_>) -> Result<Config, ConfigError> {
        read_file(path, lookup, Some(&Algorithms::default()))
    }

    /// From a file and the environment, for a node that knows these algorithms.
    pub fn read_knowing(path: &Path, algorithms: &Algorithms) -> Result<Config, ConfigError> {
        read_file(path, &environment, Some(algorithms))
    }

    /// From a file and the environment, for a program that only connects to the node. The name of the algorithm is not
    /// looked up, because the node may know algorithms that this program does not; so no node can run with the result.
    pub fn read_as_client(path: &Path) -> Result<Config, ConfigError> {
        Config::read_as_client_with(path, &environment)
    }

    /// The same, with what this function says instead of the environment.
    pub fn read_as_client_with(path: &Path, lookup: Lookup<'_>) -> Result<Config, ConfigError> {
        read_file(path, lookup, None)
    }

    /// From text, as if it were in a file in this folder. The environment has no say.
    pub fn parse(text: &str, folder: &Path) -> Result<Config, ConfigError> {
        Config::parse_with(text, folder, &|_| None)
    }

    /// From text, with what this function says instead of the environment.
    pub fn parse_with(text: &str, folder: &Path, lookup: Lookup<'_>) -> Result<Config, ConfigError> {
        Config::parse_knowing(text, folder, lookup, Some(&Algorithms::default()))
    }

    /// From text, with these algorithms. Without any, the name of the algorithm is not looked up.
    pub(super) fn parse_knowing(
        text: &str,
        folder: &Path,
        lookup: Lookup<'_>,
        algorithms: Option<&Algorithms>,
    ) -> Result<Config, ConfigError> {
        if text.len() > MAX_BYTES {
            return Err(ConfigError::TooLong);
        }
        let mut file: Document = toml::from_str(text).map_err(|error| toml_error(text, &error))?;
        overrule(&mut file, lookup)?;
        config(file, folder, algorithms)
    }
}

fn environment(variable: &str) -> Option<OsString> {
    std::env::var_os(variable)
}

fn read_file(path: &Path, lookup: Lookup<'_>, algorithms: Option<&Algorithms>) -> Result<Config, ConfigError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let text = read_text(path).map_err(|error| error.of(path))?;
    Config::parse_knowing(&text, folder, lookup, algorithms).map_err(|error| error.of(path))
}

/// A file that is text, and not too long.
pub(super) fn read_text(path: &Path) -> Result<String, ConfigError> {
    let file = File::open(path).map_err(ConfigError::Unreadable)?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(ConfigError::Unreadable)?;
    if bytes.len() > MAX_BYTES {
        return Err(ConfigError::TooLong);
    }
    String::from_utf8(bytes).map_err(|error| ConfigError::NotText(error.utf8_error().valid_up_to()))
}

fn config(file: Document, folder: &Path, algorithms: Option<&Algorithms>) -> Result<Config, ConfigError> {
    let cluster = needed(file.cluster, "cluster", "the name of the cluster")?;
    let cluster = name(cluster.place("cluster"), &cluster.text)?;
    let members = members(&file.members)?;
    let own = own(needed(file.node, "node", "which of the members this is")?, &members)?;
    let listen = match &file.listen {
        Some(text) => address(text.place("listen"), &text.text)?,
        None => own.address.clone(),
    };
    let default_policy = policy("office-default", &file.office_default, Policy::default())?;
    let mut offices = Vec::new();
    if file.offices.len() > MAX_OFFICES {
        return Err(wrong("office", &format!("{} blocks", file.offices.len()), format!("allowed are {MAX_OFFICES}")));
    }
    for (index, office) in file.offices.into_iter().enumerate() {
        let place = format!("office {}", index + 1);
        let name = name(&format!("{place}: name"), &office.name)?;
        let said = PolicyDocument { mode: office.mode, preempt: office.preempt };
        offices.push((name, policy(&place, &said, default_policy)?));
    }
    unique("office: name", offices.iter().map(|(name, _)| name.as_str()))?;
    let timing = timing(&file.timing)?;
    timing.check()?;
    Ok(Config {
        cluster,
        node: own.id,
        listen,
        algorithm: choice(file.algorithm.as_ref(), file.params, algorithms)?,
        arbiter: arbiter(file.arbiter.as_ref())?,
        timing,
        offices,
        default_policy,
        health: file.health.map(health).transpose()?,
        data: path(folder, "data", file.data, "data")?,
        socket: socket(folder, file.socket)?,
        tls: Tls {
            authority: path(folder, "tls.authority", file.tls.authority, "authority.crt")?,
            certificate: path(folder, "tls.certificate", file.tls.certificate, "node.crt")?,
            key: path(folder, "tls.key", file.tls.key, "node.key")?,
        },
        members,
        join: file.join,
    })
}

fn needed(text: Option<Text>, key: &'static str, need: &'static str) -> Result<Text, ConfigError> {
    text.ok_or(ConfigError::Missing { key, need })
}

/// The members, ascending by id.
pub(super) fn members(blocks: &[MemberDocument]) -> Result<Vec<Member>, ConfigError> {
    if blocks.len() > MAX_MEMBERS {
        return Err(wrong("member", &format!("{} blocks", blocks.len()), format!("allowed are {MAX_MEMBERS}")));
    }
    let mut members = Vec::with_capacity(blocks.len());
    for (index, MemberDocument { id, name: given, address: at, priority, role }) in blocks.iter().enumerate() {
        let place = |key: &str| format!("member {}: {key}", index + 1);
        if *id == 0 {
            return Err(wrong(place("id"), "0", "allowed are whole numbers from 1"));
        }
        let name = name(&place("name"), given)?;
        let address = address(&place("address"), at)?;
        members.push(Member { id: Id(*id), name, address, priority: *priority, role: *role });
    }
    members.sort_by_key(|member| member.id);
    check_members(&members)?;
    Ok(members)
}

/// Fails if these, ascending by id, do not make a cluster together.
pub(super) fn check_members(members: &[Member]) -> Result<(), ConfigError> {
    let Some(first) = members.first() else {
        return Err(ConfigError::Missing { key: "member", need: "a [[member]] block for everybody in the cluster" });
    };
    if let Some(pair) = members.windows(2).find(|pair| pair[0].id == pair[1].id) {
        let problem = format!("both `{}` and `{}` have it; every member has its own", pair[0].name, pair[1].name);
        return Err(wrong("member: id", &pair[0].id.to_string(), problem));
    }
    unique("member: name", members.iter().map(|member| member.name.as_str()))?;
    unique("member: address", members.iter().map(|member| member.address.as_str()))?;
    if !members.iter().any(|member| member.role == Role::Elector) {
        let problem = "for all of them; at least one must be an elector, or nobody could ever lead";
        return Err(wrong("member: role", &first.role.to_string(), problem));
    }
    Ok(())
}

fn unique<'a>(place: &str, values: impl Iterator<Item = &'a str>) -> Result<(), ConfigError> {
    let mut sorted: Vec<&str> = values.collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(wrong(place, pair[0], "it is there twice; everybody has its own")),
        None => Ok(()),
    }
}

fn own(node: Text, members: &[Member]) -> Result<&Member, ConfigError> {
    members.iter().find(|member| member.name == node.text).ok_or_else(|| {
        let names = || members.iter().map(|member| member.name.as_str());
        let meant = nearest(&node.text, names()).map(|meant| format!("; the nearest is `{meant}`")).unwrap_or_default();
        let all = names().collect::<Vec<_>>().join(", ");
        wrong(node.place("node"), &node.text, format!("no member has this name{meant}; there are {all}"))
    })
}

fn choice(
    given: Option<&Text>,
    params: Option<Vec<String>>,
    algorithms: Option<&Algorithms>,
) -> Result<Choice, ConfigError> {
    let (place, name) = given.map_or(("algorithm", Choice::USUAL), |text| (text.place("algorithm"), &text.text));
    let choice = match algorithms {
        Some(algorithms) => algorithm(place, name, params, algorithms)?,
        None => Choice::unresolved(name, params.unwrap_or_default()),
    };
    let params = choice.params();
    if params.len() > MAX_PARAMS {
        return Err(wrong("params", &format!("{} texts", params.len()), format!("allowed are {MAX_PARAMS}")));
    }
    if let Some(param) = params.iter().find(|param| !param.contains('=')) {
        return Err(wrong("params", param, "allowed are texts of the form \"name=value\""));
    }
    Ok(choice)
}

fn arbiter(given: Option<&Text>) -> Result<ArbiterKind, ConfigError> {
    given.map_or(Ok(ArbiterKind::default()), |text| word(text.place("arbiter"), &text.text))
}

pub(super) fn timing(given: &TimingDocument) -> Result<Timing, ConfigError> {
    let usual = Timing::default();
    let or = |key: &str, text: &Option<Text>, usual: Duration| {
        text.as_ref().map_or(Ok(usual), |text| duration(&format!("timing.{key}"), text))
    };
    Ok(Timing {
        heartbeat: or("heartbeat", &given.heartbeat, usual.heartbeat)?,
        silence_floor: or("silence-floor", &given.silence_floor, usual.silence_floor)?,
        silence_ceiling: or("silence-ceiling", &given.silence_ceiling, usual.silence_ceiling)?,
        lease: or("lease", &given.lease, usual.lease)?,
        drift_ppm: given.drift_ppm.unwrap_or(usual.drift_ppm),
        stop: or("stop", &given.stop, usual.stop)?,
        tick: or("tick", &given.tick, usual.tick)?,
        settle: or("settle", &given.settle, usual.settle)?,
        hand_over: or("hand-over", &given.hand_over, usual.hand_over)?,
    })
}

fn policy(place: &str, said: &PolicyDocument, usual: Policy) -> Result<Policy, ConfigError> {
    let preempt = match &said.preempt {
        None => usual.preempt,
        Some(PreemptDocument::Never) => Preempt::Never,
        Some(PreemptDocument::Better) => Preempt::Better,
        Some(PreemptDocument::After(text)) => {
            Preempt::BetterAfter(duration(&format!("{place}: preempt.better-after"), text)?)
        }
    };
    Ok(Policy { mode: said.mode.unwrap_or(usual.mode), preempt })
}

fn health(said: HealthDocument) -> Result<Health, ConfigError> {
    let probe = match (said.command, said.http) {
        (Some(command), None) if command.first().is_some_and(|program| !program.is_empty()) => Probe::Command(command),
        (Some(_), None) => return Err(wrong("health.command", "[]", "the first text is the program to run")),
        (None, Some(page)) => Probe::Http(http("health.http", &page)?),
        (Some(_), Some(page)) => return Err(wrong("health.http", &page, "there is a health.command too; one of them")),
        (None, None) => {
            return Err(ConfigError::Missing {
                key: "health.command",
                need: "a command, or health.http, says how it is",
            });
        }
    };
    let time = |key: &str, text: Option<Text>, usual: Duration| -> Result<Duration, ConfigError> {
        let Some(text) = text else { return Ok(usual) };
        let time = duration(key, &text)?;
        let fits = time > Duration::ZERO && time <= AN_HOUR;
        if fits { Ok(time) } else { Err(wrong(key, &text.text, "allowed is more than 0s, and an hour at most")) }
    };
    let every = time("health.every", said.every, Duration::from_secs(2))?;
    let timeout = time("health.timeout", said.timeout, every / 2)?;
    if timeout > every {
        let every = humantime::format_duration(every);
        let problem = format!("health.every is {every}; an answer must be there before the next question");
        return Err(wrong("health.timeout", &humantime::format_duration(timeout).to_string(), problem));
    }
    let threshold = said.threshold.unwrap_or(1);
    if threshold > 100 {
        return Err(wrong("health.threshold", &threshold.to_string(), "allowed are 0 to 100"));
    }
    Ok(Health { probe, every, timeout, threshold })
}

fn path(folder: &Path, key: &str, given: Option<Text>, usual: &str) -> Result<PathBuf, ConfigError> {
    let Some(text) = given else { return Ok(folder.join(usual)) };
    if text.text.is_empty() || text.text.contains('\0') {
        return Err(wrong(text.place(key), &text.text, "allowed is a path"));
    }
    Ok(folder.join(text.text))
}

fn socket(folder: &Path, given: Option<Text>) -> Result<PathBuf, ConfigError> {
    let place = given.as_ref().map_or("socket", |text| text.place("socket")).to_string();
    let path = path(folder, "socket", given, "hustings.sock")?;
    if path.as_os_str().len() > MAX_SOCKET_PATH {
        let problem = format!("the kernel takes {MAX_SOCKET_PATH} bytes; say a shorter path");
        return Err(wrong(place, &path.to_string_lossy(), problem));
    }
    Ok(path)
}

#[cfg(test)]
mod tests;
