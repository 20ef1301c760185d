//! `hustings node`.

#[cfg(feature = "fault-injection")]
mod faults;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use hustings_cluster::config::{Algorithms, ArbiterKind, Config, ConfigError, Mode};
use hustings_cluster::node::{ConfigReader, Exit as Ended, LogFormat, LogLevel, Logger, Node, NodeError, Options};
use hustings_http::Server;
use serde_json::{Value, json};

use super::super::args::Format;
use super::super::console::{Console, Exit};
use super::super::failure::{Failure, warn};
use super::failure::Replacement;
use super::{ClusterFailure, target};

#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  hustings node --config a/hustings.toml                  until SIGTERM or Ctrl-C: then it hands over and leaves
  hustings node --config a/hustings.toml --explain-timing how long a failover takes, step by step

Ctrl-C twice, or SIGTERM twice, stops it at once. SIGHUP reloads the certificates, [health], [limits] and [log]; the log
names changes that need a restart. Under systemd, Type=notify and WatchdogSec= work. HUSTINGS_NODE, HUSTINGS_LISTEN, HUSTINGS_DATA and so on stand above
the file. Exit codes: 0 it left in good order; 2 the configuration or a file that it names is wrong, so do not start it
again; 3 it could not start, or had to stop; 4 the cluster refuses its data folder, or another process runs as this \
member.")]
pub(crate) struct NodeArgs {
    /// Its configuration [default: $HUSTINGS_CONFIG, or ./hustings.toml].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Prints how long an office is without a holder, as a sum of its steps, and runs nothing.
    #[arg(long)]
    explain_timing: bool,
    /// The least important lines to log: error, warn, info or debug [default: `log.level` of the configuration].
    #[arg(long, value_name = "LEVEL", value_parser = log_level)]
    log_level: Option<LogLevel>,
    /// How to log, on standard error: text or json [default: `log.format` of the configuration].
    #[arg(long, value_name = "FORMAT", value_parser = log_format)]
    log_format: Option<LogFormat>,
    #[cfg(feature = "fault-injection")]
    #[command(flatten)]
    faults: faults::FaultArgs,
    /// How to print the timing.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs the node. Where the log is JSON, so is what is said before it begins and after it ends.
pub(crate) fn run(args: &NodeArgs, algorithms: &Algorithms, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let path = target::config_path(args.config.as_ref());
    let configured = read(args, &path, algorithms).map_err(|error| ClusterFailure::from(error).into());
    // Without a configuration, only what stands above it is known.
    let variable = || std::env::var("HUSTINGS_LOG_FORMAT").ok().and_then(|text| log_format(&text).ok());
    let format = match &configured {
        Ok(config) => config.log.format,
        Err(_) => args.log_format.or_else(variable).unwrap_or_default(),
    };
    let done = match configured {
        Ok(config) if args.explain_timing => return Ok(explain(&config, args.format, console).map(|()| Exit::Done)?),
        Ok(config) => serve(args, path, config, algorithms, console),
        Err(error) => Err(error),
    };
    match done {
        Err(failure) if format == LogFormat::Json => {
            let (exit, help) = failure.exit_and_help();
            let help = help.map(|help| format!("; {help}")).unwrap_or_default();
            let line = format.line(LogLevel::Error, format_args!("{failure}{help}"));
            // If standard error cannot be written either, the exit code still tells.
            let _ = console.err.write_all(line.as_bytes());
            Ok(exit)
        }
        done => done,
    }
}

fn serve(
    args: &NodeArgs,
    path: PathBuf,
    config: Config,
    algorithms: &Algorithms,
    console: &mut Console<'_>,
) -> Result<Exit, Failure> {
    if config.arbiter == ArbiterKind::None {
        let loud = "arbiter = \"none\": if the cluster is split, every part of it has a leader of its own, and tokens \
                    fence nothing; arbiter = \"raft\" keeps it to one";
        match config.log.format {
            LogFormat::Text => warn(console, &loud),
            format => {
                _ = console.err.write_all(format.line(LogLevel::Warn, format_args!("{loud}")).as_bytes());
            }
        }
    }
    let own = config.own().ok_or(NodeError::NotAMember(config.node.0)).map_err(ClusterFailure::Run)?;
    let (name, address, data) = (own.name.clone(), own.address.clone(), config.data.clone());
    let replacement = Replacement { name, address, data };
    let logger = Logger::to_stderr(config.log).map_err(Failure::Output)?;
    let (again, algorithms) = (args.clone(), algorithms.clone());
    let mut reader = ConfigReader::new(move || read(&again, &path, &algorithms));
    let options = Options { logger, notify_systemd: true, ..Options::default() };
    #[cfg(feature = "fault-injection")]
    let options = args.faults.apply(options);
    // Before the node raises its priority: the threads that it starts from then on inherit that.
    if let Some(http) = &config.http {
        let log = Arc::new(options.logger.handle());
        let server = Server::bind(&config, http, options.clock, log, options.disabled_rules).and_then(Server::start);
        let server = server.map_err(ClusterFailure::from)?;
        reader = reader.with(move |config| match &config.http {
            Some(http) => match server.prepare(http) {
                Ok(apply) => Ok(Box::new(apply)),
                Err(error) => Err(error.to_string()),
            },
            None => Ok(Box::new(|| {})),
        });
    }
    let options = Options { reader: Some(reader), ..options };
    let ended = Node::open(config, options).and_then(Node::run).map_err(ClusterFailure::Run)?;
    let failure = match ended {
        Ended::Left => return Ok(Exit::Done),
        Ended::Removed => ClusterFailure::Removed,
        Ended::UnknownDisk => ClusterFailure::UnknownDisk(replacement),
        Ended::OldDisk => ClusterFailure::OldDisk(replacement),
        Ended::Superseded => ClusterFailure::Superseded,
        Ended::OldProgram { version, reads } => ClusterFailure::OldProgram { version, reads },
        Ended::Unreadable { index, error } => ClusterFailure::Unreadable { index, error },
    };
    Err(failure.into())
}

/// Reads the configuration. The options of the command line stand above it.
fn read(args: &NodeArgs, path: &Path, algorithms: &Algorithms) -> Result<Config, ConfigError> {
    let mut config = Config::read_knowing(path, algorithms)?;
    config.log.level = args.log_level.unwrap_or(config.log.level);
    config.log.format = args.log_format.unwrap_or(config.log.format);
    Ok(config)
}

fn log_level(text: &str) -> Result<LogLevel, String> {
    serde_json::from_value(Value::from(text)).map_err(|_| "expected error, warn, info or debug".to_string())
}

fn log_format(text: &str) -> Result<LogFormat, String> {
    serde_json::from_value(Value::from(text)).map_err(|_| "expected text or json".to_string())
}

fn explain(config: &Config, format: Format, console: &mut Console<'_>) -> std::io::Result<()> {
    let explained =
        [Mode::Fenced, Mode::Exclusive].map(|mode| config.timing.explain(mode, config.members.len(), config.arbiter));
    match format {
        Format::Json => writeln!(console.out, "{}", json!({ "modes": explained })),
        Format::Text => {
            let [fenced, exclusive] = explained;
            writeln!(console.out, "{fenced}\n\n{exclusive}")
        }
    }
}
