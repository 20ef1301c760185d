//! What this node claims: the offices that it was elected for and does not hold.
//!
//! Claims go to the coordinator as changes of a list. The whole list is sent when the coordinator changes or connects
//! again. Claims that have no effect are repeated, because relayed messages may be lost.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::time::Duration;

use hustings_protocol::Id;

use super::context::Context;
use super::normalise::Normalise;
use super::table::OfficeName;
use crate::clock::Timestamp;
use crate::wire::{self, Claim, MAX_LIST_LEN, Message};

/// How often claims are repeated while they have no effect.
const REPEAT_INTERVAL: Duration = Duration::from_millis(500);
/// Changes within this time are sent together.
const SEND_INTERVAL: Duration = Duration::from_micros(500);

/// The claims of this node.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Claims {
    claimed: BTreeMap<OfficeName, Claim>,
    added: BTreeSet<OfficeName>,
    removed: BTreeSet<OfficeName>,
    /// The coordinator that the list was sent to, with its epoch.
    sent_to: Option<(Id, u64)>,
    send_at: Timestamp,
    repeat_at: Timestamp,
    /// The last claim that was repeated.
    repeated: Option<OfficeName>,
}

impl Claims {
    /// Claims an office, or no longer.
    pub(super) fn update(&mut self, office: &OfficeName, claim: Option<Claim>) {
        if self.claimed.get(office) == claim.as_ref() {
            return;
        }
        match claim {
            Some(claim) => {
                self.removed.remove(office);
                self.added.insert(office.clone());
                self.claimed.insert(office.clone(), claim);
            }
            None => {
                self.claimed.remove(office);
                self.added.remove(office);
                // It may have been sent before it was last withdrawn and claimed again.
                self.removed.insert(office.clone());
            }
        }
    }

    /// The connection to a member was replaced: what was sent to it may be lost.
    pub(super) fn handle_interruption(&mut self, id: Id) {
        if self.sent_to.is_some_and(|(coordinator, _)| coordinator == id) {
            self.sent_to = None;
        }
    }

    /// Sends what changed to the coordinator.
    pub(super) fn send(&mut self, coordinator: Option<Id>, epoch: u64, context: &mut Context<'_>) {
        let Some(coordinator) = coordinator else {
            self.sent_to = None;
            return;
        };
        if self.sent_to != Some((coordinator, epoch)) {
            self.sent_to = Some((coordinator, epoch));
            self.send_all(coordinator, context);
            return;
        }
        if (!self.added.is_empty() || !self.removed.is_empty()) && self.send_at <= context.now {
            let added: Vec<Claim> =
                std::mem::take(&mut self.added).iter().filter_map(|office| self.claimed.get(office).cloned()).collect();
            let removed: Vec<OfficeName> = std::mem::take(&mut self.removed).into_iter().collect();
            for piece in removed.chunks(MAX_LIST_LEN) {
                send_piece(coordinator, false, Vec::new(), piece.to_vec(), context);
            }
            for piece in added.chunks(MAX_LIST_LEN) {
                send_piece(coordinator, false, piece.to_vec(), Vec::new(), context);
            }
            self.send_at = context.now + SEND_INTERVAL;
            self.repeat_at = self.repeat_at.max(context.now + REPEAT_INTERVAL);
        }
        if self.repeat_at <= context.now {
            self.repeat(coordinator, context);
        }
    }

    fn send_all(&mut self, coordinator: Id, context: &mut Context<'_>) {
        (self.added, self.removed) = Default::default();
        let all: Vec<Claim> = self.claimed.values().cloned().collect();
        send_piece(coordinator, true, all.iter().take(MAX_LIST_LEN).cloned().collect(), Vec::new(), context);
        for piece in all.chunks(MAX_LIST_LEN).skip(1) {
            send_piece(coordinator, false, piece.to_vec(), Vec::new(), context);
        }
        self.repeat_at = context.now + REPEAT_INTERVAL;
    }

    /// Repeats some claims, and continues with others the next time.
    fn repeat(&mut self, coordinator: Id, context: &mut Context<'_>) {
        self.repeat_at = context.now + REPEAT_INTERVAL;
        let after = self.repeated.take().map_or(Bound::Unbounded, Bound::Excluded);
        let piece: Vec<Claim> = self
            .claimed
            .range::<OfficeName, _>((after, Bound::Unbounded))
            .take(MAX_LIST_LEN)
            .map(|(_, claim)| claim.clone())
            .collect();
        self.repeated = piece.last().map(|claim| claim.office.clone());
        if !piece.is_empty() {
            send_piece(coordinator, false, piece, Vec::new(), context);
        }
    }

    /// When something must be sent.
    pub(super) fn poll_timeout(&self) -> Timestamp {
        if self.sent_to.is_none() {
            return Timestamp::NEVER;
        }
        let has_changes = !self.added.is_empty() || !self.removed.is_empty();
        let changes = if has_changes { self.send_at } else { Timestamp::NEVER };
        changes.min(if self.claimed.is_empty() { Timestamp::NEVER } else { self.repeat_at })
    }
}

impl Normalise for Claims {
    fn normalise(&mut self, now: Timestamp) {
        let Claims { send_at, repeat_at, claimed: _, added: _, removed: _, sent_to: _, repeated: _ } = self;
        send_at.normalise(now);
        repeat_at.normalise(now);
    }
}

fn send_piece(to: Id, replaces_all: bool, added: Vec<Claim>, removed: Vec<OfficeName>, context: &mut Context<'_>) {
    context.send(to, Message::Claims(wire::Claims { replaces_all, added, removed }));
}
