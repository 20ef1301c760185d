//! Runs that are opened from the command line: traces and counterexamples.

use hustings_check::Violation as Found;
use hustings_elections::{Catalogue, Election};

use crate::error::LabError;
use crate::timeline::{Timeline, Violation};

/// The timeline of a counterexample, with its loop marked. `has_copies`: whether messages may be delivered twice.
pub fn counterexample(election: &dyn Election, found: &Found, has_copies: bool) -> Result<Timeline, LabError> {
    let mut scenario = found.scenario.clone();
    if has_copies {
        // Only whether there may be copies matters for a replay.
        scenario.duplicate = f64::MIN_POSITIVE;
    }
    let mut timeline = Timeline::new(election, &scenario, &found.records)?;
    timeline.violation = Some(Violation {
        property: found.property.to_string(),
        statement: found.property.statement().to_string(),
        repeats_from: found.repeats_from,
    });
    Ok(timeline)
}

/// The timeline of a trace file.
pub fn trace(bytes: &[u8], catalogue: &Catalogue) -> Result<Timeline, LabError> {
    crate::export::read_trace(bytes, catalogue)
}
