//! Rings with levels or divisions: Shirali's "novel schemes", which are faster than token-ring and fall back to it.
//!
//! Shared code is in `layout` (levels, parts and points), `segments` (messages along levels), `run` (run numbers and
//! the fallback), `strikes` (dead nodes), `backoff`, `params` and `check`. Specified in `docs/model.md#hierarchies`.

mod backoff;
mod check;
mod divided;
mod layout;
mod params;
mod run;
mod segments;
mod strikes;
mod sun;

pub use divided::{Divided, DividedParams, SunDivided, SunDividedParams};
pub use params::{Aggregate, Branching, Depth, Parts};
pub use sun::{Sun, SunParams};

use crate::Source;

/// The source of all of them.
const SHIRALI: Source = Source {
    authors: "M. Shirali, A. HaghghatToroghi and M. Vojdani",
    title: "Leader election algorithms: History and novel schemes",
    text: "Shirali",
};

#[cfg(test)]
mod tests {
    use core::mem::size_of;

    use hustings_protocol::{Id, Protocol};

    use super::*;
    use crate::Algorithm;

    fn sizes<A: Algorithm>() -> (usize, usize) {
        type Of<A> = <A as Algorithm>::Protocol<Id>;
        (size_of::<<Of<A> as Protocol>::Message>(), size_of::<<Of<A> as Protocol>::State>())
    }

    #[test]
    fn messages_and_states_are_small() {
        assert_eq!((sizes::<Sun>(), sizes::<Divided>(), sizes::<SunDivided>()), ((16, 32), (16, 24), (16, 24)));
    }
}
