//! Breaks a real cluster on purpose, and judges what its clients saw.
#![allow(dead_code)]

mod client;
mod clock;
mod dice;
mod disk;
mod history;
mod judge;
mod launch;
mod net;
mod nodes;
mod reader;
mod scene;
mod schedule;
mod socket;
mod store;
mod world;

fn main() {}
