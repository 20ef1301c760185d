//! `hustings config`.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use hustings_cluster::clock::Clock;
use hustings_cluster::config::{Algorithms, Config, Origin, Probe, Setting};
use hustings_cluster::node::check_files;
use serde_json::{Value, json};

use super::super::args::Format;
use super::super::console::{Console, Exit};
use super::super::failure::{Failure, warn};
use super::{ClusterFailure, run_command, target, text};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  hustings config check /etc/hustings/hustings.toml    before a restart or a reload
  hustings config show /etc/hustings/hustings.toml     every value, and where it comes from
  hustings config show --format json

Exit codes: 0 the configuration is in order; 2 it is not, or a file that it names cannot be used.")]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Subcommand, Debug)]
enum ConfigCommand {
    /// Checks a configuration and what it names: certificates, key, data folder, health command.
    Check(FileArgs),
    /// Prints every value, and whether it comes from the file, a variable or is the default.
    Show(FileArgs),
}

#[derive(Args, Debug)]
struct FileArgs {
    /// The configuration [default: $HUSTINGS_CONFIG, or ./hustings.toml].
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// The same as FILE.
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    config: Option<PathBuf>,
    /// The output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl FileArgs {
    fn path(&self) -> PathBuf {
        target::config_path(self.file.as_ref().or(self.config.as_ref()))
    }
}

pub(crate) fn run(args: &ConfigArgs, algorithms: &Algorithms, console: &mut Console<'_>) -> Result<Exit, Failure> {
    match &args.command {
        ConfigCommand::Check(args) => check(args, algorithms, console),
        ConfigCommand::Show(args) => show(args, algorithms, console),
    }
}

fn check(args: &FileArgs, algorithms: &Algorithms, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let path = args.path();
    let config = Config::read_knowing(&path, algorithms).map_err(ClusterFailure::from)?;
    let (ends, warnings) = check_files(&config, Clock::new()).map_err(ClusterFailure::Run)?;
    if let Some(Probe::Command(command)) = config.health.as_ref().map(|health| &health.probe) {
        let program = command.first().map(OsStr::new).unwrap_or_default();
        run_command::find_command(program)
            .map_err(|_| ClusterFailure::NoHealthCommand(program.display().to_string()))?;
    }
    let name = config.own().map_or("", |member| member.name.as_str());
    match args.format {
        Format::Json => {
            let (cluster, members) = (&config.cluster, config.members.len());
            let object = json!({ "cluster": cluster, "node": name, "members": members, "certificate": ends });
            writeln!(console.out, "{object}")?;
        }
        Format::Text => {
            let (cluster, count) = (&config.cluster, config.members.len());
            writeln!(console.out, "{}: in order: {name} of cluster {cluster}, {count} members", path.display())?;
            let [own, authority] = [ends.not_after_unix_s, ends.authority_not_after_unix_s].map(text::time_left);
            writeln!(console.out, "certificate: {own}; authority: {authority}")?;
        }
    }
    for warning in warnings {
        warn(console, &warning);
    }
    Ok(Exit::Done)
}

fn show(args: &FileArgs, algorithms: &Algorithms, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let path = args.path();
    let (_, settings) = Config::read_explained(&path, algorithms).map_err(ClusterFailure::from)?;
    let file = path.display().to_string();
    match args.format {
        Format::Json => {
            let list: Vec<Value> = settings.iter().map(|setting| describe(setting, &file)).collect();
            writeln!(console.out, "{}", json!({ "settings": list }))?;
        }
        Format::Text => {
            let rows = settings.into_iter().map(|Setting { key, value, origin }| {
                let origin = match origin {
                    Origin::Default => "default".to_string(),
                    Origin::Line(line) => format!("{file}:{line}"),
                    Origin::Variable(name) => format!("${name}"),
                };
                vec![key, value, origin]
            });
            text::table(&["key", "value", "from"], rows, console)?;
        }
    }
    Ok(Exit::Done)
}

fn describe(setting: &Setting, file: &str) -> Value {
    let Setting { key, value, origin } = setting;
    match origin {
        Origin::Default => json!({ "key": key, "value": value, "from": "default" }),
        Origin::Line(line) => json!({ "key": key, "value": value, "from": "file", "file": file, "line": line }),
        Origin::Variable(name) => json!({ "key": key, "value": value, "from": "variable", "variable": name }),
    }
}
