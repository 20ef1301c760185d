//! Guards of the machine: each of these tests fails when the guard that it is about is taken out.

mod alone;
mod arbiter;
mod bounds;
mod desk;
mod kinds;
mod lives;
mod town;
