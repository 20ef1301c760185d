//! The echo wave: one initiator's message floods a connected graph and comes back.
//!
//! - **Assumes** a connected graph, one initiator, any delays.
//! - **Promises** that the initiator decides (here: leads) after every node has taken part.
//! - **Comes from** E. Chang, 1982; McMaster's slides, "Echo Algorithm". The wave that graph elections are built of.
//! - **Costs** exactly 2E `wave`, whatever the order of messages.

use core::marker::PhantomData;

use hustings_protocol::{Context, Port, Protocol, Rank, StartReason, kinds};
use serde::{Deserialize, Serialize};

use super::wave::Wave;

/// The state machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Echo<R>(PhantomData<R>);

impl<R> Echo<R> {
    /// The wave; it has no parameters.
    pub const fn new() -> Self {
        Echo(PhantomData)
    }
}

/// What nodes say.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// The wave, out or back.
    Wave,
}
kinds!(Message: Wave = "wave");

/// There is one wave, and it gathers nothing.
fn say((): (), (): ()) -> Message {
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
        if wave.tag().is_none() && wave.begin((), say, cx).is_some() {
            cx.lead();
        }
    }

    #[inline(always)]
    fn handle_message<C: Context<Self>>(&self, wave: &mut Self::State, from: Port, _: Message, cx: &mut C) {
        if wave.hear(from, (), (), say, cx).is_some() {
            cx.lead();
        }
    }
}
