//! Whether what a record tells could happen, and is what the protocol does.

use hustings_protocol::{Change, Effect, Event, Id, Message, Protocol, Rank};

use super::letters::{Envelope, Search};
use super::{Cause, Replay, ReplayError, Returned};
use crate::engine::general::Route;

impl<P: Protocol> Replay<'_, P> {
    /// Checks that the event could happen, and takes its message or timer off the list.
    pub(super) fn check_event(
        &mut self,
        at: u32,
        event: &Event<P::Message>,
        cause: Cause,
        peer: Option<u32>,
    ) -> Result<Option<Returned>, ReplayError> {
        match event {
            Event::Start(_) | Event::Rejoin | Event::Retire => {}
            Event::Change(Change::Reachable(ids)) => self.check_word(at, ids, cause)?,
            Event::Message { message, .. } | Event::Direct { message, .. } => {
                self.check_arrival(at, event, message, cause, peer)?;
            }
            Event::Unreachable { message, .. } | Event::UnreachableDirect { message, .. } => {
                return self.check_return(at, event, message, cause, peer);
            }
            Event::Timer(timer) => {
                if !self.timers.ring(cause.0, at, self.lives[at as usize], *timer) {
                    return Err(ReplayError::timer(self.number, at, *timer, cause.0));
                }
            }
            Event::Change(Change::LinkUp(port) | Change::LinkDown(port) | Change::PeerRank(port)) => {
                self.target(at, *port)?;
            }
        }
        Ok(None)
    }

    /// Why word came is the environment's business; here it is only looked whether it could be word at all.
    fn check_word(&self, at: u32, ids: &[Id], cause: Cause) -> Result<(), ReplayError> {
        let members = self.setting.network.members();
        let own = self.ranks.get(at as usize).filter(|_| at < members).map(|rank| rank.id());
        let problem = if !self.protocol.observes_reachability() {
            "its protocol does not watch"
        } else if cause != (None, 0, false) {
            "word has no cause"
        } else if !ids.is_sorted_by(|a, b| a < b) {
            "the ids are not ascending"
        } else if own.is_none_or(|own| ids.binary_search(&own).is_err()) {
            "it is not among them itself"
        } else if ids.iter().any(|&id| self.books.position(id).is_none()) {
            "nobody has one of the ids"
        } else {
            return Ok(());
        };
        Err(ReplayError::Word { number: self.number, at, problem })
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
        let fits = |way: Route| match (event, way) {
            (Event::Message { from, .. }, Route::Link { into, .. }) => *from == into,
            (Event::Direct { from, .. }, Route::Direct(_)) => Some(*from) == sender,
            _ => false,
        };
        let search = Search { cause, nth, copy, from: peer, to: Some(at), message };
        let came = self.letters.arrive(&search, fits);
        let came = came.map_err(|none| ReplayError::not_under_way(self.number, at, &search, none))?;
        if let Route::Link { .. } = came.way
            && !copy
        {
            self.resends.acknowledge(came.from, came.ticket);
        }
        self.books.count_delivered(at, self.tick, message.is_periodic());
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
        let life = self.lives[at as usize];
        let resends = &self.resends;
        let fits = |sent: &Envelope| {
            let is_way = match (event, sent.way) {
                (Event::Unreachable { port, .. }, Route::Link { out, .. }) => {
                    *port == out && !resends.was_resent(at, sent.ticket)
                }
                (Event::UnreachableDirect { to, .. }, Route::Direct(id)) => *to == id,
                _ => false,
            };
            is_way && sent.life == life
        };
        let search = Search { cause, nth, copy, from: Some(at), to: peer, message };
        let back = self.letters.give_back(&search, fits);
        let back = back.map_err(|none| ReplayError::not_lost(self.number, at, &search, none))?;
        Ok(match back.way {
            Route::Link { out, .. } => Some((out, back.to, back.ticket)),
            Route::Direct(_) | Route::Nowhere(_) => None,
        })
    }

    /// Compares what the protocol did with what it did then.
    pub(super) fn compare(&self, recorded: &[Effect<P::Message>]) -> Result<(), ReplayError> {
        if self.effects == recorded {
            return Ok(());
        }
        let same = self.effects.iter().zip(recorded).take_while(|(now, then)| now == then).count();
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
