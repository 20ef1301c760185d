//! What one node, or this host, has to say.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use hustings_cluster::api::{Client, ClientError, Reply, Request};
use hustings_cluster::config::{Algorithms, Config, Origin};
use serde_json::{Value, json};

use super::http::{Access, Url};
use super::redact;

/// How much of a log is included: its end.
const MAX_LOG_BYTES: u64 = 4 << 20;
/// How many lines of the journal.
const JOURNAL_LINES: &str = "10000";
/// What the API is asked for, and the file that the answer becomes.
const ROUTES: [(&str, &str); 5] = [
    ("/v1/cluster", "status.json"),
    ("/v1/offices?limit=1000", "offices.json"),
    ("/v1/history?limit=1000", "history.json"),
    ("/metrics", "metrics.txt"),
    ("/v1/trace", "trace.json"),
];

/// How a node is reached.
#[derive(Debug)]
pub(super) enum Source {
    /// The configuration of a node on this host, which names its socket.
    Config(PathBuf),
    /// The socket of a node on this host.
    Socket { socket: PathBuf, config: Option<PathBuf> },
    /// The HTTP API of a node anywhere.
    Api(Url),
}

/// What was collected.
#[derive(Debug, Default)]
pub(super) struct Collected {
    /// Where the node was asked.
    from: String,
    /// Its name, as it says.
    name: Option<String>,
    /// Its folder in the archive.
    pub(super) folder: String,
    pub(super) version: Option<String>,
    pub(super) is_reached: bool,
    pub(super) files: Vec<(String, Vec<u8>)>,
    pub(super) problems: Vec<String>,
    /// The members that it knows, and whether it considers them up.
    members: Vec<(String, bool)>,
    /// The names of the files.
    contents: Vec<String>,
}

impl Collected {
    fn add(&mut self, name: &str, bytes: Vec<u8>) {
        self.contents.push(name.to_string());
        self.files.push((name.to_string(), bytes));
    }

    fn problem(&mut self, problem: impl std::fmt::Display) {
        self.problems.push(redact::text(&problem.to_string()));
    }

    /// Names the folder after the node. A name comes from a file or a network, so it is not trusted.
    pub(super) fn choose_folder(&mut self, others: &[Collected]) {
        let is_plain = |name: &String| {
            let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '-';
            !name.is_empty() && name.len() <= 63 && name != "host" && name.chars().all(is_allowed)
        };
        let numbered = format!("node-{}", others.len() + 1);
        let name = self.name.clone().filter(is_plain).unwrap_or_else(|| numbered.clone());
        let is_taken = others.iter().any(|other| other.folder == name);
        self.folder = if is_taken { format!("{name}_{}", others.len() + 1) } else { name };
    }

    pub(super) fn describe(&self) -> Value {
        json!({
            "folder": self.folder, "name": self.name, "from": self.from, "reached": self.is_reached,
            "version": self.version, "contents": self.contents, "problems": self.problems,
        })
    }

    /// Learns name, version and members from what was collected.
    fn learn(&mut self) {
        let text = |name: &str| {
            let bytes = self.files.iter().find(|(file, _)| file == name).map(|(_, bytes)| bytes.as_slice());
            String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned()
        };
        let metrics = text("metrics.txt");
        let label = |metric: &str, label: &str| {
            let line = metrics.lines().find_map(|line| line.strip_prefix(metric)?.strip_prefix('{'))?;
            Some(line.split(&format!("{label}=\"")).nth(1)?.split('"').next()?.to_string())
        };
        let status: Value = serde_json::from_str(&text("status.json")).unwrap_or_default();
        let member = |member: &Value| Some((member["name"].as_str()?.to_string(), member["up"].as_bool()?));
        let members = status["members"].as_array().into_iter().flatten().filter_map(member).collect();
        let version = label("hustings_build_info", "version");
        let name = status["node"].as_str().map(str::to_string).or_else(|| label("hustings_node_info", "node"));
        self.members = members;
        self.version = version;
        self.name = name.or(self.name.take());
    }
}

/// Asks one node for everything. What cannot be had is a problem, not a failure.
pub(super) fn collect(source: Source, algorithms: &Algorithms, access: &Access, wait: Duration) -> Collected {
    let mut collected = Collected::default();
    match source {
        Source::Config(path) => {
            collected.from = path.display().to_string();
            configuration(&path, algorithms, &mut collected);
            match Config::read_as_client(&path) {
                Ok(config) => ask_socket(&config.socket, wait, &mut collected),
                Err(error) => collected.problem(format!("its socket is not known: {error}")),
            }
        }
        Source::Socket { socket, config } => {
            collected.from = socket.display().to_string();
            match config {
                Some(path) => configuration(&path, algorithms, &mut collected),
                None => collected.problem("no configuration: the node was named by its socket"),
            }
            ask_socket(&socket, wait, &mut collected);
        }
        Source::Api(url) => {
            collected.from = url.to_string();
            collected.problem("no configuration and no log: the node was asked over HTTP");
            ask_api(&url, access, wait, &mut collected);
        }
    }
    collected.learn();
    collected
}

/// The values that are in force, without comments. Secrets are in files of their own, which are only named.
fn configuration(path: &Path, algorithms: &Algorithms, collected: &mut Collected) {
    let (config, settings) = match Config::read_explained(path, algorithms) {
        Ok(read) => read,
        Err(error) => return collected.problem(format!("its configuration is not included: {error}")),
    };
    collected.name = config.own().map(|member| member.name.clone());
    let list: Vec<Value> = settings
        .iter()
        .map(|setting| {
            let from = match &setting.origin {
                Origin::Default => "default".to_string(),
                Origin::Line(line) => format!("line {line}"),
                Origin::Variable(name) => format!("${name}"),
            };
            json!({ "key": setting.key, "value": redact::setting(&setting.key, &setting.value), "from": from })
        })
        .collect();
    collected.add("configuration.json", format!("{:#}\n", json!({ "settings": list })).into_bytes());
}

fn ask_socket(socket: &Path, wait: Duration, collected: &mut Collected) {
    let mut client = match Client::connect(socket, Duration::ZERO) {
        Ok(client) => client,
        Err(error) => return collected.problem(error),
    };
    // First what the node knows by itself: a cluster without a majority cannot answer the rest.
    for (request, file) in [
        (Request::Metrics, "metrics.txt"),
        (Request::Trace { from: 0 }, "trace.json"),
        (Request::Status, "status.json"),
        (Request::History { office: None }, "history.json"),
    ] {
        let reply = match &request {
            Request::Trace { .. } => client.trace(wait).map(|trace| Reply::Trace(Box::new(trace))),
            request => client.call(request, Some(wait)),
        };
        match reply {
            Ok(Reply::Metrics(metrics)) => collected.add(file, metrics.to_prometheus().into_bytes()),
            Ok(Reply::Trace(trace)) => collected.add(file, json!(trace).to_string().into_bytes()),
            Ok(Reply::Status(status)) => collected.add(file, format!("{:#}\n", json!(status)).into_bytes()),
            Ok(Reply::History { changes }) => {
                collected.add(file, format!("{:#}\n", json!({ "changes": changes })).into_bytes());
            }
            Ok(Reply::Error(error)) | Err(ClientError::Rejected(error)) => {
                collected.problem(format!("{file}: {error}"))
            }
            Ok(_) => collected.problem(format!("{file}: the node sent a reply that does not belong to the request")),
            // Whatever the reason is, this connection is of no use any more.
            Err(error) => return collected.problem(format!("{file}: {error}")),
        }
        collected.is_reached = true;
    }
}

fn ask_api(url: &Url, access: &Access, wait: Duration, collected: &mut Collected) {
    for (route, file) in ROUTES {
        match access.get(url, route, wait) {
            Ok((200, body)) => collected.add(file, body),
            Ok((status, _)) => collected.problem(format!("{file}: {route} answers with {status}")),
            Err(error) => return collected.problem(format!("{file}: {error}")),
        }
        collected.is_reached = true;
    }
}

/// The members that nodes know and that were not asked: name, whether it is up, who says so.
pub(super) fn not_asked(nodes: &[Collected]) -> Vec<(String, bool, String)> {
    let is_asked = |name: &str| nodes.iter().any(|node| node.name.as_deref() == Some(name));
    let mut missing: Vec<(String, bool, String)> = Vec::new();
    for node in nodes {
        for (name, is_up) in node.members.iter().filter(|(name, _)| !is_asked(name)) {
            if missing.iter().all(|(known, ..)| known != name) {
                missing.push((name.clone(), *is_up, node.folder.clone()));
            }
        }
    }
    missing
}

/// The logs of this host, and what it runs on.
pub(super) fn host(logs: &[PathBuf], unit: &str) -> Collected {
    let mut host = Collected::default();
    for (number, path) in logs.iter().enumerate() {
        let name = path.file_name().map_or_else(|| "log".into(), |name| name.to_string_lossy().into_owned());
        match tail(path) {
            Ok(text) => host.add(&format!("{}-{name}", number + 1), redact::text(&text).into_bytes()),
            Err(error) => host.problem(format!("{}: {error}", path.display())),
        }
    }
    match journal(unit) {
        Ok(text) => host.add("journal.txt", redact::text(&text).into_bytes()),
        Err(problem) => host.problem(format!("no journal of {unit}: {problem}")),
    }
    for (name, path) in
        [("kernel.txt", "/proc/version"), ("load.txt", "/proc/loadavg"), ("memory.txt", "/proc/meminfo")]
    {
        match std::fs::read(path) {
            Ok(bytes) => host.add(name, bytes),
            Err(error) => host.problem(format!("{path}: {error}")),
        }
    }
    host
}

/// The end of a file, from the beginning of a line.
fn tail(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let from = length.saturating_sub(MAX_LOG_BYTES);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(MAX_LOG_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(if from == 0 { text } else { text.split_once('\n').map_or_else(String::new, |(_, rest)| rest.to_string()) })
}

/// The last lines of the unit's journal.
fn journal(unit: &str) -> Result<String, String> {
    let mut command = Command::new("journalctl");
    command
        .args(["--no-pager", "--quiet", "-o", "short-iso-precise", "-n", JOURNAL_LINES])
        .arg(format!("--unit={unit}"));
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = child.map_err(|error| format!("journalctl: {error}"))?;
    let mut bytes = Vec::new();
    let pipe = child.stdout.take().expect("it is piped");
    let read = pipe.take(super::archive::MAX_PART_BYTES as u64).read_to_end(&mut bytes);
    // It may still have more to say than fits.
    let _ = child.kill();
    let status = child.wait();
    read.map_err(|error| error.to_string())?;
    if bytes.is_empty() {
        return Err(match status {
            Ok(status) if !status.success() => format!("journalctl: {status}"),
            _ => "it is empty, or this user may not read it".to_string(),
        });
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
