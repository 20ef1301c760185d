//! Who is a candidate for which office.
//!
//! Every member announces the offices that it is a candidate for, as changes of a list with a version. A member that
//! misses a change asks for the whole list. The offices for which this node itself is a candidate are grouped by the
//! members that announced them: offices with the same candidates share one election, so a change of the view costs as
//! much as there are groups, not offices.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use hustings_protocol::Id;

use crate::clock::Timestamp;
use crate::core::context::Context;
use crate::core::normalise::Normalise;
use crate::core::table::OfficeName;
use crate::wire::{Candidacy, MAX_LIST_LEN, Message};

/// How many offices one member may be a candidate for.
const MAX_OFFICES_PER_MEMBER: usize = 20_000;
/// Changes within this time are announced together.
const ANNOUNCE_INTERVAL: Duration = Duration::from_millis(1);
/// How often the coordinator tells the others which versions it knows.
const VERSIONS_INTERVAL: Duration = Duration::from_secs(1);
/// How often this node asks a member again for its list.
const REQUEST_INTERVAL: Duration = Duration::from_millis(500);

/// The offices of one member.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Announced {
    incarnation: u64,
    version: u64,
    offices: BTreeSet<OfficeName>,
    /// When its whole list was last asked for.
    requested_at: Timestamp,
}

/// The members that announced an office, ascending, and this node.
pub(super) type Group = Vec<Id>;

/// Who is a candidate for which office.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(in crate::core) struct Candidates {
    own: Id,
    announced: BTreeMap<Id, Announced>,
    /// This node's offices, with the group that each belongs to.
    own_offices: BTreeMap<OfficeName, Group>,
    groups: BTreeMap<Group, BTreeSet<OfficeName>>,
    version: u64,
    announced_version: u64,
    /// The health score that this node has last announced.
    announced_health: u8,
    /// Whether this node has last announced that its disk fails.
    announced_disk_fails: bool,
    /// Changes that are not announced yet.
    added: BTreeSet<OfficeName>,
    removed: BTreeSet<OfficeName>,
    announce_at: Timestamp,
    versions_at: Timestamp,
    /// Offices whose group changed since the last call of [`Candidates::take_moved`].
    moved: Vec<OfficeName>,
    /// Candidacies that changed: whose, and for which office. For the coordinator.
    changes: VecDeque<(Id, OfficeName)>,
}

impl Candidates {
    pub(super) fn new(own: Id, health: u8) -> Self {
        Candidates {
            own,
            announced: BTreeMap::new(),
            own_offices: BTreeMap::new(),
            groups: BTreeMap::new(),
            version: 1,
            announced_version: 0,
            announced_health: health,
            announced_disk_fails: false,
            added: BTreeSet::new(),
            removed: BTreeSet::new(),
            announce_at: Timestamp::ZERO,
            versions_at: Timestamp::ZERO,
            moved: Vec::new(),
            changes: VecDeque::new(),
        }
    }

    /// Makes this node a candidate for an office, or no longer.
    pub(super) fn set_own(&mut self, office: &OfficeName, is_candidate: bool) {
        if is_candidate == self.own_offices.contains_key(office) {
            return;
        }
        if is_candidate {
            let group = self.group_of(office);
            self.groups.entry(group.clone()).or_default().insert(office.clone());
            self.own_offices.insert(office.clone(), group);
            if !self.removed.remove(office) {
                self.added.insert(office.clone());
            }
        } else if let Some(group) = self.own_offices.remove(office) {
            self.leave_group(&group, office);
            if !self.added.remove(office) {
                self.removed.insert(office.clone());
            }
        }
        self.version += 1;
        self.moved.push(office.clone());
        self.changes.push_back((self.own, office.clone()));
    }

    fn group_of(&self, office: &str) -> Group {
        let others = self.announced.iter().filter(|(_, announced)| announced.offices.contains(office));
        let mut group: Group = others.map(|(id, _)| *id).chain([self.own]).collect();
        group.sort_unstable();
        group
    }

    fn leave_group(&mut self, group: &Group, office: &OfficeName) {
        if let Some(offices) = self.groups.get_mut(group) {
            offices.remove(office);
            if offices.is_empty() {
                self.groups.remove(group);
            }
        }
    }

    /// The candidacy of a member for an office changed.
    fn regroup(&mut self, id: Id, office: &OfficeName) {
        self.changes.push_back((id, office.clone()));
        let Some(former) = self.own_offices.get(office).cloned() else { return };
        let group = self.group_of(office);
        if group != former {
            self.leave_group(&former, office);
            self.groups.entry(group.clone()).or_default().insert(office.clone());
            self.own_offices.insert(office.clone(), group);
            self.moved.push(office.clone());
        }
    }

    /// A member announced a change of its list.
    pub(super) fn handle_candidacy(&mut self, from: Id, candidacy: Candidacy, context: &mut Context<'_>) {
        let Candidacy { incarnation, version, base, added, removed, .. } = candidacy;
        let announced = self.announced.entry(from).or_default();
        let mut changed: BTreeSet<OfficeName> = BTreeSet::new();
        match base {
            None => changed.extend(std::mem::take(&mut announced.offices)),
            Some(base) if base == announced.version && incarnation == announced.incarnation => {}
            // The same change may arrive twice, directly and through a relay.
            Some(_) if version <= announced.version && incarnation == announced.incarnation => return,
            Some(_) => return self.request_list(from, context),
        }
        (announced.incarnation, announced.version) = (incarnation, version);
        for office in removed {
            announced.offices.remove(&office);
            changed.insert(office);
        }
        for office in added {
            if announced.offices.len() < MAX_OFFICES_PER_MEMBER {
                announced.offices.insert(office.clone());
                changed.insert(office);
            }
        }
        changed.iter().for_each(|office| self.regroup(from, office));
    }

    /// Asks a member for its whole list, but not too often.
    fn request_list(&mut self, id: Id, context: &mut Context<'_>) {
        let announced = self.announced.entry(id).or_default();
        if context.now.since(announced.requested_at) >= REQUEST_INTERVAL || announced.requested_at == Timestamp::ZERO {
            announced.requested_at = context.now;
            context.send(id, Message::CandidacyRequest);
        }
    }

    /// The coordinator told which versions it knows. Asks for lists that this node has missed.
    pub(super) fn handle_versions(&mut self, from: Id, versions: &[(Id, u64)], context: &mut Context<'_>) {
        for &(id, version) in versions {
            if id == self.own {
                if version != self.announced_version && context.now >= self.announce_at + REQUEST_INTERVAL {
                    self.send_list(from, context);
                }
            } else if context.liveness.is_known(id) && self.announced.get(&id).map_or(0, |one| one.version) < version {
                self.request_list(id, context);
            }
        }
    }

    /// Sends the whole list to a member, in as many messages as it takes.
    pub(super) fn send_list(&mut self, to: Id, context: &mut Context<'_>) {
        // Changes that are not announced yet follow as a change of this list.
        let offices: Vec<OfficeName> = self
            .own_offices
            .keys()
            .filter(|office| !self.added.contains(*office))
            .chain(&self.removed)
            .cloned()
            .collect();
        let mut base = None;
        for piece in offices.chunks(MAX_LIST_LEN).chain(offices.is_empty().then_some(&[][..])) {
            let message = self.candidacy(base, self.announced_version, piece.to_vec(), Vec::new(), context);
            context.send(to, message);
            base = Some(self.announced_version);
        }
    }

    /// Announces the changes since the last announcement, or that this node's health or the state of its disk changed.
    pub(super) fn announce(&mut self, health: u8, disk_fails: bool, context: &mut Context<'_>) {
        let is_same = self.added.is_empty()
            && self.removed.is_empty()
            && (self.announced_health, self.announced_disk_fails) == (health, disk_fails);
        if is_same || context.now < self.announce_at {
            return;
        }
        (self.announced_health, self.announced_disk_fails) = (health, disk_fails);
        self.announce_at = context.now + ANNOUNCE_INTERVAL;
        let added: Vec<OfficeName> = std::mem::take(&mut self.added).into_iter().collect();
        let removed: Vec<OfficeName> = std::mem::take(&mut self.removed).into_iter().collect();
        let mut rest = (&added[..], &removed[..]);
        loop {
            let gained = rest.0.split_at(rest.0.len().min(MAX_LIST_LEN));
            let lost = rest.1.split_at(rest.1.len().min(MAX_LIST_LEN - gained.0.len()));
            rest = (gained.1, lost.1);
            let base = Some(self.announced_version);
            self.announced_version += 1;
            let message = self.candidacy(base, self.announced_version, gained.0.to_vec(), lost.0.to_vec(), context);
            context.broadcast(&message);
            if rest.0.is_empty() && rest.1.is_empty() {
                return;
            }
        }
    }

    fn candidacy(
        &self,
        base: Option<u64>,
        version: u64,
        added: Vec<OfficeName>,
        removed: Vec<OfficeName>,
        context: &Context<'_>,
    ) -> Message {
        let (incarnation, store_id) = (context.settings.incarnation, context.settings.store_id);
        let (disk, health, disk_fails) = (context.disk, self.announced_health, self.announced_disk_fails);
        let (digest, reads) = (context.settings.digest, context.settings.formats.reads);
        Message::Candidacy(Candidacy {
            incarnation,
            store_id,
            disk,
            health,
            disk_fails,
            digest,
            reads,
            version,
            base,
            added,
            removed,
        })
    }

    /// The coordinator tells the others, now and then, which versions it knows.
    pub(super) fn send_versions(&mut self, context: &mut Context<'_>) {
        if context.now < self.versions_at {
            return;
        }
        self.versions_at = context.now + VERSIONS_INTERVAL;
        let known = self.announced.iter().filter(|(id, _)| context.liveness.is_up(**id));
        let mut versions: Vec<(Id, u64)> = known.map(|(id, announced)| (*id, announced.version)).collect();
        versions.push((self.own, self.announced_version));
        context.broadcast(&Message::CandidacyVersions(versions));
    }

    /// A peer was started again: what it announced before no longer counts.
    pub(super) fn handle_incarnation(&mut self, id: Id, incarnation: u64) {
        if self.announced.get(&id).is_some_and(|announced| announced.incarnation != incarnation) {
            self.forget(id);
        }
    }

    /// Forgets what a member announced.
    pub(super) fn forget(&mut self, id: Id) {
        if let Some(announced) = self.announced.remove(&id) {
            announced.offices.iter().for_each(|office| self.regroup(id, office));
        }
    }

    /// Whether a member announced that it is a candidate for an office.
    pub(in crate::core) fn contains(&self, id: Id, office: &str) -> bool {
        if id == self.own {
            return self.own_offices.contains_key(office);
        }
        self.announced.get(&id).is_some_and(|announced| announced.offices.contains(office))
    }

    /// The offices that a member announced.
    pub(in crate::core) fn offices_of(&self, id: Id) -> impl Iterator<Item = &OfficeName> {
        self.announced.get(&id).into_iter().flat_map(|announced| &announced.offices)
    }

    pub(super) fn groups(&self) -> impl Iterator<Item = (&Group, &BTreeSet<OfficeName>)> {
        self.groups.iter()
    }

    /// The group of an office that this node is a candidate for.
    pub(super) fn group(&self, office: &str) -> Option<&Group> {
        self.own_offices.get(office)
    }

    pub(super) fn offices_in(&self, group: &Group) -> impl Iterator<Item = &OfficeName> {
        self.groups.get(group).into_iter().flatten()
    }

    /// Offices whose group changed since the last call.
    pub(super) fn take_moved(&mut self) -> Vec<OfficeName> {
        std::mem::take(&mut self.moved)
    }

    /// The next candidacy that changed.
    pub(super) fn poll_change(&mut self) -> Option<(Id, OfficeName)> {
        self.changes.pop_front()
    }

    /// When a change must be announced.
    pub(super) fn next_timeout(&self, is_coordinator: bool) -> Timestamp {
        let has_changes = !self.added.is_empty() || !self.removed.is_empty();
        let announce = if has_changes { self.announce_at } else { Timestamp::NEVER };
        announce.min(if is_coordinator { self.versions_at } else { Timestamp::NEVER })
    }
}

impl Normalise for Candidates {
    fn normalise(&mut self, now: Timestamp) {
        let Candidates {
            announced,
            announce_at,
            versions_at,
            own: _,
            own_offices: _,
            groups: _,
            version: _,
            announced_version: _,
            announced_health: _,
            announced_disk_fails: _,
            added: _,
            removed: _,
            moved: _,
            changes: _,
        } = self;
        announced.normalise(now);
        announce_at.normalise(now);
        versions_at.normalise(now);
    }
}

impl Normalise for Announced {
    fn normalise(&mut self, now: Timestamp) {
        let Announced { requested_at, incarnation: _, version: _, offices: _ } = self;
        requested_at.normalise(now);
    }
}
