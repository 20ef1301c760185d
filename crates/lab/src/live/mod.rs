//! A cluster of real nodes on the page.
//!
//! What is shown comes from the nodes' sockets, as everybody who may connect can read it. Whoever started the processes
//! may hand over a [`Control`]; without one the page only reads.

mod failover;
mod measured;
mod monitor;
mod offices;
mod state;
mod window;

use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

pub use monitor::Monitor;

/// A node that can be asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LiveNode {
    /// Its name; empty if it is not known before the node answers.
    pub name: String,
    /// Its socket.
    pub socket: PathBuf,
}

/// Control of processes, by the program that started them.
pub trait Control: Send + Sync {
    /// Carries out an order such as `kill leader`; otherwise says why not.
    fn act(&self, order: &str) -> Result<(), String>;

    /// The processes and what happened to them.
    fn view(&self) -> ControlView;
}

/// The processes, and the story so far.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ControlView {
    /// The processes.
    pub processes: Vec<ProcessView>,
    /// The last events, oldest first, as JSON objects.
    pub story: Vec<Value>,
    /// How many events there were before those.
    pub story_skipped: usize,
}

/// A process.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ProcessView {
    /// The member.
    pub name: String,
    /// What became of it: `running`, `frozen`, `killed` or `ended`.
    pub condition: &'static str,
    /// Whether it is cut off from the others.
    pub cut: bool,
    /// Its process id, if it is there.
    pub pid: Option<i32>,
}
