//! Builds a scenario from a request, step by step, refusing what makes no sense.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use hustings_algorithms::{About, Cheat, Identity, Initiators, NetworkKind};
use hustings_protocol::{Best, Value};

use super::timeline::{Timeline, within};
use super::{Planned, Refusal, Request, Warning};
use crate::parse::{CheatAt, Ids, MAX_NODES, ParseError, Starts, Values, Votes, numbers_in_file, values_in_file};
use crate::rng::{Purpose, Stream};
use crate::scenario::{Notice, Scenario, Start, default_until};
use crate::topology::{Graph, Network, Topology};

/// The longest file of ids or values: twenty digits and a comma for every node would be twice that.
const MAX_BYTES: u64 = 1 << 30;

const DEFAULT_NODES: u32 = 8;

pub(super) struct Plan<'a> {
    request: &'a Request,
    about: &'a About,
    warnings: Vec<Warning>,
}

impl<'a> Plan<'a> {
    pub(super) fn new(request: &'a Request, about: &'a About) -> Self {
        Plan { request, about, warnings: Vec::new() }
    }

    pub(super) fn build(mut self) -> Result<Planned, Refusal> {
        let request = self.request;
        self.check_against_the_algorithm()?;
        let listed_ids = self.listed_ids()?;
        let values = self.values()?;
        let network = self.network(self.size(listed_ids.as_deref(), values.as_deref())?)?;
        let size = network.members();
        let ids = listed_ids.unwrap_or_else(|| self.ordered_ids(size));
        self.check_ids(&ids)?;
        let until = request.until.unwrap_or_else(|| self.default_until(size));
        let timeline = Timeline::new(request, &network, until)?;
        self.check_the_living(size, &timeline)?;
        let starts = self.starts(size, until, &timeline)?;
        let scenario = Scenario {
            network,
            ids,
            values,
            votes: self.votes(size)?,
            cheats: self.cheats(size)?,
            best: request.best,
            starts,
            faults: timeline.faults,
            delay: request.delay,
            unordered: request.unordered,
            loss: request.loss,
            duplicate: request.duplicate,
            bandwidth: request.bandwidth,
            medium: request.medium,
            notice: request.notice,
            runs: request.runs,
            seed: request.seed,
            until,
            threads: request.threads,
        };
        Ok(Planned { scenario, warnings: self.warnings })
    }

    fn check_against_the_algorithm(&mut self) -> Result<(), Refusal> {
        let algorithm = self.about.name;
        if self.about.assumptions.identity == Identity::Anonymous {
            let given = [(self.request.values.is_some(), "--values"), (self.request.best != Best::Max, "--best")];
            if let Some((_, option)) = given.into_iter().find(|(is_given, _)| *is_given) {
                return Err(Refusal::NothingToCompare { option, algorithm });
            }
        }
        if self.request.votes.is_some() && !self.about.inputs.votes {
            return Err(Refusal::NoVotes { algorithm });
        }
        if !self.request.cheats.is_empty() && !self.about.inputs.cheats {
            return Err(Refusal::NoCheats { algorithm });
        }
        if self.request.notice != Notice::Oracle && !self.about.repeats {
            return Err(Refusal::OneElection { notice: typed(self.request.notice), algorithm });
        }
        if self.request.unordered && (self.about.assumptions.fifo || self.request.runs) {
            self.warnings.push(Warning::NeedsOrder { algorithm });
        }
        Ok(())
    }

    /// Time enough for any run that is not held up.
    fn default_until(&self, size: u32) -> u64 {
        default_until(size) + self.about.extra_ticks.map_or(0, |slow| slow(size.into()))
    }

    fn check_the_living(&self, size: u32, timeline: &Timeline) -> Result<(), Refusal> {
        let (algorithm, min_nodes) = (self.about.name, self.about.min_nodes);
        let live = (0..size).filter(|&at| timeline.is_up(at, 0)).take(min_nodes as usize).count() as u32;
        // Where one is enough, none is allowed as well: then nothing happens.
        if min_nodes > 1 && live < min_nodes { Err(Refusal::TooFew { algorithm, min_nodes, live }) } else { Ok(()) }
    }

    /// The ids that are written down somewhere.
    fn listed_ids(&self) -> Result<Option<Vec<u64>>, Refusal> {
        match &self.request.ids {
            Some(Ids::List(ids)) => Ok(Some(ids.clone())),
            Some(Ids::File(path)) => read_file("--ids", path, numbers_in_file).map(Some),
            Some(Ids::Ascending | Ids::Descending | Ids::Random) | None => Ok(None),
        }
    }

    fn values(&self) -> Result<Option<Vec<Value>>, Refusal> {
        match &self.request.values {
            Some(Values::List(values)) => Ok(Some(values.clone())),
            Some(Values::File(path)) => read_file("--values", path, values_in_file).map(Some),
            None => Ok(None),
        }
    }

    fn votes(&self, size: u32) -> Result<Vec<(u32, u32)>, Refusal> {
        let Some(Votes(votes)) = &self.request.votes else { return Ok(Vec::new()) };
        for &(voter, choice) in votes {
            within(&format!("--votes {voter}:{choice}"), voter.max(choice), size)?;
        }
        Ok(votes.clone())
    }

    fn cheats(&self, size: u32) -> Result<Vec<(u32, Cheat)>, Refusal> {
        let mut cheats: Vec<(u32, Cheat)> = Vec::new();
        for &CheatAt { at, cheat } in &self.request.cheats {
            within(&format!("--cheat {}", CheatAt { at, cheat }), at, size)?;
            if !cheats.contains(&(at, cheat)) {
                cheats.push((at, cheat));
            }
        }
        Ok(cheats)
    }

    /// The number of nodes, on which all options must agree; `None` if it is the topology's file that says it.
    fn size(&self, ids: Option<&[u64]>, values: Option<&[Value]>) -> Result<Option<u32>, Refusal> {
        let request = self.request;
        // Those that cannot give way come first.
        let mut said: Vec<(String, u64)> = Vec::new();
        if let Some(shape) = &request.topology
            && let Some(means) = shape.size()
        {
            said.push((format!("--topology {shape}"), means));
        }
        said.extend(ids.map(|ids| ("--ids".to_string(), ids.len() as u64)));
        said.extend(values.map(|values| ("--values".to_string(), values.len() as u64)));
        said.extend(request.nodes.map(|nodes| (format!("--nodes {nodes}"), nodes.into())));
        let Some((option, means)) = said.first().cloned() else {
            let from_file = matches!(request.topology, Some(Topology::File(_)));
            return Ok(if from_file { None } else { Some(DEFAULT_NODES) });
        };
        if let Some((other, says)) = said.into_iter().find(|(_, says)| *says != means) {
            return Err(Refusal::Sizes { option, means, other, says });
        }
        if means > MAX_NODES {
            return Err(Refusal::TooManyNodes { option, means, most: MAX_NODES });
        }
        Ok(Some(means as u32))
    }

    fn network(&self, size: Option<u32>) -> Result<Network, Refusal> {
        let shape = match &self.request.topology {
            Some(shape) => shape.clone(),
            None => default_shape(self.about.network, size.unwrap_or(DEFAULT_NODES)),
        };
        let needs = self.about.network;
        let misfit = || Refusal::ParamConflict {
            shape: shape.to_string(),
            algorithm: self.about.name,
            needs: describe(needs),
            nearest: fitting(needs),
        };
        // Before anything is built: a complete network as a graph may be large.
        let fits = match needs {
            NetworkKind::Ring | NetworkKind::InformedRing => shape == Topology::Ring,
            NetworkKind::Complete => shape == Topology::Complete,
            NetworkKind::Graph | NetworkKind::Tree => true,
        };
        if !fits {
            return Err(misfit());
        }
        let seed = self.request.seed;
        let built = match (needs, size) {
            // A ring as a graph: ports by position, and one link between two nodes, as graph algorithms expect.
            (NetworkKind::Graph | NetworkKind::Tree, size @ Some(_)) if shape == Topology::Ring => {
                shape.generator(size, seed).and_then(|generator| Ok(Network::Graph(Graph::generate(&*generator)?)))
            }
            (_, Some(size)) => shape.build(size, seed),
            (_, None) => shape.build_in_own_size(seed),
        };
        let built = built.map_err(|error| Refusal::Topology { shape: shape.to_string(), error: Box::new(error) })?;
        if u64::from(built.size()) > MAX_NODES {
            let (option, means) = (format!("--topology {shape}"), built.size().into());
            return Err(Refusal::TooManyNodes { option, means, most: MAX_NODES });
        }
        match (needs, &built) {
            // There is no informer inside a view: so nothing can happen to one.
            (NetworkKind::InformedRing, Network::Ring(ring)) if !self.request.runs => Ok(Network::InformedRing(*ring)),
            (NetworkKind::Tree, Network::Graph(graph)) if graph.is_tree() => Ok(built),
            // Without cycles, a complete network has one link at most.
            (NetworkKind::Tree, Network::Complete(complete)) if complete.size <= 2 => Ok(built),
            (NetworkKind::Tree, _) => Err(misfit()),
            (_, _) => Ok(built),
        }
    }

    fn ordered_ids(&self, size: u32) -> Vec<u64> {
        let mut ids: Vec<u64> = (0..size).map(|at| self.about.default_ids.at(at).0).collect();
        match self.request.ids {
            Some(Ids::Descending) => ids.reverse(),
            Some(Ids::Random) => Stream::new(self.request.seed, Purpose::Ids, 0).shuffle(&mut ids),
            _ => {}
        }
        ids
    }

    fn check_ids(&self, ids: &[u64]) -> Result<(), Refusal> {
        if !matches!(self.request.ids, Some(Ids::List(_) | Ids::File(_))) {
            return Ok(());
        }
        let mut sorted: Vec<(u64, usize)> = ids.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(Refusal::IdTwice {
                option: "--ids".to_string(),
                id: pair[0].0,
                first: pair[0].1,
                second: pair[1].1,
            }),
            None => Ok(()),
        }
    }

    fn starts(&mut self, size: u32, until: u64, timeline: &Timeline) -> Result<Vec<Start>, Refusal> {
        let live = || (0..size).filter(|&at| timeline.is_up(at, 0));
        let at_once = |at: u32| Start { at, tick: 0 };
        Ok(match (&self.request.initiators, self.about.initiators) {
            (Some(Starts::All), _) | (None, Initiators::All) => {
                // Almost all are up: room for all is better than room that grows.
                let mut starts = Vec::with_capacity(size as usize);
                starts.extend(live().map(at_once));
                starts
            }
            (Some(Starts::None), _) => Vec::new(),
            (None, Initiators::LowestLive) => live().take(1).map(at_once).collect(),
            (Some(Starts::Random(asked)), _) => {
                let mut chosen: Vec<u32> = live().collect();
                if *asked as usize > chosen.len() {
                    return Err(Refusal::TooManyInitiators { asked: *asked, live: chosen.len() as u32 });
                }
                Stream::new(self.request.seed, Purpose::Initiators, 0).shuffle(&mut chosen);
                chosen.truncate(*asked as usize);
                chosen.sort_unstable();
                chosen.into_iter().map(at_once).collect()
            }
            (Some(Starts::List(starts)), _) => {
                for &Start { at, tick } in starts {
                    let option = format!("--initiators {at}@{tick}");
                    within(&option, at, size)?;
                    if tick > until {
                        return Err(Refusal::TooLate { option, tick, until });
                    }
                    if !timeline.is_up(at, tick) && !timeline.is_yet_to_join(at, tick) {
                        self.warnings.push(Warning::DeadStarter { at, tick });
                    }
                }
                starts.clone()
            }
        })
    }
}

/// What an algorithm runs on when nothing is said.
fn default_shape(kind: NetworkKind, size: u32) -> Topology {
    let text = match kind {
        NetworkKind::Ring | NetworkKind::InformedRing => "ring",
        NetworkKind::Complete => "complete",
        NetworkKind::Graph if size <= 10 => "complete",
        NetworkKind::Graph => "random:5-10",
        NetworkKind::Tree => "tree:2",
    };
    text.parse().expect("the default topologies are written correctly")
}

/// As it is typed.
fn typed(notice: Notice) -> String {
    match notice {
        Notice::Oracle => "oracle".to_string(),
        Notice::Poll(ticks) => format!("poll:{ticks}"),
        Notice::Heartbeat(ticks) => format!("heartbeat:{ticks}"),
        Notice::Term(ticks) => format!("term:{ticks}"),
    }
}

fn describe(kind: NetworkKind) -> &'static str {
    match kind {
        NetworkKind::Ring | NetworkKind::InformedRing => "a ring",
        NetworkKind::Complete => "a complete network",
        NetworkKind::Graph => "a connected graph",
        NetworkKind::Tree => "a graph without cycles",
    }
}

fn fitting(kind: NetworkKind) -> &'static str {
    match kind {
        NetworkKind::Ring | NetworkKind::InformedRing => "ring",
        NetworkKind::Complete => "complete",
        NetworkKind::Graph => "random:5-10",
        NetworkKind::Tree => "tree:2",
    }
}

/// A file's text, turned into a list.
fn read_file<T>(
    option: &'static str,
    path: &Path,
    parse: impl Fn(&str) -> Result<Vec<T>, ParseError>,
) -> Result<Vec<T>, Refusal> {
    let shown = || path.display().to_string();
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text));
    read.map_err(|error| Refusal::Unreadable { option, path: shown(), error })?;
    if text.len() as u64 > MAX_BYTES {
        return Err(Refusal::TooLong { option, path: shown(), most: MAX_BYTES });
    }
    parse(&text).map_err(|error| Refusal::Contents { option, path: shown(), error: Box::new(error) })
}
