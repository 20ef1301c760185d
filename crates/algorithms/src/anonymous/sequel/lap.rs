//! On a ring: a lap of the leader's hands out names or counts, and another one tells how many there are.
//!
//! - **Assumes** a directed ring with one leader.
//! - **Promises** that node k after the leader gets the name k, and that everybody learns the number of nodes.
//! - **Comes from** McMaster's slides, "Anonymous Networks" and "Computing the Size of an Anonymous Network".
//! - **Costs** n `name`; or n `count` and n `size`; or, for both, n `name` and n `size`: the names count by themselves.

use core::marker::PhantomData;
use core::mem;

use hustings_protocol::{Context, Fact, Port, Protocol, Rank, StartReason};

use super::{Message, Then};

/// The state machine. A node remembers whether it has begun.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Lap<R> {
    then: Then,
    rank: PhantomData<R>,
}

impl<R> Lap<R> {
    /// What is wanted of it.
    pub const fn new(then: Then) -> Self {
        Lap { then, rank: PhantomData }
    }
}

impl<R: Rank> Protocol for Lap<R> {
    type Rank = R;
    type State = bool;
    type Message = Message;

    fn init(&self) -> bool {
        false
    }

    #[inline(always)]
    fn handle_start<C: Context<Self>>(&self, has_begun: &mut bool, _: StartReason, cx: &mut C) {
        if self.then == Then::Nothing || mem::replace(has_begun, true) {
            return;
        }
        if self.then.names() {
            cx.learn(Fact::Name(0));
            cx.send(Port::NEXT, Message::Name(1));
        } else {
            cx.send(Port::NEXT, Message::Count(1));
        }
    }

    fn handle_message<C: Context<Self>>(&self, has_begun: &mut bool, _: Port, message: Message, cx: &mut C) {
        match (message, *has_begun) {
            (Message::Name(name), false) => {
                cx.learn(Fact::Name(name.into()));
                cx.send(Port::NEXT, Message::Name(name.saturating_add(1)));
            }
            (Message::Count(count), false) => cx.send(Port::NEXT, Message::Count(count.saturating_add(1))),
            // What comes home has passed everybody.
            (Message::Name(size) | Message::Count(size), true) => {
                if self.then.size() {
                    cx.learn(Fact::Size(size.into()));
                    cx.send(Port::NEXT, Message::Size(size));
                }
            }
            (Message::Size(size), false) => {
                cx.learn(Fact::Size(size.into()));
                cx.send(Port::NEXT, message);
            }
            (Message::Size(_), true) => {}
        }
    }

    fn handle_unreachable<C: Context<Self>>(&self, _: &mut bool, port: Port, _: Message, cx: &mut C) {
        cx.skip(port);
    }
}
