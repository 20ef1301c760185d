//! Formats times, offices and tables for people.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use comfy_table::{ContentArrangement, Table, presets};
use hustings_cluster::api::{DiskFailure, HostDelay, OfficeStatus, RealtimeStatus};

use super::super::console::{Console, Paint};

/// The last second of the year 9999: RFC 3339 has no text for later times.
const LAST_SECOND: u64 = 253_402_300_799;

/// Formats milliseconds since 1970 as RFC 3339.
pub(crate) fn time(unix_ms: u64) -> String {
    let since = Duration::from_millis(unix_ms).min(Duration::from_secs(LAST_SECOND));
    humantime::format_rfc3339_millis(UNIX_EPOCH + since).to_string()
}

/// How many seconds are left until a time, in seconds since 1970; 0 if it has passed.
pub(crate) fn seconds_left(unix_s: u64) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Duration::from_secs(unix_s).saturating_sub(now).as_secs()
}

/// Says how long a certificate is still valid that ends at this time, in seconds since 1970.
pub(crate) fn time_left(unix_s: u64) -> String {
    const DAY: u64 = 24 * 3600;
    match seconds_left(unix_s) {
        0 => "expired".to_string(),
        left if left < DAY => humantime::format_duration(Duration::from_secs(left)).to_string(),
        left if left < 2 * DAY => "1 day".to_string(),
        left => format!("{} days", left / DAY),
    }
}

/// Says what is wrong with the disk of the node that was asked.
pub(crate) fn disk(failure: &DiskFailure) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = now.saturating_sub(Duration::from_millis(failure.since_unix_ms)).as_secs();
    let error = &failure.error;
    format!("this node's disk does not take writes, so it neither votes nor takes offices: {error}; since {seconds} s")
}

/// How long ago a delay may have ended that is still shown, in milliseconds.
const SHOWN_DELAYS_MS: u64 = 600_000;

/// What a node's host did to it within the last ten minutes, if anything.
pub(crate) fn host(delays: &[HostDelay]) -> Option<String> {
    let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
    let told = delays.iter().filter(|delay| now_ms.saturating_sub(delay.unix_ms) < SHOWN_DELAYS_MS).map(|delay| {
        let ago = now_ms.saturating_sub(delay.unix_ms) / 1_000;
        match delay.kind.as_str() {
            "late" => format!("ran {} ms late {ago} s ago", delay.ms),
            "slow-write" => format!("waited {} ms for its disk {ago} s ago", delay.ms),
            other => format!("was delayed for {} ms {ago} s ago ({other})", delay.ms),
        }
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| format!("this node's host delays it: it {}", told.join(", and ")))
}

/// What has become of `scheduling = "realtime"`.
pub(crate) fn realtime(status: &RealtimeStatus) -> String {
    let in_effect = [(status.priority, "real-time priority"), (status.memory_locked, "locked memory")];
    let in_effect = in_effect.into_iter().filter(|(is_there, _)| *is_there).map(|(_, part)| part.to_string());
    let parts: Vec<String> = in_effect.chain(status.problems.iter().cloned()).collect();
    format!("scheduling: {}", parts.join("; "))
}

/// Formats the holder of an office as one line.
pub(crate) fn office(status: &OfficeStatus) -> String {
    let OfficeStatus { office, holder, token, since_unix_ms, reason, current, .. } = status;
    match (holder, current) {
        (None, true) => format!("{office}: nobody"),
        (None, false) => format!("{office}: not known"),
        (Some(holder), false) => format!("{office}: not known; the last known holder is {holder} (token {token})"),
        (Some(holder), true) => {
            format!("{office}: {holder} (token {token}, since {}: {})", time(*since_unix_ms), reason)
        }
    }
}

/// Prints an indented table without rules.
pub(crate) fn table(
    heading: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
    console: &mut Console<'_>,
) -> std::io::Result<()> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(heading);
    for row in rows {
        table.add_row(row);
    }
    for (number, line) in table.to_string().lines().enumerate() {
        let line = line.trim_end();
        let line = if number == 0 { Paint::Strong.on(line, console.colour) } else { line.to_string() };
        writeln!(console.out, " {line}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_every_time_including_the_largest() {
        assert_eq!(time(1_500), "1970-01-01T00:00:01.500Z");
        assert_eq!(time(u64::MAX), "9999-12-31T23:59:59.000Z");
    }
}
