//! Rings with levels or divisions: Shirali's "novel schemes" that make token-ring faster, and fall back on it.
//!
//! What they share is in `layout` (where levels, parts and points are), `wheel` (segments), `run` (the numbers of
//! elections and the last resort), `params` and `check`.

mod backoff;
mod check;
mod divided;
mod layout;
mod params;
mod run;
mod sun;
mod wheel;

pub use divided::{Divided, DividedParams, SunDivided, SunDividedParams};
pub use params::{Aggregate, Depth, Fan, Parts};
pub use sun::{Sun, SunParams};

use crate::Source;

/// The text that all of them come from.
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
        assert_eq!((sizes::<Sun>(), sizes::<Divided>(), sizes::<SunDivided>()), ((16, 24), (16, 24), (16, 24)));
    }
}
