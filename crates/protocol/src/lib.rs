//! The interface of Hustings' election algorithms. An algorithm is written once, as a state machine without I/O, clock
//! or hidden randomness. The simulator, the model checker and the cluster all run that code.
//!
//! - [`Protocol`]: the rules of one algorithm; [`Context`]: what a node knows and does; [`Message`]: what nodes send.
//! - [`Id`], [`Rank`], [`Port`]: a node's identity, its rank as a candidate, and its neighbours.
//! - [`Event`], [`Effect`], [`Recorder`]: inputs and outputs as plain data, for drivers that need to hold them.
//! - [`DynState`], [`handle_events!`]: for drivers that hide the types of a protocol.
//!
//! The crate knows nothing of topologies, clocks, sockets or threads. It is `no_std` with `alloc`, so it cannot depend
//! on them.
#![no_std]

extern crate alloc;

mod erased;
mod event;
mod id;
mod macros;
mod protocol;
mod splitmix;
mod trace;

pub use erased::DynState;
pub use event::{
    Change, Cheating, Coins, Effect, Event, Fact, NodeInfo, Peers, Recorder, Role, Stage, StartReason, Timer,
};
pub use id::{Best, Id, Least, NotFinite, Port, Rank, Ranked, Value};
pub use protocol::{Context, Epoch, Message, Protocol, StateOrMessage};
pub use splitmix::SplitMix64;
pub use trace::{Loss, NoticeKind, Record, TraceEvent};
