//! Nodes and links that fail during a computation.

use hustings_protocol::{Context, Port, Rank};

use super::{Aggregate, Diffusion, Message, Progress, State};

impl<R: Rank, A: Aggregate<R>> Diffusion<R, A> {
    /// A message of this node was undeliverable.
    #[cold]
    #[inline(never)]
    pub(super) fn handle_undelivered<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        port: Port,
        message: Message<R, A::Value>,
        cx: &mut C,
    ) -> Progress {
        let Some(part) = &state.part else { return Progress::NONE };
        match message {
            Message::Election { turn, counter, .. } if part.asked(turn, counter) => {
                self.remove_neighbour(state, port, cx)
            }
            Message::Leader { turn, counter, .. } if part.asked(turn, counter) => {
                self.remove_neighbour(state, port, cx)
            }
            Message::Ack { counter, .. } if part.counter == counter => self.remove_neighbour(state, port, cx),
            // The leader failed before all nodes knew it.
            Message::LeaderAck { counter, .. } if part.counter == counter && cx.peer_rank(port) == state.leader() => {
                self.elect(state, cx)
            }
            Message::Probe { turn, counter, .. } if part.asked(turn, counter) => self.remove_neighbour(state, port, cx),
            _ => Progress::NONE,
        }
    }

    /// The winner is down: the source holds another election, without it.
    #[cold]
    #[inline(never)]
    pub(super) fn handle_undelivered_notify<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        message: Message<R, A::Value>,
        cx: &mut C,
    ) -> Progress {
        let own = cx.rank().id();
        match message {
            Message::Notify { counter, .. } if state.index(own) == (counter, own, false) => self.elect(state, cx),
            _ => Progress::NONE,
        }
    }

    /// Removes a neighbour from the current computation. A removed child has nothing more to answer. A node without its
    /// parent would not learn the winner, so it holds an election of its own.
    pub(super) fn remove_neighbour<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        port: Port,
        cx: &mut C,
    ) -> Progress {
        if state.is_electing() && state.parent() == Some(port) {
            self.elect(state, cx)
        } else {
            self.handle_answer(state, port, None, cx)
        }
    }
}
