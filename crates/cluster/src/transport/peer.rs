//! The other members, and when each is dialled.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use hustings_protocol::Id;

use super::bucket::Bucket;
use crate::clock::Moment;
use crate::member::Member;

/// How long to wait after the first failure; twice as long after each further one.
const FIRST_WAIT: Duration = Duration::from_millis(20);
/// But never longer than this.
const MAX_WAIT: Duration = Duration::from_millis(500);
/// A connection that lasted so long was a good one: failures before it are forgotten.
const GOOD: Duration = Duration::from_secs(1);

/// How far an attempt to dial has come.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Dial {
    /// None; the next begins then.
    At(Moment),
    /// Its address is being looked up.
    Resolving,
    /// This connection, and addresses to try if it is not answered.
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
    /// One that the peer made and that is not answered as long as our own attempt may succeed.
    pub(super) parked: Option<usize>,
    pub(super) dial: Dial,
    /// Whether the resolver still owes an answer.
    pub(super) asked: bool,
    /// Attempts that failed in a row.
    pub(super) failures: u32,
    /// What its last connection left of its share of frames.
    pub(super) bucket: Option<Bucket>,
}

impl Peer {
    /// Its connection ended, after so long.
    pub(super) fn lost(&mut self, lasted: Duration, dropped: bool, now: Moment, jitter: &mut Jitter) {
        if lasted >= GOOD {
            self.failures = 0;
        }
        if dropped {
            self.failures = self.failures.max(1);
        }
        self.dial = Dial::At(now + jitter.wait(self.failures));
        // Should the next attempt succeed and end at once, again and again, each one waits for longer.
        self.failures += 1;
    }

    /// An attempt failed.
    pub(super) fn failed(&mut self, now: Moment, jitter: &mut Jitter) {
        self.failures += 1;
        self.dial = Dial::At(now + jitter.wait(self.failures));
    }
}

/// The other members by id.
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

    /// Takes over a list of members, and returns those that are gone. One with another name is another one.
    pub(super) fn replace(&mut self, members: &[Member], own: Id, now: Moment) -> Vec<Peer> {
        let stays = |peer: &Peer| members.iter().any(|new| new.id == peer.member.id && new.name == peer.member.name);
        let gone: Vec<Id> = self.all.iter().filter(|(_, peer)| !stays(peer)).map(|(id, _)| *id).collect();
        let gone = gone.into_iter().filter_map(|id| self.all.remove(&id)).collect();
        for member in members.iter().filter(|member| member.id != own) {
            let dial = Dial::At(now);
            let fresh = || Peer {
                member: member.clone(),
                link: None,
                parked: None,
                dial,
                asked: false,
                failures: 0,
                bucket: None,
            };
            let peer = self.all.entry(member.id).or_insert_with(fresh);
            if peer.member.address != member.address && matches!(peer.dial, Dial::At(_)) && peer.link.is_none() {
                peer.dial = Dial::At(now);
            }
            peer.member = member.clone();
        }
        gone
    }

    /// When somebody is to be dialled.
    pub(super) fn due(&self) -> Moment {
        self.all.values().map(Peer::due).min().unwrap_or(Moment::NEVER)
    }

    /// Somebody who is to be dialled now.
    pub(super) fn next_due(&self, now: Moment) -> Option<Id> {
        self.all.iter().find(|(_, peer)| peer.due() <= now).map(|(id, _)| *id)
    }
}

impl Peer {
    fn due(&self) -> Moment {
        match self.dial {
            Dial::At(moment) if self.link.is_none() => moment,
            _ => Moment::NEVER,
        }
    }
}

/// Makes waiting times uneven, so that nodes do not go on in step. The same seed gives the same times.
#[derive(Debug)]
pub(super) struct Jitter {
    state: u64,
}

impl Jitter {
    pub(super) fn new(seed: u64) -> Self {
        Jitter { state: seed | 1 }
    }

    /// How long to wait after so many failures: between three and five quarters of the nominal time.
    fn wait(&mut self, failures: u32) -> Duration {
        let Some(doublings) = failures.checked_sub(1) else { return Duration::ZERO };
        // A multiplicative generator's upper bits are even enough for this.
        self.state = self.state.wrapping_mul(0xda94_2042_e4dd_58b5);
        let nominal = (FIRST_WAIT * (1 << doublings.min(8))).min(MAX_WAIT);
        nominal * 3 / 4 + nominal * ((self.state >> 48) as u32) / (1 << 17)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::member::Role;

    fn member(id: u64, name: &str, address: &str) -> Member {
        Member { id: Id(id), name: name.into(), address: address.into(), priority: 0, role: Role::Elector }
    }

    #[test]
    fn waits_double_up_to_half_a_second_and_differ_a_little() {
        let mut jitter = Jitter::new(7);
        assert_eq!(jitter.wait(0), Duration::ZERO);
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
    fn a_good_connection_is_dialled_again_at_once_and_one_that_flaps_waits_longer_each_time() {
        let mut peers = Peers::default();
        peers.replace(&[member(2, "b", "")], Id(1), Moment(0));
        let (peer, mut jitter) = (peers.get_mut(Id(2)).expect("it was added"), Jitter::new(1));
        let mut wait = |lasted: u64, dropped| {
            peer.lost(Duration::from_millis(lasted), dropped, Moment(0), &mut jitter);
            Duration::from_nanos(peer.due().0)
        };
        assert_eq!(wait(1000, false), Duration::ZERO);
        let waits = [wait(1, false), wait(1, false), wait(1, false)];
        assert!(waits[0] > Duration::ZERO && waits.is_sorted(), "{waits:?}");
        assert_eq!(wait(5000, false), Duration::ZERO);
        assert!(wait(5000, true) > Duration::ZERO, "one that was dropped on purpose waits a little");
    }

    #[test]
    fn members_come_and_go_and_a_new_name_is_a_new_member() {
        let mut peers = Peers::default();
        let first = [member(1, "a", ""), member(2, "b", "x"), member(3, "c", "y")];
        assert!(peers.replace(&first, Id(1), Moment(5)).is_empty());
        assert!(peers.get(Id(1)).is_none(), "nobody dials itself");
        assert_eq!((peers.due(), peers.next_due(Moment(5))), (Moment(5), Some(Id(2))));
        for id in [2, 3] {
            peers.get_mut(Id(id)).expect("it was added").dial = Dial::At(Moment(90));
        }
        let second = [member(1, "a", ""), member(2, "bb", "x"), member(3, "c", "z")];
        let gone = peers.replace(&second, Id(1), Moment(8));
        assert_eq!(gone.iter().map(|peer| peer.member.name.as_str()).collect::<Vec<_>>(), ["b"]);
        assert_eq!(peers.get(Id(3)).map(Peer::due), Some(Moment(8)), "a new address is tried at once");
        let gone = peers.replace(&second[..1], Id(1), Moment(9));
        assert_eq!((gone.len(), peers.due()), (2, Moment::NEVER));
    }
}
