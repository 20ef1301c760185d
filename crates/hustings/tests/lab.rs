//! The commands that need no cluster, in one program.

mod common;

mod bench;
mod check;
mod docs;
mod lessons;
mod no_panic;
mod page;
mod papers;
mod plot;
mod scenarios;
mod sim;
mod sweep;
mod wrong_use;
