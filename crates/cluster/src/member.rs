//! The members of a cluster, and their ranks as candidates.

use std::fmt;

use hustings_protocol::{Id, Rank};
use serde::{Deserialize, Serialize};

/// What a member may do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Votes, and may hold offices.
    #[default]
    Elector,
    /// Votes, but never holds an office.
    Witness,
    /// Neither votes nor holds offices, but knows who holds them.
    Observer,
}

impl Role {
    /// Whether the member is a voter of the arbiter.
    pub(crate) fn votes(self) -> bool {
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

/// A member of the cluster.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Member {
    /// The member's id, from 1. Ids are never reused.
    pub id: Id,
    /// The member's name, a DNS label.
    pub name: String,
    /// Host and port where it listens. The host is resolved again for every connection.
    pub address: String,
    /// Ranks before health and id.
    pub priority: u32,
    /// What the member may do.
    pub role: Role,
}

/// The order of candidates: by priority, then health, then id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct MemberRank {
    /// From the configuration.
    pub priority: u32,
    /// The health score, 0–100.
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
