//! Graphs: docs/model.md#graphs, algorithm by algorithm.

mod aefa;
mod aefa_faults;
mod aefa_inside;
mod aefa_probes;
mod echo;
mod preference;
mod random_faults;
mod tree;
mod two_tier;
