//! What several of these tests share.

pub(crate) mod diffusion;
pub(crate) mod elections;
pub(crate) mod erased;
pub(crate) mod gossip;
pub(crate) mod parts;
pub(crate) mod sample;
pub(crate) mod schedule;
pub(crate) mod sweep;
pub(crate) mod tolerance;
pub(crate) mod waves;
