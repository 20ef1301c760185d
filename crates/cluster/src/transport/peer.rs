//! The other members, and when to dial each of them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use hustings_protocol::Id;

use super::listener::network;
use super::token_bucket::TokenBucket;
use crate::clock::Timestamp;
use crate::member::{Member, Role};

/// The pause after the end of a connection that worked. A new one costs processor time, and most often its peer is
/// gone: who takes its place is decided first.
const SHORT_PAUSE: Duration = Duration::from_millis(3);
/// The pause after the first failure; it doubles after each further one.
const INITIAL_BACKOFF: Duration = Duration::from_millis(20);
/// The longest pause.
const MAX_BACKOFF: Duration = Duration::from_millis(500);
/// The largest number of guests.
const MAX_GUESTS: usize = 8;
/// After a connection that lasted this long, earlier failures are forgotten.
const STABLE_AFTER: Duration = Duration::from_secs(1);

/// The state of dialling a peer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Dial {
    /// Not dialling; the next attempt starts at this time.
    At(Timestamp),
    /// The address is being resolved.
    Resolving,
    /// Connecting in this slot, with further addresses to try.
    Trying { slot: usize, rest: Vec<SocketAddr> },
}

impl Dial {
    pub(super) fn slot(&self) -> Option<usize> {
        match self {
            Dial::Trying { slot, .. } => Some(*slot),
            Dial::At(_) | Dial::Resolving => None,
        }
    }
}

/// Another member.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) member: Member,
    /// The established connection.
    pub(super) link: Option<usize>,
    /// An incoming connection that is not answered while this node's own attempt may succeed.
    pub(super) parked: Option<usize>,
    pub(super) dial: Dial,
    /// Whether an answer of the resolver is outstanding.
    pub(super) asked: bool,
    /// What its name was last resolved to.
    pub(super) resolved: Vec<IpAddr>,
    /// The number of consecutive failed attempts.
    pub(super) failures: u32,
    /// The rate limit of its last connection, carried over to the next.
    pub(super) token_bucket: Option<TokenBucket>,
    /// Whether this node does not know it as a member yet. It is never dialled, and forgotten with its connection.
    pub(super) is_guest: bool,
}

impl Peer {
    fn new(member: Member, dial: Dial) -> Self {
        let resolved = Vec::new();
        let (link, parked, asked, failures, token_bucket, is_guest) = (None, None, false, 0, None, false);
        Peer { member, link, parked, dial, asked, resolved, failures, token_bucket, is_guest }
    }
}

impl Peer {
    /// Handles the end of a connection that lasted this long.
    pub(super) fn lost(&mut self, lasted: Duration, dropped: bool, now: Timestamp, jitter: &mut Jitter) {
        if lasted >= STABLE_AFTER {
            self.failures = 0;
        }
        if dropped {
            self.failures = self.failures.max(1);
        }
        self.dial = Dial::At(now + jitter.wait(self.failures));
        // If connections keep ending at once, each attempt waits longer.
        self.failures += 1;
    }

    /// Handles a failed attempt.
    pub(super) fn failed(&mut self, now: Timestamp, jitter: &mut Jitter) {
        self.failures += 1;
        self.dial = Dial::At(now + jitter.wait(self.failures));
    }
}

/// The other members, by id.
#[derive(Debug, Default)]
pub(super) struct Peers {
    all: BTreeMap<Id, Peer>,
}

impl Peers {
    pub(super) fn get(&self, id: Id) -> Option<&Peer> {
        self.all.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: Id) -> Option<&mut Peer> {
        self.all.get_mut(&id)
    }

    /// Admits the connection of a member that this node does not know yet. Returns whether there is room for it.
    pub(super) fn admit_guest(&mut self, id: Id, name: String) -> bool {
        self.all.retain(|_, peer| !peer.is_guest || peer.link.is_some() || peer.parked.is_some());
        if self.all.values().filter(|peer| peer.is_guest).count() >= MAX_GUESTS {
            return false;
        }
        let member = Member { id, name, address: String::new(), priority: 0, role: Role::Observer };
        self.all.insert(id, Peer { is_guest: true, ..Peer::new(member, Dial::At(Timestamp::NEVER)) });
        true
    }

    /// Replaces the members and returns the removed ones. A member with another name is another member. Guests stay if
    /// their id is above `max_id`: they may be members that this node learns of later.
    pub(super) fn replace(&mut self, members: &[Member], own: Id, max_id: u64, now: Timestamp) -> Vec<Peer> {
        let stays = |peer: &Peer| {
            let is_member = |new: &Member| new.id == peer.member.id && new.name == peer.member.name;
            members.iter().any(is_member) || (peer.is_guest && peer.member.id.0 > max_id)
        };
        let gone: Vec<Id> = self.all.iter().filter(|(_, peer)| !stays(peer)).map(|(id, _)| *id).collect();
        let gone = gone.into_iter().filter_map(|id| self.all.remove(&id)).collect();
        for member in members.iter().filter(|member| member.id != own) {
            let fresh = || Peer::new(member.clone(), Dial::At(now));
            let peer = self.all.entry(member.id).or_insert_with(fresh);
            peer.is_guest = false;
            if peer.member.address != member.address && matches!(peer.dial, Dial::At(_)) && peer.link.is_none() {
                peer.dial = Dial::At(now);
            }
            peer.member = member.clone();
        }
        gone
    }

    /// The hosts that the members' addresses name.
    pub(super) fn hosts(&self) -> BTreeSet<IpAddr> {
        let literal = |peer: &Peer| peer.member.address.parse().ok().map(|address: SocketAddr| address.ip());
        let hosts = self.all.values().flat_map(|peer| literal(peer).into_iter().chain(peer.resolved.iter().copied()));
        hosts.map(network).collect()
    }

    /// When the next peer must be dialled.
    pub(super) fn due(&self) -> Timestamp {
        self.all.values().map(Peer::due).min().unwrap_or(Timestamp::NEVER)
    }

    /// A peer that must be dialled now.
    pub(super) fn next_due(&self, now: Timestamp) -> Option<Id> {
        self.all.iter().find(|(_, peer)| peer.due() <= now).map(|(id, _)| *id)
    }
}

impl Peer {
    fn due(&self) -> Timestamp {
        match self.dial {
            Dial::At(moment) if self.link.is_none() && !self.is_guest => moment,
            _ => Timestamp::NEVER,
        }
    }
}

/// Randomises pauses, so that nodes do not retry in lockstep. The same seed gives the same pauses.
#[derive(Debug)]
pub(super) struct Jitter {
    state: u64,
}

impl Jitter {
    pub(super) fn new(seed: u64) -> Self {
        Jitter { state: seed | 1 }
    }

    /// The pause after this many failures: 75 % to 125 % of the nominal time.
    fn wait(&mut self, failures: u32) -> Duration {
        let Some(doublings) = failures.checked_sub(1) else { return SHORT_PAUSE };
        // The upper bits of a multiplicative generator are random enough for this.
        self.state = self.state.wrapping_mul(0xda94_2042_e4dd_58b5);
        let nominal = (INITIAL_BACKOFF * (1 << doublings.min(8))).min(MAX_BACKOFF);
        nominal * 3 / 4 + nominal * ((self.state >> 48) as u32) / (1 << 17)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(id: u64, name: &str, address: &str) -> Member {
        Member { id: Id(id), name: name.into(), address: address.into(), priority: 0, role: Role::Elector }
    }

    #[test]
    fn backoff_doubles_up_to_half_a_second_with_jitter() {
        let mut jitter = Jitter::new(7);
        assert_eq!(jitter.wait(0), SHORT_PAUSE);
        let mut seen = Vec::new();
        for (failures, nominal) in [(1, 20), (2, 40), (3, 80), (4, 160), (5, 320), (6, 500), (60, 500), (u32::MAX, 500)]
        {
            let nominal = Duration::from_millis(nominal);
            let wait = jitter.wait(failures);
            assert!(wait >= nominal * 3 / 4 && wait < nominal * 5 / 4, "{failures}: {wait:?}");
            seen.push(wait.as_nanos() * 1000 / nominal.as_nanos());
        }
        seen.dedup();
        assert_eq!(seen.len(), 8, "{seen:?}");
        let mut same = Jitter::new(7);
        assert_eq!((0..9).map(|_| same.wait(3)).max(), {
            let mut again = Jitter::new(7);
            (0..9).map(|_| again.wait(3)).max()
        });
    }

    #[test]
    fn a_stable_connection_is_redialled_soon_and_a_flapping_one_backs_off() {
        let mut peers = Peers::default();
        peers.replace(&[member(2, "b", "")], Id(1), 0, Timestamp(0));
        let (peer, mut jitter) = (peers.get_mut(Id(2)).expect("it was added"), Jitter::new(1));
        let mut wait = |lasted: u64, dropped| {
            peer.lost(Duration::from_millis(lasted), dropped, Timestamp(0), &mut jitter);
            Duration::from_nanos(peer.due().0)
        };
        assert_eq!(wait(1000, false), SHORT_PAUSE);
        let waits = [wait(1, false), wait(1, false), wait(1, false)];
        assert!(waits[0] > SHORT_PAUSE && waits.is_sorted(), "{waits:?}");
        assert_eq!(wait(5000, false), SHORT_PAUSE);
        assert!(wait(5000, true) > SHORT_PAUSE, "one that was dropped on purpose waits a little");
    }

    #[test]
    fn replaces_members_and_treats_a_new_name_as_a_new_member() {
        let mut peers = Peers::default();
        let first = [member(1, "a", ""), member(2, "b", "x"), member(3, "c", "y")];
        assert!(peers.replace(&first, Id(1), 0, Timestamp(5)).is_empty());
        assert!(peers.get(Id(1)).is_none(), "nobody dials itself");
        assert_eq!((peers.due(), peers.next_due(Timestamp(5))), (Timestamp(5), Some(Id(2))));
        for id in [2, 3] {
            peers.get_mut(Id(id)).expect("it was added").dial = Dial::At(Timestamp(90));
        }
        let second = [member(1, "a", ""), member(2, "bb", "x"), member(3, "c", "z")];
        let gone = peers.replace(&second, Id(1), 0, Timestamp(8));
        assert_eq!(gone.iter().map(|peer| peer.member.name.as_str()).collect::<Vec<_>>(), ["b"]);
        assert_eq!(peers.get(Id(3)).map(Peer::due), Some(Timestamp(8)), "a new address is tried at once");
        let gone = peers.replace(&second[..1], Id(1), 0, Timestamp(9));
        assert_eq!((gone.len(), peers.due()), (2, Timestamp::NEVER));
    }
}
