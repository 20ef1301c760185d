//! Do two members have the same configuration, where they must?

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Config;
use crate::timing::Timing;

/// A hash of each part of the configuration that must be the same on all members. Members exchange it, and say where
/// they differ.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ConfigDigest([u32; 5]);

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

/// CRC-32 of the value in postcard. Both are fixed, so that members compute the same whatever built them. A collision
/// would only hide a warning.
fn hash(value: &impl Serialize) -> u32 {
    crc32fast::hash(&postcard::to_allocvec(value).expect("a configuration is plain data"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::{Mode, Policy, Preempt};
    use crate::golden;
    use crate::member::Role;
    use crate::tests::{config, member};

    #[test]
    fn digests_of_version_1() {
        let plain = config(1, vec![member(1, Role::Elector)]);
        let preempt = Preempt::BetterAfter(Duration::from_millis(1500));
        let policy = Policy { mode: Mode::Fenced, preempt, lease: Some(Duration::from_secs(3)), stop: None };
        let mut other = Config { offices: vec![("job".to_string(), policy)], ..plain.clone() };
        other.timing.drift_ppm = 20_000;
        let cases = [("defaults", ConfigDigest::of(&plain)), ("an office and a drift", ConfigDigest::of(&other))];
        let encode = |digest: &ConfigDigest| postcard::to_allocvec(digest).expect("plain data");
        golden::check("config-digest-v1", &cases, encode, |bytes| postcard::from_bytes(bytes).expect("a digest"));
    }
}
