//! Graphs: docs/model.md#graphs, algorithm by algorithm.

mod aefa;
mod aefa_faults;
mod aefa_inside;
mod aefa_lookout;
mod echo;
mod preference;
mod rough;
mod tree;
mod two_tier;
