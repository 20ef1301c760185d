//! The ranks of any scenario behind one type.

use std::cell::Cell;
use std::cmp::Ordering;
use std::fmt;

use hustings_protocol::{Best, Id, Least, Rank, Ranked, Value};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A plain [`Id`], or an id with a value before it ([`Ranked`]), in ascending or in descending order: whichever the
/// scenario has.
///
/// Protocols that run through [`super::DynProtocol`] are compiled for this rank only, instead of once for each of the
/// four. On the wire, in traces and in the count of bytes it is exactly the [`Id`] or the [`Ranked`] that it stands
/// for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ScenarioRank {
    /// Compared first. All ranks of one election have a value, or none has.
    pub value: Option<Value>,
    /// Breaks ties.
    pub id: Id,
    /// Which end of the order wins. It is the same for all ranks of one election.
    pub best: Best,
}

thread_local! {
    /// Which end of the order wins in the election whose messages this thread reads.
    static BEST: Cell<Best> = const { Cell::new(Best::Max) };
}

/// Reads ranks of an election in which this end of the order wins. A rank in a file does not tell, and the formats of
/// messages are derived, so it cannot be passed on to them.
pub(super) fn reading<T>(best: Best, read: impl FnOnce() -> T) -> T {
    let before = BEST.replace(best);
    let value = read();
    BEST.set(before);
    value
}

impl ScenarioRank {
    fn ranked(self) -> Option<Ranked> {
        self.value.map(|value| Ranked { value, id: self.id })
    }
}

impl PartialOrd for ScenarioRank {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ScenarioRank {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        let ascending = (self.value, self.id).cmp(&(other.value, other.id));
        match self.best {
            Best::Max => ascending,
            Best::Min => ascending.reverse(),
        }
    }
}

impl Rank for ScenarioRank {
    fn id(self) -> Id {
        self.id
    }
}

impl fmt::Display for ScenarioRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ranked() {
            Some(ranked) => fmt::Display::fmt(&ranked, f),
            None => fmt::Display::fmt(&self.id, f),
        }
    }
}

impl fmt::Debug for ScenarioRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.ranked(), self.best) {
            (Some(ranked), Best::Max) => fmt::Debug::fmt(&ranked, f),
            (Some(ranked), Best::Min) => fmt::Debug::fmt(&Least(ranked), f),
            (None, Best::Max) => fmt::Debug::fmt(&self.id, f),
            (None, Best::Min) => fmt::Debug::fmt(&Least(self.id), f),
        }
    }
}

impl Serialize for ScenarioRank {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.ranked() {
            Some(ranked) => ranked.serialize(serializer),
            None => self.id.serialize(serializer),
        }
    }
}

/// Reads formats that describe themselves, such as the JSON of a trace.
impl<'de> Deserialize<'de> for ScenarioRank {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Id(Id),
            Ranked(Ranked),
        }
        let best = BEST.get();
        Ok(match Either::deserialize(deserializer)? {
            Either::Id(id) => ScenarioRank { value: None, id, best },
            Either::Ranked(Ranked { value, id }) => ScenarioRank { value: Some(value), id, best },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both() -> [(ScenarioRank, serde_json::Value, Vec<u8>); 2] {
        let ranked = Ranked { value: Value::new(2.5).unwrap(), id: Id(300) };
        let plain = ScenarioRank { value: None, id: Id(300), best: Best::Max };
        let valued = ScenarioRank { value: Some(ranked.value), id: ranked.id, best: Best::Max };
        [
            (plain, serde_json::to_value(Id(300)).unwrap(), postcard::to_allocvec(&Id(300)).unwrap()),
            (valued, serde_json::to_value(ranked).unwrap(), postcard::to_allocvec(&ranked).unwrap()),
        ]
    }

    #[test]
    fn serializes_as_the_id_or_ranked_it_stands_for() {
        for (rank, json, bytes) in both() {
            assert_eq!(serde_json::to_value(rank).unwrap(), json);
            assert_eq!(serde_json::from_value::<ScenarioRank>(json).unwrap(), rank);
            assert_eq!(postcard::to_allocvec(&rank).unwrap(), bytes, "traffic is counted in these bytes");
        }
    }

    #[test]
    fn values_are_compared_before_ids() {
        for best in [Best::Max, Best::Min] {
            let rank = |value: Option<f64>, id| ScenarioRank {
                value: value.map(|value| Value::new(value).unwrap()),
                id: Id(id),
                best,
            };
            let ascending = [rank(Some(1.0), 1), rank(Some(1.0), 9), rank(Some(2.0), 1)];
            assert!(ascending.is_sorted() == (best == Best::Max));
            assert!(ascending.iter().rev().is_sorted() == (best == Best::Min));
            assert_eq!(rank(None, 9) > rank(None, 1), best == Best::Max);
        }
    }

    #[test]
    fn a_rank_that_is_read_has_the_order_of_its_election() {
        let read = || serde_json::from_value::<ScenarioRank>(7.into()).unwrap();
        assert_eq!(reading(Best::Min, read).best, Best::Min);
        assert_eq!(reading(Best::Min, || reading(Best::Max, read)).best, Best::Max);
        assert_eq!(read().best, Best::Max);
        assert_eq!(format!("{:?}", reading(Best::Min, read)), format!("{:?}", Least(Id(7))));
    }
}
