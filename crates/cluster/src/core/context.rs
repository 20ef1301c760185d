//! What a part of the core may read and send while it handles an input.

use std::collections::{BTreeMap, VecDeque};

use hustings_protocol::Id;

use super::liveness::Liveness;
use super::metrics::Metrics;
use super::relays::Arrival;
use super::settings::Settings;
use super::{ClientId, Output};
use crate::api::Reply;
use crate::clock::Timestamp;
use crate::format::FIRST;
use crate::store::DiskState;
use crate::wire::{Message, Relay};

/// What the parts of the core want done, in order.
#[derive(Default)]
pub(super) struct Outbox {
    pub(super) outputs: Vec<Output>,
    /// Messages of this node to itself. They never leave the core.
    pub(super) to_self: VecDeque<Message>,
    /// How the message being handled arrived, if it was relayed.
    pub(super) relayed: Option<Arrival>,
    /// The number of the last message that this node sent through a relay.
    pub(super) last_relayed: u64,
    pub(super) counters: BTreeMap<&'static str, u64>,
    pub(super) metrics: Metrics,
}

impl Outbox {
    pub(super) fn push(&mut self, output: Output) {
        self.outputs.push(output);
    }

    pub(super) fn increment(&mut self, counter: &'static str) {
        *self.counters.entry(counter).or_default() += 1;
    }
}

/// What a part of the core may read and send while it handles an input.
pub(crate) struct Context<'a> {
    /// The current time.
    pub now: Timestamp,
    /// Wall-clock time, for display.
    pub unix_ms: u64,
    /// Where this node's log ends.
    pub disk: DiskState,
    /// The version of the formats that may be written now.
    pub version: u8,
    /// Who is up.
    pub liveness: &'a Liveness,
    pub(super) settings: &'a Settings,
    pub(super) out: &'a mut Outbox,
}

impl Context<'_> {
    /// This node's id.
    pub(crate) fn own(&self) -> Id {
        self.settings.own
    }

    /// Carries out an output.
    pub(super) fn push(&mut self, output: Output) {
        self.out.push(output);
    }

    /// Whether a kind of message may be sent to a peer: all members know it, and so does the peer, who may be a guest.
    /// Kinds of the first version always may.
    fn knows(&self, peer: Id, message: &Message) -> bool {
        let version = (self.settings.formats.version_of)(message.kind());
        let reads = || self.liveness.peer(peer).map_or(0, |peer| peer.reads);
        version <= FIRST || version <= self.version.min(reads())
    }

    /// Sends a message to a member: to this node itself, directly, or through a relay if there is no connection. What
    /// the member does not know is not sent to it.
    pub(crate) fn send(&mut self, to: Id, message: Message) {
        if to == self.settings.own {
            self.out.to_self.push_back(message);
        } else if !self.knows(to, &message) {
        } else if self.liveness.is_connected(to) {
            self.out.push(Output::Send(to, message));
        } else {
            self.send_relayed(to, &message);
        }
    }

    /// Answers the message that is being handled, on the way on which it came.
    pub(super) fn answer(&mut self, to: Id, message: Message) {
        if self.out.relayed.is_some() {
            self.send_relayed(to, &message);
        } else {
            self.send(to, message);
        }
    }

    /// Sends a message through a relay: the peer that relayed the message being handled, or any peer that is connected.
    pub(super) fn send_relayed(&mut self, to: Id, message: &Message) {
        let arrival = self.out.relayed;
        let via = self.liveness.relay_to(to, arrival.map(|arrival| arrival.via));
        let Some(via) = via.filter(|_| self.knows(to, message)) else { return };
        let Settings { own: from, incarnation, .. } = *self.settings;
        // An answer is for the process that asked, which this node may not know otherwise.
        let asked = arrival.filter(|arrival| arrival.from == to).map(|arrival| arrival.incarnation);
        let to_incarnation = asked.or_else(|| self.liveness.incarnation_of(to)).unwrap_or(0);
        self.out.last_relayed += 1;
        let (number, is_bulk, bytes) = (self.out.last_relayed, message.is_bulk(), message.encode());
        let relay = Relay { from, incarnation, to, to_incarnation, number, is_bulk, bytes, seal: None };
        self.out.push(Output::Send(via, Message::Relay(relay)));
    }

    /// Sends a heartbeat to a member. If the connection has been quiet, it is also sent through a relay: perhaps only
    /// one link is cut.
    pub(super) fn send_heartbeat(&mut self, to: Id, heartbeat: Message, is_relayed_if_quiet: bool) {
        if is_relayed_if_quiet && self.liveness.is_link_quiet(to, self.settings.timing.heartbeat, self.now) {
            self.send_relayed(to, &heartbeat);
        }
        self.send(to, heartbeat);
    }

    /// Sends a message to all peers that are connected, and through a relay to those that are up nevertheless.
    pub(super) fn broadcast(&mut self, message: &Message) {
        let reachable: Vec<Id> = self.liveness.reachable().collect();
        reachable.into_iter().for_each(|id| self.send(id, message.clone()));
    }

    pub(super) fn reply(&mut self, client: ClientId, reply: Reply) {
        self.out.push(Output::Reply(client, reply));
    }

    pub(super) fn increment(&mut self, counter: &'static str) {
        self.out.increment(counter);
    }
}
