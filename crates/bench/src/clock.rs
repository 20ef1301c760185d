//! Measures CPU time and wall time.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// The duration of a piece of work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Took {
    /// CPU time of the calling thread.
    pub(super) cpu: Duration,
    /// Wall time.
    pub(super) wall: Duration,
}

/// Runs and measures a piece of work.
pub(super) fn time<T>(work: impl FnOnce() -> T) -> (T, Took) {
    let (cpu, wall) = (cpu_time(), Instant::now());
    let result = work();
    (result, Took { cpu: cpu_time().saturating_sub(cpu), wall: wall.elapsed() })
}

fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}
