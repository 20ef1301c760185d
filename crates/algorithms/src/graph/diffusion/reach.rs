//! What an outer algorithm knows better: which neighbours can be reached, and which counter is due.

use hustings_protocol::{Context, Port, Rank};

use super::{Aggregate, Diffusion, Message, News, Ports, State};

impl<R: Rank, A: Aggregate<R>> Diffusion<R, A> {
    /// Makes this node the leader under a given counter, for those who know of one greater than what they took part in.
    pub fn spread_at<C: Context<Self>>(&self, state: &mut State<R, A::Value>, counter: u32, cx: &mut C) -> News {
        let nothing = self.aggregate.nothing(cx.rank());
        self.spread_after(state, counter.wrapping_sub(1), nothing, cx)
    }

    /// It is known of every neighbour whether it can be reached. Of those that are gone nothing more is expected, and
    /// nothing is sent to them until they are back; then they are told of the computation that this node is in.
    pub fn reach<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        is_there: impl Fn(Port, &C) -> bool,
        cx: &mut C,
    ) -> News {
        let (mut lost, mut back) = (Ports::NONE, Ports::NONE);
        for port in (0..cx.degree()).map(Port) {
            let was_there = state.rough.as_ref().is_none_or(|rough| !rough.absent.contains(port));
            let is_there = is_there(port, cx);
            if is_there && !was_there {
                back.insert(port);
                state.rough().absent.remove(port);
            } else if was_there && !is_there {
                lost.insert(port);
                state.rough().absent.insert(port);
            }
        }
        let mut news = News::NOTHING;
        for port in lost.iter() {
            news |= self.struck(state, port, cx);
        }
        back.iter().for_each(|port| Self::greet(state, port, cx));
        news
    }

    /// Tells a neighbour of the computation that this node is in. If it is an election that is not over here, that
    /// neighbour's answer is awaited too.
    fn greet<C: Context<Self>>(state: &mut State<R, A::Value>, port: Port, cx: &mut C) {
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
