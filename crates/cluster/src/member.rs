//! Who belongs to a cluster, and what a member is worth as a leader.

use std::fmt;

use hustings_protocol::{Id, Rank};
use serde::{Deserialize, Serialize};

/// What a member may do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// It votes, and may hold offices.
    #[default]
    Elector,
    /// It votes, and never holds an office.
    Witness,
    /// It neither votes nor holds offices, but knows who does.
    Observer,
}

impl Role {
    /// Whether its voice counts in the arbiter.
    pub fn votes(self) -> bool {
        self != Role::Observer
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Elector => "elector",
            Role::Witness => "witness",
            Role::Observer => "observer",
        })
    }
}

/// A member of the cluster, as everybody knows it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Member {
    /// A number that no other member has, nor ever had: from 1.
    pub id: Id,
    /// What people call it: a DNS label.
    pub name: String,
    /// Where it listens: host and port. The host is looked up again for every connection.
    pub address: String,
    /// Compared first when it is asked who is better.
    pub priority: u32,
    /// What it may do.
    pub role: Role,
}

/// What candidates are compared by: priority, then health, then id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct MemberRank {
    /// From the configuration.
    pub priority: u32,
    /// From the health check: 0 to 100.
    pub health: u8,
    /// Breaks ties.
    pub id: Id,
}

impl fmt::Display for MemberRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.priority, self.health, self.id)
    }
}

impl Rank for MemberRank {
    fn id(self) -> Id {
        self.id
    }
}
