//! Breaks a real cluster on purpose, and judges what its clients saw.
#![allow(dead_code)]

mod clock;
mod dice;
mod history;
mod judge;
mod net;
mod schedule;
mod store;
mod world;

fn main() {}
