//! An algorithm in runs behind one type: messages are bytes, timers are alarms.

use std::collections::VecDeque;

use hustings_algorithms::runs::{Envelope, Runs};
use hustings_protocol::{Change, Effect, Event, Id, Peers, Place, Protocol, Recorder, Role, Timer};

use super::key::SplitMix64;
use super::{Act, Alarm, Garbled, Memory};
use crate::member::MemberRank;

/// One node's part in a election, whatever the algorithm.
pub(super) trait Participant: Send {
    /// These are the candidates; all of them are believed up.
    fn begin(&mut self, out: &mut Out<'_>);
    /// Mail came.
    fn receive(&mut self, from: Id, bytes: &[u8], out: &mut Out<'_>) -> Result<(), Garbled>;
    /// A timer is due.
    fn ring(&mut self, timer: Timer, out: &mut Out<'_>);
    /// Whom the node names.
    fn leader(&self) -> Option<Id>;
    /// The counter of its view.
    fn view(&self) -> u64;
}

/// What a participant acts through.
pub(super) struct Out<'a> {
    /// The serial number of the election.
    pub(super) election: u64,
    pub(super) rng: &'a mut SplitMix64,
    pub(super) acts: &'a mut Vec<Act>,
}

/// A node may send so many messages to itself before anything else happens. No algorithm needs more than a few.
const MAX_TO_ITSELF: u32 = 1 << 16;

/// A participant of one algorithm.
pub(super) struct Typed<P: Protocol<Rank = MemberRank>> {
    runs: Runs<P>,
    state: <Runs<P> as Protocol>::State,
    place: Place<MemberRank>,
    ids: Vec<Id>,
    role: Role,
}

impl<P: Protocol<Rank = MemberRank>> Typed<P> {
    /// The part of the candidate at this place.
    pub(super) fn new(runs: Runs<P>, candidates: &[MemberRank], index: usize, memory: &Memory) -> Self {
        let rank = candidates[index];
        let state = runs.resume(memory.counter(), memory.incarnation);
        let place = Place { rank, index: index as u32, size: candidates.len() as u32, peers: Peers::Unknown(0) };
        let ids = candidates.iter().map(|one| one.id).collect();
        Typed { runs, state, place, ids, role: Role::Undecided }
    }

    fn handle(&mut self, event: Event<Envelope<P::Message>>, out: &mut Out<'_>) {
        let own = self.place.rank.id;
        let mut events = VecDeque::from([event]);
        let mut effects = Vec::new();
        for _ in 0..MAX_TO_ITSELF {
            let Some(event) = events.pop_front() else { return };
            let mut cx = Recorder::new(&self.place, &mut *out.rng, &mut effects);
            self.runs.handle(&mut self.state, event, &mut cx);
            for effect in effects.drain(..) {
                self.role = self.role.after(&effect);
                match effect {
                    Effect::SendDirect(to, message) if to == own => {
                        events.push_back(Event::Direct { from: own, message });
                    }
                    Effect::SendDirect(to, message) => out.acts.push(Act::Send { to, bytes: to_bytes(&message) }),
                    Effect::SetTimer(ticks, timer) => {
                        out.acts.push(Act::SetAlarm { ticks, alarm: Alarm { election: out.election, timer } });
                    }
                    // Runs send by id only; roles were looked at above, and facts are for those who watch.
                    _ => {}
                }
            }
        }
    }
}

impl<P: Protocol<Rank = MemberRank>> Participant for Typed<P> {
    fn begin(&mut self, out: &mut Out<'_>) {
        self.handle(Event::Change(Change::Reachable(self.ids.as_slice().into())), out);
    }

    fn receive(&mut self, from: Id, bytes: &[u8], out: &mut Out<'_>) -> Result<(), Garbled> {
        let message = from_bytes(bytes)?;
        self.handle(Event::Direct { from, message }, out);
        Ok(())
    }

    fn ring(&mut self, timer: Timer, out: &mut Out<'_>) {
        self.handle(Event::Timer(timer), out);
    }

    /// A name that is none of a candidate's comes from a peer that is out of its mind.
    fn leader(&self) -> Option<Id> {
        self.role.names(self.place.rank).filter(|leader| self.ids.binary_search(leader).is_ok())
    }

    fn view(&self) -> u64 {
        self.runs.epoch(&self.state).0
    }
}

/// The counter of the view, so that nobody has to know the algorithm to read it, and the message.
fn to_bytes<M: hustings_protocol::Message>(message: &Envelope<M>) -> Vec<u8> {
    postcard::to_allocvec(&(counter(message), message)).expect("messages are plain data of known lengths")
}

fn from_bytes<M: hustings_protocol::Message>(bytes: &[u8]) -> Result<Envelope<M>, Garbled> {
    let ((stated, message), rest) =
        postcard::take_from_bytes::<(u64, Envelope<M>)>(bytes).map_err(|_| Garbled::Unreadable)?;
    if !rest.is_empty() {
        return Err(Garbled::Trailing(rest.len()));
    }
    if stated == counter(&message) { Ok(message) } else { Err(Garbled::Counter) }
}

fn counter<M>(message: &Envelope<M>) -> u64 {
    match message {
        Envelope::Inner { view, .. } => view.counter,
        Envelope::View { number, .. } => number.counter,
    }
}
