//! The echo wave: one initiator's message floods a connected graph and comes back.
//!
//! - **Assumes** a connected graph of two nodes or more, one initiator, any delays.
//! - **Promises** that the initiator decides (here: leads) after every node has taken part.
//! - **Comes from** E. Chang, 1982; McMaster's slides, "Echo Algorithm". The wave that graph elections are built of.
//! - **Costs** exactly 2E `wave`, whatever the order of messages.

use core::marker::PhantomData;

use hustings_protocol::{Context, Port, Protocol, Rank, Summons, kinds};
use serde::{Deserialize, Serialize};

/// The state machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Echo<R>(PhantomData<R>);

impl<R> Echo<R> {
    /// The wave; it has no parameters.
    pub const fn new() -> Self {
        Echo(PhantomData)
    }
}

/// What a node remembers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct State {
    /// How many neighbours it has heard.
    heard: u32,
    /// The port of the first one, or one of the marks below.
    parent: u32,
}

const NO_PARENT: u32 = u32::MAX;
const INITIATOR: u32 = u32::MAX - 1;

/// What nodes say.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// The wave, out or back.
    Wave,
}
kinds!(Message: Wave = "wave");

impl<R: Rank> Protocol for Echo<R> {
    type Rank = R;
    type State = State;
    type Message = Message;

    fn init(&self) -> State {
        State { heard: 0, parent: NO_PARENT }
    }

    #[inline(always)]
    fn start<C: Context<Self>>(&self, state: &mut State, _: Summons, cx: &mut C) {
        if state.parent == NO_PARENT {
            state.parent = INITIATOR;
            cx.send_all_but(None, Message::Wave);
        }
    }

    #[inline(always)]
    fn receive<C: Context<Self>>(&self, state: &mut State, from: Port, _: Message, cx: &mut C) {
        state.heard += 1;
        if state.parent == NO_PARENT {
            state.parent = from.0;
            cx.send_all_but(Some(from), Message::Wave);
        }
        if state.heard == cx.degree() {
            if state.parent == INITIATOR {
                cx.lead();
            } else {
                cx.send(Port(state.parent), Message::Wave);
            }
        }
    }
}
