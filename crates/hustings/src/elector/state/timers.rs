//! What happens when time passes: leases that end, views that are no longer confirmed, and probes.

use std::sync::Arc;

use hustings_cluster::api::Request;
use hustings_cluster::clock::Timestamp;

use super::{Campaign, Expected, State};
use crate::elector::end_reason::EndReason;
use crate::elector::observer::LeaderView;
use crate::elector::updates::{Phase, Updates};

/// A name that no office can have. Asking for its history is the cheapest request, so it serves as a liveness probe.
const PROBE_OFFICE: &str = "-";

/// How many words there are within the time that the node waits for one.
const KEEP_ALIVES: u32 = 4;

impl State {
    /// Handles the passage of time: a program whose lease is about to end must stop, leases that were not renewed are
    /// lost, views that were not confirmed become unknown.
    pub(crate) fn handle_time(&mut self, now: Timestamp) -> Updates {
        let mut updates = Updates::default();
        let must_stop = |campaign: &Campaign| match campaign.phase {
            Phase::Held(token) => (campaign.has_guard && campaign.stop_at() <= now).then_some(token),
            _ => None,
        };
        let due: Vec<(String, u64)> = self
            .campaigns
            .iter()
            .filter_map(|(office, campaign)| Some((office.clone(), must_stop(campaign)?)))
            .collect();
        for (office, token) in due {
            self.begin_stop(&office, token, EndReason::DeadlinePassed, &mut updates);
        }
        let is_resigned = |campaign: &Campaign| campaign.is_running() && campaign.deadline.get() <= now;
        let over: Vec<String> = self
            .campaigns
            .iter()
            .filter(|(_, campaign)| is_resigned(campaign))
            .map(|(office, _)| office.clone())
            .collect();
        over.iter().for_each(|office| self.lost(office, None, EndReason::DeadlinePassed, &mut updates));
        if self.fresh_until.get() <= now {
            self.refresh_views(now, &mut updates);
        }
        if self.probe_at <= now && self.is_connected {
            self.probe(now, &mut updates);
        }
        if self.keep_alive_at <= now {
            self.keep_alive(now, &mut updates);
        }
        updates
    }

    /// When [`State::handle_time`] must be called next.
    pub(crate) fn next_deadline(&self) -> Timestamp {
        let running = self.campaigns.values().filter(|campaign| campaign.is_running());
        let next = running.map(Campaign::next_deadline).min().unwrap_or(Timestamp::NEVER);
        let is_watched = self.is_watched();
        let fresh_until = self.fresh_until.get();
        let fresh = if is_watched && fresh_until > Timestamp::ZERO { fresh_until } else { Timestamp::NEVER };
        next.min(fresh).min(if is_watched { self.probe_at } else { Timestamp::NEVER }).min(self.keep_alive_at)
    }

    /// Tells the node that this program is not frozen, often enough that one that is late harms nobody.
    pub(super) fn keep_alive(&mut self, now: Timestamp, updates: &mut Updates) {
        if let Some(ttl) = self.ttl {
            self.keep_alive_at = now + ttl / KEEP_ALIVES;
            self.expected.push_back(Expected::KeepAlive);
            updates.requests.push(Request::KeepAlive { ttl_ms: ttl.as_millis() as u64 });
        }
    }

    fn is_watched(&self) -> bool {
        self.offices.values().any(|office| office.sender.receiver_count() > 0)
    }

    pub(super) fn probe(&mut self, now: Timestamp, updates: &mut Updates) {
        let is_asked = self.expected.iter().any(|expected| matches!(expected, Expected::Probe(_)));
        self.probe_at = Timestamp::NEVER;
        if !is_asked && self.is_watched() {
            self.expected.push_back(Expected::Probe(now));
            updates.requests.push(Request::History { office: Some(PROBE_OFFICE.to_string()) });
        } else if !is_asked {
            // Without observers there is nothing to probe for; the next observer starts again.
            self.fresh_until.set(Timestamp::ZERO);
        }
    }

    /// Updates the observers: the holder is unknown unless the node answered a probe recently.
    pub(super) fn refresh_views(&mut self, now: Timestamp, updates: &mut Updates) {
        let is_fresh = self.fresh_until.get() > now;
        if !is_fresh {
            self.fresh_until.set(Timestamp::ZERO);
        }
        for office in self.offices.values() {
            let view = office.last.as_ref().filter(|_| is_fresh).map_or(LeaderView::Unknown, LeaderView::new);
            updates.views.push((Arc::clone(&office.sender), view));
        }
    }
}
