//! Outgoing connections.

use std::net::SocketAddr;

use hustings_protocol::Id;
use mio::net::TcpStream;

use super::hello::{Hello, PROTOCOL_VERSION};
use super::link::{Link, Stage};
use super::peer::Dial;
use super::{Event, Transport};
use crate::clock::Timestamp;

impl Transport {
    /// Starts an attempt.
    pub(super) fn dial(&mut self, id: Id, now: Timestamp, out: &mut Vec<Event>) {
        let Some(peer) = self.peers.get_mut(id) else { return };
        if let Ok(address) = peer.member.address.parse() {
            return self.try_addresses(id, vec![address], now, out);
        }
        if peer.asked || self.resolver.ask(id, &peer.member.address) {
            peer.asked = true;
            peer.dial = Dial::Resolving;
        } else {
            self.dial_failed(id, now, out);
        }
    }

    /// Continues with the peers whose addresses have been resolved.
    pub(super) fn dial_resolved(&mut self, now: Timestamp, out: &mut Vec<Event>) {
        for answer in self.resolver.answers() {
            let Some(peer) = self.peers.get_mut(answer.peer) else { continue };
            peer.asked = false;
            if !answer.addresses.is_empty() {
                peer.resolved = answer.addresses.iter().map(SocketAddr::ip).collect();
            }
            if peer.dial == Dial::Resolving {
                let addresses = rotated(answer.addresses, peer.failures);
                self.try_addresses(answer.peer, addresses, now, out);
            }
        }
    }

    /// Connects to the first of these addresses that can be tried.
    fn try_addresses(&mut self, id: Id, mut addresses: Vec<SocketAddr>, now: Timestamp, out: &mut Vec<Event>) {
        while !addresses.is_empty() {
            let address = addresses.remove(0);
            let Some(slot) = self.slots.reserve() else { break };
            match self.connect(id, address, slot, now) {
                Some(link) => {
                    self.slots.put(slot, link);
                    if let Some(peer) = self.peers.get_mut(id) {
                        peer.dial = Dial::Trying { slot, rest: addresses };
                    }
                    return;
                }
                None => self.slots.release(slot),
            }
        }
        self.dial_failed(id, now, out);
    }

    fn connect(&mut self, id: Id, address: SocketAddr, slot: usize, now: Timestamp) -> Option<Box<Link>> {
        self.counters.dialled += 1;
        let tls = self.identity.dial(&self.peers.get(id)?.member).ok()?;
        let socket = TcpStream::connect(address).ok()?;
        let mut link = Box::new(Link::new(socket, tls, address.ip(), self.token_bucket(), now));
        link.peer = Some(id);
        self.register(&mut link, slot).ok()?;
        Some(link)
    }

    /// Handles the failure of a dialled connection.
    pub(super) fn dial_ended(&mut self, id: Id, stage: Stage, now: Timestamp, out: &mut Vec<Event>) {
        let Some(peer) = self.peers.get_mut(id) else { return };
        match &mut peer.dial {
            Dial::Trying { rest, .. } if stage == Stage::Connecting && !rest.is_empty() => {
                let rest = std::mem::take(rest);
                self.try_addresses(id, rest, now, out);
            }
            _ => self.dial_failed(id, now, out),
        }
    }

    /// Handles a failed attempt. If the peer has connected meanwhile, that connection is used.
    fn dial_failed(&mut self, id: Id, now: Timestamp, out: &mut Vec<Event>) {
        self.counters.dial_failures += 1;
        let Some(peer) = self.peers.get_mut(id) else { return };
        peer.failed(now, &mut self.jitter);
        let Some(slot) = peer.parked.take() else { return };
        let Some(link) = self.slots.take(slot) else { return };
        self.establish(link, slot, id, now, out);
    }

    /// Handles the outcome of a connection attempt.
    pub(super) fn dial_answered(&mut self, slot: usize, now: Timestamp, out: &mut Vec<Event>) {
        let Some(link) = self.slots.get_mut(slot) else { return };
        match link.connected() {
            Ok(false) => {}
            Ok(true) => {
                link.tune();
                link.stage = Stage::Greeting;
                let hello = self.hello();
                if let Some(link) = self.slots.get_mut(slot) {
                    link.own_sequence = self.sequence;
                    link.greet(&hello, &mut self.counters);
                }
            }
            Err(reason) => self.close_slot(slot, reason, now, out),
        }
    }

    /// Creates the next Hello of this node.
    pub(super) fn hello(&mut self) -> Vec<u8> {
        self.sequence += 1;
        Hello {
            version: PROTOCOL_VERSION,
            cluster: self.identity.cluster().to_owned(),
            id: self.own,
            incarnation: self.incarnation,
            sequence: self.sequence,
        }
        .encode()
    }
}

/// An address that does not answer uses up the whole timeout, so after each failure another address comes first.
fn rotated(mut addresses: Vec<SocketAddr>, failures: u32) -> Vec<SocketAddr> {
    let first = failures as usize % addresses.len().max(1);
    addresses.rotate_left(first);
    addresses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_comes_first_in_rotation() {
        let address = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let all: Vec<_> = (1..=3).map(address).collect();
        let first: Vec<_> = (0..4).map(|failures| rotated(all.clone(), failures)[0]).collect();
        assert_eq!(first, [1, 2, 3, 1].map(address));
        assert!(rotated(Vec::new(), 7).is_empty());
    }
}
