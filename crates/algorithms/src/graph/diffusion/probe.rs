//! Probes: how a node finds out that a neighbour it expects something of is gone, or has not heard, or has forgotten.
//!
//! As long as a node awaits an answer, or the leader, it asks every neighbour concerned every so many ticks. One that
//! does not answer three times in a row (once might be bad luck) is struck off. An answer tells which computation the
//! other is in: so what got lost is said again.

use hustings_protocol::{Context, Port, Rank, Timer};

use super::message::Prober;
use super::state::{Index, ROOT};
use super::{Aggregate, Diffusion, Message, News, PROBE, Ports, State};

impl<R: Rank, A: Aggregate<R>> Diffusion<R, A> {
    /// The timer of a computation's probes.
    pub(super) fn probes<C: Context<Self>>(&self, state: &mut State<R, A::Value>, token: u32, cx: &mut C) -> News {
        let turn = |state: &State<R, A::Value>| state.part.as_ref().map(|part| u32::from(part.turn));
        if turn(state) != Some(token) || state.is_settled() {
            return News::NOTHING;
        }
        let rough = state.rough();
        rough.rounds = rough.rounds.saturating_add(1);
        let mut news = News::NOTHING;
        let [_, _, lost] = rough.silent.clone();
        for port in lost.iter() {
            news |= self.struck(state, port, cx);
            if turn(state) != Some(token) {
                return news;
            }
        }
        if state.is_settled() {
            return news;
        }
        if self.winner_is_late(state) {
            // Next time it should be another one, if this one is gone. If not, others must tell it.
            let again = core::mem::replace(&mut state.rough().late, true);
            return news | if again { self.proclaim(state, cx) } else { self.elect(state, cx) };
        }
        self.ask(state, cx);
        cx.set_timer(self.probe, Timer { kind: PROBE, token });
        news
    }

    /// At the source: whether the winner should have spread the word long ago. That takes no longer than the election
    /// took.
    fn winner_is_late(&self, state: &State<R, A::Value>) -> bool {
        let is_over = state.is_electing() && state.part.as_ref().is_some_and(|part| part.done && part.parent == ROOT);
        is_over && state.rough.as_ref().is_some_and(|rough| rough.rounds > rough.allowed)
    }

    fn ask<C: Context<Self>>(&self, state: &mut State<R, A::Value>, cx: &mut C) {
        let Some(part) = &state.part else { return };
        let (turn, (counter, source, leads)) = (part.turn, part.index());
        let mut asked = part.awaited.clone();
        let by = if leads { Prober::AwaitsLeaderAck } else { Prober::AwaitsAck };
        asked.iter().for_each(|port| cx.send(port, Message::Probe { by, turn, counter, source }));
        if let Some(parent) = state.parent().filter(|_| !leads) {
            cx.send(parent, Message::Probe { by: Prober::AwaitsLeader, turn, counter, source });
            asked.insert(parent);
        }
        let [once, twice, _] = core::mem::replace(&mut state.rough().silent, [Ports::NONE; 3]);
        let both = |one: &Ports, other: &Ports| {
            let mut ports = Ports::NONE;
            one.iter().filter(|port| other.contains(*port)).for_each(|port| ports.insert(port));
            ports
        };
        state.rough().silent = [asked.clone(), both(&once, &asked), both(&twice, &asked)];
    }

    /// A neighbour asks.
    #[cold]
    #[inline(never)]
    pub(super) fn probed<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        from: Port,
        by: Prober,
        turn: u16,
        index: Index,
        cx: &mut C,
    ) -> News {
        let own = cx.rank();
        let here = state.index(own.id());
        let (counter, source, leads) = here;
        let reply = Message::Reply { leads, counter, source };
        let Some(part) = &mut state.part else {
            self.watch_out(state, cx);
            cx.send(from, reply);
            return News::NOTHING;
        };
        let is_parent = part.parent == from.0;
        if here < index || (here == index && by == Prober::AwaitsLeader) || (here == index && is_parent && !part.done) {
            cx.send(from, reply);
        } else if here == index && is_parent {
            return self.asked_again(part, turn, cx);
        } else if here == index {
            // It has its answer already, unless that was lost.
            cx.send(from, Message::answer(part.computation(), turn, || self.aggregate.nothing(own)));
        } else if is_parent && !leads {
            // The parent has forgotten this election.
            return self.struck(state, from, cx);
        } else {
            if !part.done && !is_parent {
                part.awaited.insert(from);
            }
            cx.send(from, Message::call(part.computation(), part.turn));
        }
        News::NOTHING
    }

    /// A neighbour is there, and in this computation.
    #[cold]
    #[inline(never)]
    pub(super) fn replied<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        from: Port,
        index: Index,
        cx: &mut C,
    ) -> News {
        if let Some(rough) = &mut state.rough {
            rough.silent.iter_mut().for_each(|ports| {
                ports.remove(from);
            });
        }
        let here = state.index(cx.rank().id());
        let Some(part) = &state.part else { return News::NOTHING };
        if index > here && index.2 && state.is_electing() {
            // It knows a leader from a later time than this election's: this one must be held anew, later than that.
            return self.elect_after(state, index.0, cx);
        }
        if index < here && part.awaited.contains(from) {
            cx.send(from, Message::call(part.computation(), part.turn));
        } else if index < here && state.is_electing() && state.parent() == Some(from) {
            return self.struck(state, from, cx);
        }
        News::NOTHING
    }
}
