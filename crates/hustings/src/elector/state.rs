//! The state machine of an elector: its campaigns and the offices it observes. Replies of the node go in; requests and
//! updates for waiting tasks come out. It has no socket and no clock.

mod timers;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use hustings_cluster::api::{ChangeReason, Guard, Lease, OfficeStatus, Reply, Request, RequestError};
use hustings_cluster::clock::Timestamp;
use hustings_cluster::config::Mode;
use tokio::sync::{oneshot, watch};

use super::deadline::Deadline;
use super::end_reason::EndReason;
use super::observer::LeaderView;
use super::updates::{Phase, Updates};

/// A node lets one program watch at most this many offices.
const MAX_OFFICES: usize = 2_000;
/// The longest possible lease. A later deadline means that there is no lease (arbiter `none`).
const MAX_LEASE: Duration = Duration::from_secs(3600);

/// An office that this program campaigns for or holds.
#[derive(Debug)]
pub(super) struct Campaign {
    mode: Option<Mode>,
    /// The phase that the waiting tasks were last told.
    phase: Phase,
    sender: Arc<watch::Sender<Phase>>,
    deadline: Deadline,
    /// How long the lease lasts after a renewal, and how long before its deadline the program must begin to stop.
    lease: Duration,
    stop: Duration,
    /// Whether the node has acknowledged the campaign on this connection. Anything it says about the office before that
    /// belongs to an earlier campaign, which may already be over.
    is_acknowledged: bool,
    /// Whether a [`Leadership`](super::Leadership) exists for it.
    has_guard: bool,
}

/// A reply that is still outstanding. The node replies in order.
#[derive(Debug)]
enum Expected {
    Campaign(String),
    /// With the task that waits for it, if any.
    Withdrawal(Option<oneshot::Sender<()>>),
    /// A liveness probe, sent at this time.
    Probe(Timestamp),
    KeepAlive,
}

/// The state machine; see the module.
#[derive(Debug, Default)]
pub(super) struct State {
    is_connected: bool,
    expected: VecDeque<Expected>,
    campaigns: BTreeMap<String, Campaign>,
    offices: BTreeMap<String, Office>,
    /// How long a statement of the node counts.
    freshness: Duration,
    /// Until when the node's last statement counts.
    fresh_until: Deadline,
    /// When to send the next probe; never while one is outstanding.
    probe_at: Timestamp,
    /// How long the node waits for a word of this program, and what the program says of its processes.
    ttl: Option<Duration>,
    guard: Option<Guard>,
    /// When to send such a word; never before the first campaign on this connection.
    keep_alive_at: Timestamp,
}

/// An observed office.
#[derive(Debug)]
struct Office {
    last: Option<OfficeStatus>,
    sender: Arc<watch::Sender<LeaderView>>,
}

impl State {
    pub(super) fn new(freshness: Duration, ttl: Option<Duration>, guard: Option<Guard>) -> Self {
        State { freshness, ttl, guard, keep_alive_at: Timestamp::NEVER, ..State::default() }
    }

    /// Handles a new connection: asks for everything that is still wanted.
    pub(super) fn handle_connected(&mut self, now: Timestamp) -> Updates {
        self.is_connected = true;
        let mut updates = Updates::default();
        for office in self.offices.keys() {
            updates.requests.push(Request::Watch { office: Some(office.clone()) });
        }
        let waiting = self.campaigns.iter().filter(|(_, campaign)| campaign.phase == Phase::Waiting);
        let waiting: Vec<(String, Option<Mode>)> =
            waiting.map(|(office, campaign)| (office.clone(), campaign.mode)).collect();
        waiting.into_iter().for_each(|(office, mode)| self.send_campaign(office, mode, now, &mut updates));
        self.probe(now, &mut updates);
        updates
    }

    /// Handles the end of the connection. Nothing is known any more; a held office is held until its deadline at the
    /// latest.
    pub(super) fn handle_disconnected(&mut self, now: Timestamp) -> Updates {
        self.is_connected = false;
        self.expected.clear();
        self.fresh_until.set(Timestamp::ZERO);
        (self.probe_at, self.keep_alive_at) = (Timestamp::NEVER, Timestamp::NEVER);
        let mut updates = Updates::default();
        self.refresh_views(Timestamp::ZERO, &mut updates);
        for campaign in self.campaigns.values_mut() {
            campaign.is_acknowledged = false;
            match campaign.phase {
                // Without an arbiter there is no lease that could still run.
                Phase::Held(_) | Phase::Stopping(..)
                    if campaign.has_guard && campaign.deadline.get() > now + MAX_LEASE =>
                {
                    campaign.deadline.set(Timestamp::ZERO);
                    campaign.set_phase(Phase::Lost(EndReason::NodeLost), &mut updates);
                }
                Phase::Held(token) if campaign.has_guard => {
                    campaign.set_phase(Phase::Stopping(token, EndReason::NodeLost), &mut updates);
                }
                Phase::Held(_) => {
                    campaign.deadline.set(Timestamp::ZERO);
                    campaign.set_phase(Phase::Waiting, &mut updates);
                }
                _ => {}
            }
        }
        updates
    }

    /// Starts a campaign. Returns `None` if this program already campaigns for the office.
    pub(super) fn campaign(
        &mut self,
        office: &str,
        mode: Option<Mode>,
        now: Timestamp,
    ) -> Option<(watch::Receiver<Phase>, Deadline, Updates)> {
        if self.campaigns.contains_key(office) {
            return None;
        }
        let (sender, receiver) = watch::channel(Phase::Waiting);
        let deadline = Deadline::default();
        let campaign = Campaign {
            mode,
            phase: Phase::Waiting,
            sender: Arc::new(sender),
            deadline: deadline.clone(),
            lease: Duration::ZERO,
            stop: Duration::ZERO,
            is_acknowledged: false,
            has_guard: false,
        };
        self.campaigns.insert(office.to_string(), campaign);
        let mut updates = Updates::default();
        if self.is_connected {
            self.send_campaign(office.to_string(), mode, now, &mut updates);
        }
        Some((receiver, deadline, updates))
    }

    fn send_campaign(&mut self, office: String, mode: Option<Mode>, now: Timestamp, updates: &mut Updates) {
        if self.keep_alive_at == Timestamp::NEVER {
            self.keep_alive(now, updates);
        }
        self.expected.push_back(Expected::Campaign(office.clone()));
        updates.requests.push(Request::Campaign { office, mode, guard: self.guard.clone() });
    }

    /// Claims the guard of a held office. Returns `None` if the office was lost in the meantime.
    pub(super) fn take(&mut self, office: &str, now: Timestamp) -> Option<u64> {
        let campaign = self.campaigns.get_mut(office)?;
        let Phase::Held(token) = campaign.phase else { return None };
        campaign.has_guard = campaign.deadline.get() > now;
        campaign.has_guard.then_some(token)
    }

    /// Ends a campaign whose work has stopped. `waiter` is notified when the node knows; it is dropped if the node
    /// cannot be told.
    pub(super) fn withdraw(&mut self, office: &str, waiter: Option<oneshot::Sender<()>>) -> Updates {
        let mut updates = Updates::default();
        let Some(campaign) = self.campaigns.remove(office) else { return updates };
        campaign.deadline.set(Timestamp::ZERO);
        if !self.is_connected {
            return updates;
        }
        match campaign.phase {
            // The node was told when the office was lost.
            Phase::Lost(_) | Phase::Rejected(_) => updates.acknowledged.extend(waiter),
            Phase::Stopping(token, _) => {
                updates.requests.push(Request::Stopped { office: office.to_string(), token });
                self.expected.push_back(Expected::Withdrawal(None));
                self.send_withdraw(office, waiter, &mut updates);
            }
            Phase::Waiting | Phase::Held(_) => self.send_withdraw(office, waiter, &mut updates),
        }
        updates
    }

    fn send_withdraw(&mut self, office: &str, waiter: Option<oneshot::Sender<()>>, updates: &mut Updates) {
        updates.requests.push(Request::Withdraw { office: office.to_string() });
        self.expected.push_back(Expected::Withdrawal(waiter));
    }

    /// Starts to observe an office.
    pub(super) fn observe(&mut self, office: &str, now: Timestamp) -> (watch::Receiver<LeaderView>, Updates) {
        let mut updates = Updates::default();
        if let Some(known) = self.offices.get(office) {
            let receiver = known.sender.subscribe();
            if self.is_connected {
                self.probe(now, &mut updates);
            }
            return (receiver, updates);
        }
        let (sender, receiver) = watch::channel(LeaderView::Unknown);
        if self.offices.len() >= MAX_OFFICES {
            return (receiver, updates);
        }
        self.offices.insert(office.to_string(), Office { last: None, sender: Arc::new(sender) });
        if self.is_connected {
            updates.requests.push(Request::Watch { office: Some(office.to_string()) });
            self.probe(now, &mut updates);
        }
        (receiver, updates)
    }

    /// Handles a reply of the node.
    pub(super) fn handle_reply(&mut self, reply: Reply, now: Timestamp) -> Updates {
        let mut updates = self.handle_time(now);
        match reply {
            Reply::Done => self.handle_answer(Ok(()), now, &mut updates),
            // This program was silent for too long. The connection ends, and nothing was asked.
            Reply::Error(error) if error.code == "silent" => {}
            Reply::Error(error) => self.handle_answer(Err(error), now, &mut updates),
            Reply::History { .. } => self.handle_answer(Ok(()), now, &mut updates),
            Reply::Status(_)
            | Reply::Offices { .. }
            | Reply::Settings { .. }
            | Reply::Terms(_)
            | Reply::Completed { .. }
            | Reply::State { .. }
            | Reply::States { .. }
            | Reply::Metrics(_)
            | Reply::Trace(_) => {}
            Reply::Office(status) => {
                if let Some(office) = self.offices.get_mut(&status.office) {
                    office.last = Some(status);
                    self.refresh_views(now, &mut updates);
                }
            }
            Reply::Held(lease) => self.held(lease, &mut updates),
            Reply::Renewed { from } => {
                let is_held = |campaign: &&Campaign| matches!(campaign.phase, Phase::Held(_));
                for campaign in self.campaigns.values().filter(is_held).filter(|campaign| campaign.is_acknowledged) {
                    campaign.deadline.set(from + campaign.lease);
                }
            }
            Reply::Stop { office, token, reason } => self.handle_stop(&office, token, reason, &mut updates),
            Reply::Lost { office, reason: ChangeReason::ModeMismatch, .. } => {
                self.handle_mode_mismatch(&office, &mut updates)
            }
            Reply::Lost { office, token, reason } => {
                self.lost(&office, Some(token), EndReason::Revoked(reason), &mut updates)
            }
        }
        updates
    }

    /// Handles the reply to the oldest outstanding request.
    fn handle_answer(&mut self, answer: Result<(), RequestError>, now: Timestamp, updates: &mut Updates) {
        match self.expected.pop_front() {
            None => {}
            Some(Expected::Withdrawal(waiter)) => updates.acknowledged.extend(waiter),
            Some(Expected::KeepAlive) => {}
            Some(Expected::Probe(asked)) => {
                // The node was alive when the probe was sent, and everything it said before has been received by now.
                self.fresh_until.set(asked + self.freshness);
                self.probe_at = asked + self.freshness / 3;
                self.refresh_views(now, updates);
            }
            Some(Expected::Campaign(office)) => {
                // If the campaign is gone, its withdrawal is on the way.
                let Some(campaign) = self.campaigns.get_mut(&office) else { return };
                if campaign.is_acknowledged || campaign.phase != Phase::Waiting {
                    return;
                }
                match answer {
                    Ok(()) => campaign.is_acknowledged = true,
                    Err(error) => campaign.set_phase(Phase::Rejected(error), updates),
                }
            }
        }
    }

    fn held(&mut self, Lease { office, token, deadline, lease, stop }: Lease, updates: &mut Updates) {
        let Some(campaign) = self.campaigns.get_mut(&office).filter(|campaign| campaign.is_acknowledged) else {
            return;
        };
        match campaign.phase {
            Phase::Waiting => {
                (campaign.lease, campaign.stop) = (lease, stop);
                campaign.deadline.set(deadline);
                campaign.set_phase(Phase::Held(token), updates);
            }
            Phase::Held(known) if known == token => campaign.deadline.set(deadline),
            // Granted again while a guard with an earlier token exists: nobody could act on the new token.
            Phase::Held(_) | Phase::Stopping(..) => {
                self.lost(&office, None, EndReason::Revoked(ChangeReason::Vacant), updates)
            }
            Phase::Lost(_) | Phase::Rejected(_) => {}
        }
    }

    fn handle_stop(&mut self, office: &str, token: u64, reason: ChangeReason, updates: &mut Updates) {
        if self.campaigns.get(office).is_some_and(|campaign| campaign.is_acknowledged) {
            self.begin_stop(office, token, EndReason::Revoked(reason), updates);
        }
    }

    /// The program must stop its work for an office.
    fn begin_stop(&mut self, office: &str, token: u64, reason: EndReason, updates: &mut Updates) {
        let Some(campaign) = self.campaigns.get_mut(office) else { return };
        if campaign.phase != Phase::Held(token) {
            return;
        }
        if campaign.has_guard {
            campaign.set_phase(Phase::Stopping(token, reason), updates);
        } else if self.is_connected {
            // No work has started yet.
            campaign.deadline.set(Timestamp::ZERO);
            campaign.set_phase(Phase::Waiting, updates);
            updates.requests.push(Request::Stopped { office: office.to_string(), token });
            self.expected.push_back(Expected::Withdrawal(None));
        }
    }

    /// The office has another mode than the program asked for, and the node has ended the campaign.
    fn handle_mode_mismatch(&mut self, office: &str, updates: &mut Updates) {
        let campaign = self.campaigns.get_mut(office).filter(|campaign| campaign.is_acknowledged);
        if let Some(campaign) = campaign.filter(|campaign| campaign.phase == Phase::Waiting) {
            let message = format!("the office `{office}` does not have the mode that was asked for");
            campaign.set_phase(Phase::Rejected(RequestError { code: "other-mode".to_string(), message }), updates);
        }
    }

    /// Handles the loss of an office, if its token matches; `None` matches every token.
    fn lost(&mut self, office: &str, token: Option<u64>, ending: EndReason, updates: &mut Updates) {
        let Some(campaign) = self.campaigns.get_mut(office) else { return };
        let (held, ending) = match campaign.phase {
            Phase::Held(held) => (held, ending),
            // Report what made it stop, not how it ended afterwards.
            Phase::Stopping(held, reason) => (held, reason),
            Phase::Waiting | Phase::Lost(_) | Phase::Rejected(_) => return,
        };
        if token.is_some_and(|token| token != held) {
            return;
        }
        campaign.deadline.set(Timestamp::ZERO);
        if !campaign.has_guard {
            campaign.set_phase(Phase::Waiting, updates);
            if ending == EndReason::DeadlinePassed && self.is_connected {
                // The node may have renewed the lease too late, and would wait for work that nobody does.
                updates.requests.push(Request::Stopped { office: office.to_string(), token: held });
                self.expected.push_back(Expected::Withdrawal(None));
            }
            return;
        }
        campaign.set_phase(Phase::Lost(ending), updates);
        // The campaign does not restart while the guard exists. A node that was connected later does not know about it.
        if campaign.is_acknowledged {
            self.send_withdraw(office, None, updates);
        }
    }

    /// Until when the observers' view counts.
    pub(super) fn fresh_until(&self) -> Deadline {
        self.fresh_until.clone()
    }
}

impl Campaign {
    /// When the program must begin to stop, if the lease is not renewed.
    fn stop_at(&self) -> Timestamp {
        match self.deadline.get() {
            Timestamp::NEVER => Timestamp::NEVER,
            deadline => deadline - self.stop,
        }
    }

    fn next_deadline(&self) -> Timestamp {
        match self.phase {
            Phase::Held(_) if self.has_guard => self.stop_at(),
            _ => self.deadline.get(),
        }
    }

    fn is_running(&self) -> bool {
        matches!(self.phase, Phase::Held(_) | Phase::Stopping(..))
    }

    fn set_phase(&mut self, phase: Phase, updates: &mut Updates) {
        self.phase = phase.clone();
        updates.phases.push((Arc::clone(&self.sender), phase));
    }
}

#[cfg(test)]
mod tests;
