//! Do two members have the same configuration, where they must?

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};

use super::Config;
use crate::timing::Timing;

/// A hash of each part of the configuration that must be the same on all members. Members exchange it, and say where
/// they differ.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ConfigDigest([u64; 5]);

/// The parts, as messages name them.
const PARTS: [&str; 5] = ["[timing]", "[timing] drift", "[[office]]", "algorithm", "arbiter"];

impl ConfigDigest {
    /// The digest of a configuration.
    pub(crate) fn of(config: &Config) -> Self {
        let Timing { heartbeat, silence_floor, silence_ceiling, lease, drift_ppm, stop, tick, settle, hand_over } =
            config.timing;
        let timing = [heartbeat, silence_floor, silence_ceiling, lease, stop, tick, settle, hand_over];
        let offices: BTreeMap<_, _> = config.offices.iter().map(|(name, policy)| (name, policy)).collect();
        ConfigDigest([
            hash(&timing),
            hash(&drift_ppm),
            hash(&(offices, config.default_policy)),
            hash(&(config.algorithm.name(), config.algorithm.params())),
            hash(&config.arbiter),
        ])
    }

    /// The parts in which two configurations differ.
    pub(crate) fn differences(&self, other: &ConfigDigest) -> Vec<&'static str> {
        let both = self.0.iter().zip(other.0);
        PARTS.into_iter().zip(both).filter(|(_, (own, other))| *own != other).map(|(part, _)| part).collect()
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
