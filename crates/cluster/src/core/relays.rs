//! Messages that arrive through a third member.
//!
//! If two members have no connection, a third one passes their messages on. It is not trusted: the node lets in only
//! what is sealed by the member that it is said to come from (see [`Relay`]). What is left to do here:
//!
//! - A message counts only for the process of the receiver that it was meant for. What was said to an earlier one, such
//!   as a confirmation of its answers, must not renew the leases of the next. Who does not know this process yet is
//!   told of it, by this node's candidacy.
//! - A message counts only if its number is greater than those before it, so that it has no effect twice, or after a
//!   later one. Messages that others may overtake are compared with each other only.
//! - A connection tells which process is at its other end. A member that was started while there is none introduces
//!   itself by its candidacy, which also names its disk: until then, nothing that it sends counts. Who hears of such a
//!   member sends its own candidacy, so that both introduce themselves.
//! - Only voters pass messages on, only of members to members, and only what a member itself sends to them.

use hustings_protocol::Id;

use super::{Core, Output};
use crate::wire::{Message, Relay};

/// How a message arrived that was relayed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// Who passed it on.
    pub(super) via: Id,
    /// Who sent it, in which incarnation.
    pub(super) from: Id,
    pub(super) incarnation: u64,
}

impl Core {
    /// A relayed message arrived: for this node, with a seal that was checked, or to be passed on.
    pub(super) fn handle_relay(&mut self, via: Id, relay: Relay) {
        self.liveness.record_contact(via, false, true, self.now);
        let is_passed_on = relay.to != self.settings.own;
        let is_acceptable = match is_passed_on {
            true => relay.from == via && self.relays(self.settings.own, relay.from, relay.to),
            false => self.relays(via, relay.from, relay.to),
        };
        if !is_acceptable {
            return self.out.increment("ignored-relays");
        }
        if !is_passed_on {
            let arrival = Arrival { via, from: relay.from, incarnation: relay.incarnation };
            self.out.relayed = Some(arrival);
            self.accept_relayed(relay);
            self.out.relayed = None;
        } else if self.liveness.is_connected(relay.to) {
            self.out.push(Output::Send(relay.to, Message::Relay(relay)));
        }
    }

    /// Whether a member may pass messages on from one member to another.
    fn relays(&self, via: Id, from: Id, to: Id) -> bool {
        let table = self.arbiter.table();
        let votes = table.member(via).is_some_and(|member| member.role.votes());
        votes && via != from && from != to && table.member(from).is_some() && table.member(to).is_some()
    }

    fn accept_relayed(&mut self, relay: Relay) {
        let Relay { from, incarnation, to_incarnation, number, is_bulk, .. } = relay;
        let Ok(message) = Message::decode(&relay.bytes) else { return self.out.increment("ignored-relays") };
        if matches!(message, Message::Relay(_)) || message.is_bulk() != is_bulk {
            return self.out.increment("ignored-relays");
        }
        if to_incarnation != self.settings.incarnation {
            return self.introduce_to(from);
        }
        if self.liveness.may_have_restarted(from, incarnation) {
            if !matches!(&message, Message::Candidacy(candidacy) if candidacy.incarnation == incarnation) {
                return self.introduce_to(from);
            }
            self.liveness.handle_relayed_start(from, incarnation, &self.settings.timing, self.now);
            self.elections.handle_incarnation(from, incarnation);
        }
        if self.liveness.accepts_relayed(from, incarnation, is_bulk, number) {
            self.dispatch(from, message);
        }
    }

    /// Sends this node's candidacy to a member that does not know this process, or that this node does not know; not
    /// more often than heartbeats.
    fn introduce_to(&mut self, id: Id) {
        if self.liveness.may_introduce_to(id, self.settings.timing.heartbeat, self.now) {
            let (parts, mut context) = self.split();
            parts.elections.send_candidacy(id, &mut context);
        }
    }
}
