//! The heart of Hustings: an election algorithm is written once, as a state machine without I/O, clock or hidden
//! randomness, and the simulator, the checker, the page and the network all run that very code.
//!
//! - [`Protocol`]: the rules of one algorithm; [`Context`]: what a node may know and do; [`Message`]: what nodes say.
//! - [`Id`], [`Rank`], [`Port`]: who a node is, what it is worth, which doors it sees.
//! - [`Event`], [`Effect`], [`Recorder`]: the same as plain data, for drivers that need to hold it.
//!
//! What it is not: it knows nothing of topologies, clocks, sockets or threads. It is `no_std` with `alloc`, so nothing
//! of the kind can sneak in.
#![no_std]

extern crate alloc;

mod event;
mod id;
mod macros;
mod protocol;
mod splitmix;
mod trace;

pub use event::{Change, Coins, Effect, Event, Fact, NodeInfo, Peers, Recorder, Role, Stage, StartReason, Timer};
pub use id::{Best, Id, Least, NotFinite, Port, Rank, Ranked, Value};
pub use protocol::{Context, Epoch, Message, Protocol, StateOrMessage};
pub use splitmix::SplitMix64;
pub use trace::{Loss, NoticeKind, Record, TraceEvent};
