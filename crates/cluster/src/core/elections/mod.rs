//! Who *should* lead: one election per set of candidates, shared by all offices that have this set.
//!
//! Inputs are the candidacies that members announce, the view, messages and timers of the elections. Outputs are the
//! offices whose elected leader may have changed ([`Elections::poll_changed`]).

mod candidates;

use std::collections::{BTreeMap, BTreeSet};

use hustings_protocol::Id;

pub(super) use self::candidates::Candidates;
use self::candidates::Group;
use super::context::Context;
use super::liveness::Liveness;
use super::normalise::Normalise;
use super::table::OfficeName;
use crate::clock::Timestamp;
use crate::election::{Action, Election, SharedState, TimerToken, key};
use crate::faults::Rule;
use crate::member::MemberRank;
use crate::wire::{Candidacy, Message};

/// How many elections are kept although no office needs them at the moment.
const MAX_IDLE_ELECTIONS: usize = 64;

/// Why elections are started. Of several causes, the greatest counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum ElectionCause {
    /// The candidates of an office changed.
    Candidates,
    /// A connection was interrupted, and messages of an election may be lost.
    Connection,
    /// A member came up or went down, or its rank changed.
    Members,
    /// This node started.
    Start,
}

impl ElectionCause {
    /// All causes, in order.
    pub(super) const ALL: [ElectionCause; 4] =
        [ElectionCause::Candidates, ElectionCause::Connection, ElectionCause::Members, ElectionCause::Start];

    /// The name of the cause.
    pub(super) fn name(self) -> &'static str {
        match self {
            ElectionCause::Candidates => "candidates",
            ElectionCause::Connection => "connection",
            ElectionCause::Members => "members",
            ElectionCause::Start => "start",
        }
    }
}

/// A running election and its candidates.
#[derive(Clone, PartialEq, Eq, Hash)]
struct RunningElection {
    election: Election,
    candidates: Vec<MemberRank>,
}

/// A timer of an election: when it is due, the key of the election, and its token.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct ScheduledTimer(Timestamp, u64, TimerToken);

/// All elections that this node takes part in.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Elections {
    own: Id,
    candidates: Candidates,
    shared: SharedState,
    running: BTreeMap<u64, RunningElection>,
    /// How often each timer was set.
    timers: BTreeMap<ScheduledTimer, u32>,
    /// The key of each group's election, and the leader that was last reported for the group.
    elected: BTreeMap<Group, (u64, Option<Id>)>,
    /// Why the elections must be determined again, apart from candidacies that changed.
    stale: Option<ElectionCause>,
    /// Elections in which something happened since the leaders were last compared.
    touched: BTreeSet<u64>,
    changed: BTreeSet<OfficeName>,
    actions: Vec<Action>,
}

impl Elections {
    pub(super) fn new(own: Id, shared: SharedState, health: u8) -> Self {
        Elections {
            own,
            candidates: Candidates::new(own, health),
            shared,
            running: BTreeMap::new(),
            timers: BTreeMap::new(),
            elected: BTreeMap::new(),
            stale: Some(ElectionCause::Start),
            touched: BTreeSet::new(),
            changed: BTreeSet::new(),
            actions: Vec::new(),
        }
    }

    pub(super) fn candidates(&self) -> &Candidates {
        &self.candidates
    }

    /// Makes this node a candidate for an office, or no longer.
    pub(super) fn set_candidate(&mut self, office: &OfficeName, is_candidate: bool) {
        self.candidates.set_own(office, is_candidate);
    }

    /// A member announced a change of its candidacies.
    pub(super) fn handle_candidacy(&mut self, from: Id, candidacy: Candidacy, context: &mut Context<'_>) {
        self.candidates.handle_candidacy(from, candidacy, context);
    }

    /// The coordinator told which versions of the candidacies it knows.
    pub(super) fn handle_versions(&mut self, from: Id, versions: &[(Id, u64)], context: &mut Context<'_>) {
        self.candidates.handle_versions(from, versions, context);
    }

    /// A member asks for this node's whole list, or has just connected.
    pub(super) fn send_candidacy(&mut self, to: Id, context: &mut Context<'_>) {
        self.candidates.send_list(to, context);
    }

    /// Announces what changed about this node.
    pub(super) fn announce(&mut self, health: u8, disk_fails: bool, is_coordinator: bool, context: &mut Context<'_>) {
        self.candidates.announce(health, disk_fails, context);
        if is_coordinator {
            self.candidates.send_versions(context);
        }
    }

    /// A peer's process is another one than before.
    pub(super) fn handle_incarnation(&mut self, id: Id, incarnation: u64) {
        self.candidates.handle_incarnation(id, incarnation);
    }

    /// A member was removed from the cluster.
    pub(super) fn forget(&mut self, id: Id) {
        self.candidates.forget(id);
    }

    /// The next candidacy that changed: whose, and for which office.
    pub(super) fn poll_candidacy_change(&mut self) -> Option<(Id, OfficeName)> {
        self.candidates.poll_change()
    }

    /// The view or somebody's rank changed.
    pub(super) fn handle_view_change(&mut self) {
        self.stale = self.stale.max(Some(ElectionCause::Members));
    }

    /// A connection to a peer was lost or replaced: messages of its elections may be lost.
    pub(super) fn handle_interruption(&mut self, id: Id) {
        self.shared.handle_disconnect(id);
        self.stale = self.stale.max(Some(ElectionCause::Connection));
    }

    /// A message of an election arrived.
    pub(super) fn handle_message(&mut self, from: Id, key: u64, bytes: &[u8], context: &mut Context<'_>) {
        let is_misdirected = context.settings.disabled_rules.contains(Rule::StaleRuns);
        let key = if is_misdirected { self.misdirect(key, bytes) } else { key };
        let result = match self.running.get_mut(&key) {
            Some(running) if running.candidates.iter().any(|one| one.id == from) => {
                running.election.handle_message(from, bytes, &mut self.shared, &mut self.actions)
            }
            Some(_) => Ok(()),
            None => self.shared.buffer(key, from, bytes),
        };
        if result.is_err() {
            context.increment("invalid-election-messages");
        }
        self.execute_actions(key, context);
    }

    /// Fires the timers that are due.
    pub(super) fn handle_timeout(&mut self, context: &mut Context<'_>) {
        while let Some(first) = self.timers.first_entry().filter(|first| first.key().0 <= context.now) {
            let (ScheduledTimer(_, key, token), count) = first.remove_entry();
            for _ in 0..count {
                if let Some(running) = self.running.get_mut(&key) {
                    running.election.handle_timer(token, &mut self.shared, &mut self.actions);
                }
                self.execute_actions(key, context);
            }
        }
    }

    /// When the next timer or announcement is due.
    pub(super) fn poll_timeout(&self, is_coordinator: bool) -> Timestamp {
        let timer = self.timers.first_key_value().map_or(Timestamp::NEVER, |(ScheduledTimer(at, ..), _)| *at);
        timer.min(self.candidates.next_timeout(is_coordinator))
    }

    /// Starts elections that are new and drops those that are invalid, then reports offices whose leader changed.
    pub(super) fn refresh(&mut self, context: &mut Context<'_>) {
        let moved = self.candidates.take_moved();
        let stale = self.stale.take();
        if stale.is_some() || !moved.is_empty() {
            self.determine_elections(stale.unwrap_or(ElectionCause::Candidates), context);
        }
        self.changed.extend(moved);
        if !self.touched.is_empty() {
            self.compare_leaders();
        }
    }

    fn determine_elections(&mut self, cause: ElectionCause, context: &mut Context<'_>) {
        let has_view_changed = cause != ElectionCause::Candidates;
        let mut elected = BTreeMap::new();
        let mut needed: BTreeMap<u64, Vec<MemberRank>> = BTreeMap::new();
        for (group, _) in self.candidates.groups() {
            let candidates = live_candidates(group, context.liveness);
            let key = key(&candidates);
            elected.insert(group.clone(), (key, self.elected.get(group).and_then(|(_, leader)| *leader)));
            needed.entry(key).or_insert(candidates);
        }
        self.elected = elected;
        let shared = &self.shared;
        // An election that no office needs any more may be needed again soon, while many offices come into being. It is
        // kept until the view or somebody's rank changes.
        let mut idle = 0;
        self.running.retain(|key, running| {
            let is_needed = needed.contains_key(key);
            idle += usize::from(!is_needed);
            let is_kept = is_needed || (!has_view_changed && idle <= MAX_IDLE_ELECTIONS);
            is_kept && !running.election.is_interrupted(shared)
        });
        for (key, candidates) in needed {
            self.touched.insert(key);
            if self.running.contains_key(&key) {
                continue;
            }
            let choice = &context.settings.algorithm;
            let started = Election::start(choice, self.own, &candidates, &mut self.shared, &mut self.actions);
            // The algorithm was checked when the node started. A candidate list that it cannot handle has no election,
            // and thus no leader.
            if let Ok(election) = started {
                context.out.metrics.count_election(cause);
                self.running.insert(key, RunningElection { election, candidates });
            }
            self.execute_actions(key, context);
        }
    }

    /// Reports the offices of groups whose elected leader changed.
    fn compare_leaders(&mut self) {
        let touched = std::mem::take(&mut self.touched);
        for (group, (key, reported)) in self.elected.iter_mut().filter(|(_, (key, _))| touched.contains(key)) {
            let leader = self.running.get(key).and_then(|running| running.election.leader());
            if leader != *reported {
                *reported = leader;
                self.changed.extend(self.candidates.offices_in(group).cloned());
            }
        }
    }

    /// Carries out the actions of an election.
    fn execute_actions(&mut self, key: u64, context: &mut Context<'_>) {
        self.touched.insert(key);
        for action in std::mem::take(&mut self.actions) {
            match action {
                Action::Send { to, bytes } => context.send(to, Message::Election { key, bytes }),
                Action::SetTimer { ticks, token } => {
                    let ticks = u32::try_from(ticks).unwrap_or(u32::MAX);
                    let at = context.now + context.settings.timing.tick.saturating_mul(ticks);
                    *self.timers.entry(ScheduledTimer(at, key, token)).or_default() += 1;
                }
            }
        }
    }

    /// The next office whose elected leader may have changed.
    pub(super) fn poll_changed(&mut self) -> Option<OfficeName> {
        self.changed.pop_first()
    }

    /// The leader that the election for an office has elected, if this node is a candidate for it.
    pub(super) fn elected(&self, office: &str) -> Option<Id> {
        let (key, _) = self.elected.get(self.candidates.group(office)?)?;
        self.running.get(key).and_then(|running| running.election.leader())
    }

    /// Test only: delivers a message of an earlier election to the current one. Messages of running and of future
    /// elections keep their key.
    fn misdirect(&self, key: u64, bytes: &[u8]) -> u64 {
        match self.running.first_key_value() {
            Some((current, _)) if !self.running.contains_key(&key) && self.shared.is_stale(key, bytes) => *current,
            _ => key,
        }
    }
}

impl Normalise for Elections {
    fn normalise(&mut self, now: Timestamp) {
        let Elections {
            candidates,
            timers,
            own: _,
            shared: _,
            running: _,
            elected: _,
            stale: _,
            touched: _,
            changed: _,
            actions: _,
        } = self;
        candidates.normalise(now);
        let scheduled = std::mem::take(timers).into_iter().map(|(ScheduledTimer(mut at, key, token), count)| {
            at.normalise(now);
            (ScheduledTimer(at, key, token), count)
        });
        *timers = scheduled.collect();
    }
}

/// The candidates of a group that are in the view, ascending by id. This node is always one of them.
fn live_candidates(group: &Group, liveness: &Liveness) -> Vec<MemberRank> {
    let is_live = |id: &&Id| **id == liveness.own() || (liveness.is_in_view(**id) && liveness.is_up(**id));
    group.iter().filter(is_live).map(|&id| liveness.rank(id)).collect()
}
