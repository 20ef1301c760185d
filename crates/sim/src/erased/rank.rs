//! The ranks of any scenario behind one type.

use std::fmt;

use hustings_protocol::{Id, Rank, Ranked, Value};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A plain [`Id`], or an id with a value before it ([`Ranked`]): whichever the scenario has.
///
/// Protocols that run through [`super::DynProtocol`] are compiled for this rank only, instead of once for ids and once
/// for values. On the wire, in traces and in the count of bytes it is exactly the [`Id`] or the [`Ranked`] that it
/// stands for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScenarioRank {
    /// Compared first. All ranks of one election have a value, or none has.
    pub value: Option<Value>,
    /// Breaks ties.
    pub id: Id,
}

impl ScenarioRank {
    fn ranked(self) -> Option<Ranked> {
        self.value.map(|value| Ranked { value, id: self.id })
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
        match self.ranked() {
            Some(ranked) => fmt::Debug::fmt(&ranked, f),
            None => fmt::Debug::fmt(&self.id, f),
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
        Ok(match Either::deserialize(deserializer)? {
            Either::Id(id) => ScenarioRank { value: None, id },
            Either::Ranked(Ranked { value, id }) => ScenarioRank { value: Some(value), id },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both() -> [(ScenarioRank, serde_json::Value, Vec<u8>); 2] {
        let ranked = Ranked { value: Value::new(2.5).unwrap(), id: Id(300) };
        let plain = ScenarioRank { value: None, id: Id(300) };
        let valued = ScenarioRank { value: Some(ranked.value), id: ranked.id };
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
        let rank = |value, id| ScenarioRank { value: Some(Value::new(value).unwrap()), id: Id(id) };
        assert!(rank(2.0, 1) > rank(1.0, 9));
        assert!(rank(1.0, 9) > rank(1.0, 1));
        assert!(ScenarioRank { value: None, id: Id(9) } > ScenarioRank { value: None, id: Id(1) });
    }
}
