//! What only tests need of a cluster. The program that is shipped does not depend on this crate.
//!
//! - [`switches`]: the options of `hustings node` that inject faults. The program has them only if it is built with the
//!   cargo feature `fault-injection`.
//! - [`fuzz`]: the entry points of the fuzzers; `corpus/` has inputs for them.

pub mod switches;

/// The entry points of the fuzzers. They are part of the cluster, because they use what is not public.
pub use hustings_cluster::testkit as fuzz;
