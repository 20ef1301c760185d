//! The computation itself: a tree grows, and shrinks back with what it gathered.

use hustings_protocol::{Context, Id, Port, Rank};

use super::state::{Computation, PROXY, Part, ROOT};
use super::{Aggregate, Diffusion, Message, News, Ports, Purpose, State};

impl<R: Rank, A: Aggregate<R>> Diffusion<R, A> {
    /// Holds an election with this node as its source, whatever was going on here. It has the next counter, so it
    /// draws in everybody who knows of no later one.
    pub fn elect<C: Context<Self>>(&self, state: &mut State<R, A::Value>, cx: &mut C) -> News {
        self.elect_after(state, state.counter(), cx)
    }

    /// Holds an election that prevails over all with this counter.
    #[cold]
    #[inline(never)]
    pub(super) fn elect_after<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        counter: u32,
        cx: &mut C,
    ) -> News {
        let gathered = self.aggregate.own::<Self, C>(cx);
        let next = Computation { purpose: Purpose::Elect(cx.rank().id()), counter: counter.wrapping_add(1) };
        News::ELECTS | self.enter(state, next, gathered, None, cx)
    }

    /// Makes this node the leader and tells everybody, without any election.
    pub fn spread<C: Context<Self>>(&self, state: &mut State<R, A::Value>, cx: &mut C) -> News {
        let nothing = || self.aggregate.nothing(cx.rank());
        let gathered = state.part.as_ref().map_or_else(nothing, |part| part.gathered.clone());
        self.spread_after(state, state.counter(), gathered, cx)
    }

    /// Tells everybody that this node leads, prevailing over all with this counter.
    #[cold]
    #[inline(never)]
    pub(super) fn spread_after<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        counter: u32,
        gathered: A::Value,
        cx: &mut C,
    ) -> News {
        cx.lead();
        let next = Computation { purpose: Purpose::Lead(cx.rank()), counter: counter.wrapping_add(1) };
        News::WON | self.enter(state, next, gathered, None, cx)
    }

    /// A neighbour asks this node to take part.
    #[inline(always)]
    pub(super) fn called<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        from: Port,
        call: Computation<R>,
        turn: u16,
        cx: &mut C,
    ) -> News {
        let index = call.index();
        match &state.part {
            Some(part) if part.index() == index => {
                if part.parent == from.0 {
                    // Its parent asks a second time. The answer is still to come, or was lost.
                    return self.asked_again(part, turn, cx);
                }
                let own = cx.rank();
                cx.send(from, Message::answer(call, turn, || self.aggregate.nothing(own)));
                News::NOTHING
            }
            Some(part) if part.index() > index => self.behind(state, from, call.purpose, cx),
            _ => self.join(state, from, call, turn, cx),
        }
    }

    /// The node leaves what it took part in, if anything, for a computation that is later.
    #[inline(always)]
    fn join<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        from: Port,
        call: Computation<R>,
        turn: u16,
        cx: &mut C,
    ) -> News {
        let (own, counter) = (cx.rank(), call.counter);
        match call.purpose {
            // An election of its own that it knows nothing of: it has lost its memory, and begins anew.
            Purpose::Elect(source) if source == own.id() => self.elect_after(state, counter, cx),
            Purpose::Elect(_) => {
                let gathered = self.aggregate.own::<Self, C>(cx);
                News::ELECTS | self.enter(state, call, gathered, Some((from, turn)), cx)
            }
            // It is said to lead, and does not know; or it leads, and a lesser one is said to. It tells everybody.
            Purpose::Lead(leader) if leader == own || (leader < own && state.leader() == Some(own)) => {
                cx.send(from, Message::LeaderAck { turn, counter });
                let gathered = self.aggregate.nothing(own);
                self.spread_after(state, counter, gathered, cx)
            }
            Purpose::Lead(leader) => {
                cx.follow(leader.id());
                let gathered = self.aggregate.nothing(own);
                News::FOLLOWS | self.enter(state, call, gathered, Some((from, turn)), cx)
            }
        }
    }

    /// The node takes its part, and draws in its neighbours. Of its parent it knows the port and the turn.
    #[inline(always)]
    fn enter<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        call: Computation<R>,
        gathered: A::Value,
        parent: Option<(Port, u16)>,
        cx: &mut C,
    ) -> News {
        let Computation { purpose, counter } = call;
        let turn = state.part.as_ref().map_or(0, |part| part.turn).wrapping_add(1);
        let degree = cx.degree();
        let (awaited, parent, answer) = match parent {
            Some((port, answer)) => (Ports::all_but(degree, port), port.0, answer),
            None => (Ports::all(degree), ROOT, 0),
        };
        let mut part = Part { counter, parent, turn, answer, done: false, purpose, awaited, gathered };
        if state.rough.is_none() {
            cx.send_all_but((parent != ROOT).then_some(Port(parent)), Message::call(call, turn));
        } else {
            Self::call_present(state, &mut part, cx);
        }
        let is_over = part.awaited.is_empty() || (parent != ROOT && self.aggregate.is_hasty(cx.rank()));
        state.part = Some(part);
        if self.looks_out() {
            self.look_out(state, cx);
        }
        if is_over { self.finish(state, cx) } else { News::NOTHING }
    }

    /// Draws in those neighbours that are there.
    #[cold]
    #[inline(never)]
    fn call_present<C: Context<Self>>(state: &State<R, A::Value>, part: &mut Part<R, A::Value>, cx: &mut C) {
        let call = Message::call(part.computation(), part.turn);
        let absent = state.rough.as_ref().map(|rough| rough.absent.clone()).unwrap_or(Ports::NONE);
        for port in absent.iter() {
            part.awaited.remove(port);
        }
        if absent.is_empty() {
            cx.send_all_but((part.parent < PROXY).then_some(Port(part.parent)), call);
        } else {
            part.awaited.iter().for_each(|port| cx.send(port, call.clone()));
        }
    }

    /// A neighbour has answered.
    #[inline(always)]
    pub(super) fn answered<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        from: Port,
        gathered: Option<A::Value>,
        cx: &mut C,
    ) -> News {
        let Some(part) = &mut state.part else { return News::NOTHING };
        if !part.awaited.remove(from) {
            return News::NOTHING;
        }
        if let Some(gathered) = gathered {
            self.aggregate.merge(&mut part.gathered, gathered);
        }
        // One that cheats has answered already.
        if part.awaited.is_empty() && !part.done { self.finish(state, cx) } else { News::NOTHING }
    }

    /// All answers are in.
    #[inline(always)]
    fn finish<C: Context<Self>>(&self, state: &mut State<R, A::Value>, cx: &mut C) -> News {
        let Some(part) = &mut state.part else { return News::NOTHING };
        part.done = true;
        if part.parent >= PROXY {
            return self.end(state, cx);
        }
        cx.send(Port(part.parent), Message::answer(part.computation(), part.answer, || part.gathered.clone()));
        News::NOTHING
    }

    /// All answers are in at the source.
    #[cold]
    #[inline(never)]
    fn end<C: Context<Self>>(&self, state: &mut State<R, A::Value>, cx: &mut C) -> News {
        let Some(part) = &state.part else { return News::NOTHING };
        if part.purpose.leads() {
            return if part.parent == ROOT { News::CONFIRMED } else { News::NOTHING };
        }
        let own = cx.rank();
        let winner = self.aggregate.winner(&part.gathered, own);
        if winner == own {
            return News::ENDED | self.spread(state, cx);
        }
        let notify = Message::Notify { counter: part.counter, gathered: part.gathered.clone() };
        cx.send_direct(winner.id(), notify);
        if let Some(rough) = &mut state.rough {
            rough.allowed = rough.rounds.saturating_mul(2).saturating_add(3);
        }
        News::ENDED
    }

    /// Tells everybody that the winner leads, for that one cannot be told so directly. When the word gets to it, it
    /// spreads it itself.
    #[cold]
    #[inline(never)]
    pub(super) fn proclaim<C: Context<Self>>(&self, state: &mut State<R, A::Value>, cx: &mut C) -> News {
        let Some(part) = &state.part else { return News::NOTHING };
        let own = cx.rank();
        let winner = self.aggregate.winner(&part.gathered, own);
        let next = Computation { purpose: Purpose::Lead(winner), counter: part.counter.wrapping_add(1) };
        cx.follow(winner.id());
        let news = News::FOLLOWS | self.enter(state, next, self.aggregate.nothing(own), None, cx);
        if let Some(part) = &mut state.part {
            part.parent = PROXY;
        }
        news
    }

    /// The source of an election says that this node has won it.
    #[cold]
    #[inline(never)]
    pub(super) fn notified<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        source: Id,
        counter: u32,
        gathered: A::Value,
        cx: &mut C,
    ) -> News {
        if state.index(cx.rank().id()) > (counter, source, false) {
            // It is in a later computation already, which has, or will have, a leader of its own.
            return News::NOTHING;
        }
        self.spread_after(state, counter, gathered, cx)
    }

    /// The parent asks this node to take part in what it takes part in: by a copy of its message, or because it heard
    /// nothing. Its answer is the one that it owes, and not that of a stranger.
    #[cold]
    #[inline(never)]
    pub(super) fn asked_again<C: Context<Self>>(&self, part: &Part<R, A::Value>, turn: u16, cx: &mut C) -> News {
        if part.done {
            let gathered = || part.gathered.clone();
            cx.send(Port(part.parent), Message::answer(part.computation(), turn, gathered));
        }
        News::NOTHING
    }

    /// A neighbour is in an earlier computation than this node. Where an election is under way, that neighbour was
    /// asked to take part, and will; where a leader is known, nobody would tell it.
    #[cold]
    #[inline(never)]
    fn behind<C: Context<Self>>(
        &self,
        state: &State<R, A::Value>,
        from: Port,
        purpose: Purpose<R>,
        cx: &mut C,
    ) -> News {
        let (counter, source, leads) = state.index(cx.rank().id());
        if leads && !purpose.leads() {
            cx.send(from, Message::Reply { leads, counter, source });
        }
        News::NOTHING
    }
}
