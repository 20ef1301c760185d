//! How nodes agree on a view: who is reachable, who proposes it, and which messages belong to it.

use alloc::sync::Arc;
use alloc::vec::Vec;

use hustings_protocol::{Context, Id, Protocol, Rank, StartReason};

use super::state::{Incoming, Places, Purpose, Reachability, Reachable, Run};
use super::{Envelope, Runs, StateOf, ViewNumber, ViewRule};
use crate::Initiators;
use crate::overlay::Overlay;

/// The delay before a node answers a fresh view.
const REPROPOSE_DELAY: u64 = 1;

impl<P: Protocol> Runs<P> {
    /// The reachable members, if known.
    pub(super) fn reachable<'a>(&'a self, state: &'a StateOf<P>) -> Option<&'a Reachable> {
        match &state.reachability {
            Reachability::All => Some(&self.all),
            Reachability::Unknown => None,
            Reachability::Known(reachable) => Some(reachable),
        }
    }

    /// Begins the run that the node has entered: starts if it is an initiator, and delivers messages that came early.
    pub(super) fn begin<C: Context<Self>>(&self, state: &mut StateOf<P>, cx: &mut C) {
        let Some(Run { number, index, .. }) = state.run else { return };
        let (messages, is_incomplete) = state.held.take(number);
        let starts = match self.initiators {
            Initiators::All => true,
            Initiators::LowestLive => index == 0,
        };
        if starts {
            self.with_inner(state, cx, |inner, run, cx| inner.handle_start(run, StartReason::Start, cx));
        }
        messages.into_iter().for_each(|message| self.deliver(state, message, cx));
        if is_incomplete {
            self.schedule_reproposal(state, cx);
        }
    }

    pub(super) fn adopt<C: Context<Self>>(
        &self,
        state: &mut StateOf<P>,
        number: ViewNumber,
        members: Places,
        cx: &mut C,
    ) {
        self.enter(state, number, members, cx);
        self.begin(state, cx);
    }

    /// Takes a number for a view of the reachable members. It is marked fresh for the newcomers.
    pub(super) fn propose<C: Context<Self>>(&self, state: &mut StateOf<P>, newcomers: &[u32], cx: &mut C) {
        let Some(Reachable { ids, places: members }) = self.reachable(state).cloned() else { return };
        let id = cx.rank().id();
        state.counter = state.counter.saturating_add(1);
        let number = ViewNumber { counter: state.counter, id, incarnation: state.incarnation };
        self.enter(state, number, members.clone(), cx);
        // Sent before the first message of the run, so that on FIFO links the view arrives first.
        for &place in members.iter() {
            let to = self.ranks[place as usize].id();
            if to != id {
                let fresh = newcomers.binary_search(&place).is_ok();
                cx.send_direct(to, Envelope::View { number, members: ids.clone(), fresh });
            }
        }
        self.begin(state, cx);
    }

    /// Schedules another number, unless the view has changed by then.
    pub(super) fn schedule_reproposal<C: Context<Self>>(&self, state: &mut StateOf<P>, cx: &mut C) {
        let Some(number) = state.number() else { return };
        if !state.timers.is_reproposing(number) {
            cx.set_timer(REPROPOSE_DELAY, state.timers.set(Purpose::Repropose(number)));
        }
    }

    /// Handles a reachability update.
    pub(super) fn handle_reachable<C: Context<Self>>(&self, state: &mut StateOf<P>, update: Arc<[Id]>, cx: &mut C) {
        let Some(own) = self.place(cx.rank().id()) else { return };
        let reach = self.reachable_from(update, own);
        let newcomers: Vec<u32> = match self.reachable(state) {
            None => reach.places.to_vec(),
            Some(before) => {
                let is_new = |place: &u32| before.places.binary_search(place).is_err();
                reach.places.iter().copied().filter(is_new).collect()
            }
        };
        state.reachability = Reachability::Known(reach.clone());
        if state.run.as_ref().is_some_and(|run| run.members == reach.places) {
            return;
        }
        // A view that another node has proposed will do, unless there are newcomers that may not have received it.
        let number = state.number();
        let proposed = state.pending.take_if(|(pending, members)| Some(*pending) > number && *members == reach.ids);
        match proposed {
            Some((number, _)) if newcomers.is_empty() || self.disabled == Some(ViewRule::Foreseen) => {
                self.adopt(state, number, reach.places, cx)
            }
            _ => self.propose(state, &newcomers, cx),
        }
    }

    /// Handles a view. A change among m members causes m² of these, so nothing here takes time per member, except for
    /// comparing the ids with the reachable ones, which is skipped if both share the same list.
    pub(super) fn handle_view<C: Context<Self>>(
        &self,
        state: &mut StateOf<P>,
        from: Id,
        (number, members, fresh): (ViewNumber, Arc<[Id]>, bool),
        cx: &mut C,
    ) {
        let own = cx.rank().id();
        let is_member = |id: Id| members.binary_search(&id).is_ok();
        if number.taken_by() != Some(from) || !is_member(from) || !is_member(own) {
            return;
        }
        state.counter = state.counter.max(number.counter);
        if fresh {
            // The sender may have lost the state in which it proposed earlier views.
            state.pending.take_if(|(pending, _)| pending.taken_by() == Some(from));
        }
        if Some(number) > state.number() {
            if let Some(reach) = self.reachable(state).filter(|reach| reach.ids == members) {
                let members = reach.places.clone();
                self.adopt(state, number, members, cx);
            } else if state.pending.as_ref().is_none_or(|(pending, _)| *pending < number) {
                state.pending = Some((number, members));
            }
        } else if let Some(run) = &state.run {
            let owner = run.number.taken_by();
            let is_member = self.place(from).is_some_and(|place| run.members.binary_search(&place).is_ok());
            let is_due = fresh && is_member && (owner == Some(own) || owner == Some(from));
            if is_due && self.disabled != Some(ViewRule::Fresh) {
                self.schedule_reproposal(state, cx);
            }
        }
    }

    /// Handles a message of the inner algorithm.
    pub(super) fn handle_inner<C: Context<Self>>(
        &self,
        state: &mut StateOf<P>,
        number: ViewNumber,
        message: Incoming<P::Message>,
        cx: &mut C,
    ) {
        state.counter = state.counter.max(number.counter);
        if number == ViewNumber::FIRST {
            self.enter_first(state, cx);
        }
        let is_old = Some(number) < state.number();
        if state.number() == Some(number) || (is_old && self.disabled == Some(ViewRule::Drop)) {
            self.deliver(state, message, cx);
        } else if Some(number) > state.number()
            && self.place(message.0).is_some()
            && self.disabled != Some(ViewRule::Hold)
        {
            state.held.keep(number, message);
        }
    }

    /// Delivers a message of the current run to the inner algorithm, if it can have come that way.
    pub(super) fn deliver<C: Context<Self>>(
        &self,
        state: &mut StateOf<P>,
        (from, port, message): Incoming<P::Message>,
        cx: &mut C,
    ) {
        let Some(run) = &state.run else { return };
        let place = self.place(from);
        let Some(sender) = place.and_then(|place| run.members.binary_search(&place).ok()) else { return };
        let overlay = Overlay::new(self.network, run.members.len() as u32);
        match port {
            None => self.with_inner(state, cx, |inner, run, cx| inner.handle_direct(run, from, message, cx)),
            Some(port) => {
                if overlay.peer(run.index, port).is_some_and(|(peer, _)| peer == sender as u32) {
                    self.with_inner(state, cx, |inner, run, cx| inner.handle_message(run, port, message, cx));
                }
            }
        }
    }
}
