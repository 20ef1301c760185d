//! The accounting of a run: which nodes are up, which leader each names, what was counted, and the election times.
//!
//! The general engine and replays report what happens, in order, and close each tick. [`Accounting::finish`] makes the
//! [`Outcome`]. So all drivers share the definitions:
//!
//! - A node that is down names no leader and does not lead.
//! - A node *enters* the leader state when it leads and did not before. Leading again changes nothing.
//! - There is agreement at the end of a tick if every live node names the same position and that one is in leader
//!   state.

use std::collections::BTreeMap;

use hustings_protocol::{Cheating, Fact, Id, Message, Rank};

use super::directory::Directory;
use super::encoded_len;
use crate::outcome::{Collisions, Load, Outcome, Times};

/// The node names no leader.
const NOBODY: u32 = u32::MAX;
/// The node names an id that no position has.
const STRANGER: u32 = u32::MAX - 1;
/// No message has arrived yet.
const NEVER: u64 = u64::MAX;

/// Which nodes are up, which leader each names, what was counted, and when.
#[derive(Clone, Debug)]
pub(crate) struct Accounting {
    directory: Directory,
    /// The number of positions that take part. An outside informer comes after them.
    members: u32,
    live: Vec<bool>,
    live_count: u32,
    /// No live position is lower than this one.
    lowest_live: u32,
    /// The position that each node names as leader.
    names: Vec<u32>,
    leading: Vec<bool>,
    /// Since when a node names its leader, or is in leader state.
    since: Vec<u64>,
    /// How many nodes name each position.
    followers: Vec<u32>,
    roles_changed: bool,
    /// The nodes whose role changed in this tick, if changes are tracked.
    changed: Option<Vec<u32>>,
    agreed: Option<(u32, u64)>,
    by_kind: Vec<u64>,
    bytes: u64,
    lost: u64,
    load: Vec<u64>,
    /// The last tick with an arrival, and the number of arrivals in it.
    arrivals: Vec<(u64, u64)>,
    collisions: Collisions,
    quiescent: Option<u64>,
    /// The size of the network and the name of its own that each node has found out, if it has.
    sizes: BTreeMap<u32, u64>,
    own_names: BTreeMap<u32, u64>,
    /// Who cheated, and who noticed it, in order and without repetitions.
    cheating: Vec<(u32, Cheating)>,
}

impl Accounting {
    /// An empty accounting for nodes with these ranks and `kinds` kinds of messages. All nodes are up. The first
    /// `members` of them take part in the election.
    pub(crate) fn new<R: Rank>(ranks: &[R], members: u32, kinds: usize) -> Self {
        let size = ranks.len();
        Accounting {
            directory: Directory::new(&ranks[..members as usize]),
            members,
            live: vec![true; size],
            live_count: members,
            lowest_live: 0,
            names: vec![NOBODY; size],
            leading: vec![false; size],
            since: vec![0; size],
            followers: vec![0; size],
            roles_changed: false,
            changed: None,
            agreed: None,
            by_kind: vec![0; kinds],
            bytes: 0,
            lost: 0,
            load: vec![0; size],
            arrivals: vec![(NEVER, 0); size],
            collisions: Collisions::default(),
            quiescent: None,
            sizes: BTreeMap::new(),
            own_names: BTreeMap::new(),
            cheating: Vec::new(),
        }
    }

    /// From now on [`Accounting::changed_roles`] lists the nodes whose role changed.
    pub(crate) fn track_changes(&mut self) {
        self.changed = Some(Vec::new());
    }

    /// The nodes whose role changed in this tick, once for each change.
    pub(crate) fn changed_roles(&self) -> &[u32] {
        self.changed.as_deref().unwrap_or_default()
    }

    /// The number of positions.
    pub(crate) fn size(&self) -> u32 {
        self.live.len() as u32
    }

    /// Whether a node is up.
    #[inline]
    pub(crate) fn is_live(&self, at: u32) -> bool {
        self.live[at as usize]
    }

    /// Whether a node is up and in leader state.
    pub(crate) fn is_leading(&self, at: u32) -> bool {
        self.leading[at as usize]
    }

    /// The position that a node names as leader.
    pub(crate) fn leader_of(&self, at: u32) -> Option<u32> {
        let name = self.names[at as usize];
        (name < STRANGER).then_some(name)
    }

    /// Since when a node names its leader.
    pub(crate) fn leader_since(&self, at: u32) -> u64 {
        self.since[at as usize]
    }

    /// The position with this id.
    #[inline]
    pub(crate) fn position(&self, id: Id) -> Option<u32> {
        self.directory.position(id)
    }

    /// A node goes down. Does nothing if it is down already.
    pub(crate) fn mark_down(&mut self, at: u32, tick: u64) {
        if std::mem::replace(&mut self.live[at as usize], false) {
            self.set_role(at, NOBODY, false, tick);
            self.roles_changed = true;
            self.sizes.remove(&at);
            self.own_names.remove(&at);
            self.live_count -= u32::from(at < self.members);
            while self.live.get(self.lowest_live as usize).is_some_and(|live| !live) {
                self.lowest_live += 1;
            }
        }
    }

    /// A node comes up and names no leader. Does nothing if it is up already.
    pub(crate) fn mark_up(&mut self, at: u32) {
        if !std::mem::replace(&mut self.live[at as usize], true) {
            self.roles_changed = true;
            self.live_count += u32::from(at < self.members);
            self.lowest_live = self.lowest_live.min(at);
        }
    }

    /// A node leads.
    pub(crate) fn set_leading(&mut self, at: u32, tick: u64) {
        self.set_role(at, at, true, tick);
    }

    /// A node names another one as leader.
    pub(crate) fn set_following(&mut self, at: u32, leader: Id, tick: u64) {
        let name = self.directory.position(leader).unwrap_or(STRANGER);
        self.set_role(at, name, false, tick);
    }

    /// A node no longer names a leader.
    pub(crate) fn clear_leader(&mut self, at: u32, tick: u64) {
        self.set_role(at, NOBODY, false, tick);
    }

    fn set_role(&mut self, at: u32, name: u32, leading: bool, tick: u64) {
        let index = at as usize;
        let old = std::mem::replace(&mut self.names[index], name);
        let led = std::mem::replace(&mut self.leading[index], leading);
        if old == name && led == leading {
            return;
        }
        if let Some(followers) = self.followers.get_mut(old as usize) {
            *followers -= 1;
        }
        if let Some(followers) = self.followers.get_mut(name as usize) {
            *followers += 1;
        }
        self.since[index] = tick;
        self.roles_changed = true;
        if let Some(changed) = &mut self.changed {
            changed.push(at);
        }
    }

    /// Counts messages with this content.
    #[inline]
    pub(crate) fn count_sent<M: Message>(&mut self, message: &M, count: u64) {
        self.by_kind[message.kind()] += count;
        self.bytes += encoded_len(message) * count;
    }

    /// Counts a message that did not arrive.
    pub(crate) fn count_lost(&mut self) {
        self.lost += 1;
    }

    /// Counts a message that a node handles.
    #[inline]
    pub(crate) fn count_delivered(&mut self, at: u32, tick: u64, is_periodic: bool) {
        self.load[at as usize] += 1;
        let (last, count) = &mut self.arrivals[at as usize];
        if *last == tick {
            *count += 1;
            self.collisions.total += 1;
        } else {
            (*last, *count) = (tick, 1);
        }
        self.collisions.max = self.collisions.max.max(*count);
        if !is_periodic {
            self.quiescent = Some(tick);
        }
    }

    /// A node has found something out.
    pub(crate) fn record_fact(&mut self, at: u32, fact: Fact) {
        match fact {
            Fact::Size(size) => _ = self.sizes.insert(at, size),
            Fact::Name(name) => _ = self.own_names.insert(at, name),
            Fact::Stage(_) => {}
            Fact::Cheating(cheating) => {
                if !self.cheating.contains(&(at, cheating)) {
                    self.cheating.push((at, cheating));
                }
            }
        }
    }

    /// The size that every live node has found out.
    fn estimate(&self) -> Option<u64> {
        let (_, &first) = self.sizes.first_key_value()?;
        let all = self.sizes.len() == self.live_count as usize;
        (all && self.sizes.values().all(|&size| size == first)).then_some(first)
    }

    /// A timer made progress.
    pub(crate) fn mark_active(&mut self, tick: u64) {
        self.quiescent = Some(tick);
    }

    /// Ends a tick.
    #[inline]
    pub(crate) fn close_tick(&mut self, tick: u64) {
        if std::mem::replace(&mut self.roles_changed, false) {
            self.note_agreement(tick);
        }
        if let Some(changed) = &mut self.changed {
            changed.clear();
        }
    }

    fn note_agreement(&mut self, tick: u64) {
        let agreed = self.agreement();
        if agreed != self.agreed.map(|(leader, _)| leader) {
            self.agreed = agreed.map(|leader| (leader, tick));
        }
    }

    /// The leader that every live node names.
    fn agreement(&self) -> Option<u32> {
        let leader = *self.names.get(self.lowest_live as usize)?;
        let all = self.followers.get(leader as usize) == Some(&self.live_count);
        (all && self.leading[leader as usize]).then_some(leader)
    }

    /// Whether some live node names a position that is down or no longer leads.
    pub(crate) fn has_stale_leader(&self) -> bool {
        self.names.iter().any(|&name| name < STRANGER && !self.leading[name as usize])
    }

    /// The outcome. `hung`: messages are still in flight.
    pub(crate) fn finish<R: Rank>(self, ranks: &[R], hung: bool, notice: Vec<(&'static str, u64)>) -> Outcome {
        let leaders: Vec<u32> = (0..self.members).filter(|&at| self.leading[at as usize]).collect();
        let leader = leaders.iter().copied().max_by_key(|&at| ranks[at as usize]);
        let agreement = leader.is_some() && self.agreement() == leader;
        let estimate = self.estimate();
        let times = Times {
            elected: leader.map(|at| self.since[at as usize]),
            agreed: self.agreed.filter(|&(at, _)| agreement && Some(at) == leader).map(|(_, tick)| tick),
            quiescent: self.quiescent,
        };
        Outcome {
            leaders,
            leader,
            agreement,
            live: self.live_count,
            hung,
            out_of_memory: None,
            by_kind: self.by_kind,
            notice,
            bytes: self.bytes,
            lost: self.lost,
            load: load(self.load, self.members),
            collisions: self.collisions,
            time: times,
            estimate,
            names: self.own_names.into_iter().collect(),
            refused: Vec::new(),
            cheating: self.cheating,
        }
    }
}

fn load(mut handled: Vec<u64>, members: u32) -> Load {
    handled.truncate(members as usize);
    if handled.is_empty() {
        return Load::default();
    }
    handled.sort_unstable();
    let total: u64 = handled.iter().sum();
    Load {
        mean: total as f64 / handled.len() as f64,
        max: handled.last().copied().unwrap_or(0),
        histogram: handled.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u64)).collect(),
    }
}

#[cfg(test)]
mod tests;
