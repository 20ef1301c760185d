//! The first line of a trace: the configuration of the run.

use std::collections::BTreeMap;

use hustings_algorithms::Cheat;
use hustings_protocol::{Best, Value};
use serde::{Deserialize, Serialize};

use super::FileError;
use crate::engine::general;
use crate::replay::Setting;
use crate::scenario::{Medium, Notice, Scenario};
use crate::topology::{BuildError, Graph, Network};

/// The version of the format.
pub(super) const VERSION: u32 = 1;

/// The first line of a trace: the configuration of the run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header {
    /// The version of the format.
    pub(crate) version: u32,
    /// The algorithm's name.
    pub(crate) algorithm: String,
    /// All parameters of the algorithm.
    #[serde(default)]
    pub(crate) params: BTreeMap<String, String>,
    /// The id of each position.
    pub(crate) ids: Vec<u64>,
    /// The values that are compared before the ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) values: Option<Vec<Value>>,
    /// Which end of the order wins.
    #[serde(default)]
    pub(crate) best: Best,
    /// The links between positions.
    pub(crate) network: NetworkForm,
    /// Whether a send to all neighbours is one message.
    #[serde(default)]
    pub(crate) broadcast: bool,
    /// Whether a message may be delivered twice.
    #[serde(default)]
    pub(crate) duplicates: bool,
    /// How the failure of a leader is detected.
    #[serde(default)]
    pub(crate) notice: Notice,
    /// Whether the algorithm runs in views of nodes that reach each other.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) runs: bool,
    /// Positions that are down until they join.
    #[serde(default)]
    pub(crate) absent: Vec<u32>,
    /// Voters and their choices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) votes: Vec<(u32, u32)>,
    /// Positions that cheat, and how.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) cheats: Vec<(u32, Cheat)>,
    /// The maximum number of messages delivered per tick.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bandwidth: Option<u64>,
    /// The last tick that was simulated.
    pub(crate) until: u64,
    /// The seed of all randomness.
    pub(crate) seed: u64,
}

/// The serialised form of a network.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum NetworkForm {
    /// A ring.
    Ring {
        /// The number of positions.
        size: u32,
    },
    /// A ring with an informer outside.
    InformedRing {
        /// The number of positions on the ring.
        size: u32,
    },
    /// A complete network.
    Complete {
        /// The number of positions.
        size: u32,
    },
    /// A graph.
    Graph {
        /// The number of positions.
        size: u32,
        /// Its links, lower position first.
        links: Vec<(u32, u32)>,
    },
}

impl NetworkForm {
    /// The serialised form of a network.
    fn of(network: &Network) -> Self {
        match network {
            Network::Ring(size) => NetworkForm::Ring { size: *size },
            Network::InformedRing(size) => NetworkForm::InformedRing { size: *size },
            Network::Complete(size) => NetworkForm::Complete { size: *size },
            Network::Graph(graph) => {
                let ends = (0..graph.size()).flat_map(|at| graph.neighbours(at).iter().map(move |&other| (at, other)));
                NetworkForm::Graph { size: graph.size(), links: ends.filter(|(at, other)| at < other).collect() }
            }
        }
    }

    /// The number of members.
    fn members(&self) -> u32 {
        match self {
            NetworkForm::Ring { size }
            | NetworkForm::InformedRing { size }
            | NetworkForm::Complete { size }
            | NetworkForm::Graph { size, .. } => *size,
        }
    }

    /// Builds the network.
    pub(crate) fn build(&self) -> Result<Network, BuildError> {
        Ok(match self {
            NetworkForm::Ring { size } => Network::Ring(*size),
            NetworkForm::InformedRing { size } => Network::InformedRing(*size),
            NetworkForm::Complete { size } => Network::Complete(*size),
            NetworkForm::Graph { size, links } => {
                Network::Graph(Graph::new(*size, |link| links.iter().for_each(|&(from, to)| link(from, to)))?)
            }
        })
    }
}

impl Header {
    /// The header of a run.
    pub(super) fn new(algorithm: &str, params: BTreeMap<String, String>, scenario: &Scenario) -> Self {
        Header {
            version: VERSION,
            algorithm: algorithm.to_owned(),
            params,
            ids: scenario.ids.clone(),
            values: scenario.values.clone(),
            best: scenario.best,
            network: NetworkForm::of(&scenario.network),
            broadcast: scenario.medium == Medium::Broadcast,
            duplicates: scenario.may_duplicate(),
            notice: scenario.notice,
            runs: scenario.runs,
            absent: general::absent(scenario),
            votes: scenario.votes.clone(),
            cheats: scenario.cheats.clone(),
            bandwidth: scenario.bandwidth,
            until: scenario.until,
            seed: scenario.seed,
        }
    }

    /// The setting of a replay on the network that [`NetworkForm::build`] returned.
    pub(crate) fn setting<'a>(&self, network: &'a Network) -> Setting<'a> {
        Setting {
            network,
            medium: if self.broadcast { Medium::Broadcast } else { Medium::Links },
            notice: self.notice,
            absent: self.absent.clone(),
            duplicates: self.duplicates,
        }
    }

    /// Checks the version, the lengths of lists, positions and duplicate ids.
    pub(super) fn check(&self) -> Result<(), FileError> {
        let size = self.network.members();
        if self.version != VERSION {
            return Err(FileError::Version(self.version));
        }
        if self.ids.len() != size as usize {
            return Err(FileError::Length { what: "ids", given: self.ids.len(), size });
        }
        if let Some(values) = self.values.as_ref().filter(|values| values.len() != size as usize) {
            return Err(FileError::Length { what: "values", given: values.len(), size });
        }
        if let Some(&at) = self.absent.iter().find(|&&at| at >= size) {
            return Err(FileError::Absent { at, size });
        }
        let named = self.votes.iter().flat_map(|&(voter, choice)| [voter, choice]);
        if let Some(at) = named.chain(self.cheats.iter().map(|&(at, _)| at)).find(|&at| at >= size) {
            return Err(FileError::Beyond { at, size });
        }
        let mut ids = self.ids.clone();
        ids.sort_unstable();
        match ids.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(FileError::DuplicateId(pair[0])),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Fault, FaultKind};

    #[test]
    fn a_header_describes_the_setting_of_a_replay() {
        let graph = Graph::new(4, |link| [(0, 1), (1, 2), (3, 1)].iter().for_each(|&(a, b)| link(a, b)));
        let networks = [
            Network::Ring(4),
            Network::InformedRing(4),
            Network::Complete(4),
            Network::Graph(graph.expect("the links are a graph")),
        ];
        for network in networks {
            let plain = Scenario::new(network);
            let faults = vec![Fault { tick: 5, what: FaultKind::Join(2) }];
            let (medium, notice) = (Medium::Broadcast, Notice::Poll(3));
            let special = Scenario { medium, notice, duplicate: 0.1, faults, ..plain.clone() };
            for scenario in [plain, special] {
                let header = Header::new("any", BTreeMap::new(), &scenario);
                let text = serde_json::to_string(&header).expect("a header can be written");
                let read: Header = serde_json::from_str(&text).expect("and read");
                assert_eq!(read, header);
                let network = read.network.build().expect("the network is valid");
                assert_eq!(network, scenario.network);
                assert_eq!(read.setting(&network), Setting::of(&scenario));
            }
        }
    }
}
