//! What the inner algorithm sees of a view: members instead of nodes, the overlay instead of the network.

use alloc::sync::Arc;
use alloc::vec::Vec;

use hustings_protocol::{Context, Fact, Id, Port, Protocol, Rank, Timer};

use super::state::{Places, Purpose, Reach, Timers};
use super::{Envelope, Number, Runs};
use crate::overlay::Overlay;

/// How long mail takes to one who is down and back.
const RETURN: u64 = 2;

/// The inner algorithm's context in a view.
pub(super) struct Inside<'a, P: Protocol, C> {
    pub(super) runs: &'a Runs<P>,
    pub(super) view: Number,
    pub(super) members: Places,
    pub(super) index: u32,
    pub(super) timers: &'a mut Timers<P::Message>,
    pub(super) cx: &'a mut C,
}

impl<P: Protocol, C: Context<Runs<P>>> Inside<'_, P, C> {
    fn overlay(&self) -> Overlay {
        Overlay::new(self.runs.network, self.members.len() as u32)
    }

    /// The rank of the member at a place in the view.
    fn member(&self, index: u32) -> Option<P::Rank> {
        let place = self.members.get(index as usize)?;
        self.runs.ranks.get(*place as usize).copied()
    }

    fn post(&mut self, to: Id, port: Option<Port>, says: P::Message) {
        self.cx.send_direct(to, Envelope::Inner { says, view: self.view, port });
    }
}

impl<P: Protocol, C: Context<Runs<P>>> Context<P> for Inside<'_, P, C> {
    fn rank(&self) -> P::Rank {
        self.cx.rank()
    }
    fn index(&self) -> u32 {
        self.index
    }
    fn size(&self) -> u32 {
        self.members.len() as u32
    }
    fn degree(&self) -> u32 {
        self.overlay().degree(self.index)
    }
    fn peer_rank(&self, port: Port) -> Option<P::Rank> {
        let overlay = self.overlay();
        let (peer, _) = overlay.peer(self.index, port).filter(|_| overlay.shows_ranks())?;
        self.member(peer)
    }
    fn draw(&mut self, bound: u64) -> u64 {
        self.cx.draw(bound)
    }
    fn send(&mut self, port: Port, message: P::Message) {
        if let Some((peer, into)) = self.overlay().peer(self.index, port)
            && let Some(rank) = self.member(peer)
        {
            self.post(rank.id(), Some(into), message);
        }
    }
    /// Whoever is outside the view is down, as far as the inner algorithm can tell: its mail comes back. That does not
    /// depend on the network, which may say nothing of mail that it loses, or deliver it.
    fn send_direct(&mut self, to: Id, message: P::Message) {
        if self.runs.place(to).is_some_and(|place| self.members.binary_search(&place).is_ok()) {
            self.post(to, None, message);
        } else {
            self.cx.set_timer(RETURN, self.timers.set(Purpose::Return(to, message)));
        }
    }
    fn send_to(&mut self, member: u32, message: P::Message) {
        if let Some(rank) = self.member(member) {
            self.post(rank.id(), None, message);
        }
    }
    fn set_timer(&mut self, after: u64, timer: Timer) {
        let timer = self.timers.set(Purpose::Inner(timer));
        self.cx.set_timer(after, timer);
    }
    fn lead(&mut self) {
        self.cx.lead();
    }
    fn follow(&mut self, leader: Id) {
        self.cx.follow(leader);
    }
    fn forget(&mut self) {
        self.cx.forget();
    }
    fn learn(&mut self, fact: Fact) {
        self.cx.learn(fact);
    }
    /// Nobody in a view is dead for long, and nobody is told of it.
    fn skip(&mut self, _: Port) {}
}

impl<P: Protocol> Runs<P> {
    /// The place of an id on the map.
    pub(super) fn place(&self, id: Id) -> Option<u32> {
        let index = self.places.binary_search_by_key(&id, |&(id, _)| id).ok()?;
        Some(self.places[index].1)
    }

    /// Whom word names that is on the map, and the node itself. Word that is as it should be is kept as it is: those
    /// who share it then see at a glance that they reach the same.
    pub(super) fn reach_of(&self, word: Arc<[Id]>, own: u32) -> Reach {
        let mut places: Vec<u32> = word.iter().filter_map(|&id| self.place(id)).collect();
        places.sort_unstable();
        places.dedup();
        let is_whole = places.len() == word.len() && word.is_sorted();
        match places.binary_search(&own) {
            Ok(_) if is_whole => return Reach { ids: word, places: places.into() },
            Ok(_) => {}
            Err(at) => places.insert(at, own),
        }
        let mut ids: Vec<Id> = places.iter().map(|&place| self.ranks[place as usize].id()).collect();
        ids.sort_unstable();
        Reach { ids: ids.into(), places: places.into() }
    }
}
