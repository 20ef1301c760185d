//! Replays a recorded run: the file describes the election, and the protocol must behave as it did when it was
//! recorded.

use std::io::BufRead;

use hustings_algorithms::{About, Algorithm, NetworkKind};
use hustings_protocol::TraceEvent;

use super::{SpecError, apply_goal, erased, params};
use crate::erased::{DynProtocol, DynRank};
use crate::outcome::Outcome;
use crate::replay::{Replay, ReplayError};
use crate::scenario::{Fault, FaultKind, Scenario};
use crate::topology::{BuildError, Network};
use crate::trace::header::Header;
use crate::trace::{FileError, TraceFile};

/// The result of a replay.
#[derive(Clone, PartialEq, Debug)]
pub struct Replayed<P> {
    /// The algorithm's parameters.
    pub params: P,
    /// The election, as far as the file describes it: delays and random losses appear in its records only.
    pub scenario: Scenario,
    /// Recomputed from the records.
    pub outcome: Outcome,
}

/// A file that cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayFileError {
    /// It cannot be read, or is not a trace.
    #[error(transparent)]
    File(#[from] FileError),
    /// It records another algorithm.
    #[error("this is a run of {found}, not of {wanted}")]
    Algorithm {
        /// The algorithm it records.
        found: String,
        /// The algorithm that should replay it.
        wanted: &'static str,
    },
    /// Its parameters are not valid for the algorithm.
    #[error("its parameters are not valid for the algorithm: {0}")]
    Params(SpecError),
    /// Its links are not a valid graph.
    #[error("its network is not valid: {0}")]
    Graph(Box<BuildError>),
    /// The algorithm does not run on its network.
    #[error("its network is not one that {0} runs on")]
    Network(&'static str),
    /// Its records are not a run of the algorithm.
    #[error(transparent)]
    Differs(#[from] ReplayError),
}

/// Replays a recorded run of the algorithm.
pub fn replayed<A: Algorithm>(file: TraceFile<impl BufRead>) -> Result<Replayed<A::Params>, ReplayFileError> {
    let params = params::<A>(&recorded_params(&A::ABOUT, file.header())?).map_err(ReplayFileError::Params)?;
    let (scenario, outcome) = replay_file(&A::ABOUT, file.boxed(), &|scenario| {
        A::check(&params, scenario.network.members()).map_err(|conflict| ReplayFileError::Params(conflict.into()))?;
        Ok(erased::<A>(&params, scenario))
    })?;
    Ok(Replayed { params, scenario, outcome })
}

/// Makes the protocol of an election, with the ranks of all positions.
type MakeProtocol<'a> = dyn Fn(&Scenario) -> Result<(DynProtocol, Vec<DynRank>), ReplayFileError> + 'a;

/// The parameters in the header of a file, as they are typed. Fails if it records another algorithm.
fn recorded_params(about: &About, header: &Header) -> Result<Vec<String>, ReplayFileError> {
    if header.algorithm != about.name {
        return Err(ReplayFileError::Algorithm { found: header.algorithm.clone(), wanted: about.name });
    }
    Ok(header.params.iter().map(|(name, value)| format!("{name}={value}")).collect())
}

/// Replays a file. It is compiled once for all algorithms.
fn replay_file(
    about: &About,
    file: TraceFile<Box<dyn BufRead + '_>>,
    make: &MakeProtocol<'_>,
) -> Result<(Scenario, Outcome), ReplayFileError> {
    let mut scenario = recorded_scenario(about, file.header())?;
    let (protocol, ranks) = make(&scenario)?;
    let mut outcome = replay_records(&protocol, &ranks, file, &mut scenario)?;
    apply_goal(about, &mut outcome);
    Ok((scenario, outcome))
}

/// The election that the header of a file describes.
fn recorded_scenario(about: &About, header: &Header) -> Result<Scenario, ReplayFileError> {
    let network = header.network.build().map_err(|error| ReplayFileError::Graph(Box::new(error)))?;
    let fits = match (about.network, &network) {
        (NetworkKind::Ring, Network::Ring(size)) => *size > 0,
        (NetworkKind::InformedRing, Network::InformedRing(size)) => *size > 0 && !header.runs,
        (NetworkKind::InformedRing, Network::Ring(size)) => *size > 0 && header.runs,
        (NetworkKind::Complete | NetworkKind::Graph, Network::Complete(size)) => *size > 0,
        (NetworkKind::Graph, Network::Graph(graph)) => graph.check_connected().is_ok() && graph.size() > 0,
        (NetworkKind::Tree, Network::Graph(graph)) => graph.is_tree(),
        _ => false,
    };
    if !fits {
        return Err(ReplayFileError::Network(about.name));
    }
    let mut scenario = Scenario::new(network);
    scenario.ids.clone_from(&header.ids);
    scenario.values.clone_from(&header.values);
    (scenario.best, scenario.seed, scenario.until) = (header.best, header.seed, header.until);
    (scenario.notice, scenario.runs) = (header.notice, header.runs);
    (scenario.votes, scenario.cheats) = (header.votes.clone(), header.cheats.clone());
    scenario.bandwidth = header.bandwidth;
    Ok(scenario)
}

/// Replays all records of a file, and adds their faults to the scenario.
fn replay_records(
    protocol: &DynProtocol,
    ranks: &[DynRank],
    mut file: TraceFile<Box<dyn BufRead + '_>>,
    scenario: &mut Scenario,
) -> Result<Outcome, ReplayFileError> {
    let setting = file.header().setting(&scenario.network);
    let mut replay = Replay::new(protocol, ranks, setting)?;
    let mut faults = Vec::new();
    for record in file.records(protocol) {
        let record = record?;
        let (tick, node) = (record.tick, record.node);
        let what = match record.what {
            TraceEvent::Crashed => Some(FaultKind::Crash(node)),
            TraceEvent::Recovered => Some(FaultKind::Recover(node)),
            TraceEvent::Joined => Some(FaultKind::Join(node)),
            TraceEvent::Retired => Some(FaultKind::Retire(node)),
            _ => None,
        };
        faults.extend(what.map(|what| Fault { tick, what }));
        replay.step(record)?;
    }
    let mut outcome = replay.finish();
    outcome.by_kind.truncate(protocol.kinds().len());
    scenario.faults = faults;
    Ok(outcome)
}
