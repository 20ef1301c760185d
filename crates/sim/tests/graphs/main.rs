//! Graphs: docs/model.md#graphs, algorithm by algorithm.

mod aefa;
mod aefa_faults;
mod aefa_inside;
mod aefa_lookout;
mod echo;
#[allow(dead_code, reason = "only its graphs are used here")]
#[path = "../common/gossip.rs"]
mod gossip;
#[path = "../common/lookout.rs"]
mod lookout;
#[path = "../common/parts.rs"]
mod parts;
mod preference;
mod rough;
mod tree;
mod two_tier;
#[path = "../common/waves.rs"]
mod waves;
