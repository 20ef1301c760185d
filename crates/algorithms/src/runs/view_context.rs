//! The inner algorithm's context in a view: members instead of nodes, the overlay instead of the network.

use alloc::sync::Arc;
use alloc::vec::Vec;

use hustings_protocol::{Context, Effect, Id, Port, Protocol, Rank};

use super::state::{Places, Purpose, Reachable, Timers};
use super::{Envelope, Runs, ViewNumber};
use crate::overlay::Overlay;

/// The ticks until a message to a dead node comes back.
const BOUNCE_DELAY: u64 = 2;

/// The inner algorithm's context in a view.
pub(super) struct ViewContext<'a, P: Protocol, C> {
    pub(super) runs: &'a Runs<P>,
    pub(super) view: ViewNumber,
    pub(super) members: Places,
    pub(super) index: u32,
    pub(super) timers: &'a mut Timers<P::Message>,
    pub(super) cx: &'a mut C,
}

impl<P: Protocol, C: Context<Runs<P>>> ViewContext<'_, P, C> {
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

    fn post_to_port(&mut self, port: Port, message: P::Message) {
        if let Some((peer, into)) = self.overlay().peer(self.index, port)
            && let Some(rank) = self.member(peer)
        {
            self.post(rank.id(), Some(into), message);
        }
    }

    /// For the inner algorithm, a node outside the view is down: its messages come back. This does not depend on the
    /// network, which may deliver the message or lose it without notice.
    fn post_to_id(&mut self, to: Id, message: P::Message) {
        if self.runs.place(to).is_some_and(|place| self.members.binary_search(&place).is_ok()) {
            self.post(to, None, message);
        } else {
            self.cx.set_timer(BOUNCE_DELAY, self.timers.set(Purpose::Bounce(to, message)));
        }
    }

    fn post_to_member(&mut self, member: u32, message: P::Message) {
        if let Some(rank) = self.member(member) {
            self.post(rank.id(), None, message);
        }
    }
}

impl<P: Protocol, C: Context<Runs<P>>> Context<P> for ViewContext<'_, P, C> {
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
    fn emit(&mut self, effect: Effect<P::Message>) {
        effect.for_each_port(self.degree(), |effect| match effect {
            Effect::Send(port, message) => self.post_to_port(port, message),
            Effect::SendDirect(to, message) => self.post_to_id(to, message),
            Effect::SendTo(member, message) => self.post_to_member(member, message),
            Effect::SetTimer(after, timer) => {
                let timer = self.timers.set(Purpose::Inner(timer));
                self.cx.set_timer(after, timer);
            }
            Effect::Lead => self.cx.lead(),
            Effect::Follow(leader) => self.cx.follow(leader),
            Effect::Forget => self.cx.forget(),
            Effect::Learn(fact) => self.cx.learn(fact),
            // A view lasts only while its members are up, so nobody is skipped.
            Effect::Skip(_) => {}
            Effect::SendAllBut(..) | Effect::SendRange(..) => unreachable!("it was split into sends to single ports"),
        });
    }
}

impl<P: Protocol> Runs<P> {
    /// The place of an id on the map.
    pub(super) fn place(&self, id: Id) -> Option<u32> {
        let index = self.places.binary_search_by_key(&id, |&(id, _)| id).ok()?;
        Some(self.places[index].1)
    }

    /// The members in an update that are on the map, and the node itself. A valid update is kept as it is, so that
    /// nodes which share it can compare by reference.
    pub(super) fn reachable_from(&self, update: Arc<[Id]>, own: u32) -> Reachable {
        let mut places: Vec<u32> = update.iter().filter_map(|&id| self.place(id)).collect();
        places.sort_unstable();
        places.dedup();
        let is_whole = places.len() == update.len() && update.is_sorted();
        match places.binary_search(&own) {
            Ok(_) if is_whole => return Reachable { ids: update, places: places.into() },
            Ok(_) => {}
            Err(at) => places.insert(at, own),
        }
        let mut ids: Vec<Id> = places.iter().map(|&place| self.ranks[place as usize].id()).collect();
        ids.sort_unstable();
        Reachable { ids: ids.into(), places: places.into() }
    }
}
