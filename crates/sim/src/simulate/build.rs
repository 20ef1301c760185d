//! Builds a scenario from a specification, field by field, and rejects what makes no sense.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use hustings_algorithms::{About, Cheat, Identity, Initiators, NetworkKind};
use hustings_protocol::{Best, Value};

use super::interventions;
use super::timeline::{Timeline, check_position};
use super::{
    BuiltScenario, ElectionSpec, Field, FieldRef, Ids, ParseError, SpecError, SpecProblem, Starts, Values, Warning,
};
use crate::parse::{MAX_NODES, cheat_text, numbers_in_file, values_in_file};
use crate::rng::{Purpose, Stream};
use crate::scenario::{Notice, Scenario, Start, default_until};
use crate::topology::{Graph, Network, Topology};

/// The maximum size of a file of ids or values: half of what twenty digits and a comma for every node would take.
const MAX_FILE_BYTES: u64 = 1 << 30;

const DEFAULT_NODES: u32 = 8;

pub(super) struct Builder<'a> {
    spec: &'a ElectionSpec,
    about: &'a About,
    warnings: Vec<Warning>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(spec: &'a ElectionSpec, about: &'a About) -> Self {
        Builder { spec, about, warnings: Vec::new() }
    }

    pub(super) fn build(mut self) -> Result<BuiltScenario, SpecError> {
        let spec = self.spec;
        self.check_algorithm()?;
        let listed_ids = self.listed_ids()?;
        let values = self.values()?;
        let network = self.network(self.size(listed_ids.as_deref(), values.as_deref())?)?;
        let size = network.members();
        let ids = listed_ids.unwrap_or_else(|| self.ordered_ids(size));
        self.check_ids(&ids)?;
        let until = spec.until.unwrap_or_else(|| self.default_until(size));
        let timeline = Timeline::new(&spec.faults, &network, until)?;
        self.check_live_nodes(size, &timeline)?;
        let starts = self.starts(size, until, &timeline)?;
        let interventions = interventions::checked(&spec.faults, &network)?;
        let scenario = Scenario {
            network,
            ids,
            values,
            votes: self.votes(size)?,
            cheats: self.cheats(size)?,
            best: spec.best,
            starts,
            faults: timeline.faults,
            interventions,
            delay: spec.delay,
            unordered: spec.unordered,
            loss: spec.loss,
            duplicate: spec.duplicate,
            bandwidth: spec.bandwidth,
            medium: spec.medium,
            notice: spec.notice,
            runs: spec.runs,
            seed: spec.seed,
            until,
            threads: spec.threads,
            max_memory: None,
        };
        Ok(BuiltScenario { scenario, warnings: self.warnings })
    }

    fn check_algorithm(&mut self) -> Result<(), SpecError> {
        let algorithm = self.about.name;
        if self.about.assumptions.identity == Identity::Anonymous {
            let given = [(self.spec.values.is_some(), Field::Values), (self.spec.best != Best::Max, Field::Best)];
            if let Some((_, field)) = given.into_iter().find(|(is_given, _)| *is_given) {
                return Err(SpecProblem::Anonymous { algorithm }.of(field));
            }
        }
        if self.spec.votes.is_some() && !self.about.inputs.votes {
            return Err(SpecProblem::NoVotes { algorithm }.of(Field::Votes));
        }
        if !self.spec.cheats.is_empty() && !self.about.inputs.cheats {
            return Err(SpecProblem::NoCheats { algorithm }.of(Field::Cheats));
        }
        if self.spec.notice != Notice::Oracle && !self.about.repeats {
            let field = FieldRef::with_value(Field::Notice, self.spec.notice);
            return Err(SpecProblem::OneElection { algorithm }.of(field));
        }
        if self.spec.unordered && (self.about.assumptions.fifo || self.spec.runs) {
            self.warnings.push(Warning::NeedsFifo { algorithm });
        }
        if self.spec.runs && self.spec.loss > 0.0 {
            self.warnings.push(Warning::LossInRuns);
        }
        Ok(())
    }

    /// Enough time for any run without unusual delays.
    fn default_until(&self, size: u32) -> u64 {
        default_until(size) + self.about.extra_ticks.map_or(0, |extra| extra(size.into()))
    }

    fn check_live_nodes(&self, size: u32, timeline: &Timeline) -> Result<(), SpecError> {
        let (algorithm, min_nodes) = (self.about.name, self.about.min_nodes);
        let live = (0..size).filter(|&at| timeline.is_up(at, 0)).take(min_nodes as usize).count() as u32;
        // An algorithm that needs only one node also accepts none: then nothing happens.
        if min_nodes > 1 && live < min_nodes {
            Err(SpecProblem::TooFewNodes { algorithm, min_nodes, live }.into())
        } else {
            Ok(())
        }
    }

    /// The ids that are listed, in the field or in a file.
    fn listed_ids(&self) -> Result<Option<Vec<u64>>, SpecError> {
        match &self.spec.ids {
            Some(Ids::List(ids)) => Ok(Some(ids.clone())),
            Some(Ids::File(path)) => read_file(Field::Ids, path, numbers_in_file).map(Some),
            Some(Ids::Ascending | Ids::Descending | Ids::Random) | None => Ok(None),
        }
    }

    fn values(&self) -> Result<Option<Vec<Value>>, SpecError> {
        match &self.spec.values {
            Some(Values::List(values)) => Ok(Some(values.clone())),
            Some(Values::File(path)) => read_file(Field::Values, path, values_in_file).map(Some),
            None => Ok(None),
        }
    }

    fn votes(&self, size: u32) -> Result<Vec<(u32, u32)>, SpecError> {
        let Some(votes) = &self.spec.votes else { return Ok(Vec::new()) };
        for &(voter, choice) in votes {
            check_position(&FieldRef::with_value(Field::Votes, format!("{voter}:{choice}")), voter.max(choice), size)?;
        }
        Ok(votes.clone())
    }

    fn cheats(&self, size: u32) -> Result<Vec<(u32, Cheat)>, SpecError> {
        let mut cheats: Vec<(u32, Cheat)> = Vec::new();
        for (index, &(at, cheat)) in self.spec.cheats.iter().enumerate() {
            check_position(&FieldRef::entry(Field::Cheats, index, cheat_text(at, cheat)), at, size)?;
            if !cheats.contains(&(at, cheat)) {
                cheats.push((at, cheat));
            }
        }
        Ok(cheats)
    }

    /// The number of nodes, on which all fields must agree; `None` if the topology's file says it.
    fn size(&self, ids: Option<&[u64]>, values: Option<&[Value]>) -> Result<Option<u32>, SpecError> {
        let spec = self.spec;
        // The fields that are harder to change come first: an error blames the later one.
        let mut sizes: Vec<(FieldRef, u64)> = Vec::new();
        if let Some(topology) = &spec.topology
            && let Some(size) = topology.size()
        {
            sizes.push((FieldRef::with_value(Field::Topology, topology), size));
        }
        sizes.extend(ids.map(|ids| (Field::Ids.into(), ids.len() as u64)));
        sizes.extend(values.map(|values| (Field::Values.into(), values.len() as u64)));
        sizes.extend(spec.nodes.map(|nodes| (FieldRef::with_value(Field::Nodes, nodes), nodes.into())));
        let Some((field, size)) = sizes.first().cloned() else {
            let from_file = matches!(spec.topology, Some(Topology::File(_)));
            return Ok(if from_file { None } else { Some(DEFAULT_NODES) });
        };
        if let Some((other, other_size)) = sizes.into_iter().find(|(_, other_size)| *other_size != size) {
            return Err(SpecProblem::SizeMismatch { size, other: Box::new(other), other_size }.of(field));
        }
        if size > MAX_NODES {
            return Err(SpecProblem::TooManyNodes { size, max: MAX_NODES }.of(field));
        }
        Ok(Some(size as u32))
    }

    fn network(&self, size: Option<u32>) -> Result<Network, SpecError> {
        let topology = match &self.spec.topology {
            Some(topology) => topology.clone(),
            None => default_topology(self.about.network, size.unwrap_or(DEFAULT_NODES)),
        };
        let needs = self.about.network;
        let field = || FieldRef::with_value(Field::Topology, &topology);
        let unsuitable = || {
            let (algorithm, suitable) = (self.about.name, suitable_topology(needs));
            SpecProblem::WrongTopology { algorithm, needs: describe(needs), suitable }.of(field())
        };
        // This comes before anything is built, because a complete network as a graph may be large.
        let fits = match needs {
            NetworkKind::Ring | NetworkKind::InformedRing => topology == Topology::Ring,
            NetworkKind::Complete => topology == Topology::Complete,
            NetworkKind::Graph | NetworkKind::Tree => true,
        };
        if !fits {
            return Err(unsuitable());
        }
        let seed = self.spec.seed;
        let built = match (needs, size) {
            // A ring as a graph: ports by position, and one link between two nodes, as graph algorithms expect.
            (NetworkKind::Graph | NetworkKind::Tree, size @ Some(_)) if topology == Topology::Ring => {
                topology.generator(size, seed).and_then(|generator| Ok(Network::Graph(Graph::generate(&*generator)?)))
            }
            (_, Some(size)) => topology.build(size, seed),
            (_, None) => topology.build_in_own_size(seed),
        };
        let built = built.map_err(|error| SpecProblem::Topology(Box::new(error)).of(field()))?;
        if u64::from(built.size()) > MAX_NODES {
            return Err(SpecProblem::TooManyNodes { size: built.size().into(), max: MAX_NODES }.of(field()));
        }
        match (needs, &built) {
            // Views have no informer, so no fault can name one.
            (NetworkKind::InformedRing, Network::Ring(size)) if !self.spec.runs => Ok(Network::InformedRing(*size)),
            (NetworkKind::Tree, Network::Graph(graph)) if graph.is_tree() => Ok(built),
            // A complete network without cycles has at most one link.
            (NetworkKind::Tree, Network::Complete(0..=2)) => Ok(built),
            (NetworkKind::Tree, _) => Err(unsuitable()),
            (_, _) => Ok(built),
        }
    }

    fn ordered_ids(&self, size: u32) -> Vec<u64> {
        let mut ids: Vec<u64> = (0..size).map(|at| self.about.default_ids.at(at).0).collect();
        match self.spec.ids {
            Some(Ids::Descending) => ids.reverse(),
            Some(Ids::Random) => Stream::new(self.spec.seed, Purpose::Ids, 0).shuffle(&mut ids),
            _ => {}
        }
        ids
    }

    fn check_ids(&self, ids: &[u64]) -> Result<(), SpecError> {
        if !matches!(self.spec.ids, Some(Ids::List(_) | Ids::File(_))) {
            return Ok(());
        }
        let mut sorted: Vec<(u64, usize)> = ids.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        let duplicate = sorted.windows(2).find(|pair| pair[0].0 == pair[1].0);
        duplicate.map_or(Ok(()), |pair| {
            let ((id, first), (_, second)) = (pair[0], pair[1]);
            Err(SpecProblem::DuplicateId { id, first, second }.of(Field::Ids))
        })
    }

    fn starts(&mut self, size: u32, until: u64, timeline: &Timeline) -> Result<Vec<Start>, SpecError> {
        let live = || (0..size).filter(|&at| timeline.is_up(at, 0));
        let at_tick_0 = |at: u32| Start { at, tick: 0 };
        Ok(match (&self.spec.initiators, self.about.initiators) {
            (Some(Starts::All), _) | (None, Initiators::All) => {
                // Almost all nodes are up, so one allocation for all avoids growing.
                let mut starts = Vec::with_capacity(size as usize);
                starts.extend(live().map(at_tick_0));
                starts
            }
            (Some(Starts::None), _) => Vec::new(),
            (None, Initiators::LowestLive) => live().take(1).map(at_tick_0).collect(),
            (Some(Starts::Random(asked)), _) => {
                let mut chosen: Vec<u32> = live().collect();
                if *asked as usize > chosen.len() {
                    let field = FieldRef::with_value(Field::Initiators, format!("random:{asked}"));
                    return Err(SpecProblem::TooManyInitiators { live: chosen.len() as u32 }.of(field));
                }
                Stream::new(self.spec.seed, Purpose::Initiators, 0).shuffle(&mut chosen);
                chosen.truncate(*asked as usize);
                chosen.sort_unstable();
                chosen.into_iter().map(at_tick_0).collect()
            }
            (Some(Starts::List(starts)), _) => {
                for (index, &Start { at, tick }) in starts.iter().enumerate() {
                    let field = FieldRef::entry(Field::Initiators, index, format!("{at}@{tick}"));
                    check_position(&field, at, size)?;
                    if tick > until {
                        return Err(SpecProblem::AfterEnd { tick, until }.of(field));
                    }
                    if !timeline.is_up(at, tick) && !timeline.is_yet_to_join(at, tick) {
                        self.warnings.push(Warning::InitiatorDown { at, tick });
                    }
                }
                starts.clone()
            }
        })
    }
}

/// The topology of an algorithm where the specification names none.
fn default_topology(kind: NetworkKind, size: u32) -> Topology {
    let text = match kind {
        NetworkKind::Ring | NetworkKind::InformedRing => "ring",
        NetworkKind::Complete => "complete",
        NetworkKind::Graph if size <= 10 => "complete",
        NetworkKind::Graph => "random:5-10",
        NetworkKind::Tree => "tree:2",
    };
    text.parse().expect("the default topologies are written correctly")
}

fn describe(kind: NetworkKind) -> &'static str {
    match kind {
        NetworkKind::Ring | NetworkKind::InformedRing => "a ring",
        NetworkKind::Complete => "a complete network",
        NetworkKind::Graph => "a connected graph",
        NetworkKind::Tree => "a graph without cycles",
    }
}

fn suitable_topology(kind: NetworkKind) -> &'static str {
    match kind {
        NetworkKind::Ring | NetworkKind::InformedRing => "ring",
        NetworkKind::Complete => "complete",
        NetworkKind::Graph => "random:5-10",
        NetworkKind::Tree => "tree:2",
    }
}

/// The entries of a file.
fn read_file<T>(
    field: Field,
    path: &Path,
    parse: impl Fn(&str) -> Result<Vec<T>, ParseError>,
) -> Result<Vec<T>, SpecError> {
    let path_text = || path.display().to_string();
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text));
    read.map_err(|error| SpecProblem::Unreadable { path: path_text(), error }.of(field))?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(SpecProblem::TooLong { path: path_text(), max: MAX_FILE_BYTES }.of(field));
    }
    parse(&text).map_err(|error| SpecProblem::Contents { path: path_text(), error: Box::new(error) }.of(field))
}
