//! Probes: how a node finds out that a neighbour is down, missed a message, or lost its state.
//!
//! While a node waits for an answer or for the leader, it probes the neighbours concerned every `probe` ticks. A
//! neighbour that does not reply three times in a row is removed; one lost message is not enough. A reply names the
//! computation that the neighbour is in, so that lost messages are sent again.

use hustings_protocol::{Context, Port, Rank, Timer};

use super::message::Prober;
use super::state::{Index, ROOT};
use super::{Aggregate, Diffusion, Message, PROBE, Ports, Progress, State};

impl<R: Rank, A: Aggregate<R>> Diffusion<R, A> {
    /// The probe timer of a computation is due.
    pub(super) fn handle_probe_timer<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        token: u32,
        cx: &mut C,
    ) -> Progress {
        let turn = |state: &State<R, A::Value>| state.part.as_ref().map(|part| u32::from(part.turn));
        if turn(state) != Some(token) || state.is_settled() {
            return Progress::NONE;
        }
        let faults = state.faults();
        faults.rounds = faults.rounds.saturating_add(1);
        let mut progress = Progress::NONE;
        let [_, _, lost] = faults.silent.clone();
        for port in lost.iter() {
            progress |= self.remove_neighbour(state, port, cx);
            if turn(state) != Some(token) {
                return progress;
            }
        }
        if state.is_settled() {
            return progress;
        }
        if self.winner_is_late(state) {
            // If the winner is down, another node wins the next election. If it is only unreachable for the source, the
            // source announces it.
            let again = core::mem::replace(&mut state.faults().late, true);
            return progress | if again { self.announce_for_winner(state, cx) } else { self.elect(state, cx) };
        }
        self.send_probes(state, cx);
        cx.set_timer(self.probe, Timer { kind: PROBE, token });
        progress
    }

    /// At the source: whether the winner should have announced itself by now. The announcement takes no longer than the
    /// election did.
    fn winner_is_late(&self, state: &State<R, A::Value>) -> bool {
        let is_over = state.is_electing() && state.part.as_ref().is_some_and(|part| part.done && part.parent == ROOT);
        is_over && state.faults.as_ref().is_some_and(|faults| faults.rounds > faults.allowed)
    }

    fn send_probes<C: Context<Self>>(&self, state: &mut State<R, A::Value>, cx: &mut C) {
        let Some(part) = &state.part else { return };
        let (turn, (counter, source, leads)) = (part.turn, part.index());
        let mut asked = part.awaited.clone();
        let by = if leads { Prober::AwaitsLeaderAck } else { Prober::AwaitsAck };
        asked.iter().for_each(|port| cx.send(port, Message::Probe { by, turn, counter, source }));
        if let Some(parent) = state.parent().filter(|_| !leads) {
            cx.send(parent, Message::Probe { by: Prober::AwaitsLeader, turn, counter, source });
            asked.insert(parent);
        }
        let [once, twice, _] = core::mem::replace(&mut state.faults().silent, [Ports::NONE; 3]);
        let both = |one: &Ports, other: &Ports| {
            let mut ports = Ports::NONE;
            one.iter().filter(|port| other.contains(*port)).for_each(|port| ports.insert(port));
            ports
        };
        state.faults().silent = [asked.clone(), both(&once, &asked), both(&twice, &asked)];
    }

    /// Handles a probe.
    #[cold]
    #[inline(never)]
    pub(super) fn handle_probe<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        from: Port,
        by: Prober,
        turn: u16,
        index: Index,
        cx: &mut C,
    ) -> Progress {
        let own = cx.rank();
        let here = state.index(own.id());
        let (counter, source, leads) = here;
        let reply = Message::Reply { leads, counter, source };
        let Some(part) = &mut state.part else {
            self.start_beacon_timer(state, cx);
            cx.send(from, reply);
            return Progress::NONE;
        };
        let is_parent = part.parent == from.0;
        if here < index || (here == index && by == Prober::AwaitsLeader) || (here == index && is_parent && !part.done) {
            cx.send(from, reply);
        } else if here == index && is_parent {
            return self.handle_repeated_call(part, turn, cx);
        } else if here == index {
            // It has its answer already, unless that was lost.
            cx.send(from, Message::answer(part.computation(), turn, || self.aggregate.nothing(own)));
        } else if is_parent && !leads {
            // The parent has lost its state.
            return self.remove_neighbour(state, from, cx);
        } else {
            if !part.done && !is_parent {
                part.awaited.insert(from);
            }
            cx.send(from, Message::call(part.computation(), part.turn));
        }
        Progress::NONE
    }

    /// Handles a reply: the neighbour is up, and in this computation.
    #[cold]
    #[inline(never)]
    pub(super) fn handle_reply<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        from: Port,
        index: Index,
        cx: &mut C,
    ) -> Progress {
        if let Some(faults) = &mut state.faults {
            faults.silent.iter_mut().for_each(|ports| {
                ports.remove(from);
            });
        }
        let here = state.index(cx.rank().id());
        let Some(part) = &state.part else { return Progress::NONE };
        if index > here && index.2 && state.is_electing() {
            // It knows a leader of a later computation: hold the election again, with a greater counter.
            return self.elect_after(state, index.0, cx);
        }
        if index < here && part.awaited.contains(from) {
            cx.send(from, Message::call(part.computation(), part.turn));
        } else if index < here && state.is_electing() && state.parent() == Some(from) {
            return self.remove_neighbour(state, from, cx);
        }
        Progress::NONE
    }
}
