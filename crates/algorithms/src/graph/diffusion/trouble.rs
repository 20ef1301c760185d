//! Nodes and links that fail during a computation.

use hustings_protocol::{Context, Port, Rank};

use super::{Aggregate, Diffusion, Message, News, State};

impl<R: Rank, A: Aggregate<R>> Diffusion<R, A> {
    /// A message that this node sent found its receiver down.
    #[cold]
    #[inline(never)]
    pub(super) fn bounced<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        port: Port,
        message: Message<R, A::Value>,
        cx: &mut C,
    ) -> News {
        let Some(part) = &state.part else { return News::NOTHING };
        match message {
            Message::Election { turn, counter, .. } if part.asked(turn, counter) => self.struck(state, port, cx),
            Message::Leader { turn, counter, .. } if part.asked(turn, counter) => self.struck(state, port, cx),
            Message::Ack { counter, .. } if part.counter == counter => self.struck(state, port, cx),
            // The one that announced itself is gone before everybody knew it.
            Message::LeaderAck { counter, .. } if part.counter == counter && cx.peer_rank(port) == state.leader() => {
                self.elect(state, cx)
            }
            Message::Probe { turn, counter, .. } if part.asked(turn, counter) => self.struck(state, port, cx),
            _ => News::NOTHING,
        }
    }

    /// The winner is down: the source gathers once more, this time without it.
    #[cold]
    #[inline(never)]
    pub(super) fn winner_is_down<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        message: Message<R, A::Value>,
        cx: &mut C,
    ) -> News {
        let own = cx.rank().id();
        match message {
            Message::Notify { counter, .. } if state.index(own) == (counter, own, false) => self.elect(state, cx),
            _ => News::NOTHING,
        }
    }

    /// A neighbour is struck off the computation under way. A child that is gone has nothing more to say. Without its
    /// parent a node knows of nobody who would tell it the winner, and holds an election of its own.
    pub(super) fn struck<C: Context<Self>>(&self, state: &mut State<R, A::Value>, port: Port, cx: &mut C) -> News {
        if state.is_electing() && state.parent() == Some(port) {
            self.elect(state, cx)
        } else {
            self.answered(state, port, None, cx)
        }
    }
}
