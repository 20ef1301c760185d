//! How long before a lease's deadline the work is killed, and by whom.
//!
//! Three processes know the deadline and can kill the work: the guardian, its parent (`run`), and the node. The
//! guardian acts first, because it knows best what it runs. If it is frozen or stuck, its parent kills it. If that one
//! is frozen as well, the node does so, [`NODE_KILL_MARGIN`] before the deadline. Each margin leaves the one before it
//! 5 ms, so that no two of them kill at the same time.

use std::time::Duration;

use hustings_cluster::api::NODE_KILL_MARGIN;

/// What each of the three leaves to the one before it.
const STEP: Duration = Duration::from_millis(5);

/// How long before the deadline the guardian's parent kills the guardian.
pub(crate) const RUN_KILL_MARGIN: Duration = NODE_KILL_MARGIN.saturating_add(STEP);

/// How long before the deadline the guardian has killed what it still runs.
pub(crate) const GUARDIAN_KILL_MARGIN: Duration = RUN_KILL_MARGIN.saturating_add(STEP);
