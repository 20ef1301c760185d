//! What contains a program's work, who kills it in time if it does not stop by itself, and whose end proves its end.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How long before the deadline of a lease the node kills a client that campaigns with a [`Guard`] and its work.
/// Killing a whole PID namespace was measured to take up to 16 ms, and all must be done before the deadline, when
/// another holder may start. What a client does by itself, it does earlier.
pub const NODE_KILL_MARGIN: Duration = Duration::from_millis(20);

/// What contains the work of a client that campaigns, so that the node can kill it, and may learn that it is gone.
///
/// A guard belongs to a connection, and covers all leases that the connection is granted from then on. Unless the guard
/// is [`Guard::Process`], the node kills the client and its work [`NODE_KILL_MARGIN`] before the deadline of a lease
/// that was neither renewed nor given up by [`Request::Stopped`](super::Request::Stopped) or
/// [`Request::Withdraw`](super::Request::Withdraw). A client that gets [`Reply::Lost`](super::Reply::Lost) without
/// having said that it stopped must still say so. The end of its connection changes nothing about that: another
/// connection may say it for the client.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Guard {
    /// The client is the init of a PID namespace that contains all its work. When its process is gone, so is the work:
    /// an exclusive office then moves at once.
    PidNamespace,
    /// The client's work runs in a cgroup. A client that may operate the cluster can pass the open `cgroup.kill` with
    /// its request (`SCM_RIGHTS`), for a node that may not open it. Otherwise such a node kills one process after the
    /// other.
    Cgroup {
        /// The cgroup's folder, in a mounted cgroup v2 hierarchy.
        path: PathBuf,
    },
    /// The client's work is its descendants.
    ProcessTree,
    /// The client's work is done by the process that opened the connection, and by no other. The node does not kill it.
    /// But when the process has ended, its work has: an exclusive office then moves at once.
    Process,
}
