//! Reads a [`Config`] from a file.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hustings_protocol::Id;

use super::document::{
    Document, HealthDocument, LimitsDocument, LogDocument, MemberDocument, PolicyDocument, PreemptDocument, Text,
    TimingDocument,
};
use super::environment::{Lookup, apply_environment};
use super::error::{ConfigError, invalid, nearest, toml_error};
use super::values::{MAX_SOCKET_PATH, address, algorithm, duration, http, name, size, word};
use super::{
    AlgorithmConfig, ArbiterKind, Config, Health, Limits, Log, MAX_BYTES, MAX_MEMBERS, MAX_OFFICES, Policy, Preempt,
    Probe, Tls,
};
use crate::core::table::{MAX_STATE_BYTES, MAX_TOTAL_BYTES};
use crate::election::Algorithms;
use crate::member::{Member, Role};
use crate::timing::Timing;

const MAX_PARAMS: usize = 64;
/// The largest `limits.connections`. Each one is a file descriptor.
const MAX_CONNECTIONS: usize = 10_000;
/// The longest name of a group that Linux tools accept.
const MAX_GROUP_NAME: usize = 32;
const MAX_HEALTH_PERIOD: Duration = Duration::from_secs(3600);

impl Config {
    /// Reads the configuration from a file and the environment; `HUSTINGS_LISTEN` and so on stand above the
    /// file. Relative paths in the file are relative to its folder. The algorithm must be a built-in one.
    pub fn read(path: &Path) -> Result<Config, ConfigError> {
        Config::read_with(path, &environment)
    }

    /// Reads the configuration from a file, with `lookup` in place of the environment.
    pub(crate) fn read_with(path: &Path, lookup: Lookup<'_>) -> Result<Config, ConfigError> {
        read_file(path, lookup, Some(&Algorithms::default()))
    }

    /// Reads the configuration from a file and the environment, for a node that knows these algorithms.
    pub fn read_knowing(path: &Path, algorithms: &Algorithms) -> Result<Config, ConfigError> {
        read_file(path, &environment, Some(algorithms))
    }

    /// Reads the configuration from a file and the environment, for a program that only connects to the node. The name
    /// of the algorithm is not looked up, because the node may know algorithms that this program does not. No node can
    /// run with the result.
    pub fn read_as_client(path: &Path) -> Result<Config, ConfigError> {
        Config::read_as_client_with(path, &environment)
    }

    /// Like [`Config::read_as_client`], with `lookup` in place of the environment.
    pub(crate) fn read_as_client_with(path: &Path, lookup: Lookup<'_>) -> Result<Config, ConfigError> {
        read_file(path, lookup, None)
    }

    /// Parses the configuration as if the text were a file in this folder. The environment is ignored.
    #[cfg(any(test, feature = "testkit"))]
    pub(crate) fn parse(text: &str, folder: &Path) -> Result<Config, ConfigError> {
        Config::parse_with(text, folder, &|_| None)
    }

    /// Parses the configuration, with `lookup` in place of the environment.
    #[cfg(any(test, feature = "testkit"))]
    pub(crate) fn parse_with(text: &str, folder: &Path, lookup: Lookup<'_>) -> Result<Config, ConfigError> {
        Config::parse_knowing(text, folder, lookup, Some(&Algorithms::default()))
    }

    /// Parses the configuration of a node that knows these algorithms. With `None` the name of the algorithm is not
    /// looked up.
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
        apply_environment(&mut file, lookup)?;
        config(file, folder, algorithms)
    }
}

fn environment(variable: &str) -> Option<OsString> {
    std::env::var_os(variable)
}

fn read_file(path: &Path, lookup: Lookup<'_>, algorithms: Option<&Algorithms>) -> Result<Config, ConfigError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let text = read_text(path).map_err(|error| error.in_file(path))?;
    Config::parse_knowing(&text, folder, lookup, algorithms).map_err(|error| error.in_file(path))
}

/// Reads a text file of bounded length.
pub(super) fn read_text(path: &Path) -> Result<String, ConfigError> {
    let file = File::open(path).map_err(ConfigError::Unreadable)?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(ConfigError::Unreadable)?;
    if bytes.len() > MAX_BYTES {
        return Err(ConfigError::TooLong);
    }
    String::from_utf8(bytes).map_err(|error| ConfigError::NotUtf8(error.utf8_error().valid_up_to()))
}

fn config(file: Document, folder: &Path, algorithms: Option<&Algorithms>) -> Result<Config, ConfigError> {
    let cluster = required(file.cluster, "cluster", "set it to the name of the cluster")?;
    let cluster = name(cluster.place("cluster"), &cluster.text)?;
    let members = members(&file.members)?;
    let own = own(required(file.node, "node", "set it to the name of the member that this node is")?, &members)?;
    let listen = match &file.listen {
        Some(text) => address(text.place("listen"), &text.text)?,
        None => own.address.clone(),
    };
    let timing = timing(&file.timing)?;
    timing.check()?;
    let default_policy = policy("office-default", &file.office_default, Policy::default(), &timing)?;
    let mut offices = Vec::new();
    if file.offices.len() > MAX_OFFICES {
        return Err(invalid(
            "office",
            &format!("{} blocks", file.offices.len()),
            format!("at most {MAX_OFFICES} are allowed"),
        ));
    }
    for (index, office) in file.offices.into_iter().enumerate() {
        let place = format!("office {}", index + 1);
        let name = name(&format!("{place}: name"), &office.name)?;
        let given =
            PolicyDocument { mode: office.mode, preempt: office.preempt, lease: office.lease, stop: office.stop };
        offices.push((name, policy(&place, &given, default_policy, &timing)?));
    }
    unique("office: name", offices.iter().map(|(name, _)| name.as_str()))?;
    let tls = Tls {
        authority: path(folder, "tls.authority", file.tls.authority, "authority.crt")?,
        certificate: path(folder, "tls.certificate", file.tls.certificate, "node.crt")?,
        key: path(folder, "tls.key", file.tls.key, "node.key")?,
    };
    let data = path(folder, "data", file.data, "data")?;
    let socket = socket(folder, file.socket)?;
    let socket_group = file.socket_group.map(|group| socket_group(&group, &socket, &data, &tls.key)).transpose()?;
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
        limits: limits(&file.limits)?,
        http: file.http.map(|http| http.check(folder)).transpose()?,
        log: log(&file.log)?,
        data,
        socket,
        socket_group,
        tls,
        members,
        join: file.join,
    })
}

fn required(text: Option<Text>, key: &'static str, need: &'static str) -> Result<Text, ConfigError> {
    text.ok_or(ConfigError::Missing { key, need })
}

/// Checks the `[[member]]` blocks. Returns the members ascending by id.
pub(super) fn members(blocks: &[MemberDocument]) -> Result<Vec<Member>, ConfigError> {
    if blocks.len() > MAX_MEMBERS {
        return Err(invalid(
            "member",
            &format!("{} blocks", blocks.len()),
            format!("at most {MAX_MEMBERS} are allowed"),
        ));
    }
    let mut members = Vec::with_capacity(blocks.len());
    for (index, MemberDocument { id, name: given_name, address: given_address, priority, role }) in
        blocks.iter().enumerate()
    {
        let place = |key: &str| format!("member {}: {key}", index + 1);
        if *id == 0 {
            return Err(invalid(place("id"), "0", "ids start at 1"));
        }
        let name = name(&place("name"), given_name)?;
        let address = address(&place("address"), given_address)?;
        members.push(Member { id: Id(*id), name, address, priority: *priority, role: *role });
    }
    members.sort_by_key(|member| member.id);
    check_members(&members)?;
    Ok(members)
}

/// Fails if these members, ascending by id, do not form a valid cluster.
pub(super) fn check_members(members: &[Member]) -> Result<(), ConfigError> {
    let Some(first) = members.first() else {
        return Err(ConfigError::Missing {
            key: "member",
            need: "add a [[member]] block for every member of the cluster",
        });
    };
    if let Some(pair) = members.windows(2).find(|pair| pair[0].id == pair[1].id) {
        let problem = format!("both `{}` and `{}` have it, but ids must be unique", pair[0].name, pair[1].name);
        return Err(invalid("member: id", &pair[0].id.to_string(), problem));
    }
    unique("member: name", members.iter().map(|member| member.name.as_str()))?;
    unique("member: address", members.iter().map(|member| member.address.as_str()))?;
    if !members.iter().any(|member| member.role == Role::Elector) {
        let problem = "no member can lead; at least one must be an elector";
        return Err(invalid("member: role", &first.role.to_string(), problem));
    }
    Ok(())
}

fn unique<'a>(place: &str, values: impl Iterator<Item = &'a str>) -> Result<(), ConfigError> {
    let mut sorted: Vec<&str> = values.collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(invalid(place, pair[0], "it occurs twice, but it must be unique")),
        None => Ok(()),
    }
}

fn own(node: Text, members: &[Member]) -> Result<&Member, ConfigError> {
    members.iter().find(|member| member.name == node.text).ok_or_else(|| {
        let names = || members.iter().map(|member| member.name.as_str());
        let suggestion = nearest(&node.text, names())
            .map(|suggestion| format!(" (did you mean `{suggestion}`?)"))
            .unwrap_or_default();
        let all = names().collect::<Vec<_>>().join(", ");
        invalid(node.place("node"), &node.text, format!("no member has this name{suggestion}; the members are {all}"))
    })
}

fn choice(
    given: Option<&Text>,
    params: Option<Vec<String>>,
    algorithms: Option<&Algorithms>,
) -> Result<AlgorithmConfig, ConfigError> {
    let (place, name) =
        given.map_or(("algorithm", AlgorithmConfig::DEFAULT_NAME), |text| (text.place("algorithm"), &text.text));
    let choice = match algorithms {
        Some(algorithms) => algorithm(place, name, params, algorithms)?,
        None => AlgorithmConfig::unresolved(name, params.unwrap_or_default()),
    };
    let params = choice.params();
    if params.len() > MAX_PARAMS {
        return Err(invalid(
            "params",
            &format!("{} parameters", params.len()),
            format!("at most {MAX_PARAMS} are allowed"),
        ));
    }
    if let Some(param) = params.iter().find(|param| !param.contains('=')) {
        return Err(invalid("params", param, "a parameter has the form \"name=value\""));
    }
    Ok(choice)
}

fn arbiter(given: Option<&Text>) -> Result<ArbiterKind, ConfigError> {
    given.map_or(Ok(ArbiterKind::default()), |text| word(text.place("arbiter"), &text.text))
}

pub(super) fn timing(given: &TimingDocument) -> Result<Timing, ConfigError> {
    let default = Timing::default();
    let or = |key: &str, text: &Option<Text>, default: Duration| {
        text.as_ref().map_or(Ok(default), |text| duration(&format!("timing.{key}"), text))
    };
    Ok(Timing {
        heartbeat: or("heartbeat", &given.heartbeat, default.heartbeat)?,
        silence_floor: or("silence-floor", &given.silence_floor, default.silence_floor)?,
        silence_ceiling: or("silence-ceiling", &given.silence_ceiling, default.silence_ceiling)?,
        lease: or("lease", &given.lease, default.lease)?,
        drift_ppm: given.drift_ppm.unwrap_or(default.drift_ppm),
        stop: or("stop", &given.stop, default.stop)?,
        tick: or("tick", &given.tick, default.tick)?,
        settle: or("settle", &given.settle, default.settle)?,
        hand_over: or("hand-over", &given.hand_over, default.hand_over)?,
    })
}

fn policy(place: &str, given: &PolicyDocument, default: Policy, timing: &Timing) -> Result<Policy, ConfigError> {
    let preempt = match &given.preempt {
        None => default.preempt,
        Some(PreemptDocument::Never) => Preempt::Never,
        Some(PreemptDocument::Better) => Preempt::Better,
        Some(PreemptDocument::After(text)) => {
            Preempt::BetterAfter(duration(&format!("{place}: preempt.better-after"), text)?)
        }
    };
    let time = |key: &str, text: &Option<Text>| {
        text.as_ref().map(|text| duration(&format!("{place}: {key}"), text)).transpose()
    };
    let lease = time("lease", &given.lease)?.or(default.lease);
    let stop = time("stop", &given.stop)?.or(default.stop);
    let policy = Policy { mode: given.mode.unwrap_or(default.mode), preempt, lease, stop };
    // The rules are those of `[timing]`, with the office's own lease and stop.
    if let Err(problem) = timing.with_terms(policy.terms(timing)).check() {
        let given = given.lease.as_ref().or(given.stop.as_ref()).map_or("", |text| &text.text);
        return Err(invalid(format!("{place}: lease, stop"), given, problem.to_string().replace("timing.", "")));
    }
    Ok(policy)
}

fn health(given: HealthDocument) -> Result<Health, ConfigError> {
    let probe = match (given.command, given.http) {
        (Some(command), None) if command.first().is_some_and(|program| !program.is_empty()) => Probe::Command(command),
        (Some(_), None) => return Err(invalid("health.command", "[]", "the first element must be the program to run")),
        (None, Some(page)) => Probe::Http(http("health.http", &page)?),
        (Some(_), Some(page)) => {
            return Err(invalid("health.http", &page, "health.command is set too; use only one of them"));
        }
        (None, None) => {
            return Err(ConfigError::Missing {
                key: "health.command",
                need: "set it, or health.http, to check the health of the host",
            });
        }
    };
    let time = |key: &str, text: Option<Text>, default: Duration| -> Result<Duration, ConfigError> {
        let Some(text) = text else { return Ok(default) };
        let time = duration(key, &text)?;
        let fits = time > Duration::ZERO && time <= MAX_HEALTH_PERIOD;
        if fits { Ok(time) } else { Err(invalid(key, &text.text, "it must be longer than 0s and at most 1h")) }
    };
    let every = time("health.every", given.every, Duration::from_secs(2))?;
    let timeout = time("health.timeout", given.timeout, every / 2)?;
    if timeout > every {
        let every = humantime::format_duration(every);
        let problem = format!("it must be at most health.every, {every}");
        return Err(invalid("health.timeout", &humantime::format_duration(timeout).to_string(), problem));
    }
    let threshold = given.threshold.unwrap_or(1);
    if threshold > 100 {
        return Err(invalid("health.threshold", &threshold.to_string(), "expected a number from 0 to 100"));
    }
    Ok(Health { probe, every, timeout, threshold })
}

fn limits(given: &LimitsDocument) -> Result<Limits, ConfigError> {
    let default = Limits::default();
    let limit = |key: &str, given: Option<u32>, default: usize, max: usize| match given.map(|given| given as usize) {
        None => Ok(default),
        Some(given) if (1..=max).contains(&given) => Ok(given),
        Some(given) => {
            let problem = format!("expected a number from 1 to {max}");
            Err(invalid(format!("limits.{key}"), &given.to_string(), problem))
        }
    };
    Ok(Limits {
        connections: limit("connections", given.connections, default.connections, MAX_CONNECTIONS)?,
        campaigns: limit("campaigns", given.campaigns, default.campaigns, MAX_OFFICES)?,
        watches: limit("watches", given.watches, default.watches, MAX_OFFICES)?,
        state: size("limits.state", given.state.as_ref(), default.state, MAX_STATE_BYTES)?,
        state_total: size("limits.state-total", given.state_total.as_ref(), default.state_total, MAX_TOTAL_BYTES)?,
    })
}

fn log(given: &LogDocument) -> Result<Log, ConfigError> {
    let LogDocument { level, format } = given;
    let default = Log::default();
    Ok(Log {
        level: level.as_ref().map_or(Ok(default.level), |text| word(text.place("log.level"), &text.text))?,
        format: format.as_ref().map_or(Ok(default.format), |text| word(text.place("log.format"), &text.text))?,
    })
}

pub(super) fn path(folder: &Path, key: &str, given: Option<Text>, default: &str) -> Result<PathBuf, ConfigError> {
    let Some(text) = given else { return Ok(folder.join(default)) };
    if text.text.is_empty() || text.text.contains('\0') {
        return Err(invalid(text.place(key), &text.text, "expected a path"));
    }
    Ok(folder.join(text.text))
}

fn socket(folder: &Path, given: Option<Text>) -> Result<PathBuf, ConfigError> {
    let place = given.as_ref().map_or("socket", |text| text.place("socket")).to_string();
    let path = path(folder, "socket", given, "hustings.sock")?;
    if path.as_os_str().len() > MAX_SOCKET_PATH {
        let problem = format!("a socket path has at most {MAX_SOCKET_PATH} bytes; use a shorter one");
        return Err(invalid(place, &path.to_string_lossy(), problem));
    }
    Ok(path)
}

/// Checks `socket-group`. The group must be able to enter the socket's folder, so nothing secret may be in there.
fn socket_group(given: &Text, socket: &Path, data: &Path, key: &Path) -> Result<String, ConfigError> {
    let place = given.place("socket-group");
    let group = &given.text;
    let is_name = (1..=MAX_GROUP_NAME).contains(&group.len()) && group.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_name || group.contains([':', ',', '/']) {
        return Err(invalid(place, group, "expected the name or the number of a group"));
    }
    let folder = socket.parent().unwrap_or(Path::new(""));
    if key.parent() == Some(folder) || folder.starts_with(data) {
        let problem = format!(
            "the group must be able to enter {}, the folder of the socket, but the node's key or data is there too; set \
             `socket` to a path in a folder of its own, such as /run/hustings/hustings.sock",
            folder.display(),
        );
        return Err(invalid(place, group, problem));
    }
    Ok(group.clone())
}

#[cfg(test)]
mod tests;
