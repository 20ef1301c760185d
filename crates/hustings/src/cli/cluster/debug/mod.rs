//! `hustings debug`: what to send to somebody who is to find out what went wrong.

mod archive;
mod http;
mod nodes;
mod redact;

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};
use hustings_cluster::config::Algorithms;
use serde_json::{Value, json};

use self::archive::Archive;
use self::http::Access;
use self::nodes::{Collected, Source};
use super::super::args::Format;
use super::super::console::{Console, Exit};
use super::super::failure::{Failure, warn};
use super::{ClusterFailure, target};

/// The configuration of a node from a package, which its socket does not name.
const PACKAGED_CONFIG: &str = "/etc/hustings/hustings.toml";

#[derive(Args, Debug)]
pub(crate) struct DebugArgs {
    #[command(subcommand)]
    command: DebugCommand,
}

#[derive(Subcommand, Debug)]
enum DebugCommand {
    /// Collects what several nodes know into one archive, without secrets.
    Bundle(Box<BundleArgs>),
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  hustings debug bundle case.tar                                the node of this host
  hustings debug bundle case.tar --dir shop                     all members below the folder that `init` wrote
  hustings debug bundle case.tar --api https://b.example.org:7480 --api https://c.example.org:7480 --token-file read.token
                                                                this host's node, and two others by their HTTP API

Each node gets a folder: its configuration (without comments, keys and tokens), status, history, metrics, trace. The folder
`host` has the log of this host. `manifest.json` says which node runs which version, and what could not be had.
Exit codes: 0 the archive is written; 1 it is written, but no node answered; 2 wrong use; 3 it could not be written.")]
struct BundleArgs {
    /// The archive to create (tar). It must not exist.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The configuration of a node on this host; may be given several times
    /// [default: $HUSTINGS_SOCKET, $HUSTINGS_CONFIG, ./hustings.toml, or the node from a package].
    #[arg(long, value_name = "FILE")]
    config: Vec<PathBuf>,
    /// The socket of a node on this host; may be given several times.
    #[arg(long, value_name = "PATH")]
    socket: Vec<PathBuf>,
    /// The folder that `init` wrote: all members whose folders are in it.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The HTTP API of a node on another host, such as https://b.example.org:7480; may be given several times.
    #[arg(long, value_name = "URL", value_parser = http::Url::parse)]
    api: Vec<http::Url>,
    /// A file with the bearer token for --api.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// The authority that signed the certificates of --api, PEM.
    #[arg(long, value_name = "FILE")]
    authority: Option<PathBuf>,
    /// The client's certificate and its key for --api, PEM, in one file.
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// A log file of this host to include, its last 4 MiB; may be given several times.
    #[arg(long, value_name = "FILE")]
    log: Vec<PathBuf>,
    /// The systemd unit whose journal is included.
    #[arg(long, value_name = "NAME", default_value = "hustings")]
    unit: String,
    /// How long each node may take to answer.
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = humantime::parse_duration)]
    wait: Duration,
    /// The output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: &DebugArgs, algorithms: &Algorithms, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let DebugCommand::Bundle(args) = &args.command;
    let failed = |error| ClusterFailure::BundleFile { path: args.file.clone(), error };
    let sources = sources(args)?;
    let access = Access::read(args.token_file.as_deref(), args.authority.as_deref(), args.certificate.as_deref());
    let access = access.map_err(|(path, error)| ClusterFailure::BundleFile { path, error })?;
    let mut archive = Archive::create(&args.file).map_err(failed)?;
    let mut nodes: Vec<Collected> = Vec::new();
    for source in sources {
        let mut collected = nodes::collect(source, algorithms, &access, args.wait);
        collected.choose_folder(&nodes);
        for (name, bytes) in std::mem::take(&mut collected.files) {
            archive.append(&format!("{}/{name}", collected.folder), &bytes).map_err(failed)?;
        }
        nodes.push(collected);
    }
    let host = nodes::host(&args.log, &args.unit);
    for (name, bytes) in &host.files {
        archive.append(&format!("host/{name}"), bytes).map_err(failed)?;
    }
    let manifest = manifest(&nodes, &host);
    archive.append("manifest.json", format!("{manifest:#}\n").as_bytes()).map_err(failed)?;
    archive.finish().map_err(failed)?;
    report(args, &nodes, &manifest, console)?;
    Ok(if nodes.iter().any(|node| node.is_reached) { Exit::Done } else { Exit::No })
}

/// The nodes to ask: those that are named, or the one of this host.
fn sources(args: &BundleArgs) -> Result<Vec<Source>, ClusterFailure> {
    let mut sources: Vec<Source> = args.config.iter().cloned().map(Source::Config).collect();
    sources.extend(args.socket.iter().cloned().map(|socket| Source::Socket { socket, config: None }));
    if let Some(folder) = &args.dir {
        let mut configs = Vec::new();
        let failed = |error| ClusterFailure::BundleFile { path: folder.clone(), error };
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            configs.push(entry.map_err(failed)?.path().join("hustings.toml"));
        }
        configs.retain(|config| config.is_file());
        configs.sort();
        sources.extend(configs.into_iter().map(Source::Config));
    }
    if sources.is_empty() {
        sources.push(match target::default_socket() {
            Some(socket) => {
                let config = Some(PathBuf::from(PACKAGED_CONFIG)).filter(|config| config.exists());
                Source::Socket { socket, config }
            }
            None => Source::Config(target::config_path(None)),
        });
    }
    sources.extend(args.api.iter().cloned().map(Source::Api));
    Ok(sources)
}

/// What the archive holds and what it lacks.
fn manifest(nodes: &[Collected], host: &Collected) -> Value {
    let made = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
    let list: Vec<Value> = nodes.iter().map(Collected::describe).collect();
    let not_asked: Vec<Value> = nodes::not_asked(nodes)
        .into_iter()
        .map(|(name, is_up, seen_by)| json!({ "name": name, "up": is_up, "seen_by": seen_by }))
        .collect();
    json!({
        "made_by": { "version": env!("CARGO_PKG_VERSION"), "unix_ms": made },
        "nodes": list,
        "not_asked": not_asked,
        "host": { "problems": host.problems },
    })
}

fn report(args: &BundleArgs, nodes: &[Collected], manifest: &Value, console: &mut Console<'_>) -> Result<(), Failure> {
    if args.format == Format::Json {
        writeln!(console.out, "{manifest}")?;
        return Ok(());
    }
    for node in nodes.iter().filter(|node| node.is_reached) {
        let version = node.version.as_deref().unwrap_or("unknown");
        writeln!(console.out, "{}: version {version}", node.folder)?;
    }
    for node in nodes {
        for problem in &node.problems {
            warn(console, &format!("{}: {problem}", node.folder));
        }
    }
    let missing: Vec<String> = nodes::not_asked(nodes).into_iter().map(|(name, ..)| name).collect();
    if !missing.is_empty() {
        warn(console, &format!("not asked: {}; name their HTTP API with --api, or run this there", missing.join(", ")));
    }
    writeln!(console.out, "{}: written; read it before you send it", args.file.display())?;
    Ok(())
}
