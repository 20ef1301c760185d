//! `hustings run`.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use hustings_cluster::config::Config;
use hustings_run::{ContainmentKind, LogFormat, NodeAccess, Requirement, Restart, RunSpec};

use super::super::console::{Console, Exit};
use super::super::failure::Failure;
use super::ClusterFailure;
use super::target::{config_path, default_socket};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  hustings run billing -- /usr/bin/billing --port 80        the command, on the one host that holds `billing`
  hustings run backup --once=$(date +%F) -- backup.sh       from cron on every host: once a day on one of them
  hustings run ip --on-acquire 'ip addr add 10.0.0.9/24 dev eth0' --on-lose 'ip addr del 10.0.0.9/24 dev eth0' \\
               -- sleep infinity
  hustings run job --restart on-failure:3 -- worker         after three failures the next host takes over

The command gets HUSTINGS_OFFICE, HUSTINGS_TOKEN, HUSTINGS_NODE and HUSTINGS_CLUSTER in its environment. When leadership
is lost or about to be, it gets SIGTERM, and all of its processes are killed before the lease ends.

Exit codes: the command's own (128 + the signal that killed it); 75 leadership was lost; 69 it was not acquired within
--wait; 2 wrong use; 3 could not be done. --status-file tells ours from the command's.")]
pub(crate) struct RunArgs {
    /// The office to hold.
    office: String,
    /// The command and its arguments. It is started without a shell.
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
    /// The node's configuration: uses the node that runs with it, or runs one itself [default: the node of
    /// $HUSTINGS_SOCKET, $HUSTINGS_CONFIG or ./hustings.toml].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The socket of the node on this host.
    #[arg(long, value_name = "PATH", conflicts_with = "config")]
    socket: Option<PathBuf>,
    /// How long to wait for leadership [default: without limit].
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    wait: Option<Duration>,
    /// How long the command may take between SIGTERM and SIGKILL; the office's `stop` must exceed it by 30 ms
    /// [default: as long as the lease allows].
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    grace: Option<Duration>,
    /// Whether to start the command again when it ends, keeping the office: never, always, on-failure, or on-failure:N,
    /// which gives the office up after N failures in a row.
    #[arg(long, value_name = "WHEN", default_value = "never", value_parser = parse_restart)]
    restart: Restart,
    /// Run the command successfully once: the first exit code 0 is recorded in the cluster under KEY, and every other
    /// `run` with the same office and KEY ends with 0 without starting anything [default KEY: the office's name].
    #[arg(long, value_name = "KEY", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    once: Option<String>,
    /// A shell command to run before the command, once leadership is acquired.
    #[arg(long, value_name = "CMD")]
    on_acquire: Option<OsString>,
    /// A shell command to run after the command, before leadership is given up if time allows.
    #[arg(long, value_name = "CMD")]
    on_lose: Option<OsString>,
    /// A shell command that checks the command's health: if it fails, leadership is given up.
    #[arg(long, value_name = "CMD")]
    health: Option<OsString>,
    /// How often to check the health, and how long a check may take.
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = parse_interval, requires = "health")]
    health_every: Duration,
    /// Refuse to run unless the command's processes are contained at least this well.
    #[arg(long, value_enum, value_name = "KIND")]
    require: Option<RequiredKind>,
    /// Contain the command's processes in exactly this way [default: the best that the host allows].
    #[arg(long, value_enum, value_name = "KIND", conflicts_with = "require")]
    containment: Option<Kind>,
    /// Write the state and the result to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    status_file: Option<PathBuf>,
    /// Notify systemd: ready (also while standing by), status, watchdog.
    #[arg(long)]
    notify: bool,
    /// Say nothing but errors.
    #[arg(short, long, conflicts_with = "log_format")]
    quiet: bool,
    /// How to write what `run` itself says, on standard error.
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    log_format: LogArg,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum LogArg {
    Text,
    Json,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum RequiredKind {
    /// A PID namespace: the kernel kills every process when the guardian dies.
    PidNamespace,
    /// A cgroup v2, or better.
    Cgroup,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Kind {
    /// A PID namespace whose init is the guardian.
    PidNamespace,
    /// A cgroup v2.
    Cgroup,
    /// Nothing but the relation between parents and children.
    ProcessTree,
}

pub(crate) fn run(args: &RunArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let spec = args.spec()?;
    let access = args.access()?;
    let format = match (args.quiet, args.log_format) {
        (true, _) => LogFormat::Quiet,
        (false, LogArg::Text) => LogFormat::Text,
        (false, LogArg::Json) => LogFormat::Json,
    };
    console.out.flush()?;
    let outcome = hustings_run::run(spec, &access, format).map_err(ClusterFailure::from)?;
    Ok(Exit::Run(outcome.exit_code()))
}

impl RunArgs {
    fn spec(&self) -> Result<RunSpec, ClusterFailure> {
        // What precedes the command may bring it, for example by a mount.
        if self.on_acquire.is_none() {
            find_command(&self.command[0])?;
        }
        let once = self.once.as_ref().map(|key| if key.is_empty() { self.office.clone() } else { key.clone() });
        let containment = match (self.require, self.containment) {
            (Some(RequiredKind::PidNamespace), _) => Requirement::AtLeast(ContainmentKind::PidNamespace),
            (Some(RequiredKind::Cgroup), _) => Requirement::AtLeast(ContainmentKind::Cgroup),
            (None, Some(Kind::PidNamespace)) => Requirement::Exactly(ContainmentKind::PidNamespace),
            (None, Some(Kind::Cgroup)) => Requirement::Exactly(ContainmentKind::Cgroup),
            (None, Some(Kind::ProcessTree)) => Requirement::Exactly(ContainmentKind::ProcessTree),
            (None, None) => Requirement::Best,
        };
        Ok(RunSpec {
            office: self.office.clone(),
            command: self.command.clone(),
            grace: self.grace,
            wait: self.wait,
            restart: self.restart,
            once,
            on_acquire: self.on_acquire.clone(),
            on_lose: self.on_lose.clone(),
            health: self.health.clone(),
            health_every: self.health_every,
            containment,
            status_file: self.status_file.clone(),
            notify: self.notify,
        })
    }

    /// How to reach the node: `--config` allows to start one.
    fn access(&self) -> Result<NodeAccess, ClusterFailure> {
        if let Some(socket) = &self.socket {
            return Ok(NodeAccess::Socket(socket.clone()));
        }
        if let Some(file) = &self.config {
            let socket = Config::read_as_client(file)?.socket;
            return Ok(NodeAccess::Config { file: file.clone(), socket });
        }
        match default_socket() {
            Some(socket) => Ok(NodeAccess::Socket(socket)),
            None => Ok(NodeAccess::Socket(Config::read_as_client(&config_path(None))?.socket)),
        }
    }
}

/// Finds a mistyped command now rather than when leadership is acquired.
pub(super) fn find_command(command: &OsStr) -> Result<(), ClusterFailure> {
    let is_executable =
        |path: &Path| path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0);
    let path = Path::new(command);
    let is_searched = path.components().count() == 1 && !command.as_encoded_bytes().contains(&b'/');
    let is_found = if is_searched {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&folders).any(|folder| is_executable(&folder.join(path)))
    } else {
        is_executable(path)
    };
    if is_found {
        return Ok(());
    }
    Err(ClusterFailure::NoCommand { command: command.display().to_string(), is_searched })
}

fn parse_restart(text: &str) -> Result<Restart, String> {
    match text {
        "never" => Ok(Restart::Never),
        "always" => Ok(Restart::Always),
        "on-failure" => Ok(Restart::OnFailure { max_failures: None }),
        _ => match text.strip_prefix("on-failure:").map(str::parse) {
            Some(Ok(count @ 1..)) => Ok(Restart::OnFailure { max_failures: Some(count) }),
            Some(_) => Err("the number of failures is a whole number from 1 to 4294967295".to_string()),
            None => Err("use never, always, on-failure or on-failure:N".to_string()),
        },
    }
}

fn parse_interval(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(interval) if interval >= Duration::from_millis(10) => Ok(interval),
        Ok(_) => Err("use at least 10ms".to_string()),
        Err(error) => Err(error.to_string()),
    }
}
