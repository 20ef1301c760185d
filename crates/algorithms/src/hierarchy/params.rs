//! The types of the parameters that the hierarchies share.

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::num::NonZeroU32;

use crate::ParamValue;

crate::choices! {
    /// How the results of middle levels are gathered.
    pub enum Aggregate {
        /// A middle token waits at each node for the result that ends there, and carries it on.
        Lazy = "lazy",
        /// Tokens never wait; an `m-coordinator` follows each middle token and waits.
        Eager = "eager",
    }
}

/// The branching factor: the number of pieces of a division, at least 2.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Branching(u32);

impl Branching {
    /// The value in the text's tables.
    pub const FOUR: Branching = Branching(4);

    /// A branching factor; `None` below 2.
    pub const fn new(pieces: u32) -> Option<Self> {
        if pieces >= 2 { Some(Branching(pieces)) } else { None }
    }

    /// The number of pieces.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The number of pieces after this many divisions; saturates.
    #[inline]
    pub(super) fn power(self, divisions: u32) -> u64 {
        u64::from(self.0).saturating_pow(divisions)
    }

    /// How often a number is divisible, at most `most` times.
    #[inline]
    pub(super) fn multiplicity(self, mut number: u32, most: u32) -> u32 {
        let mut multiplicity = 0;
        while multiplicity < most && number.is_multiple_of(self.0) {
            number /= self.0;
            multiplicity += 1;
        }
        multiplicity
    }

    /// How often a length is divided until it does not exceed the branching factor.
    pub(super) fn divisions(self, mut length: u32) -> u32 {
        let mut divisions = 0;
        while length > self.0 {
            length = length.div_ceil(self.0);
            divisions += 1;
        }
        divisions
    }
}

impl ParamValue for Branching {
    const ALLOWED: &'static str = "a whole number of at least 2";
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().and_then(Branching::new)
    }
    fn show(&self) -> String {
        self.0.to_string()
    }
}

/// The number of divisions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Depth {
    /// A fixed number.
    Times(NonZeroU32),
    /// Divides while the inner ring is longer than the branching factor.
    Max,
}

impl Depth {
    /// Once.
    pub const ONCE: Depth = Depth::Times(NonZeroU32::MIN);

    /// The number, where `most` is the meaning of [`Depth::Max`].
    #[inline]
    pub(super) fn times(self, most: impl FnOnce() -> u32) -> u32 {
        match self {
            Depth::Times(times) => times.get(),
            Depth::Max => most(),
        }
    }
}

impl ParamValue for Depth {
    const ALLOWED: &'static str = "a whole number of at least 1, max";
    fn parse(text: &str) -> Option<Self> {
        if text == "max" { Some(Depth::Max) } else { text.parse().ok().map(Depth::Times) }
    }
    fn show(&self) -> String {
        match self {
            Depth::Times(times) => times.to_string(),
            Depth::Max => "max".to_string(),
        }
    }
}

/// The lengths of the divisions: equal, or listed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Parts(Option<Arc<[u32]>>);

impl Parts {
    /// Equal lengths.
    pub const EVEN: Parts = Parts(None);

    /// Divisions of these lengths, from position 0 on. `None` if the list or a division is empty, or the sum is too
    /// large.
    pub fn listed(lengths: &[u32]) -> Option<Self> {
        let mut end = 0u32;
        let mut ends = Vec::with_capacity(lengths.len());
        for &length in lengths {
            end = end.checked_add(length).filter(|_| length > 0)?;
            ends.push(end);
        }
        (!ends.is_empty()).then(|| Parts(Some(ends.into())))
    }

    /// The end of each listed division; `None` if all are equal.
    #[inline]
    pub(super) fn ends(&self) -> Option<&[u32]> {
        self.0.as_deref()
    }
}

impl ParamValue for Parts {
    const ALLOWED: &'static str = "lengths of at least 1 separated by commas, even";
    fn parse(text: &str) -> Option<Self> {
        if text == "even" {
            return Some(Parts::EVEN);
        }
        let lengths: Option<Vec<u32>> = text.split(',').map(|length| length.parse().ok()).collect();
        Parts::listed(&lengths?)
    }
    fn show(&self) -> String {
        let Some(ends) = self.ends() else { return "even".to_string() };
        let starts = core::iter::once(&0).chain(ends);
        let lengths: Vec<String> = ends.iter().zip(starts).map(|(end, start)| (end - start).to_string()).collect();
        lengths.join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused<T: ParamValue>(texts: &[&str]) -> bool {
        texts.iter().all(|text| T::parse(text).is_none())
    }

    #[test]
    fn shows_what_it_parses() {
        assert_eq!(Branching::parse("3").map(|branching| branching.show()).as_deref(), Some("3"));
        assert_eq!(Depth::parse("max").map(|depth| depth.show()).as_deref(), Some("max"));
        assert_eq!(Depth::parse("2").map(|depth| depth.show()).as_deref(), Some("2"));
        assert_eq!(Parts::parse("5,1,20").map(|parts| parts.show()).as_deref(), Some("5,1,20"));
        assert_eq!(Parts::EVEN.show(), "even");
        assert_eq!(Parts::parse("even"), Some(Parts::EVEN));
    }

    #[test]
    fn rejects_values_that_divide_nothing() {
        assert!(refused::<Branching>(&["0", "1", "-4", "four", "4294967296"]));
        assert!(refused::<Depth>(&["0", "-1", "most", ""]));
        assert!(refused::<Parts>(&["", "3,", "3,0", "3,-1", "4294967295,1", "3;4"]));
    }

    #[test]
    fn computes_powers_multiplicities_and_divisions() {
        assert_eq!((Branching::FOUR.power(0), Branching::FOUR.power(3), Branching::FOUR.power(90)), (1, 64, u64::MAX));
        assert_eq!([0, 1, 4, 8, 16, 64].map(|number| Branching::FOUR.multiplicity(number, 2)), [2, 0, 1, 1, 2, 2]);
        assert_eq!([1, 4, 5, 16, 17, 64, 65].map(|length| Branching::FOUR.divisions(length)), [0, 0, 1, 1, 2, 2, 3]);
    }
}
