//! Follow-ups on a ring: one lap assigns names or counts nodes, a second lap tells the number.
//!
//! - **Source**: McMaster, "Anonymous Networks" and "Computing the Size of an Anonymous Network".
//! - **Needs** a directed ring with one leader.
//! - **Guarantees** that the k-th node after the leader gets the name k, and that all nodes learn n.
//! - **Messages**: n `name`; or n `count` and n `size`; for both, n `name` and n `size`, because names count by
//!   themselves.

use core::marker::PhantomData;
use core::mem;

use hustings_protocol::{Context, Fact, Port, Protocol, Rank, StartReason};

use super::{FollowUp, Message};

/// The protocol. The state of a node says whether it has started.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Lap<R> {
    then: FollowUp,
    rank: PhantomData<R>,
}

impl<R> Lap<R> {
    /// The follow-up that is wanted.
    pub const fn new(then: FollowUp) -> Self {
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
    fn handle_start<C: Context<Self>>(&self, has_started: &mut bool, _: StartReason, cx: &mut C) {
        if self.then == FollowUp::Nothing || mem::replace(has_started, true) {
            return;
        }
        if self.then.names() {
            cx.learn(Fact::Name(0));
            cx.send(Port::NEXT, Message::Name(1));
        } else {
            cx.send(Port::NEXT, Message::Count(1));
        }
    }

    fn handle_message<C: Context<Self>>(&self, has_started: &mut bool, _: Port, message: Message, cx: &mut C) {
        match (message, *has_started) {
            (Message::Name(name), false) => {
                cx.learn(Fact::Name(name.into()));
                cx.send(Port::NEXT, Message::Name(name.saturating_add(1)));
            }
            (Message::Count(count), false) => cx.send(Port::NEXT, Message::Count(count.saturating_add(1))),
            // A message that comes home has visited every node.
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
