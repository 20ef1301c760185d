//! The parts of the core, as a turn borrows them.

use std::collections::BTreeSet;
use std::time::Duration;

use hustings_protocol::Id;

use super::Core;
use super::arbiter::Arbiter;
use super::claims::Claims;
use super::context::Context;
use super::coordinator::{self, Coordinator};
use super::elections::Elections;
use super::local_leases::{self, LocalLeases};
use super::normalise::Normalise;
use super::requests::{self, Requests};
use super::table::OfficeName;
use crate::clock::Timestamp;

/// How often the coordinator announces the view again.
const VIEW_INTERVAL: Duration = Duration::from_secs(1);

/// What the turn remembers between two calls.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Progress {
    /// The host's health score.
    pub(super) health: u8,
    /// Set while the node leaves: when it stops at the latest.
    pub(super) leave_by: Option<Timestamp>,
    pub(super) has_left: bool,
    /// Whether this node may be a candidate for anything.
    pub(super) is_eligible: bool,
    /// Whether this node has time left to act as a holder, so that it may claim offices.
    pub(super) has_time: bool,
    /// The coordinator that was last seen, with its epoch.
    pub(super) coordinator: Option<(Id, u64)>,
    /// The view that was last announced by this node.
    pub(super) announced_view: Vec<Id>,
    /// When this node announces it again, if it coordinates.
    pub(super) repeat_view_at: Timestamp,
    /// The members that a new cluster waits for, as last reported.
    pub(super) missing_founders: Vec<Id>,
    /// Offices to compare with the elections' results.
    pub(super) results: BTreeSet<OfficeName>,
}

impl Progress {
    pub(super) fn new(health: u8) -> Self {
        Progress {
            health,
            leave_by: None,
            has_left: false,
            is_eligible: false,
            has_time: false,
            coordinator: None,
            announced_view: Vec::new(),
            repeat_view_at: Timestamp::ZERO,
            missing_founders: Vec::new(),
            results: Default::default(),
        }
    }
}

impl Progress {
    /// The view, if the coordinator must announce it again now. It may be lost, or overtaken on its way through a relay
    /// by a later one that was sent directly.
    pub(super) fn take_view_to_repeat(&mut self, now: Timestamp) -> Option<Vec<Id>> {
        if self.announced_view.is_empty() || now < self.repeat_view_at {
            return None;
        }
        self.repeat_view_at = now + VIEW_INTERVAL;
        Some(self.announced_view.clone())
    }
}

impl Normalise for Progress {
    fn normalise(&mut self, now: Timestamp) {
        let Progress {
            leave_by,
            repeat_view_at,
            health: _,
            has_left: _,
            is_eligible: _,
            has_time: _,
            coordinator: _,
            announced_view: _,
            missing_founders: _,
            results: _,
        } = self;
        leave_by.normalise(now);
        repeat_view_at.normalise(now);
    }
}

/// The parts, borrowed one by one.
pub(super) struct Parts<'a> {
    pub(super) elections: &'a mut Elections,
    pub(super) claims: &'a mut Claims,
    pub(super) arbiter: &'a mut dyn Arbiter,
    pub(super) coordinator: &'a mut Coordinator,
    pub(super) local_leases: &'a mut LocalLeases,
    pub(super) requests: &'a mut Requests,
    pub(super) progress: &'a mut Progress,
}

impl<'a> Parts<'a> {
    pub(super) fn coordinator(&mut self) -> (&mut Coordinator, coordinator::Known<'_>) {
        let known = coordinator::Known { arbiter: &mut *self.arbiter, candidates: self.elections.candidates() };
        (&mut *self.coordinator, known)
    }

    pub(super) fn requests(&mut self) -> (&mut Requests, requests::Known<'_>) {
        let known = requests::Known {
            arbiter: &mut *self.arbiter,
            local_leases: &*self.local_leases,
            candidates: self.elections.candidates(),
        };
        (&mut *self.requests, known)
    }

    pub(super) fn local_leases(&mut self) -> (&mut LocalLeases, local_leases::Known<'_>) {
        (&mut *self.local_leases, local_leases::Known::of(&*self.arbiter))
    }
}

impl<'a> local_leases::Known<'a> {
    pub(super) fn of(arbiter: &'a dyn Arbiter) -> Self {
        local_leases::Known {
            table: arbiter.table(),
            coordinator: arbiter.coordinator(),
            confirmed_at: arbiter.confirmed_at(),
            has_leases: arbiter.has_authority(),
        }
    }
}

impl Core {
    /// Borrows the parts, and what they may read and send.
    pub(super) fn split(&mut self) -> (Parts<'_>, Context<'_>) {
        let Core { settings, now, unix_ms, liveness, elections, claims, arbiter, coordinator, .. } = self;
        let (disk, version) = (arbiter.disk_state(), arbiter.table().version());
        let parts = Parts {
            elections,
            claims,
            arbiter: &mut **arbiter,
            coordinator,
            local_leases: &mut self.local_leases,
            requests: &mut self.requests,
            progress: &mut self.progress,
        };
        (parts, Context { now: *now, unix_ms: *unix_ms, disk, version, liveness, settings, out: &mut self.out })
    }
}
