//! Interface for outer algorithms that know which neighbours are reachable, and which counter is next.

use hustings_protocol::{Context, Port, Rank};

use super::{Aggregate, Diffusion, Message, Ports, Progress, State};

impl<R: Rank, A: Aggregate<R>> Diffusion<R, A> {
    /// Makes this node the leader under the given counter, which must be greater than that of its current computation.
    pub(crate) fn spread_at<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        counter: u32,
        cx: &mut C,
    ) -> Progress {
        let nothing = self.aggregate.nothing(cx.rank());
        self.spread_after(state, counter.wrapping_sub(1), nothing, cx)
    }

    /// Applies a complete reachability update. The node expects nothing more from unreachable neighbours and sends them
    /// nothing. Neighbours that are back are told of the current computation.
    pub fn reach<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        is_there: impl Fn(Port, &C) -> bool,
        cx: &mut C,
    ) -> Progress {
        let (mut lost, mut back) = (Ports::NONE, Ports::NONE);
        for port in (0..cx.degree()).map(Port) {
            let was_there = state.faults.as_ref().is_none_or(|faults| !faults.absent.contains(port));
            let is_there = is_there(port, cx);
            if is_there && !was_there {
                back.insert(port);
                state.faults().absent.remove(port);
            } else if was_there && !is_there {
                lost.insert(port);
                state.faults().absent.insert(port);
            }
        }
        let mut progress = Progress::NONE;
        for port in lost.iter() {
            progress |= self.remove_neighbour(state, port, cx);
        }
        back.iter().for_each(|port| Self::call_neighbour(state, port, cx));
        progress
    }

    /// Tells a neighbour of the current computation. If that is an unfinished election, its answer is awaited too.
    fn call_neighbour<C: Context<Self>>(state: &mut State<R, A::Value>, port: Port, cx: &mut C) {
        let Some(part) = &mut state.part else { return };
        if part.parent == port.0 && !part.purpose.leads() {
            return;
        }
        if !part.done && part.parent != port.0 {
            part.awaited.insert(port);
        }
        cx.send(port, Message::call(part.computation(), part.turn));
    }
}
