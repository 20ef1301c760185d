//! A node's identity ([`Id`]), its rank as a candidate ([`Rank`], [`Value`], [`Ranked`], [`Least`]) and its neighbours
//! ([`Port`]).

use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

/// A node's identity: a number that no other node has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Id(pub u64);

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One of a node's neighbours, numbered from 0. A node never sees addresses.
///
/// The topology decides which peer a port leads to in the simulator, the overlay in the cluster.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Port(pub u32);

impl Port {
    /// On a ring: the clockwise neighbour.
    pub const NEXT: Port = Port(0);
    /// On a ring: the counter-clockwise neighbour, where clockwise messages come from.
    pub const PREVIOUS: Port = Port(1);

    /// The port's number, for indexing.
    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What elections compare: the greatest rank wins. All ranks of one election are different, because each contains an
/// id.
///
/// The plain rank is the [`Id`] itself (8 bytes, the fastest). [`Ranked`] puts a value before it, [`Least`] reverses
/// the order. A program with ranks of its own (priority, health, id) implements this trait.
pub trait Rank:
    Copy + Ord + Hash + fmt::Debug + fmt::Display + Serialize + for<'de> Deserialize<'de> + Send + Sync + 'static
{
    /// The id of the node with this rank.
    fn id(self) -> Id;
}

impl Rank for Id {
    #[inline(always)]
    fn id(self) -> Id {
        self
    }
}

/// A finite number by which candidates are compared before their ids.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Value(f64);

/// The error for a value that is not a finite number.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
#[error("a value must be a finite number, not {0}")]
pub struct NotFinite(pub f64);

impl Value {
    /// Accepts any finite number. `-0` becomes `0`, so that equal values have equal bits.
    pub fn new(number: f64) -> Result<Self, NotFinite> {
        if number.is_finite() { Ok(Value(number + 0.0)) } else { Err(NotFinite(number)) }
    }

    /// The number itself.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Value {
    type Error = NotFinite;
    fn try_from(number: f64) -> Result<Self, NotFinite> {
        Value::new(number)
    }
}

impl From<Value> for f64 {
    fn from(value: Value) -> f64 {
        value.0
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}
impl Eq for Value {}
impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}
impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

/// Which end of the order wins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Best {
    /// The greatest rank leads.
    #[default]
    Max,
    /// The least rank leads.
    Min,
}

/// A rank with a value before the id: the papers' "best leader".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Ranked {
    /// Compared first.
    pub value: Value,
    /// Breaks ties.
    pub id: Id,
}

impl fmt::Display for Ranked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.value.0, self.id)
    }
}

impl Rank for Ranked {
    #[inline(always)]
    fn id(self) -> Id {
        self.id
    }
}

/// A rank in reverse order: the least wins. It is serialised as the rank itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Least<R>(pub R);

impl<R: Ord> PartialOrd for Least<R> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<R: Ord> Ord for Least<R> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.cmp(&self.0)
    }
}

impl<R: fmt::Display> fmt::Display for Least<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<R: Rank> Rank for Least<R> {
    #[inline(always)]
    fn id(self) -> Id {
        self.0.id()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranked(value: f64, id: u64) -> Ranked {
        Ranked { value: Value::new(value).unwrap(), id: Id(id) }
    }

    #[test]
    fn compares_values_first_and_breaks_ties_by_id() {
        assert!(ranked(2.0, 1) > ranked(1.0, 9));
        assert!(ranked(1.0, 9) > ranked(1.0, 1));
        assert!(Least(ranked(1.0, 1)) > Least(ranked(1.0, 9)));
        assert!(Least(Id(1)) > Least(Id(9)));
    }

    #[test]
    fn values_are_finite_and_minus_zero_equals_zero() {
        assert!(Value::new(f64::NAN).is_err());
        assert!(Value::new(f64::INFINITY).is_err());
        assert_eq!(Value::new(-0.0), Value::new(0.0));
    }
}
