//! Guards of the machine: each of these tests fails when the guard that it is about is taken out.

mod bounds;
mod kinds;
mod town;
