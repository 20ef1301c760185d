//! `hustings bench failover`: how long an office has no holder, and a command does not run.

use std::sync::LazyLock;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use comfy_table::{Table, presets};
use hustings_cluster::config::Mode;
use hustings_cluster::timing::Timing;
use hustings_harness::failover::{self, End, Failover};
use hustings_harness::run_failover::{self, RunEnd};
use hustings_harness::{Cluster, HarnessError};
use serde_json::{Value, json};

use super::{ModeArg, chosen_or_all, layout, temporary_folder, value_name};
use crate::cli::args::Format;
use crate::cli::console::{Console, Exit};
use crate::cli::failure::Failure;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  hustings bench failover                       three nodes, 50 times each kind of loss
  hustings bench failover --nodes 5 --times 100
  hustings bench failover --run                 also commands under `hustings run`
  hustings bench failover --end cut-off --end host-dead --mode exclusive --times 100 --format json

Real processes on loopback, with TLS and durable writes. After each loss the links are healed and what was killed is
restarted. For cut-off and host-dead the nodes talk through a proxy. The time of a program's row ends when the next
holder is told, that of a command's row when the next command has started and said so.")]
pub(crate) struct FailoverArgs {
    /// How many nodes.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(3..=9))]
    nodes: u32,
    /// How often the holder is lost, for each row.
    #[arg(long, default_value_t = 50, value_name = "T", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    times: u32,
    /// How the holder is lost: one or more [default: all that concern programs; with --run, all].
    #[arg(long = "end", value_name = "END", value_enum, value_delimiter = ',')]
    ends: Vec<Loss>,
    /// Measure commands under `hustings run` as well.
    #[arg(long)]
    run: bool,
    /// The mode of the office: one or both [default: both].
    #[arg(long = "mode", value_name = "MODE", value_enum, value_delimiter = ',')]
    modes: Vec<ModeArg>,
    /// With the HTTP API on.
    #[arg(long)]
    http: bool,
    /// How to print the result.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Loss {
    /// A program that holds an office.
    Program(End),
    /// A command under `hustings run`.
    Command(RunEnd),
}

/// Every loss, those of programs first, with its name and what it means.
static LOSSES: LazyLock<Vec<(Loss, &str, &str)>> = LazyLock::new(|| {
    let programs = End::ALL.map(|(end, name, help)| (Loss::Program(end), name, help));
    let commands = RunEnd::ALL.map(|(end, name, help)| (Loss::Command(end), name, help));
    programs.into_iter().chain(commands).collect()
});

impl ValueEnum for Loss {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<Loss>> = LazyLock::new(|| LOSSES.iter().map(|(loss, ..)| *loss).collect());
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (_, name, help) = LOSSES.iter().find(|(loss, ..)| loss == self)?;
        Some(PossibleValue::new(*name).help(*help))
    }
}

impl Loss {
    fn is_of_command(self) -> bool {
        matches!(self, Loss::Command(_))
    }

    /// What most of the time is spent on.
    fn bound(self, mode: Mode) -> String {
        let timing = Timing::default();
        let (silence, lease) = (timing.silence_floor.as_millis(), timing.lease.as_millis());
        let connection = "end of the connection, one durable commit";
        match (self, mode) {
            (Loss::Program(End::HandsOver), _) => "the holder stops, one durable commit".to_string(),
            (Loss::Command(RunEnd::Transferred), _) => "the command stops, one durable commit".to_string(),
            (Loss::Command(RunEnd::CommandKilled | RunEnd::RunKilled | RunEnd::GuardianKilled), _) => {
                "end of the process tree, one durable commit".to_string()
            }
            (
                Loss::Program(End::Killed) | Loss::Command(RunEnd::NodeKilled | RunEnd::EverythingKilled),
                Mode::Fenced,
            ) => connection.to_string(),
            (_, Mode::Fenced) => format!("silence timeout {silence} ms"),
            (_, Mode::Exclusive) => format!("lease {lease} ms + drift"),
        }
    }
}

/// What was measured.
struct Row {
    mode: ModeArg,
    end: Loss,
    failover: Failover,
}

impl FailoverArgs {
    /// The rows' ends, those of programs first.
    fn chosen_ends(&self) -> Vec<Loss> {
        let mut ends = chosen_or_all(&self.ends);
        if self.ends.is_empty() && !self.run {
            ends.retain(|end| !end.is_of_command());
        }
        if self.run && !ends.iter().any(|end| end.is_of_command()) {
            ends.extend(Loss::value_variants().iter().filter(|end| end.is_of_command()));
        }
        ends
    }
}

pub(crate) fn run(args: &FailoverArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let mut rows: Vec<Row> = Vec::new();
    for mode in chosen_or_all(&args.modes) {
        for end in args.chosen_ends() {
            let name = format!("{}, {}", value_name(&mode), value_name(&end));
            let spinner = console.spinner(name.clone());
            let progress = |done| spinner.set_message(format!("{name}: {done} of {}", args.times));
            rows.push(Row { mode, end, failover: measure(args, mode, end, progress)? });
        }
    }
    match args.format {
        Format::Json => {
            let rows: Vec<Value> = rows.iter().map(|row| row.to_json(args.nodes)).collect();
            writeln!(console.out, "{}", json!({ "failover": rows }))?;
        }
        Format::Text => print(&rows, args.nodes, console)?,
    }
    Ok(Exit::Done)
}

fn measure(
    args: &FailoverArgs,
    mode: ModeArg,
    end: Loss,
    progress: impl FnMut(usize),
) -> Result<Failover, HarnessError> {
    let (folder, times) = (temporary_folder()?, args.times as usize);
    let needs_proxy = matches!(end, Loss::Program(end) if end.needs_proxy());
    let mut cluster = Cluster::start(&layout(args.nodes, mode.mode(), needs_proxy, args.http, folder.path())?)?;
    match end {
        Loss::Program(end) => failover::measure(&mut cluster, end, times, progress),
        Loss::Command(end) => run_failover::measure(&mut cluster, end, times, progress),
    }
}

impl Row {
    fn to_json(&self, nodes: u32) -> Value {
        let Failover { latency, stopped_first, led_arbiter, moved_by_itself } = self.failover;
        json!({"mode": value_name(&self.mode), "end": value_name(&self.end), "nodes": nodes, "times": latency.count,
            "p50_ms": latency.p50, "p90_ms": latency.p90, "max_ms": latency.max, "old_stopped_first": stopped_first,
            "led_arbiter": led_arbiter, "moved_by_itself": moved_by_itself, "bound_by": self.end.bound(self.mode.mode())})
    }
}

/// Prints a table for programs, and one for commands.
fn print(rows: &[Row], nodes: u32, console: &mut Console<'_>) -> Result<(), Failure> {
    let (commands, programs): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.end.is_of_command());
    if !programs.is_empty() {
        writeln!(console.out, "{nodes} nodes, from the holder's end until the next one is told")?;
        writeln!(console.out, "{}", table(&programs, "holder"))?;
    }
    if !commands.is_empty() {
        writeln!(
            console.out,
            "{nodes} nodes, from the end of a command under `hustings run` until the next has started"
        )?;
        writeln!(console.out, "{}", table(&commands, "command"))?;
    }
    let moved: usize = rows.iter().map(|row| row.failover.moved_by_itself).sum();
    if moved > 0 {
        writeln!(console.out, "not counted: {moved} times the office had moved by itself before")?;
    }
    Ok(())
}

fn table(rows: &[&Row], lost: &str) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let heading =
        ["office", lost, "times", "p50 ms", "p90 ms", "max ms", "old one stopped first", "led arbiter", "bound by"];
    table.set_header(heading);
    for Row { mode, end, failover } in rows {
        let latency = failover.latency;
        table.add_row([
            value_name(mode),
            value_name(end),
            latency.count.to_string(),
            format!("{:.2}", latency.p50),
            format!("{:.2}", latency.p90),
            format!("{:.2}", latency.max),
            format!("{} of {}", failover.stopped_first, latency.count),
            failover.led_arbiter.to_string(),
            end.bound(mode.mode()),
        ]);
    }
    table
}
