//! The links of a simulated cluster: connections, delays and cuts.

use hustings_protocol::Id;

use super::events::EventKind;
use super::{MS, SimCluster, pair};
use crate::tests::seal;
use crate::wire::Message;

impl SimCluster {
    pub(super) fn dial(&mut self, one: usize, other: usize) {
        let delay = self.rng.below(5 * MS) + MS / 10;
        self.schedule(delay, EventKind::Dial { one, other });
    }

    pub(super) fn connect(&mut self, one: usize, other: usize) {
        let both = self.hosts[one].core.is_some() && self.hosts[other].core.is_some();
        let stuck = self.hosts[one].frozen || self.hosts[other].frozen;
        if !both || self.links.contains_key(&pair(one, other)) {
            return;
        }
        if stuck || self.cut.contains(&(one, other)) || self.cut.contains(&(other, one)) {
            self.dial_again(one, other);
            return;
        }
        self.serial += 1;
        let link = self.serial;
        self.links.insert(pair(one, other), link);
        let delays = (self.rng.below(MS), self.rng.below(MS));
        self.schedule(delays.0, EventKind::Up { at: one, peer: other, link });
        self.schedule(delays.1, EventKind::Up { at: other, peer: one, link });
        let arrives = self.now + MS + 1;
        self.last_arrival.insert((one, other), arrives);
        self.last_arrival.insert((other, one), arrives);
    }

    pub(super) fn dial_again(&mut self, one: usize, other: usize) {
        self.schedule(20 * MS, EventKind::Dial { one, other });
    }

    /// Ends the connection of a pair. Both nodes notice it if they are alive.
    pub(crate) fn disconnect(&mut self, one: usize, other: usize) {
        let Some(link) = self.links.remove(&pair(one, other)) else { return };
        for (at, peer) in [(one, other), (other, one)] {
            let delay = MS / 10 + self.rng.below(MS / 2);
            self.schedule(delay, EventKind::Down { at, peer, link });
        }
        let delay = MS + self.rng.below(20 * MS);
        self.schedule(delay, EventKind::Dial { one, other });
    }

    /// One node ends a connection. The other node notices it only if the link works.
    pub(super) fn disconnect_one_side(&mut self, at: usize, peer: usize) {
        let Some(link) = self.links.remove(&pair(at, peer)) else { return };
        if !self.cut.contains(&(at, peer)) {
            self.schedule(MS / 10, EventKind::Down { at: peer, peer: at, link });
        }
        self.dial_again(at, peer);
    }

    /// Cuts the link between two nodes in both directions.
    pub(crate) fn cut(&mut self, one: usize, other: usize) {
        self.cut.extend([(one, other), (other, one)]);
    }

    pub(super) fn send(&mut self, from: usize, to: usize, mut message: Message) {
        if let Message::Relay(relay) = &mut message
            && relay.from == Id(from as u64 + 1)
        {
            seal(relay);
        }
        let Some(&link) = self.links.get(&pair(from, to)) else { return };
        if self.cut.contains(&(from, to)) {
            return;
        }
        // Every message goes through its encoding.
        let message = Message::decode(&message.encode()).expect("the message was just encoded");
        let delay = (self.options.extra_delay_ms + self.receiving_delays_ms.get(&to).unwrap_or(&0)) * MS
            + self.rng.below(MS / 2)
            + if self.options.jitter && self.rng.below(200) == 0 { self.rng.below(30 * MS) } else { MS / 20 };
        let earliest = self.last_arrival.get(&(from, to)).copied().unwrap_or(0);
        let arrives = (self.now + delay).max(earliest + 1);
        self.last_arrival.insert((from, to), arrives);
        self.schedule(arrives - self.now, EventKind::Deliver { from, to, link, message: Box::new(message) });
    }
}
