//! The options of `hustings node` that inject faults.

pub use hustings_cluster::faults::Rule;

/// Disables a safety rule: `--test-break drift-margin`.
pub const BREAK: &str = "--test-break";
/// Makes the node's clock gain parts in a million: `--test-clock-ppm=-900`.
pub const CLOCK_PPM: &str = "--test-clock-ppm";
/// Makes the node's time of day wrong by seconds: `--test-wall-seconds=86400`.
pub const WALL_SECONDS: &str = "--test-wall-seconds";
