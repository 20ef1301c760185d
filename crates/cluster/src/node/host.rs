//! What this host did to the node, so that no peer is blamed for it: the loop ran late, a write took long, or the
//! hypervisor took the processor away.

use std::collections::VecDeque;
use std::time::Duration;

use crate::api::HostDelay;
use crate::clock::Timestamp;
use crate::core::{Delay, Delays};

/// How long after a delay ended something that is lost is put down to it.
const RECENT: Duration = Duration::from_secs(2);
/// A write that takes longer delays what waits for it.
const SLOW_WRITE: Duration = Duration::from_millis(100);
/// How often the time that was stolen is looked at, if there was no delay.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(10);

/// The last delays.
#[derive(Debug, Default)]
pub(super) struct Host {
    /// A shorter delay costs nobody anything: two heartbeats.
    least: Duration,
    late: Option<Delay>,
    slow_write: Option<Delay>,
    /// The numbers of the writes that are under way, and since when.
    writes: VecDeque<(u64, Timestamp)>,
    stolen: Option<Stolen>,
}

/// Processor time that the hypervisor gave to others, since the host started.
#[derive(Clone, Copy, Debug)]
struct Stolen {
    sampled: Timestamp,
    total: Duration,
    /// How much of it in the last delay, or just before.
    recent: Duration,
}

impl Host {
    pub(super) fn new(heartbeat: Duration) -> Self {
        Host { least: 2 * heartbeat, ..Host::default() }
    }

    /// A write was submitted.
    pub(super) fn handle_submitted(&mut self, number: u64, now: Timestamp) {
        self.writes.push_back((number, now));
    }

    /// The writes up to this number are durable.
    pub(super) fn handle_written(&mut self, number: u64, now: Timestamp) {
        // The first one has waited longest.
        let first = self.writes.front().filter(|(waiting, _)| *waiting <= number).map(|(_, since)| *since);
        while self.writes.pop_front_if(|(waiting, _)| *waiting <= number).is_some() {}
        let took = first.map(|since| now.since(since)).filter(|took| *took >= SLOW_WRITE);
        self.slow_write = took.map(|took| Delay { ended: now, took }).or(self.slow_write);
    }

    /// Looks for a new delay of the loop, and returns it.
    pub(super) fn observe(&mut self, delays: &Delays, now: Timestamp) -> Option<Delay> {
        let new = delays.last().filter(|last| self.late != Some(*last));
        let is_due = self.stolen.is_none_or(|stolen| now.since(stolen.sampled) >= SAMPLE_INTERVAL);
        if new.is_some() || is_due {
            let total = std::fs::read_to_string("/proc/stat").ok().and_then(|stat| stolen_time(&stat));
            self.handle_stolen(total, now);
        }
        self.late = new.or(self.late);
        new
    }

    fn handle_stolen(&mut self, total: Option<Duration>, now: Timestamp) {
        self.stolen = total.map(|total| {
            let recent = self.stolen.map_or(Duration::ZERO, |before| total.saturating_sub(before.total));
            Stolen { sampled: now, total, recent }
        });
    }

    /// What the host did just before, if anything: whatever was lost may be lost because of it.
    pub(super) fn cause(&self, now: Timestamp) -> Option<String> {
        let is_recent = |delay: &Delay| now.since(delay.ended) <= RECENT;
        let ms = |duration: Duration| duration.as_millis();
        let late = self.late.filter(is_recent).filter(|late| late.took >= self.least).map(|late| {
            let stolen = self.stolen.map_or(Duration::ZERO, |stolen| stolen.recent);
            let stolen = match stolen.is_zero() {
                true => String::new(),
                false => format!(", and its hypervisor took {} ms of processor time away", ms(stolen)),
            };
            format!("the node ran {} ms late{stolen}", ms(late.took))
        });
        let waiting = self.writes.front().map(|(_, since)| Delay { ended: now, took: now.since(*since) });
        let waiting = waiting
            .filter(|waiting| waiting.took >= SLOW_WRITE)
            .map(|waiting| format!("a write has waited {} ms for the disk", ms(waiting.took)));
        let written = || self.slow_write.filter(is_recent).map(|slow| format!("a write took {} ms", ms(slow.took)));
        let found: Vec<String> = late.into_iter().chain(waiting.or_else(written)).collect();
        (!found.is_empty()).then(|| found.join("; "))
    }

    /// The last delays, for a status.
    pub(super) fn delays(&self, now: Timestamp, unix_ms: u64) -> Vec<HostDelay> {
        let shown = |kind: &str, delay: Delay| HostDelay {
            kind: kind.to_string(),
            ms: delay.took.as_millis() as u64,
            unix_ms: unix_ms.saturating_sub(now.since(delay.ended).as_millis() as u64),
        };
        let late = self.late.map(|late| shown("late", late));
        late.into_iter().chain(self.slow_write.map(|slow| shown("slow-write", slow))).collect()
    }
}

/// The processor time that was stolen from this host, by the first line of `/proc/stat`.
fn stolen_time(stat: &str) -> Option<Duration> {
    let ticks: u64 = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace().nth(7)?.parse().ok()?;
    Some(Duration::from_millis(ticks.saturating_mul(1_000) / rustix::param::clock_ticks_per_second()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn at(ms: u64) -> Timestamp {
        Timestamp(ms * MS)
    }

    fn late(ms: u64, ended: Timestamp) -> Option<Delay> {
        Some(Delay { took: Duration::from_millis(ms), ended })
    }

    #[test]
    fn a_late_loop_is_named_for_a_while() {
        let mut host = Host { late: late(180, at(5_000)), ..Host::new(Duration::from_millis(50)) };
        assert_eq!(host.cause(at(5_100)).as_deref(), Some("the node ran 180 ms late"));
        assert_eq!(host.cause(at(7_001)), None, "what is lost later has another cause");
        let short = Host { late: late(99, at(5_000)), ..Host::new(Duration::from_millis(50)) };
        assert_eq!(short.cause(at(5_100)), None, "nothing is lost because of that");
        host.handle_stolen(Some(Duration::from_millis(400)), at(1));
        host.handle_stolen(Some(Duration::from_millis(550)), at(5_000));
        let expected = "the node ran 180 ms late, and its hypervisor took 150 ms of processor time away";
        assert_eq!(host.cause(at(5_100)).as_deref(), Some(expected));
        let shown = HostDelay { kind: "late".to_string(), ms: 180, unix_ms: 90_000 };
        assert_eq!(host.delays(at(15_000), 100_000), [shown], "a status shows it as long as there is no later one");
    }

    #[test]
    fn a_slow_write_is_named_while_it_waits_and_for_a_while_after() {
        let mut host = Host::default();
        (1..=3).for_each(|number| host.handle_submitted(number, at(number * 10)));
        assert_eq!(host.cause(at(50)), None);
        assert_eq!(host.cause(at(910)).as_deref(), Some("a write has waited 900 ms for the disk"));
        host.handle_written(2, at(910));
        host.handle_written(3, at(1_000));
        assert_eq!(host.cause(at(1_500)).as_deref(), Some("a write took 970 ms"));
        assert_eq!(host.cause(at(9_000)), None);
        host.handle_submitted(4, at(9_000));
        host.handle_written(4, at(9_001));
        assert_eq!(host.delays(at(9_001), 9_001).len(), 1, "a quick one changes nothing");
    }

    #[test]
    fn the_stolen_time_is_the_eighth_number() {
        let stat = "cpu  10 20 30 40 50 60 70 80 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n";
        let expected = 80_000 / rustix::param::clock_ticks_per_second();
        assert_eq!(stolen_time(stat), Some(Duration::from_millis(expected)));
        assert_eq!((stolen_time(""), stolen_time("cpu  1 2")), (None, None));
    }
}
