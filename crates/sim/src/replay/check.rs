//! Checks that the event of a record is possible, and that the protocol has the recorded effects.

use hustings_protocol::{Change, Effect, Event, Id, Message, Protocol, Rank};

use super::in_flight::{Envelope, Search};
use super::{Cause, Replay, ReplayError, Returned};
use crate::engine::general::Route;

impl<P: Protocol> Replay<'_, P> {
    /// Checks that the event is possible, and removes its message or timer from the pending ones.
    pub(super) fn check_event(
        &mut self,
        at: u32,
        event: &Event<P::Message>,
        cause: Cause,
        peer: Option<u32>,
    ) -> Result<Option<Returned>, ReplayError> {
        match event {
            Event::Start(_) | Event::Rejoin | Event::Retire => {}
            Event::Change(Change::Reachable(ids)) => self.check_reachability(at, ids, cause)?,
            Event::Message { message, .. } | Event::Direct { message, .. } => {
                self.check_arrival(at, event, message, cause, peer)?;
            }
            Event::Unreachable { message, .. } | Event::UnreachableDirect { message, .. } => {
                return self.check_return(at, event, message, cause, peer);
            }
            Event::Timer(timer) => {
                if !self.timers.fire(cause.0, at, self.incarnations[at as usize], *timer) {
                    return Err(ReplayError::timer(self.number, at, *timer, cause.0));
                }
            }
            Event::Change(Change::LinkUp(port) | Change::LinkDown(port) | Change::PeerRank(port)) => {
                self.target(at, *port)?;
            }
        }
        Ok(None)
    }

    /// The environment decides when a reachability update comes; only its form is checked.
    fn check_reachability(&self, at: u32, ids: &[Id], cause: Cause) -> Result<(), ReplayError> {
        let members = self.setting.network.members();
        let own = self.ranks.get(at as usize).filter(|_| at < members).map(|rank| rank.id());
        let problem = if !self.protocol.observes_reachability() {
            "its protocol does not observe reachability"
        } else if cause != (None, 0, false) {
            "such an update has no cause"
        } else if !ids.is_sorted_by(|a, b| a < b) {
            "the ids are not ascending"
        } else if own.is_none_or(|own| ids.binary_search(&own).is_err()) {
            "its own id is missing"
        } else if ids.iter().any(|&id| self.accounting.position(id).is_none()) {
            "one of the ids does not exist"
        } else {
            return Ok(());
        };
        Err(ReplayError::Reachability { number: self.number, at, problem })
    }

    fn check_arrival(
        &mut self,
        at: u32,
        event: &Event<P::Message>,
        message: &P::Message,
        (cause, nth, copy): Cause,
        peer: Option<u32>,
    ) -> Result<(), ReplayError> {
        let sender = peer.and_then(|peer| self.ranks.get(peer as usize)).map(|rank| rank.id());
        let fits = |route: Route| match (event, route) {
            (Event::Message { from, .. }, Route::Link { into, .. }) => *from == into,
            (Event::Direct { from, .. }, Route::Direct(_)) => Some(*from) == sender,
            _ => false,
        };
        let search = Search { cause, nth, copy, from: peer, to: Some(at), message };
        let arrived = self.in_flight.arrive(&search, fits);
        let arrived = arrived.map_err(|missing| ReplayError::not_in_flight(self.number, at, &search, missing))?;
        if let Route::Link { .. } = arrived.route
            && !copy
        {
            self.retransmit_buffer.acknowledge(arrived.from, arrived.sequence_number);
        }
        self.accounting.count_delivered(at, self.tick, message.is_periodic());
        Ok(())
    }

    fn check_return(
        &mut self,
        at: u32,
        event: &Event<P::Message>,
        message: &P::Message,
        (cause, nth, copy): Cause,
        peer: Option<u32>,
    ) -> Result<Option<Returned>, ReplayError> {
        let incarnation = self.incarnations[at as usize];
        let retransmit_buffer = &self.retransmit_buffer;
        let fits = |sent: &Envelope| {
            let is_route = match (event, sent.route) {
                (Event::Unreachable { port, .. }, Route::Link { out, .. }) => {
                    *port == out && !retransmit_buffer.was_resent(at, sent.sequence_number)
                }
                (Event::UnreachableDirect { to, .. }, Route::Direct(id)) => *to == id,
                _ => false,
            };
            is_route && sent.incarnation == incarnation
        };
        let search = Search { cause, nth, copy, from: Some(at), to: peer, message };
        let returned = self.in_flight.return_to_sender(&search, fits);
        let returned = returned.map_err(|missing| ReplayError::not_lost(self.number, at, &search, missing))?;
        Ok(match returned.route {
            Route::Link { out, .. } => Some((out, returned.to, returned.sequence_number)),
            Route::Direct(_) | Route::Nowhere(_) => None,
        })
    }

    /// Compares the effects of the protocol with the recorded ones.
    pub(super) fn compare(&self, recorded: &[Effect<P::Message>]) -> Result<(), ReplayError> {
        if self.effects == recorded {
            return Ok(());
        }
        let same = self.effects.iter().zip(recorded).take_while(|(now, recorded)| now == recorded).count();
        let show =
            |effect: Option<&Effect<P::Message>>| effect.map_or("nothing".into(), |effect| format!("{effect:?}"));
        Err(ReplayError::Effect {
            number: self.number,
            index: same,
            recorded: show(recorded.get(same)),
            now: show(self.effects.get(same)),
        })
    }
}
