//! What a client may do: whether it holds its office, according to what it was told, and until when.

use std::time::Duration;

use crate::clock::{self, MILLISECOND};
use crate::history::Event;
use crate::shared::Shared;

/// How often a holder of a fenced office writes.
const WRITE_INTERVAL: u64 = 4 * MILLISECOND;
/// How long a client waits at most before it checks its state.
const MAX_WAIT: u64 = 40 * MILLISECOND;

/// The client holds the office, according to what it was told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tenure {
    pub(crate) token: u64,
    /// On the machine's clock.
    pub(crate) deadline: u64,
    /// How long the lease lasts after a renewal.
    pub(crate) lease: Duration,
    writes_at: u64,
    /// When it stops, if it was asked to.
    pub(crate) stops_at: Option<u64>,
}

/// Who campaigns for what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Campaign {
    /// The client's node.
    pub(crate) node: String,
    /// The office.
    pub(crate) office: String,
    /// Whether the office is exclusive.
    pub(crate) exclusive: bool,
}

/// One client's hold on its office. Records what the client was told and what it did.
pub(crate) struct Holding<'a> {
    shared: &'a Shared,
    campaign: Campaign,
    /// The client; it has a new name on each connection or session.
    name: String,
    pub(crate) tenure: Option<Tenure>,
}

impl<'a> Holding<'a> {
    /// The client does not hold the office.
    pub(crate) fn new(shared: &'a Shared, campaign: Campaign, name: String) -> Self {
        Holding { shared, campaign, name, tenure: None }
    }

    /// The client was told that it holds the office.
    pub(crate) fn acquire(&mut self, token: u64, deadline: u64, lease: Duration, now: u64) {
        self.end("replaced");
        self.tenure = Some(Tenure { token, deadline, lease, writes_at: now, stops_at: None });
        let Campaign { node, office, exclusive } = self.campaign.clone();
        let client = self.name.clone();
        self.shared.recorder.record(&Event::Acquired { node, client, office, exclusive, token, from: now, deadline });
    }

    /// The client was told that it may act until this deadline, unless it was told to stop before.
    pub(crate) fn renew(&mut self, deadline: u64, now: u64) {
        let Some(tenure) = self.tenure.as_mut().filter(|tenure| tenure.stops_at.is_none()) else { return };
        tenure.deadline = tenure.deadline.max(deadline);
        self.shared.recorder.record(&Event::Renewed {
            client: self.name.clone(),
            office: self.campaign.office.clone(),
            token: tenure.token,
            at: now,
            deadline,
        });
    }

    /// Whether it was asked to stop, and has to by now.
    pub(crate) fn has_to_stop(&self, now: u64) -> bool {
        self.tenure.is_some_and(|tenure| tenure.stops_at.is_some_and(|at| at <= now))
    }

    /// Writes, if the client holds a fenced office and a write is due.
    pub(crate) fn act(&mut self, now: u64) {
        if let Some(tenure) = &mut self.tenure
            && !self.campaign.exclusive
            && now >= tenure.writes_at
            && now < tenure.deadline
        {
            tenure.writes_at = now + WRITE_INTERVAL;
            self.shared.store.write(&self.name, &self.campaign.office, tenure.token);
        }
    }

    /// When the client has something to do, apart from reading replies.
    pub(crate) fn next(&self, now: u64) -> u64 {
        let mut next = now + MAX_WAIT;
        if let Some(tenure) = &self.tenure {
            if !self.campaign.exclusive && now < tenure.deadline {
                next = next.min(tenure.writes_at);
            }
            next = next.min(tenure.stops_at.unwrap_or(u64::MAX));
        }
        next
    }

    /// Stops acting in the office. Returns the token it held.
    pub(crate) fn end(&mut self, why: &str) -> Option<u64> {
        let tenure = self.tenure.take()?;
        self.shared.recorder.record(&Event::Released {
            client: self.name.clone(),
            office: self.campaign.office.clone(),
            token: tenure.token,
            at: clock::now(),
            why: why.to_string(),
        });
        Some(tenure.token)
    }

    /// Acts until the deadline, without hearing anything more.
    pub(crate) fn act_until_deadline(&mut self) {
        while let Some(tenure) = self.tenure {
            let now = clock::now();
            self.act(now);
            if now >= tenure.deadline {
                self.tenure = None;
            } else if self.shared.is_over() {
                self.end("over");
            } else {
                let wait = self.next(now).min(tenure.deadline).saturating_sub(now);
                std::thread::sleep(Duration::from_nanos(wait));
            }
        }
    }
}

/// What happened to holdings, a few words each.
#[cfg(test)]
pub(crate) fn summary(events: &[Event]) -> Vec<String> {
    let name = |event: &Event| match event {
        Event::Acquired { client, token, .. } => Some(format!("{client} acquired {token}")),
        Event::Renewed { token, .. } => Some(format!("renewed {token}")),
        Event::Released { token, why, .. } => Some(format!("{why} {token}")),
        _ => None,
    };
    events.iter().filter_map(name).collect()
}
