//! Notifications to systemd.

use std::time::Duration;

use crate::clock::Timestamp;
use sd_notify::NotifyState;

/// What systemd is told, if it asked for it.
#[derive(Debug)]
pub struct Systemd {
    is_enabled: bool,
    is_ready: bool,
    /// How often the watchdog must hear of us, and when next.
    watchdog: Option<(Duration, Timestamp)>,
}

impl Systemd {
    /// Tells systemd nothing unless `is_enabled`. The watchdog is fed from now on, if there is one.
    pub fn new(is_enabled: bool, now: Timestamp) -> Systemd {
        let interval = sd_notify::watchdog_enabled().filter(|_| is_enabled).map(|timeout| timeout / 2);
        Systemd { is_enabled, is_ready: false, watchdog: interval.map(|interval| (interval, now)) }
    }

    /// The unit is ready: also while it stands by, because a standby is what it should be.
    pub fn state(&mut self, text: &str) {
        if !self.is_enabled {
            return;
        }
        let mut states = vec![NotifyState::Status(text)];
        if !std::mem::replace(&mut self.is_ready, true) {
            states.push(NotifyState::Ready);
        }
        notify(&states);
    }

    /// The unit stops.
    pub fn stopping(&self) {
        if self.is_enabled {
            notify(&[NotifyState::Stopping]);
        }
    }

    /// Feeds the watchdog if it is time.
    pub fn handle_time(&mut self, now: Timestamp) {
        if let Some((interval, due)) = &mut self.watchdog
            && *due <= now
        {
            notify(&[NotifyState::Watchdog]);
            *due = now + *interval;
        }
    }

    /// When [`Systemd::handle_time`] must be called next.
    pub fn poll_timeout(&self) -> Timestamp {
        self.watchdog.map_or(Timestamp::NEVER, |(_, due)| due)
    }
}

fn notify(states: &[NotifyState<'_>]) {
    // Without systemd there is nobody to tell.
    let _ = sd_notify::notify(states);
}
