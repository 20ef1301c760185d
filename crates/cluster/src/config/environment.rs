//! Environment variables that override the file.

use std::ffi::OsString;

use super::document::{Document, Text};
use super::error::{ConfigError, invalid};

/// Looks up a variable, in the environment or in a test's map.
pub(super) type Lookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;

type Place = fn(&mut Document) -> &mut Option<Text>;

const DRIFT: &str = "HUSTINGS_TIMING_DRIFT_PPM";

/// Every variable except [`DRIFT`], which is a number, with the value that it overrides.
const PLACES: [(&str, Place); 25] = [
    ("HUSTINGS_CLUSTER", |file| &mut file.cluster),
    ("HUSTINGS_NODE", |file| &mut file.node),
    ("HUSTINGS_LISTEN", |file| &mut file.listen),
    ("HUSTINGS_DATA", |file| &mut file.data),
    ("HUSTINGS_SOCKET", |file| &mut file.socket),
    ("HUSTINGS_SOCKET_GROUP", |file| &mut file.socket_group),
    ("HUSTINGS_ALGORITHM", |file| &mut file.algorithm),
    ("HUSTINGS_ARBITER", |file| &mut file.arbiter),
    ("HUSTINGS_SCHEDULING", |file| &mut file.scheduling),
    ("HUSTINGS_TLS_AUTHORITY", |file| &mut file.tls.authority),
    ("HUSTINGS_TLS_CERTIFICATE", |file| &mut file.tls.certificate),
    ("HUSTINGS_TLS_KEY", |file| &mut file.tls.key),
    ("HUSTINGS_LOG_LEVEL", |file| &mut file.log.level),
    ("HUSTINGS_LOG_FORMAT", |file| &mut file.log.format),
    ("HUSTINGS_TIMING_HEARTBEAT", |file| &mut file.timing.heartbeat),
    ("HUSTINGS_TIMING_SILENCE_FLOOR", |file| &mut file.timing.silence_floor),
    ("HUSTINGS_TIMING_SILENCE_CEILING", |file| &mut file.timing.silence_ceiling),
    ("HUSTINGS_TIMING_LEASE", |file| &mut file.timing.lease),
    ("HUSTINGS_TIMING_STOP", |file| &mut file.timing.stop),
    ("HUSTINGS_TIMING_TICK", |file| &mut file.timing.tick),
    ("HUSTINGS_TIMING_SETTLE", |file| &mut file.timing.settle),
    ("HUSTINGS_TIMING_HAND_OVER", |file| &mut file.timing.hand_over),
    ("HUSTINGS_HTTP_LISTEN", |file| &mut file.http.get_or_insert_default().listen),
    ("HUSTINGS_HTTP_PROBE_LISTEN", |file| &mut file.http.get_or_insert_default().probe_listen),
    ("HUSTINGS_HTTP_TOKENS", |file| &mut file.http.get_or_insert_default().tokens),
];

/// The variables that override the file: the key in capitals, with `_` for `.` and `-`. An empty variable counts as
/// unset. `HUSTINGS_ALGORITHM` also discards the file's `params`, which belong to the file's algorithm.
pub(crate) const VARIABLES: [&str; PLACES.len() + 1] = {
    let mut names = [DRIFT; PLACES.len() + 1];
    let mut index = 0;
    while index < PLACES.len() {
        names[index] = PLACES[index].0;
        index += 1;
    }
    names
};

/// Overrides values of the file with those of the environment.
pub(super) fn apply_environment(file: &mut Document, lookup: Lookup<'_>) -> Result<(), ConfigError> {
    for (variable, place) in PLACES {
        if let Some(text) = value(variable, lookup)? {
            *place(file) = Some(Text { text, variable: Some(variable) });
        }
    }
    if let Some(text) = value(DRIFT, lookup)? {
        let number = text.parse().map_err(|_| invalid(DRIFT, &text, "expected a number of parts per million"))?;
        file.timing.drift_ppm = Some(number);
    }
    if file.algorithm.as_ref().is_some_and(|name| name.variable.is_some()) {
        file.params = None;
    }
    Ok(())
}

fn value(variable: &str, lookup: Lookup<'_>) -> Result<Option<String>, ConfigError> {
    let Some(value) = lookup(variable).filter(|value| !value.is_empty()) else { return Ok(None) };
    let text = value.into_string().map_err(|value| invalid(variable, &value.to_string_lossy(), "it must be UTF-8"))?;
    Ok(Some(text))
}
