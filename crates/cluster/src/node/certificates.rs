//! Warns in the log before certificates end, and while the clock says that they have not begun.

use std::time::{Duration, UNIX_EPOCH};

use super::logger::Logger;
use crate::clock::{Clock, Timestamp};
use crate::identity::Expiry;

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
/// From how long before the end the log warns.
const WARN_BEFORE: Duration = Duration::from_secs(30 * 24 * 3600);

/// The certificates of the node, and when to look at them again.
pub(super) struct CertificateWatch {
    expiry: Option<Expiry>,
    due: Timestamp,
}

impl CertificateWatch {
    pub(super) fn new(expiry: Option<Expiry>, now: Timestamp) -> Self {
        CertificateWatch { expiry, due: now }
    }

    pub(super) fn expiry(&self) -> Option<Expiry> {
        self.expiry
    }

    pub(super) fn due(&self) -> Timestamp {
        self.due
    }

    /// Logs certificates that end soon or have ended: once a day, and when one ends. If they have not begun, the clock
    /// is slow: it says so every hour.
    pub(super) fn check(&mut self, clock: Clock, logger: &mut Logger) {
        let now = clock.now();
        if now < self.due {
            return;
        }
        let wall = clock.wall_time();
        if let Some(Expiry { begin, .. }) = self.expiry
            && wall.as_secs() < begin
        {
            self.due = now + HOUR;
            let [begin, now] = [Duration::from_secs(begin), wall].map(date);
            return logger.error(format_args!(
                "this node's certificate is not valid yet: it is valid from {begin}, but the clock of this host says \
                 {now}. Set the clock of this host: until then, it accepts no new connection of a peer"
            ));
        }
        let ends = self
            .expiry
            .map(|expiry| [("this node's certificate", expiry.own), ("the authority's certificate", expiry.authority)]);
        self.due = now + DAY;
        for (what, end) in ends.into_iter().flatten() {
            let left = Duration::from_secs(end).saturating_sub(wall);
            let until = date(Duration::from_secs(end));
            let next = if left.is_zero() {
                logger.error(format_args!("{what} has expired: it was valid until {until}. {}", consequence(what)));
                DAY
            } else if left <= WARN_BEFORE {
                logger.warn(format_args!("{what} ends in {}, at {until}: {REMEDY}", span(left)));
                left + Duration::from_secs(1)
            } else {
                left - WARN_BEFORE
            };
            self.due = self.due.min(now + next);
        }
    }
}

const REMEDY: &str = "renew it with `hustings members renew`, copy the files here and reload (SIGHUP)";

fn consequence(what: &str) -> String {
    match what {
        "this node's certificate" => format!("Connections stay, but no peer accepts a new one: {REMEDY}"),
        _ => "Renewed certificates would outlive it: rotate it with `hustings members rotate-authority`".to_string(),
    }
}

fn date(since_1970: Duration) -> String {
    humantime::format_rfc3339_seconds(UNIX_EPOCH + since_1970).to_string()
}

/// Days, or something finer on the last one.
fn span(left: Duration) -> String {
    match left.as_secs() / DAY.as_secs() {
        0 => humantime::format_duration(Duration::from_secs(left.as_secs())).to_string(),
        1 => "1 day".to_string(),
        days => format!("{days} days"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::logger::tests::Buffer;
    use super::*;

    /// What a check logs with this much time left for the node's certificate, and how long it waits for the next one.
    fn checked(left: i64) -> (Vec<String>, Duration) {
        let (clock, buffer) = (Clock::new(), Buffer::default());
        let mut logger = Logger::to_writer(buffer.clone()).expect("a thread can be started");
        let own = clock.wall_time().as_secs().saturating_add_signed(left);
        let mut watch = CertificateWatch::new(
            Some(Expiry { begin: 0, own, authority: own + 365 * DAY.as_secs() }),
            Timestamp::ZERO,
        );
        let before = clock.now();
        watch.check(clock, &mut logger);
        let wait = watch.due().since(before);
        watch.check(clock, &mut logger);
        drop(logger);
        (buffer.lines(), wait)
    }

    #[test]
    fn warns_from_thirty_days_on_once_a_day_and_at_the_end() {
        let day = DAY.as_secs() as i64;
        let (lines, wait) = checked(31 * day);
        assert!(lines.is_empty() && wait <= DAY + Duration::from_secs(5), "{lines:?} {wait:?}");
        let (lines, wait) = checked(30 * day - 60);
        assert!(lines.len() == 1 && lines[0].contains("WARN  this node's certificate ends in 29 days"), "{lines:?}");
        assert!(wait >= DAY && wait < DAY * 2, "{wait:?}");
        let (lines, wait) = checked(90);
        assert!(lines.len() == 1 && lines[0].contains("ends in 1m"), "{lines:?}");
        assert!(wait <= Duration::from_secs(95), "{wait:?}");
        let (lines, wait) = checked(-1);
        assert!(lines.len() == 1 && lines[0].contains("ERROR this node's certificate has expired"), "{lines:?}");
        assert!(wait >= DAY, "{wait:?}");
    }

    #[test]
    fn a_slow_clock_is_named_and_no_renewal_is_advised() {
        let (clock, buffer) = (Clock::new().with_wall_seconds(-100 * 86_400), Buffer::default());
        let mut logger = Logger::to_writer(buffer.clone()).expect("a thread can be started");
        let begin = Clock::new().wall_time().as_secs() - 30 * 86_400;
        let expiry = Expiry { begin, own: begin + 86_400, authority: begin + 86_400 };
        CertificateWatch::new(Some(expiry), Timestamp::ZERO).check(clock, &mut logger);
        drop(logger);
        let lines = buffer.lines();
        let is_right = |line: &str| line.contains("not valid yet") && line.contains("the clock of this host says");
        assert!(lines.len() == 1 && is_right(&lines[0]) && !lines[0].contains("renew"), "{lines:?}");
    }
}
