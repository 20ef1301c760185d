//! `hustings trace`: the messages and events that nodes remember, as text or as a picture.

mod mermaid;
mod text;

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use hustings_cluster::api::{Trace, TraceEvent};
use hustings_timeline::{Picture, Timeline};
use serde_json::json;

use super::super::console::{Console, Exit};
use super::super::failure::Failure;
use super::target::NodeTarget;
use super::{ClusterFailure, EXIT_CODES};

/// The longest file with a trace, in bytes. A full one has about a tenth of that.
const MAX_FILE_BYTES: u64 = 16 << 20;
/// An SVG diagram has only the last so many records.
const MAX_DRAWN_RECORDS: usize = 2_000;

#[derive(Args, Debug)]
#[command(after_help = format!("Examples:
  hustings trace                               print the last 4,096 messages and events of this node
  hustings trace --last 2s --hide heartbeat    print those of the last two seconds, without heartbeats
  hustings trace --format json > a.json        write them to a file, on each host
  hustings trace a.json b.json c.json --last 1s --hide heartbeat --format svg > failover.svg
                                               draw what happened on three hosts, on one time axis

A node estimates how far the clocks of the other members are apart from its own, from round trips. Times of several
traces are those of the first one's clock, and a message never arrives before it was sent.
{EXIT_CODES}"))]
pub(crate) struct TraceArgs {
    /// Traces of different nodes, written with `--format json` [default: ask the node].
    #[arg(value_name = "FILE", conflicts_with_all = ["config", "socket"])]
    files: Vec<PathBuf>,
    #[command(flatten)]
    target: NodeTarget,
    /// The output format.
    #[arg(long, value_enum, default_value_t)]
    format: TraceFormat,
    /// Shows only what happened this long before the end of the trace.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    last: Option<Duration>,
    /// Hides messages of these kinds, such as `heartbeat`.
    #[arg(long, value_name = "KIND,KIND", value_delimiter = ',')]
    hide: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum TraceFormat {
    /// A line for each record.
    #[default]
    Text,
    /// A JSON object: the node's trace, or the merged records of all files.
    Json,
    /// A Mermaid sequence diagram.
    Mermaid,
    /// An SVG space-time diagram.
    Svg,
}

pub(crate) fn run(args: &TraceArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let mut traces = match args.files.as_slice() {
        [] => vec![args.target.connect()?.trace()?],
        files => files.iter().map(|file| read(file)).collect::<Result<_, _>>()?,
    };
    for trace in &mut traces {
        trace.records.retain(|record| !is_hidden(&record.event, &args.hide));
    }
    if let ([trace], [], TraceFormat::Json) = (traces.as_mut_slice(), args.files.as_slice(), args.format) {
        if let Some(last) = args.last {
            let now = trace.now;
            trace.records.retain(|record| now.since(record.at) <= last);
        }
        writeln!(console.out, "{}", json!(trace))?;
        return Ok(Exit::Done);
    }
    let mut timeline = Timeline::merge(traces).map_err(ClusterFailure::from)?;
    if let Some(last) = args.last {
        timeline.keep_last(u64::try_from(last.as_nanos()).unwrap_or(u64::MAX));
    }
    match args.format {
        TraceFormat::Text => text::write(&timeline, console.out)?,
        TraceFormat::Json => writeln!(console.out, "{}", json!(timeline))?,
        TraceFormat::Mermaid => mermaid::write(&timeline, console.out)?,
        TraceFormat::Svg => draw(timeline, console.out)?,
    }
    Ok(Exit::Done)
}

/// Draws the last records.
fn draw(mut timeline: Timeline, out: &mut dyn Write) -> io::Result<()> {
    let left_out = timeline.events.len().saturating_sub(MAX_DRAWN_RECORDS);
    timeline.drop_first(left_out);
    let mut picture = Picture::new(&timeline);
    picture.title = Some(format!("messages of the cluster {}, in milliseconds", timeline.cluster));
    if left_out > 0 {
        picture.notes.push(format!("{left_out} earlier records are left out."));
    }
    out.write_all(picture.to_svg().as_bytes())
}

fn is_hidden(event: &TraceEvent, kinds: &[String]) -> bool {
    match event {
        TraceEvent::Sent(message) | TraceEvent::Received(message) => kinds.contains(&message.kind),
        _ => false,
    }
}

fn read(path: &Path) -> Result<Trace, ClusterFailure> {
    let failure = |problem: String| ClusterFailure::TraceFile { path: path.display().to_string(), problem };
    let mut bytes = Vec::new();
    let file = File::open(path).and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes));
    file.map_err(|error| failure(error.to_string()))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(failure(format!("the file is longer than {MAX_FILE_BYTES} bytes")));
    }
    let parsed = serde_json::from_slice(&bytes);
    parsed.map_err(|error| failure(format!("not a trace as `hustings trace --format json` writes it: {error}")))
}
