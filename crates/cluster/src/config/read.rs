//! Reads a [`Config`] from a file.

mod members;
mod sections;

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use self::members::{own, unique};
use self::sections::{health, limits, log, policy};
use super::document::{Document, PolicyDocument, Text};
use super::environment::{Lookup, apply_environment};
use super::error::{ConfigError, invalid, toml_error};
use super::values::{MAX_SOCKET_PATH, address, algorithm, name, word};
use super::{AlgorithmConfig, ArbiterKind, Config, MAX_BYTES, MAX_OFFICES, Policy, Scheduling, Tls};
use crate::election::Algorithms;

pub(super) use self::members::{check_members, members};
pub(super) use self::sections::timing;

const MAX_PARAMS: usize = 64;
/// The longest name of a group that Linux tools accept.
const MAX_GROUP_NAME: usize = 32;

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
        scheduling: file
            .scheduling
            .map_or(Ok(Scheduling::default()), |text| word(text.place("scheduling"), &text.text))?,
    })
}

fn required(text: Option<Text>, key: &'static str, need: &'static str) -> Result<Text, ConfigError> {
    text.ok_or(ConfigError::Missing { key, need })
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
