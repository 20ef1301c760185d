//! `hustings trace`: the messages and events that nodes remember, as text or as a picture.

mod mermaid;
mod picture;
mod text;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use hustings_cluster::api::{Trace, TraceEvent, TracedMessage};
use hustings_cluster::timeline::Timeline;
use serde_json::json;

use super::super::console::{Console, Exit};
use super::super::failure::Failure;
use super::target::NodeTarget;
use super::{ClusterFailure, EXIT_CODES};

/// The longest file with a trace, in bytes. A full one has about a tenth of that.
const MAX_FILE_BYTES: u64 = 16 << 20;

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
        TraceFormat::Svg => picture::write(&timeline, console.out)?,
    }
    Ok(Exit::Done)
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

/// What a message is about, in brackets; empty if it is about nothing.
fn about(message: &TracedMessage) -> String {
    let office = message.office.clone();
    let term = message.term.map(|term| format!("term {term}"));
    let token = message.token.map(|token| format!("token {token}"));
    let parts: Vec<String> = office.into_iter().chain(term).chain(token).collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

/// What happened on a node itself; `None` for messages.
fn local_event(event: &TraceEvent) -> Option<String> {
    match event {
        TraceEvent::Sent(_) | TraceEvent::Received(_) => None,
        TraceEvent::Connected { peer } => Some(format!("connected to {peer}")),
        TraceEvent::Disconnected { peer, reason } => Some(format!("connection to {peer} closed: {reason}")),
        TraceEvent::Held { office, token } => Some(format!("holds {office} (token {token})")),
        TraceEvent::Lost { office, token } => Some(format!("lost {office} (token {token})")),
        TraceEvent::ArbiterLeader { leader: Some(leader), term } => {
            Some(format!("{leader} leads the arbiter (term {term})"))
        }
        TraceEvent::ArbiterLeader { leader: None, .. } => Some("the arbiter has no known leader".to_string()),
    }
}

/// A message on its way between two nodes, as far as it is known.
struct Transmission<'a> {
    from: &'a str,
    to: &'a str,
    /// When it was sent, if a trace has that.
    sent: Option<i64>,
    /// When it arrived, if a trace has that.
    arrived: Option<i64>,
    message: &'a TracedMessage,
}

/// The transmission that an event shows: where it arrives, or, if no trace can tell, where it is sent. `None` for a
/// sending whose arrival is shown, and for other events.
fn transmission<'a>(place: usize, timeline: &'a Timeline, arrivals: &Arrivals) -> Option<Transmission<'a>> {
    let event = &timeline.events[place];
    let own = timeline.nodes[event.node].node.as_str();
    match &event.event {
        TraceEvent::Received(message) => {
            let sent = event.cause.map(|cause| timeline.events[cause].at_ns);
            Some(Transmission { from: &message.peer, to: own, sent, arrived: Some(event.at_ns), message })
        }
        TraceEvent::Sent(message) if !arrivals.is_known(place) => {
            Some(Transmission { from: own, to: &message.peer, sent: Some(event.at_ns), arrived: None, message })
        }
        _ => None,
    }
}

/// Which sendings have an arrival.
struct Arrivals(Vec<bool>);

impl Arrivals {
    fn of(timeline: &Timeline) -> Self {
        let mut known = vec![false; timeline.events.len()];
        timeline.events.iter().filter_map(|event| event.cause).for_each(|cause| known[cause] = true);
        Arrivals(known)
    }

    fn is_known(&self, place: usize) -> bool {
        self.0[place]
    }
}

/// The nodes of a timeline, and the peers that have no trace.
fn participants(timeline: &Timeline) -> Vec<&str> {
    let mut names: Vec<&str> = timeline.nodes.iter().map(|clock| clock.node.as_str()).collect();
    for event in &timeline.events {
        if let TraceEvent::Sent(message) | TraceEvent::Received(message) = &event.event
            && !names.contains(&message.peer.as_str())
        {
            names.push(&message.peer);
        }
    }
    names
}

/// Nanoseconds as milliseconds.
fn milliseconds(nanoseconds: i64) -> String {
    format!("{:.3}", nanoseconds as f64 / 1e6)
}
