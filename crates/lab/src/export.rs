//! Traces that leave the page and traces that come to it.

use std::io::BufRead;

use hustings_elections::Catalogue;
use hustings_sim::trace::{Format, Limits, TraceFile};

use crate::error::LabError;
use crate::request::{self, Bounds};
use crate::run::MAX_EVENTS;
use crate::timeline::Timeline;

/// Runs the election and writes its trace: the type of its content, and the bytes.
pub(crate) fn write_trace(
    text: &str,
    format: &str,
    catalogue: &Catalogue,
    bounds: &Bounds,
) -> Result<(&'static str, Vec<u8>), LabError> {
    let format: Format = format.parse().map_err(|error: hustings_sim::simulate::ParseError| {
        LabError::field("format", error.to_string()).with_nearest(error.nearest)
    })?;
    // Diagrams are bounded by themselves; the run is bounded like any other.
    let finished = crate::run::run(text, catalogue, bounds)?;
    if finished.total as usize > MAX_EVENTS {
        let problem = format!("this run has {} events; at most {MAX_EVENTS} can be exported here", finished.total);
        return Err(LabError::new("too-long", problem));
    }
    let request = request::parse(text, catalogue, bounds)?;
    let mut bytes = Vec::new();
    let written = request.election.traced(&request.built.scenario, format, &mut bytes);
    written.map_err(|error| LabError::new("internal", error.to_string()))?;
    let kind = match format {
        Format::Svg => "image/svg+xml",
        Format::Jsonl => "application/jsonl",
        Format::Text | Format::Mermaid | Format::Shiviz => "text/plain; charset=utf-8",
    };
    Ok((kind, bytes))
}

/// The timeline of a trace file, with its outcome computed again.
pub(crate) fn read_trace(bytes: &[u8], catalogue: &Catalogue) -> Result<Timeline, LabError> {
    let wrong = |problem: String| LabError::field("trace", problem);
    let limits = Limits { line: 4 << 20, records: MAX_EVENTS as u64 };
    let open = || {
        let reader: Box<dyn BufRead> = Box::new(std::io::Cursor::new(bytes.to_vec()));
        TraceFile::open(reader, limits).map_err(|error| wrong(error.to_string()))
    };
    let mut file = open()?;
    let name = file.algorithm().to_string();
    let known = catalogue
        .find(&name)
        .ok_or_else(|| wrong(format!("there is no algorithm `{}`", hustings_text::quote(&name))))?;
    let replayed = known.replayed(open()?).map_err(|error| wrong(error.to_string()))?;
    let (protocol, _) = replayed.election.protocol(&replayed.scenario);
    let records: Result<Vec<_>, _> = file.records(&protocol).collect();
    let records = records.map_err(|error| wrong(error.to_string()))?;
    let mut scenario = replayed.scenario;
    if file.has_duplicates() {
        // Only whether there may be copies matters for a replay.
        scenario.duplicate = scenario.duplicate.max(f64::MIN_POSITIVE);
    }
    let mut timeline = Timeline::new(&*replayed.election, &scenario, &records)?;
    timeline.set_outcome(&*replayed.election, &scenario, &replayed.outcome);
    timeline.expected = None;
    Ok(timeline)
}
