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
        /// Tokens never wait; an `m-coordinator` follows each middle token and does.
        Eager = "eager",
    }
}

/// Into how many pieces a ring is divided: 2 or more.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Fan(u32);

impl Fan {
    /// As in the text's tables.
    pub const FOUR: Fan = Fan(4);

    /// So many; `None` if that would not divide anything.
    pub const fn new(pieces: u32) -> Option<Self> {
        if pieces >= 2 { Some(Fan(pieces)) } else { None }
    }

    /// How many pieces.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// How many pieces after so many divisions; what is too large for any ring stays too large.
    #[inline]
    pub(super) fn power(self, divisions: u32) -> u64 {
        u64::from(self.0).saturating_pow(divisions)
    }

    /// How often a number can be divided, `most` times at most.
    #[inline]
    pub(super) fn rungs(self, mut number: u32, most: u32) -> u32 {
        let mut rungs = 0;
        while rungs < most && number.is_multiple_of(self.0) {
            number /= self.0;
            rungs += 1;
        }
        rungs
    }

    /// How often something of this length is divided until it is no longer than one division has pieces.
    pub(super) fn divisions(self, mut length: u32) -> u32 {
        let mut divisions = 0;
        while length > self.0 {
            length = length.div_ceil(self.0);
            divisions += 1;
        }
        divisions
    }
}

impl ParamValue for Fan {
    const ALLOWED: &'static str = "a whole number from 2 on";
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().and_then(Fan::new)
    }
    fn show(&self) -> String {
        self.0.to_string()
    }
}

/// How often a ring is divided.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Depth {
    /// So often.
    Times(NonZeroU32),
    /// While the inner ring is longer than one division has pieces.
    Max,
}

impl Depth {
    /// Once.
    pub const ONCE: Depth = Depth::Times(NonZeroU32::MIN);

    /// How often, where `most` is what [`Depth::Max`] means.
    #[inline]
    pub(super) fn times(self, most: impl FnOnce() -> u32) -> u32 {
        match self {
            Depth::Times(times) => times.get(),
            Depth::Max => most(),
        }
    }
}

impl ParamValue for Depth {
    const ALLOWED: &'static str = "a whole number from 1 on, max";
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

/// The lengths of the divisions: all alike, or a list.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Parts(Option<Arc<[u32]>>);

impl Parts {
    /// All alike.
    pub const EVEN: Parts = Parts(None);

    /// Divisions of these lengths, from position 0 on. `None` if one is empty, there are none, or they are too long for
    /// any ring.
    pub fn listed(lengths: &[u32]) -> Option<Self> {
        let mut end = 0u32;
        let mut ends = Vec::with_capacity(lengths.len());
        for &length in lengths {
            end = end.checked_add(length).filter(|_| length > 0)?;
            ends.push(end);
        }
        (!ends.is_empty()).then(|| Parts(Some(ends.into())))
    }

    /// Where each listed division ends; `None` if all are alike.
    #[inline]
    pub(super) fn ends(&self) -> Option<&[u32]> {
        self.0.as_deref()
    }
}

impl ParamValue for Parts {
    const ALLOWED: &'static str = "lengths from 1 on with commas between, even";
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
    fn what_is_typed_is_shown_again() {
        assert_eq!(Fan::parse("3").map(|fan| fan.show()).as_deref(), Some("3"));
        assert_eq!(Depth::parse("max").map(|depth| depth.show()).as_deref(), Some("max"));
        assert_eq!(Depth::parse("2").map(|depth| depth.show()).as_deref(), Some("2"));
        assert_eq!(Parts::parse("5,1,20").map(|parts| parts.show()).as_deref(), Some("5,1,20"));
        assert_eq!(Parts::EVEN.show(), "even");
        assert_eq!(Parts::parse("even"), Some(Parts::EVEN));
    }

    #[test]
    fn what_divides_nothing_is_refused() {
        assert!(refused::<Fan>(&["0", "1", "-4", "four", "4294967296"]));
        assert!(refused::<Depth>(&["0", "-1", "most", ""]));
        assert!(refused::<Parts>(&["", "3,", "3,0", "3,-1", "4294967295,1", "3;4"]));
    }

    #[test]
    fn powers_rungs_and_divisions() {
        assert_eq!((Fan::FOUR.power(0), Fan::FOUR.power(3), Fan::FOUR.power(90)), (1, 64, u64::MAX));
        assert_eq!([0, 1, 4, 8, 16, 64].map(|number| Fan::FOUR.rungs(number, 2)), [2, 0, 1, 1, 2, 2]);
        assert_eq!([1, 4, 5, 16, 17, 64, 65].map(|length| Fan::FOUR.divisions(length)), [0, 0, 1, 1, 2, 2, 3]);
    }
}
