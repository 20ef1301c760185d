//! The computation itself: a tree grows, and shrinks back with the gathered values.

use hustings_protocol::{Context, Id, Port, Rank};

use super::state::{Computation, PROXY, Participation, ROOT};
use super::{Aggregate, Diffusion, Message, Ports, Progress, Purpose, State};

impl<R: Rank, A: Aggregate<R>> Diffusion<R, A> {
    /// Holds an election with this node as its source, whatever it took part in. It has the next counter, so all nodes
    /// without a later one join it.
    pub fn elect<C: Context<Self>>(&self, state: &mut State<R, A::Value>, cx: &mut C) -> Progress {
        self.elect_after(state, state.counter(), cx)
    }

    /// Holds an election that prevails over computations with this counter.
    #[cold]
    #[inline(never)]
    pub(super) fn elect_after<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        counter: u32,
        cx: &mut C,
    ) -> Progress {
        let gathered = self.aggregate.own::<Self, C>(cx);
        let next = Computation { purpose: Purpose::Elect(cx.rank().id()), counter: counter.wrapping_add(1) };
        Progress::ELECTING | self.enter(state, next, gathered, None, cx)
    }

    /// Makes this node the leader and announces it, without an election.
    pub fn spread<C: Context<Self>>(&self, state: &mut State<R, A::Value>, cx: &mut C) -> Progress {
        let nothing = || self.aggregate.nothing(cx.rank());
        let gathered = state.part.as_ref().map_or_else(nothing, |part| part.gathered.clone());
        self.spread_after(state, state.counter(), gathered, cx)
    }

    /// Announces this node as the leader, prevailing over computations with this counter.
    #[cold]
    #[inline(never)]
    pub(super) fn spread_after<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        counter: u32,
        gathered: A::Value,
        cx: &mut C,
    ) -> Progress {
        cx.lead();
        let next = Computation { purpose: Purpose::Lead(cx.rank()), counter: counter.wrapping_add(1) };
        Progress::WON | self.enter(state, next, gathered, None, cx)
    }

    /// A neighbour asks this node to take part.
    #[inline(always)]
    pub(super) fn handle_call<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        from: Port,
        call: Computation<R>,
        turn: u16,
        cx: &mut C,
    ) -> Progress {
        let index = call.index();
        match &state.part {
            Some(part) if part.index() == index => {
                if part.parent == from.0 {
                    // Its parent repeats the question: the answer is still pending, or was lost.
                    return self.handle_repeated_call(part, turn, cx);
                }
                let own = cx.rank();
                cx.send(from, Message::answer(call, turn, || self.aggregate.nothing(own)));
                Progress::NONE
            }
            Some(part) if part.index() > index => self.handle_stale_call(state, from, call.purpose, cx),
            _ => self.join(state, from, call, turn, cx),
        }
    }

    /// Leaves the current computation, if any, for a later one.
    #[inline(always)]
    fn join<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        from: Port,
        call: Computation<R>,
        turn: u16,
        cx: &mut C,
    ) -> Progress {
        let (own, counter) = (cx.rank(), call.counter);
        match call.purpose {
            // It is the source of an election that it does not know: it has lost its state, and starts over.
            Purpose::Elect(source) if source == own.id() => self.elect_after(state, counter, cx),
            Purpose::Elect(_) => {
                let gathered = self.aggregate.own::<Self, C>(cx);
                Progress::ELECTING | self.enter(state, call, gathered, Some((from, turn)), cx)
            }
            // It is announced as the leader without knowing it, or it leads and a lesser leader is announced. It
            // announces itself.
            Purpose::Lead(leader) if leader == own || (leader < own && state.leader() == Some(own)) => {
                cx.send(from, Message::LeaderAck { turn, counter });
                let gathered = self.aggregate.nothing(own);
                self.spread_after(state, counter, gathered, cx)
            }
            Purpose::Lead(leader) => {
                cx.follow(leader.id());
                let gathered = self.aggregate.nothing(own);
                Progress::FOLLOWING | self.enter(state, call, gathered, Some((from, turn)), cx)
            }
        }
    }

    /// Joins a computation and asks the neighbours to take part. `parent` is the parent's port and turn.
    #[inline(always)]
    fn enter<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        call: Computation<R>,
        gathered: A::Value,
        parent: Option<(Port, u16)>,
        cx: &mut C,
    ) -> Progress {
        let Computation { purpose, counter } = call;
        let turn = state.part.as_ref().map_or(0, |part| part.turn).wrapping_add(1);
        let degree = cx.degree();
        let (awaited, parent, answer) = match parent {
            Some((port, answer)) => (Ports::all_but(degree, port), port.0, answer),
            None => (Ports::all(degree), ROOT, 0),
        };
        let mut part = Participation { counter, parent, turn, answer, done: false, purpose, awaited, gathered };
        if state.faults.is_none() {
            cx.send_all_but((parent != ROOT).then_some(Port(parent)), Message::call(call, turn));
        } else {
            Self::call_present(state, &mut part, cx);
        }
        let is_over = part.awaited.is_empty() || (parent != ROOT && self.aggregate.acks_early(cx.rank()));
        state.part = Some(part);
        if self.detects_faults() {
            self.start_fault_timers(state, cx);
        }
        if is_over { self.finish(state, cx) } else { Progress::NONE }
    }

    /// Asks the reachable neighbours to take part.
    #[cold]
    #[inline(never)]
    fn call_present<C: Context<Self>>(state: &State<R, A::Value>, part: &mut Participation<R, A::Value>, cx: &mut C) {
        let call = Message::call(part.computation(), part.turn);
        let absent = state.faults.as_ref().map(|faults| faults.absent.clone()).unwrap_or(Ports::NONE);
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
    pub(super) fn handle_answer<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        from: Port,
        gathered: Option<A::Value>,
        cx: &mut C,
    ) -> Progress {
        let Some(part) = &mut state.part else { return Progress::NONE };
        if !part.awaited.remove(from) {
            return Progress::NONE;
        }
        if let Some(gathered) = gathered {
            self.aggregate.merge(&mut part.gathered, gathered);
        }
        // A cheating node has answered before.
        if part.awaited.is_empty() && !part.done { self.finish(state, cx) } else { Progress::NONE }
    }

    /// All answers have arrived.
    #[inline(always)]
    fn finish<C: Context<Self>>(&self, state: &mut State<R, A::Value>, cx: &mut C) -> Progress {
        let Some(part) = &mut state.part else { return Progress::NONE };
        part.done = true;
        if part.parent >= PROXY {
            return self.end(state, cx);
        }
        cx.send(Port(part.parent), Message::answer(part.computation(), part.answer, || part.gathered.clone()));
        Progress::NONE
    }

    /// All answers have arrived at the source.
    #[cold]
    #[inline(never)]
    fn end<C: Context<Self>>(&self, state: &mut State<R, A::Value>, cx: &mut C) -> Progress {
        let Some(part) = &state.part else { return Progress::NONE };
        if part.purpose.leads() {
            return if part.parent == ROOT { Progress::CONFIRMED } else { Progress::NONE };
        }
        let own = cx.rank();
        let winner = self.aggregate.winner(&part.gathered, own);
        if winner == own {
            return Progress::ENDED | self.spread(state, cx);
        }
        let notify = Message::Notify { counter: part.counter, gathered: part.gathered.clone() };
        cx.send_direct(winner.id(), notify);
        if let Some(faults) = &mut state.faults {
            faults.allowed = faults.rounds.saturating_mul(2).saturating_add(3);
        }
        Progress::ENDED
    }

    /// Announces the winner on its behalf, because it does not answer directly. When the announcement reaches the
    /// winner, it announces itself.
    #[cold]
    #[inline(never)]
    pub(super) fn announce_for_winner<C: Context<Self>>(&self, state: &mut State<R, A::Value>, cx: &mut C) -> Progress {
        let Some(part) = &state.part else { return Progress::NONE };
        let own = cx.rank();
        let winner = self.aggregate.winner(&part.gathered, own);
        let next = Computation { purpose: Purpose::Lead(winner), counter: part.counter.wrapping_add(1) };
        cx.follow(winner.id());
        let progress = Progress::FOLLOWING | self.enter(state, next, self.aggregate.nothing(own), None, cx);
        if let Some(part) = &mut state.part {
            part.parent = PROXY;
        }
        progress
    }

    /// The source of an election notifies this node that it has won.
    #[cold]
    #[inline(never)]
    pub(super) fn handle_notify<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        source: Id,
        counter: u32,
        gathered: A::Value,
        cx: &mut C,
    ) -> Progress {
        if state.index(cx.rank().id()) > (counter, source, false) {
            // It is in a later computation, which will have its own leader.
            return Progress::NONE;
        }
        self.spread_after(state, counter, gathered, cx)
    }

    /// The parent repeats its question, because it was duplicated or the answer was lost. The answer is this node's
    /// own, not the empty one for other neighbours.
    #[cold]
    #[inline(never)]
    pub(super) fn handle_repeated_call<C: Context<Self>>(
        &self,
        part: &Participation<R, A::Value>,
        turn: u16,
        cx: &mut C,
    ) -> Progress {
        if part.done {
            let gathered = || part.gathered.clone();
            cx.send(Port(part.parent), Message::answer(part.computation(), turn, gathered));
        }
        Progress::NONE
    }

    /// A neighbour is in an earlier computation. During an election it has been asked to join the later one. If a
    /// leader is known, nobody else would tell it.
    #[cold]
    #[inline(never)]
    fn handle_stale_call<C: Context<Self>>(
        &self,
        state: &State<R, A::Value>,
        from: Port,
        purpose: Purpose<R>,
        cx: &mut C,
    ) -> Progress {
        let (counter, source, leads) = state.index(cx.rank().id());
        if leads && !purpose.leads() {
            cx.send(from, Message::Reply { leads, counter, source });
        }
        Progress::NONE
    }
}
