//! The echo wave: a message of one initiator floods a connected graph and comes back.
//!
//! - **Source**: E. Chang, 1982; McMaster, "Echo Algorithm". The graph elections are built from it.
//! - **Needs** a connected graph, one initiator, any delays.
//! - **Guarantees** that the initiator decides (here: leads) after every node has taken part.
//! - **Messages**: exactly 2E `wave`, in any order.

use core::marker::PhantomData;

use hustings_protocol::{Context, Port, Protocol, Rank, StartReason, kinds};
use serde::{Deserialize, Serialize};

use super::wave::Wave;

/// The protocol.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Echo<R>(PhantomData<R>);

impl<R> Echo<R> {
    /// The wave has no parameters.
    pub const fn new() -> Self {
        Echo(PhantomData)
    }
}

/// The messages.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// The wave, on its way out or back.
    Wave,
}
kinds!(Message: Wave = "wave");

/// There is one wave, and it gathers nothing.
fn make_message((): (), (): ()) -> Message {
    Message::Wave
}

impl<R: Rank> Protocol for Echo<R> {
    type Rank = R;
    type State = Wave<(), ()>;
    type Message = Message;

    fn init(&self) -> Self::State {
        Wave::NONE
    }

    #[inline(always)]
    fn handle_start<C: Context<Self>>(&self, wave: &mut Self::State, _: StartReason, cx: &mut C) {
        if wave.tag().is_none() && wave.start((), make_message, cx).is_some() {
            cx.lead();
        }
    }

    #[inline(always)]
    fn handle_message<C: Context<Self>>(&self, wave: &mut Self::State, from: Port, _: Message, cx: &mut C) {
        if wave.receive(from, (), (), make_message, cx).is_some() {
            cx.lead();
        }
    }
}
