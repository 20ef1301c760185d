//! Tables that are computed instead of read from an experiment: a search for a worst case, runs of
//! [`crate::variants`], and verdicts of the model checker.

use hustings_algorithms::{Algorithm, NoParams};
use hustings_elections::Catalogue;
use hustings_protocol::{Record, SplitMix64};
use hustings_sim::erased::DynMessage;
use hustings_sim::outcome::Outcome;
use hustings_sim::scenario::Scenario;
use hustings_sim::simulate::{ElectionSpec, simulate_observed};
use hustings_sim::topology::{Graph, Network};
use hustings_sim::trace::Observer;

use super::{CompareError, checked};
use crate::table::{Heading, Table, Values};
use crate::variants::{OwnId, PredecessorOnly};

/// The names of these tables.
pub(crate) const COMPUTED_TABLES: [&str; 5] =
    ["search-echo", "variant-predecessor", "variant-own-id", "check-anonymous", "check-campaigner"];

/// The columns of these tables: their names, what reports call them, and their descriptions.
pub(super) const COLUMNS: [(&str, &str, &str); 15] = [
    ("nodes", "n", "nodes"),
    ("rounds", "rounds", "rounds until the leader is found"),
    ("highest_wins", "rings on which the highest id wins", "whether the highest id wins (1: yes)"),
    ("worst_links", "links", "links between nodes"),
    ("messages.wave", "wave messages", "messages of kind wave"),
    ("ids", "ids", "ids to draw from"),
    ("coins", "coins", "whether there are coins (1: yes)"),
    (
        "infinite",
        "fair executions without an end",
        "whether a fair scheduler can go on forever, whatever coins show (1: yes)",
    ),
    ("cycles", "executions of any length", "whether executions of any length exist (1: yes)"),
    ("states", "states", "states that were explored"),
    ("crashes", "crashes", "nodes that crash, at any time"),
    ("recoveries", "recoveries", "nodes that come back, at any time"),
    ("slowest", "ticks of the slowest message", "ticks that a message takes at most"),
    ("two", "two lead at a time", "whether two nodes can lead at the same time (1: yes)"),
    ("split", "different coordinators in the end", "whether nodes can end with different coordinators (1: yes)"),
];

/// Whether a table is computed instead of read from an experiment.
pub(crate) fn is_computed(name: &str) -> bool {
    COMPUTED_TABLES.contains(&name)
}

/// Computes the table with this name.
pub(super) fn table_named(name: &str) -> Option<Result<Table, CompareError>> {
    match name {
        "search-echo" => Some(echo()),
        "variant-predecessor" => Some(predecessor()),
        "variant-own-id" => Some(own_id()),
        "check-anonymous" => Some(checked::anonymous().and_then(|columns| table(&columns))),
        "check-campaigner" => Some(checked::campaigner().and_then(|columns| table(&columns))),
        _ => None,
    }
}

fn table(columns: &[(&str, Vec<i64>)]) -> Result<Table, CompareError> {
    let mut table = Table::default();
    for (name, numbers) in columns {
        let about = COLUMNS.iter().find(|(known, ..)| known == name).map_or("", |(.., about)| about);
        let values = Values::Integers(numbers.iter().copied().map(Some).collect());
        table
            .push(Heading { name: (*name).into(), about: about.into() }, values)
            .map_err(|error| CompareError::new(*name, error))?;
    }
    Ok(table)
}

/// An observer that ignores all records.
struct NoObserver;

impl Observer<DynMessage> for NoObserver {
    fn record(&mut self, _: &Record<DynMessage>) {}
}

/// Runs a variant on a ring with these ids, with all nodes as initiators.
fn variant<A: Algorithm<Params = NoParams>>(ids: Vec<u64>) -> Result<Outcome, CompareError> {
    let text = ids.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    let ids = Some(text.parse().map_err(|error| CompareError::new("ids", error))?);
    let built = ElectionSpec { ids, ..ElectionSpec::default() }.build::<A>(&NoParams);
    let scenario = built.map_err(|error| CompareError::new(A::ABOUT.name, error))?.scenario;
    Ok(simulate_observed::<A>(&NoParams, &scenario, &mut NoObserver))
}

/// Rounds of the predecessor-only rule on sorted rings: every round takes n messages.
fn predecessor() -> Result<Table, CompareError> {
    let sizes = [4u64, 8, 16, 64, 256];
    let mut rounds = Vec::new();
    for n in sizes {
        let outcome = variant::<PredecessorOnly>((0..n).collect())?;
        rounds.push((outcome.by_kind[0] / n) as i64);
    }
    let nodes = sizes.map(|n| n as i64).to_vec();
    table(&[("nodes", nodes), ("rounds", rounds)])
}

/// Whether the highest wins when survivors keep their own ids: on every ring of four.
fn own_id() -> Result<Table, CompareError> {
    let (mut nodes, mut right) = (Vec::new(), Vec::new());
    for order in [[3u64, 0, 1, 2], [3, 0, 2, 1], [3, 1, 0, 2], [3, 1, 2, 0], [3, 2, 0, 1], [3, 2, 1, 0]] {
        let outcome = variant::<OwnId>(order.to_vec())?;
        nodes.push(order.len() as i64);
        right.push(i64::from(outcome.leader == Some(0)));
    }
    table(&[("nodes", nodes), ("highest_wins", right)])
}

/// The number of restarts of the search for each size, and of the changes it tries in each.
const CLIMBS: u64 = 12;
const TRIES: u64 = 400;

/// The largest number of messages found for echo with extinction, with all nodes as initiators and one tick per
/// message.
fn echo() -> Result<Table, CompareError> {
    let sizes = [4u32, 5, 6, 7, 8, 12];
    let (mut links, mut waves) = (Vec::new(), Vec::new());
    for n in sizes {
        let best = (0..CLIMBS).map(|climb| Climb::run(n, climb)).collect::<Result<Vec<_>, _>>()?;
        let best =
            best.into_iter().max_by_key(|climb| climb.cost).ok_or_else(|| CompareError::new("search", "none"))?;
        links.push(best.links.len() as i64);
        waves.push(best.cost as i64);
    }
    let nodes = sizes.map(i64::from).to_vec();
    table(&[("nodes", nodes), ("worst_links", links), ("messages.wave", waves)])
}

/// Hill climbing over networks and orders of ids.
struct Climb {
    n: u32,
    links: Vec<(u32, u32)>,
    ids: Vec<u64>,
    cost: u64,
}

impl Climb {
    fn run(n: u32, number: u64) -> Result<Climb, CompareError> {
        // The search starts with a path, and every change keeps the network connected.
        let mut climb =
            Climb { n, links: (1..n).map(|at| (at - 1, at)).collect(), ids: (0..u64::from(n)).collect(), cost: 0 };
        climb.cost = climb.measure()?;
        for step in 0..TRIES {
            let coin =
                |purpose: u64, bound: u64| SplitMix64::hash(u64::from(n) << 32 | number, step, purpose) % bound.max(1);
            let mut next = Climb { n, links: climb.links.clone(), ids: climb.ids.clone(), cost: 0 };
            next.change(&coin);
            if !next.is_connected() {
                continue;
            }
            next.cost = next.measure()?;
            // Sideways too: plateaus are wide.
            if next.cost >= climb.cost {
                climb = next;
            }
        }
        Ok(climb)
    }

    /// Swaps two ids, adds a link or takes one away.
    fn change(&mut self, coin: &dyn Fn(u64, u64) -> u64) {
        let n = u64::from(self.n);
        let (a, b) = (coin(1, n) as u32, coin(2, n) as u32);
        match coin(0, 3) {
            0 => self.ids.swap(a as usize, b as usize),
            _ if a == b => {}
            _ => {
                let link = (a.min(b), a.max(b));
                match self.links.iter().position(|known| *known == link) {
                    Some(place) => _ = self.links.remove(place),
                    None => self.links.push(link),
                }
            }
        }
    }

    fn is_connected(&self) -> bool {
        let mut reached = vec![false; self.n as usize];
        reached[0] = true;
        let mut open = vec![0];
        while let Some(at) = open.pop() {
            for &(a, b) in &self.links {
                let next = if a == at {
                    b
                } else if b == at {
                    a
                } else {
                    continue;
                };
                if !std::mem::replace(&mut reached[next as usize], true) {
                    open.push(next);
                }
            }
        }
        reached.into_iter().all(|reached| reached)
    }

    fn measure(&self) -> Result<u64, CompareError> {
        let graph = Graph::new(self.n, |link| self.links.iter().for_each(|&(a, b)| link(a, b)));
        let graph = graph.map_err(|error| CompareError::new("search", error))?;
        let mut scenario = Scenario::new(Network::Graph(graph)).started_by_all();
        scenario.ids.clone_from(&self.ids);
        // By name, because the fast engine is compiled for it already.
        let catalogue = Catalogue::default();
        let known =
            catalogue.find("echo-extinction").ok_or_else(|| CompareError::new("search", "no echo-extinction"))?;
        let election = known.election(&[]).map_err(|error| CompareError::new("search", error))?;
        Ok(election.run(&scenario).by_kind[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, column: &str) -> Vec<f64> {
        let table = table_named(name).unwrap().unwrap();
        (0..table.rows()).map(|row| table.cell(row, column).number().unwrap()).collect()
    }

    #[test]
    fn only_the_names_that_are_told_are_made() {
        assert!(COMPUTED_TABLES.iter().all(|name| table_named(name).is_some()));
        assert!(table_named("datley-best").is_none());
    }

    #[test]
    fn variants_do_what_the_slides_say() {
        assert_eq!(column("variant-predecessor", "rounds"), column("variant-predecessor", "nodes"));
        assert!(column("variant-own-id", "highest_wins").iter().all(|wins| *wins == 0.0));
    }

    #[test]
    fn a_climb_never_leaves_the_connected_networks_and_never_loses_ground() {
        let start = Climb { n: 6, links: (1..6).map(|at| (at - 1, at)).collect(), ids: (0..6).collect(), cost: 0 };
        let climb = Climb::run(6, 0).unwrap();
        assert!(climb.is_connected() && climb.cost >= start.measure().unwrap());
        assert_eq!(climb.measure().unwrap(), climb.cost);
        let mut ids = climb.ids.clone();
        ids.sort_unstable();
        assert_eq!(ids, (0..6).collect::<Vec<_>>());
        assert!(!Climb { n: 3, links: vec![(0, 1)], ids: vec![0, 1, 2], cost: 0 }.is_connected());
    }
}
