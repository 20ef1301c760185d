//! The sections of a configuration file that stand for themselves: times, policies, health, limits and the log.

use std::time::Duration;

use crate::config::document::{
    HealthDocument, LimitsDocument, LogDocument, PolicyDocument, PreemptDocument, Text, TimingDocument,
};
use crate::config::error::{ConfigError, invalid};
use crate::config::values::{duration, http, size, word};
use crate::config::{Health, Limits, Log, MAX_OFFICES, Policy, Preempt, Probe};
use crate::core::table::{MAX_STATE_BYTES, MAX_TOTAL_BYTES};
use crate::timing::Timing;

/// The largest `limits.connections`. Each one is a file descriptor.
const MAX_CONNECTIONS: usize = 10_000;
const MAX_HEALTH_PERIOD: Duration = Duration::from_secs(3600);

pub(in super::super) fn timing(given: &TimingDocument) -> Result<Timing, ConfigError> {
    let default = Timing::default();
    let or = |key: &str, text: &Option<Text>, default: Duration| {
        text.as_ref().map_or(Ok(default), |text| duration(&format!("timing.{key}"), text))
    };
    Ok(Timing {
        heartbeat: or("heartbeat", &given.heartbeat, default.heartbeat)?,
        silence_floor: or("silence-floor", &given.silence_floor, default.silence_floor)?,
        silence_ceiling: or("silence-ceiling", &given.silence_ceiling, default.silence_ceiling)?,
        lease: or("lease", &given.lease, default.lease)?,
        drift_ppm: given.drift_ppm.unwrap_or(default.drift_ppm),
        stop: or("stop", &given.stop, default.stop)?,
        tick: or("tick", &given.tick, default.tick)?,
        settle: or("settle", &given.settle, default.settle)?,
        hand_over: or("hand-over", &given.hand_over, default.hand_over)?,
    })
}

pub(super) fn policy(
    place: &str,
    given: &PolicyDocument,
    default: Policy,
    timing: &Timing,
) -> Result<Policy, ConfigError> {
    let preempt = match &given.preempt {
        None => default.preempt,
        Some(PreemptDocument::Never) => Preempt::Never,
        Some(PreemptDocument::Better) => Preempt::Better,
        Some(PreemptDocument::After(text)) => {
            Preempt::BetterAfter(duration(&format!("{place}: preempt.better-after"), text)?)
        }
    };
    let time = |key: &str, text: &Option<Text>| {
        text.as_ref().map(|text| duration(&format!("{place}: {key}"), text)).transpose()
    };
    let lease = time("lease", &given.lease)?.or(default.lease);
    let stop = time("stop", &given.stop)?.or(default.stop);
    let policy = Policy { mode: given.mode.unwrap_or(default.mode), preempt, lease, stop };
    // The rules are those of `[timing]`, with the office's own lease and stop.
    if let Err(problem) = timing.with_terms(policy.terms(timing)).check() {
        let given = given.lease.as_ref().or(given.stop.as_ref()).map_or("", |text| &text.text);
        return Err(invalid(format!("{place}: lease, stop"), given, problem.to_string().replace("timing.", "")));
    }
    Ok(policy)
}

pub(super) fn health(given: HealthDocument) -> Result<Health, ConfigError> {
    let probe = match (given.command, given.http) {
        (Some(command), None) if command.first().is_some_and(|program| !program.is_empty()) => Probe::Command(command),
        (Some(_), None) => return Err(invalid("health.command", "[]", "the first element must be the program to run")),
        (None, Some(page)) => Probe::Http(http("health.http", &page)?),
        (Some(_), Some(page)) => {
            return Err(invalid("health.http", &page, "health.command is set too; use only one of them"));
        }
        (None, None) => {
            return Err(ConfigError::Missing {
                key: "health.command",
                need: "set it, or health.http, to check the health of the host",
            });
        }
    };
    let time = |key: &str, text: Option<Text>, default: Duration| -> Result<Duration, ConfigError> {
        let Some(text) = text else { return Ok(default) };
        let time = duration(key, &text)?;
        let fits = time > Duration::ZERO && time <= MAX_HEALTH_PERIOD;
        if fits { Ok(time) } else { Err(invalid(key, &text.text, "it must be longer than 0s and at most 1h")) }
    };
    let every = time("health.every", given.every, Duration::from_secs(2))?;
    let timeout = time("health.timeout", given.timeout, every / 2)?;
    if timeout > every {
        let every = humantime::format_duration(every);
        let problem = format!("it must be at most health.every, {every}");
        return Err(invalid("health.timeout", &humantime::format_duration(timeout).to_string(), problem));
    }
    let threshold = given.threshold.unwrap_or(1);
    if threshold > 100 {
        return Err(invalid("health.threshold", &threshold.to_string(), "expected a number from 0 to 100"));
    }
    Ok(Health { probe, every, timeout, threshold })
}

pub(super) fn limits(given: &LimitsDocument) -> Result<Limits, ConfigError> {
    let default = Limits::default();
    let limit = |key: &str, given: Option<u32>, default: usize, max: usize| match given.map(|given| given as usize) {
        None => Ok(default),
        Some(given) if (1..=max).contains(&given) => Ok(given),
        Some(given) => {
            let problem = format!("expected a number from 1 to {max}");
            Err(invalid(format!("limits.{key}"), &given.to_string(), problem))
        }
    };
    Ok(Limits {
        connections: limit("connections", given.connections, default.connections, MAX_CONNECTIONS)?,
        campaigns: limit("campaigns", given.campaigns, default.campaigns, MAX_OFFICES)?,
        watches: limit("watches", given.watches, default.watches, MAX_OFFICES)?,
        state: size("limits.state", given.state.as_ref(), default.state, MAX_STATE_BYTES)?,
        state_total: size("limits.state-total", given.state_total.as_ref(), default.state_total, MAX_TOTAL_BYTES)?,
    })
}

pub(super) fn log(given: &LogDocument) -> Result<Log, ConfigError> {
    let LogDocument { level, format } = given;
    let default = Log::default();
    Ok(Log {
        level: level.as_ref().map_or(Ok(default.level), |text| word(text.place("log.level"), &text.text))?,
        format: format.as_ref().map_or(Ok(default.format), |text| word(text.place("log.format"), &text.text))?,
    })
}
