//! What a store keeps, what it loses, and what it refuses.

mod crash;
mod damage;
mod disk;
mod fake;
mod folder;
mod mirror;
mod model;
