//! `hustings run OFFICE -- CMD`: runs a command on the one host that holds an office, and ends all of its processes
//! before the lease does, so that they are gone when the next host starts its own.
//!
//! Three processes can kill the command, and each knows the deadline:
//!
//! - the **guardian** (`guardian.rs`), a small child of `run`: the node's client and the command's parent. It decides
//!   (`tenure.rs`) and kills first, 30 ms before the deadline;
//! - **`run`** itself (`supervisor.rs`): reads the deadline from memory that it shares with the guardian, and kills the
//!   tree if the guardian has not;
//! - the **node**: knows the deadline because it granted the lease, and kills the guardian if neither has acted.
//!
//! With a PID namespace, any two of them may be frozen or dead. [`ContainmentKind`] says what holds the processes
//! together.

mod containment;
mod deadline_file;
mod guardian;
mod margins;
mod messages;
mod node_link;
mod own_node;
mod report;
mod spec;
mod supervisor;
mod tenure;
mod terminal;
mod wake;

pub use containment::ContainmentKind;
pub use messages::{COULD_NOT, CommandEnd, LOST_LEADERSHIP, NEVER_LED, Outcome, StopReason};
pub use report::LogFormat;
pub use spec::{Requirement, Restart, RunSpec, TimingError};
pub use supervisor::{NodeAccess, RunError, run};
