//! What an elector knows of its campaigns and of the offices it observes: what the node says goes in, requests and news
//! for waiting tasks come out. No socket and no clock in here.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hustings_cluster::api::{Cause, Holding, OfficeStatus, Refusal, Reply, Request};
use hustings_cluster::clock::Moment;
use hustings_cluster::config::Mode;
use tokio::sync::{oneshot, watch};

use super::ending::Ending;
use super::news::{News, Phase};
use super::observer::Sighting;

/// An office that no cluster can have: asking for its history costs the node next to nothing.
const NOWHERE: &str = "-";

/// A node refuses to show more than this to one program, by name.
const MAX_OFFICES: usize = 2_000;
/// No lease is longer; what ends later does not end by itself.
const MAX_LEASE: Duration = Duration::from_secs(3600);

/// Until when something holds: read without a lock whenever somebody wants to know.
#[derive(Clone, Debug, Default)]
pub(super) struct Deadline(Arc<AtomicU64>);

impl Deadline {
    pub(super) fn get(&self) -> Moment {
        Moment(self.0.load(Ordering::Acquire))
    }

    fn set(&self, moment: Moment) {
        self.0.store(moment.0, Ordering::Release);
    }
}

/// An office that this program wants or holds.
#[derive(Debug)]
pub(super) struct Campaign {
    mode: Option<Mode>,
    /// What was last told to whoever waits.
    phase: Phase,
    told: Arc<watch::Sender<Phase>>,
    deadline: Deadline,
    /// Whether the node has heard of it, on this connection. What it says of the office before that is of an earlier
    /// campaign, which it may have ended already.
    is_known: bool,
    /// Whether somebody has the guard.
    is_taken: bool,
}

/// An answer that is to come: the node gives them in order.
#[derive(Debug)]
enum Expected {
    Campaign(String),
    /// And who waits for it.
    Withdrawal(Option<oneshot::Sender<()>>),
    /// That the node lives, as of this moment.
    Life(Moment),
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct State {
    is_connected: bool,
    expected: VecDeque<Expected>,
    campaigns: BTreeMap<String, Campaign>,
    offices: BTreeMap<String, Office>,
    /// For how long what the node said counts.
    freshness: Duration,
    /// Until when it does.
    fresh_until: Deadline,
    /// When the node is asked again whether it lives; never while it has not answered.
    ask_at: Moment,
}

/// An office that is observed.
#[derive(Debug)]
struct Office {
    last: Option<OfficeStatus>,
    told: Arc<watch::Sender<Sighting>>,
}

impl State {
    pub(super) fn new(freshness: Duration) -> Self {
        State { freshness, ..State::default() }
    }

    /// There is a connection: everything that is wanted is asked for.
    pub(super) fn connected(&mut self, now: Moment) -> News {
        self.is_connected = true;
        let mut news = News::default();
        for office in self.offices.keys() {
            news.requests.push(Request::Watch { office: Some(office.clone()) });
        }
        let waiting = self.campaigns.iter().filter(|(_, campaign)| campaign.phase == Phase::Waiting);
        for (office, campaign) in waiting {
            self.expected.push_back(Expected::Campaign(office.clone()));
            news.requests.push(Request::Campaign { office: office.clone(), mode: campaign.mode });
        }
        self.ask_for_life(now, &mut news);
        news
    }

    /// The connection has ended. Nothing is known any more; what is held, is held to its deadline at the latest.
    pub(super) fn disconnected(&mut self, now: Moment) -> News {
        self.is_connected = false;
        self.expected.clear();
        self.fresh_until.set(Moment::ZERO);
        self.ask_at = Moment::NEVER;
        let mut news = News::default();
        self.show_all(Moment::ZERO, &mut news);
        for campaign in self.campaigns.values_mut() {
            campaign.is_known = false;
            match campaign.phase {
                // Without an arbiter there is no lease to wait for.
                Phase::Held(_) | Phase::Stopping(..)
                    if campaign.is_taken && campaign.deadline.get() > now + MAX_LEASE =>
                {
                    campaign.deadline.set(Moment::ZERO);
                    campaign.turn(Phase::Lost(Ending::NodeGone), &mut news);
                }
                Phase::Held(token) if campaign.is_taken => {
                    campaign.turn(Phase::Stopping(token, Ending::NodeGone), &mut news);
                }
                Phase::Held(_) => {
                    campaign.deadline.set(Moment::ZERO);
                    campaign.turn(Phase::Waiting, &mut news);
                }
                _ => {}
            }
        }
        news
    }

    /// Somebody wants an office. Nothing if somebody in this program does already.
    pub(super) fn campaign(
        &mut self,
        office: &str,
        mode: Option<Mode>,
    ) -> Option<(watch::Receiver<Phase>, Deadline, News)> {
        if self.campaigns.contains_key(office) {
            return None;
        }
        let (told, receiver) = watch::channel(Phase::Waiting);
        let deadline = Deadline::default();
        let campaign = Campaign {
            mode,
            phase: Phase::Waiting,
            told: Arc::new(told),
            deadline: deadline.clone(),
            is_known: false,
            is_taken: false,
        };
        self.campaigns.insert(office.to_string(), campaign);
        let mut news = News::default();
        if self.is_connected {
            self.expected.push_back(Expected::Campaign(office.to_string()));
            news.requests.push(Request::Campaign { office: office.to_string(), mode });
        }
        Some((receiver, deadline, news))
    }

    /// The guard of what is held goes to whoever campaigned; nothing if it was lost meanwhile.
    pub(super) fn take(&mut self, office: &str, now: Moment) -> Option<u64> {
        let campaign = self.campaigns.get_mut(office)?;
        let Phase::Held(token) = campaign.phase else { return None };
        campaign.is_taken = campaign.deadline.get() > now;
        campaign.is_taken.then_some(token)
    }

    /// Nobody wants the office any more, and the work for it has stopped. Whoever waits is told when the node knows;
    /// its sender is dropped if the node cannot be told.
    pub(super) fn withdraw(&mut self, office: &str, waits: Option<oneshot::Sender<()>>) -> News {
        let mut news = News::default();
        let Some(campaign) = self.campaigns.remove(office) else { return news };
        campaign.deadline.set(Moment::ZERO);
        if !self.is_connected {
            return news;
        }
        match campaign.phase {
            // The node was told when it was lost.
            Phase::Lost(_) | Phase::Refused(_) => news.acknowledged.extend(waits),
            Phase::Stopping(token, _) => {
                news.requests.push(Request::Stopped { office: office.to_string(), token });
                self.expected.push_back(Expected::Withdrawal(None));
                self.say_withdrawn(office, waits, &mut news);
            }
            Phase::Waiting | Phase::Held(_) => self.say_withdrawn(office, waits, &mut news),
        }
        news
    }

    fn say_withdrawn(&mut self, office: &str, waits: Option<oneshot::Sender<()>>, news: &mut News) {
        news.requests.push(Request::Withdraw { office: office.to_string() });
        self.expected.push_back(Expected::Withdrawal(waits));
    }

    /// Somebody wants to know who holds an office.
    pub(super) fn observe(&mut self, office: &str, now: Moment) -> (watch::Receiver<Sighting>, News) {
        let mut news = News::default();
        if let Some(known) = self.offices.get(office) {
            let receiver = known.told.subscribe();
            if self.is_connected {
                self.ask_for_life(now, &mut news);
            }
            return (receiver, news);
        }
        let (told, receiver) = watch::channel(Sighting::Unknown);
        if self.offices.len() >= MAX_OFFICES {
            return (receiver, news);
        }
        self.offices.insert(office.to_string(), Office { last: None, told: Arc::new(told) });
        if self.is_connected {
            news.requests.push(Request::Watch { office: Some(office.to_string()) });
            self.ask_for_life(now, &mut news);
        }
        (receiver, news)
    }

    /// The node says something.
    pub(super) fn heard(&mut self, reply: Reply, now: Moment) -> News {
        let mut news = self.passed(now);
        match reply {
            Reply::Done => self.answered(Ok(()), now, &mut news),
            Reply::Refused(refusal) => self.answered(Err(refusal), now, &mut news),
            Reply::History { .. } => self.answered(Ok(()), now, &mut news),
            Reply::Status(_) => {}
            Reply::Office(status) => {
                if let Some(office) = self.offices.get_mut(&status.office) {
                    office.last = Some(status);
                    self.show_all(now, &mut news);
                }
            }
            Reply::Held(holding) => self.held(holding, &mut news),
            Reply::Renewed(Holding { office, token, deadline }) => {
                let campaign = self.campaigns.get(&office).filter(|campaign| campaign.is_known);
                if let Some(campaign) = campaign.filter(|campaign| campaign.phase == Phase::Held(token)) {
                    campaign.deadline.set(deadline);
                }
            }
            Reply::Stop { office, token, why } => self.asked_to_stop(&office, token, why, &mut news),
            Reply::Lost { office, why: Cause::OtherMode, .. } => self.unfit(&office, &mut news),
            Reply::Lost { office, token, why } => self.lost(&office, Some(token), Ending::Told(why), &mut news),
        }
        news
    }

    /// An answer to what was asked first of what is not answered yet.
    fn answered(&mut self, answer: Result<(), Refusal>, now: Moment, news: &mut News) {
        match self.expected.pop_front() {
            None => {}
            Some(Expected::Withdrawal(waits)) => news.acknowledged.extend(waits),
            Some(Expected::Life(asked)) => {
                // The node lived when it was asked, at least; all that it said before has been heard by now.
                self.fresh_until.set(asked + self.freshness);
                self.ask_at = asked + self.freshness / 3;
                self.show_all(now, news);
            }
            Some(Expected::Campaign(office)) => {
                // If it is gone, a withdrawal is under way.
                let Some(campaign) = self.campaigns.get_mut(&office) else { return };
                if campaign.is_known || campaign.phase != Phase::Waiting {
                    return;
                }
                match answer {
                    Ok(()) => campaign.is_known = true,
                    Err(refusal) => campaign.turn(Phase::Refused(refusal), news),
                }
            }
        }
    }

    fn held(&mut self, Holding { office, token, deadline }: Holding, news: &mut News) {
        let Some(campaign) = self.campaigns.get_mut(&office).filter(|campaign| campaign.is_known) else { return };
        match campaign.phase {
            Phase::Waiting => {
                campaign.deadline.set(deadline);
                campaign.turn(Phase::Held(token), news);
            }
            Phase::Held(known) if known == token => campaign.deadline.set(deadline),
            // Held anew, while the guard of an earlier token is still there: nobody could act on it.
            Phase::Held(_) | Phase::Stopping(..) => self.lost(&office, None, Ending::Told(Cause::Vacant), news),
            Phase::Lost(_) | Phase::Refused(_) => {}
        }
    }

    fn asked_to_stop(&mut self, office: &str, token: u64, why: Cause, news: &mut News) {
        let Some(campaign) = self.campaigns.get_mut(office).filter(|campaign| campaign.is_known) else { return };
        if campaign.phase != Phase::Held(token) {
            return;
        }
        if campaign.is_taken {
            campaign.turn(Phase::Stopping(token, Ending::Told(why)), news);
        } else {
            // Nobody has begun to work.
            campaign.deadline.set(Moment::ZERO);
            campaign.turn(Phase::Waiting, news);
            news.requests.push(Request::Stopped { office: office.to_string(), token });
            self.expected.push_back(Expected::Withdrawal(None));
        }
    }

    /// An office turned out to be of the other kind when the node was granted it: the node has ended the campaign.
    fn unfit(&mut self, office: &str, news: &mut News) {
        let campaign = self.campaigns.get_mut(office).filter(|campaign| campaign.is_known);
        if let Some(campaign) = campaign.filter(|campaign| campaign.phase == Phase::Waiting) {
            let message = format!("the office `{office}` is not of the kind that was asked for");
            campaign.turn(Phase::Refused(Refusal { code: "other-mode".to_string(), message }), news);
        }
    }

    /// An office is lost: with this token, or whatever the token is.
    fn lost(&mut self, office: &str, token: Option<u64>, ending: Ending, news: &mut News) {
        let Some(campaign) = self.campaigns.get_mut(office) else { return };
        let (held, ending) = match campaign.phase {
            Phase::Held(held) => (held, ending),
            // What made it stop is the reason, not that it then ended.
            Phase::Stopping(held, why) => (held, why),
            Phase::Waiting | Phase::Lost(_) | Phase::Refused(_) => return,
        };
        if token.is_some_and(|token| token != held) {
            return;
        }
        campaign.deadline.set(Moment::ZERO);
        if !campaign.is_taken {
            campaign.turn(Phase::Waiting, news);
            if ending == Ending::Deadline && self.is_connected {
                // The node may have renewed it too late for us, and would wait for work that nobody does.
                news.requests.push(Request::Stopped { office: office.to_string(), token: held });
                self.expected.push_back(Expected::Withdrawal(None));
            }
            return;
        }
        campaign.turn(Phase::Lost(ending), news);
        // Nobody takes it up again before the guard is gone. A node that was met later knows nothing of it.
        if campaign.is_known {
            self.say_withdrawn(office, None, news);
        }
    }

    /// Time has passed: what was not renewed is lost, what was not confirmed is unknown.
    pub(super) fn passed(&mut self, now: Moment) -> News {
        let mut news = News::default();
        let is_over = |campaign: &Campaign| campaign.is_running() && campaign.deadline.get() <= now;
        let over: Vec<String> =
            self.campaigns.iter().filter(|(_, campaign)| is_over(campaign)).map(|(office, _)| office.clone()).collect();
        over.iter().for_each(|office| self.lost(office, None, Ending::Deadline, &mut news));
        if self.fresh_until.get() <= now {
            self.show_all(now, &mut news);
        }
        if self.ask_at <= now && self.is_connected {
            self.ask_for_life(now, &mut news);
        }
        news
    }

    /// When [`State::passed`] has something to do.
    pub(super) fn due(&self) -> Moment {
        let running = self.campaigns.values().filter(|campaign| campaign.is_running());
        let next = running.map(|campaign| campaign.deadline.get()).min().unwrap_or(Moment::NEVER);
        let is_watched = self.is_watched();
        let fresh_until = self.fresh_until.get();
        let fresh = if is_watched && fresh_until > Moment::ZERO { fresh_until } else { Moment::NEVER };
        next.min(fresh).min(if is_watched { self.ask_at } else { Moment::NEVER })
    }

    fn is_watched(&self) -> bool {
        self.offices.values().any(|office| office.told.receiver_count() > 0)
    }

    fn ask_for_life(&mut self, now: Moment, news: &mut News) {
        let is_asked = self.expected.iter().any(|expected| matches!(expected, Expected::Life(_)));
        self.ask_at = Moment::NEVER;
        if !is_asked && self.is_watched() {
            self.expected.push_back(Expected::Life(now));
            news.requests.push(Request::History { office: Some(NOWHERE.to_string()) });
        } else if !is_asked {
            // Nobody watches: the next observer asks.
            self.fresh_until.set(Moment::ZERO);
        }
    }

    /// Shows observers how things are: unknown, unless the node was heard of lately.
    fn show_all(&mut self, now: Moment, news: &mut News) {
        let is_fresh = self.fresh_until.get() > now;
        if !is_fresh {
            self.fresh_until.set(Moment::ZERO);
        }
        for office in self.offices.values() {
            let shown = office.last.as_ref().filter(|_| is_fresh).map_or(Sighting::Unknown, Sighting::of);
            news.sightings.push((Arc::clone(&office.told), shown));
        }
    }

    /// Until when what observers are shown counts.
    pub(super) fn fresh_until(&self) -> Deadline {
        self.fresh_until.clone()
    }
}

impl Campaign {
    fn is_running(&self) -> bool {
        matches!(self.phase, Phase::Held(_) | Phase::Stopping(..))
    }

    fn turn(&mut self, phase: Phase, news: &mut News) {
        self.phase = phase.clone();
        news.phases.push((Arc::clone(&self.told), phase));
    }
}

#[cfg(test)]
mod tests;
