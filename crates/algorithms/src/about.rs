//! The usual values of an algorithm's description, and what follows from it.

use crate::{
    About, Assumptions, Certainty, CostDelays, DefaultIds, Direction, Family, Goal, Identity, Initiators, Inputs,
    Knowledge, NetworkKind, Source, Synchrony, Tolerates, Winner,
};

/// An election that `hustings check` explores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CheckCase {
    /// The options of `hustings check` after the algorithm's name, with one space between words.
    pub options: &'static str,
    /// Whether it takes about a second at most, so that `--quick` includes it.
    pub is_quick: bool,
}

impl CheckCase {
    /// A case that takes about a second at most.
    pub const fn quick(options: &'static str) -> Self {
        CheckCase { options, is_quick: true }
    }

    /// A case that takes longer.
    pub const fn slow(options: &'static str) -> Self {
        CheckCase { options, is_quick: false }
    }
}

impl Source {
    /// An algorithm that no text describes.
    pub const UNPUBLISHED: Source = Source { authors: "unpublished", title: "unpublished", text: "none" };
}

impl About {
    /// The description of a deterministic algorithm on such a network, with the usual values: nodes have ids
    /// and know their neighbours, links carry messages both ways in any order, delays have no bound, all nodes start,
    /// the greatest wins, and no node may fail. Set the name, the summary and what differs:
    ///
    /// ```
    /// use hustings_algorithms::{About, Initiators, NetworkKind};
    ///
    /// const ABOUT: About = About {
    ///     name: "three-laps",
    ///     summary: "one lap to ask, one to find the best, one to tell",
    ///     initiators: Initiators::LowestLive,
    ///     ..About::on(NetworkKind::Ring)
    /// };
    /// assert!(ABOUT.is_called("three-laps") && ABOUT.elects_by_id());
    /// ```
    pub const fn on(network: NetworkKind) -> Self {
        About {
            name: "",
            aliases: &[],
            summary: "",
            family: match network {
                NetworkKind::Ring => Family::Ring,
                NetworkKind::InformedRing => Family::Hierarchy,
                NetworkKind::Complete => Family::Complete,
                NetworkKind::Graph | NetworkKind::Tree => Family::Graph,
            },
            network,
            sends_by_map: matches!(network, NetworkKind::InformedRing),
            assumptions: Assumptions {
                direction: Direction::TwoWay,
                fifo: false,
                identity: Identity::Unique,
                synchrony: Synchrony::Asynchronous,
                knows: Knowledge::Neighbours,
            },
            certainty: Certainty::Always,
            initiators: Initiators::All,
            default_ids: match network {
                NetworkKind::Complete => DefaultIds::PositionsFromOne,
                _ => DefaultIds::Positions,
            },
            repeats: false,
            goal: Goal::Leader,
            winner: Winner::Greatest,
            min_nodes: 1,
            extra_ticks: None,
            tolerates: Tolerates::NOTHING,
            inputs: Inputs::NOTHING,
            costs: &[],
            cost_delays: CostDelays::Any,
            checks: &[],
            cluster_params: &[],
            max_state_bytes: 64,
            counts_depend_on_starters: false,
            withdraws: false,
            has_own_engine: false,
            source: Source::UNPUBLISHED,
        }
    }

    /// Whether this is its name or one of its aliases.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }

    /// Its name, then its aliases.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        core::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    /// Whether it elects a leader among nodes with ids. The members of a cluster are such nodes, so this decides
    /// whether a cluster can use it.
    pub const fn elects_by_id(&self) -> bool {
        matches!((self.goal, self.assumptions.identity), (Goal::Leader, Identity::Unique))
    }
}
