//! One turn of the core: what passes between its parts, and in which order.
//!
//! An input goes to the part that it concerns. Then the parts exchange values until none has anything left to say:
//!
//! 1. *Liveness* → arbiter, elections, claims, coordinator: who connected, came up or went down. Liveness comes first,
//!    because everything else depends on it, and a lost coordinator must be noticed before anything is sent to it.
//! 2. *Time* → elections, arbiter: timers and heartbeats that are due.
//! 3. *Arbiter* → everybody: what was decided. Local leases learn first that they lost an office.
//! 4. Messages of this node to itself, as if a peer had sent them.
//! 5. *Local leases* → elections: for which offices this node is a candidate; → claims, requests: what it holds.
//! 6. *Liveness* → elections: the view. *Elections* → claims (or, without an arbiter, → arbiter): who is elected.
//! 7. *Claims* → coordinator, by a message. *Coordinator* → arbiter: changes to decide.
//!
//! At the end, requests are answered from a state in which all parts agree, and the next timeout is determined. The
//! work of a turn is bounded: what is left over continues at once in the next turn, after other events.

mod events;

use std::time::Duration;

use super::arbiter::Elected;
use super::parts::Parts;
use super::table::Holder;
use super::{Core, Exit, Output};
use crate::clock::Timestamp;
use crate::member::Role;
use crate::wire::{Claim, Message};

/// How often the parts exchange values in one turn before other events get their turn.
const MAX_EXCHANGES: usize = 16;
/// How many offices whose elected leader changed are looked at in one turn.
const MAX_RESULTS: usize = 256;
/// How many offices the coordinator evaluates in one turn.
const MAX_EVALUATIONS: usize = 128;
/// After how long a node says for which members a new cluster waits.
const FOUNDING_PATIENCE: Duration = Duration::from_secs(1);

/// What a turn may still do. The rest waits for the next one, so that other events, and what renews leases, get their
/// turn.
struct Left {
    results: usize,
    evaluations: usize,
}

impl Core {
    /// The first turn.
    pub(super) fn start(&mut self) {
        self.members_changed(&[]);
        self.turn();
    }

    /// A turn. See the module's documentation.
    pub(super) fn turn(&mut self) {
        // The coordinator comes first: it determines with whom this node exchanges heartbeats, and thus whose silence
        // counts.
        self.observe_coordinator();
        let listened_until = self.listened_until.unwrap_or(self.now);
        self.liveness.handle_timeout(self.arbiter.coordinator(), &self.settings.timing, listened_until, self.now);
        self.pass_liveness_events();
        let (parts, mut context) = self.split();
        parts.elections.handle_timeout(&mut context);
        self.heartbeat_if_due();
        let (mut parts, mut context) = self.split();
        let (requests, mut known) = parts.requests();
        requests.confirm_reads(&mut known, &mut context);
        let mut is_unfinished = true;
        let mut left = Left { results: MAX_RESULTS, evaluations: MAX_EVALUATIONS };
        for _ in 0..MAX_EXCHANGES {
            is_unfinished = self.exchange(&mut left);
            if !is_unfinished {
                break;
            }
        }
        let (mut parts, mut context) = self.split();
        let (coordinator, known) = parts.coordinator();
        is_unfinished |= coordinator.has_work(&known);
        is_unfinished |= !parts.progress.results.is_empty();
        let (requests, mut known) = parts.requests();
        requests.process(&mut known, &mut context);
        is_unfinished |= !self.out.to_self.is_empty();
        self.leave_if_done();
        self.set_timeout(is_unfinished);
    }

    /// Lets the parts exchange values once. Returns whether there may be more.
    fn exchange(&mut self, left: &mut Left) -> bool {
        let (parts, mut context) = self.split();
        let mut has_more = parts.arbiter.process(&mut context);
        has_more |= self.pass_arbiter_events();
        self.observe_coordinator();
        while let Some(message) = self.out.to_self.pop_front() {
            has_more = true;
            self.dispatch_to_part(self.settings.own, message);
        }
        has_more |= self.pass_liveness_events();
        self.update_leases();
        self.update_candidacies();
        self.refresh_view();
        self.pass_election_results(&mut left.results);
        let (mut parts, mut context) = self.split();
        let (coordinator, epoch) = (parts.arbiter.coordinator(), parts.arbiter.epoch());
        parts.claims.send(coordinator, epoch, &mut context);
        while let Some((id, office)) = parts.elections.poll_candidacy_change() {
            let _ = id;
            parts.coordinator.handle_candidacy_change(&office);
        }
        let (coordinator, mut known) = parts.coordinator();
        coordinator.evaluate(&mut left.evaluations, &mut known, &mut context);
        // What was submitted must leave in this turn.
        has_more |= parts.arbiter.process(&mut context);
        has_more || !self.out.to_self.is_empty()
    }

    /// Compares the leases with the table and the clock.
    fn update_leases(&mut self) {
        let (mut parts, mut context) = self.split();
        let (local_leases, known) = parts.local_leases();
        local_leases.update(&known, &mut context);
        for office in parts.local_leases.take_changed() {
            parts.requests.handle_office_change(&office);
            parts.progress.results.insert(office);
        }
        let settings = context.settings;
        let has_time = settings.stop_at(parts.arbiter.confirmed_at(), settings.timing.terms()) > context.now;
        if std::mem::replace(&mut parts.progress.has_time, has_time) != has_time {
            parts.progress.results.extend(parts.local_leases.wanted_offices());
        }
    }

    /// Determines for which offices this node is a candidate, and announces it.
    fn update_candidacies(&mut self) {
        let (parts, mut context) = self.split();
        let Parts { elections, arbiter, local_leases, progress, .. } = parts;
        let settings = context.settings;
        let is_eligible = settings.own_role(arbiter.table()) == Role::Elector
            && progress.leave_by.is_none()
            && progress.health >= settings.health_threshold
            && arbiter.disk_failure().is_none();
        let mut changed = local_leases.take_campaign_changes();
        if std::mem::replace(&mut progress.is_eligible, is_eligible) != is_eligible {
            changed.extend(local_leases.wanted_offices());
        }
        for office in changed {
            elections.set_candidate(&office, is_eligible && local_leases.is_wanted(&office));
        }
        let is_coordinator = arbiter.coordinator() == Some(settings.own);
        elections.announce(progress.health, arbiter.disk_failure().is_some(), is_coordinator, &mut context);
        if self.liveness.health_of(self.settings.own) != self.progress.health {
            self.liveness.set_health(self.progress.health);
        }
    }

    /// Determines which members are up, and starts elections among them.
    fn refresh_view(&mut self) {
        let (leader, epoch) = (self.arbiter.coordinator(), self.arbiter.epoch());
        if let Some(changed) = self.liveness.refresh_view(leader, epoch) {
            self.elections.handle_view_change();
            self.requests.handle_view_change();
            let own = self.settings.own;
            let (mut parts, mut context) = self.split();
            parts.arbiter.handle_announcements(&mut context);
            let (coordinator, known) = parts.coordinator();
            changed.iter().for_each(|id| coordinator.handle_member_change(*id, &known));
            let view = context.liveness.view().to_vec();
            if leader == Some(own) && parts.progress.announced_view != view {
                context.broadcast(&Message::View(view.clone()));
                parts.progress.announced_view = view;
            }
        }
        let (parts, mut context) = self.split();
        parts.elections.refresh(&mut context);
    }

    /// Turns the results of elections into claims: at most this many.
    fn pass_election_results(&mut self, left: &mut usize) {
        let (parts, mut context) = self.split();
        let Parts { elections, claims, arbiter, local_leases, progress, .. } = parts;
        while let Some(office) = elections.poll_changed() {
            progress.results.insert(office);
        }
        let own = context.settings.own_holder();
        while *left > 0
            && let Some(office) = progress.results.pop_first()
        {
            *left -= 1;
            let elected = elections.elected(&office);
            if !arbiter.has_authority() {
                let leader =
                    elected.map(|id| Holder { id, incarnation: context.liveness.incarnation_of(id).unwrap_or(0) });
                // The client has stopped, and another client of this node may want the office.
                let is_regrant = leader == Some(own) && local_leases.has_stopped(&office);
                arbiter.handle_elected(Elected { office: &office, leader, is_regrant }, &mut context);
                continue;
            }
            let record = arbiter.table().offices.get(&office);
            let holds = record.is_some_and(|record| {
                record.holder == Some(own)
                    && !local_leases.has_stopped(&office)
                    && !local_leases.has_relinquished(&office, record.token)
            });
            let is_claimed = elected == Some(own.id) && progress.has_time && !holds;
            let claim = is_claimed.then(|| {
                let policy = context.settings.policy(&office);
                let terms = policy.terms(&context.settings.timing);
                Claim { office: office.clone(), mode: policy.mode, preempt: policy.preempt, terms }
            });
            claims.update(&office, claim);
        }
    }

    fn heartbeat_if_due(&mut self) {
        if self.now < self.next_heartbeat {
            return;
        }
        self.next_heartbeat = self.now + self.settings.timing.heartbeat;
        self.review_doubts();
        let (mut parts, mut context) = self.split();
        parts.arbiter.heartbeat(&mut context);
        if parts.arbiter.coordinator() == Some(context.own())
            && let Some(view) = parts.progress.take_view_to_repeat(context.now)
        {
            context.broadcast(&Message::View(view));
        }
        let missing = parts.arbiter.missing_founders();
        let is_patient = context.now.since(context.settings.started) < FOUNDING_PATIENCE;
        if parts.progress.missing_founders != missing && !is_patient {
            parts.progress.missing_founders.clone_from(&missing);
            context.push(Output::MissingFounders(missing.clone()));
        }
        let (local_leases, known) = parts.local_leases();
        local_leases.report_again(&known, &mut context);
        // Before there is a leader, nobody else makes members known to each other that have no connection.
        missing.into_iter().for_each(|id| parts.elections.send_candidacy(id, &mut context));
    }

    /// A node that leaves stops when it holds nothing any more, or when its time is over.
    fn leave_if_done(&mut self) {
        let Some(leave_by) = self.progress.leave_by.filter(|_| !self.progress.has_left) else { return };
        let own = self.settings.own;
        let has_other = self.arbiter.voters().into_iter().any(|id| id != own && self.liveness.is_up(id));
        // With no other voter up, there is nobody to hand anything to.
        let is_overdue = self.now >= leave_by || !has_other;
        let holds_nothing = self.local_leases.is_empty();
        let (parts, mut context) = self.split();
        if parts.arbiter.coordinator() == Some(own) && !is_overdue && holds_nothing {
            parts.arbiter.release_coordination(&mut context);
            parts.arbiter.process(&mut context);
            return;
        }
        if is_overdue || (holds_nothing && parts.arbiter.coordinator() != Some(own)) {
            // `Leave` promises that this node no longer acts as a holder. Without it, the coordinator waits for the
            // leases to expire.
            if holds_nothing {
                context.broadcast(&Message::Leave);
            }
            context.push(Output::Exit(Exit::Left));
            self.progress.has_left = true;
        }
    }

    /// Determines when the core must be called next.
    fn set_timeout(&mut self, is_unfinished: bool) {
        let leader = self.arbiter.coordinator();
        let is_coordinator = leader == Some(self.settings.own);
        let now = self.now;
        // It may have come already, while what peers sent since waits to be read.
        let suspect_at = self.liveness.poll_timeout(leader, &self.settings.timing).max(now);
        let next_heartbeat = self.next_heartbeat;
        let (mut parts, context) = self.split();
        let leave_by = parts.progress.leave_by.filter(|_| !parts.progress.has_left).unwrap_or(Timestamp::NEVER);
        let coordinator = if is_coordinator { parts.coordinator.poll_timeout() } else { Timestamp::NEVER };
        let times = [
            suspect_at,
            next_heartbeat,
            parts.elections.poll_timeout(is_coordinator),
            parts.claims.poll_timeout(),
            parts.arbiter.poll_timeout(),
            coordinator,
            parts.local_leases.poll_timeout(&context),
            leave_by,
            if is_unfinished { now } else { Timestamp::NEVER },
        ];
        let (requests, known) = parts.requests();
        let times = times.into_iter().chain([requests.poll_timeout(&known, &context)]);
        self.next_timeout = times.min().unwrap_or(Timestamp::NEVER);
        self.has_questions = false;
    }
}
