//! A recorded run, replayed: the file says what the election was, and the protocol of today must do what it did then.

use std::io::BufRead;

use hustings_algorithms::{Algorithm, NetworkKind};
use hustings_protocol::{Record, TraceEvent};

use super::{Refusal, erased, judge, params};
use crate::erased::DynMessage;
use crate::outcome::Outcome;
use crate::replay::{Replay, ReplayError};
use crate::scenario::{Fault, FaultKind, Scenario};
use crate::topology::{GraphError, Network};
use crate::trace::file::{FileError, TraceFile};

/// What a replay came to.
#[derive(Clone, PartialEq, Debug)]
pub struct Replayed<P> {
    /// The algorithm's parameters.
    pub params: P,
    /// The election, as far as the file tells: delays and chance are in its records only.
    pub scenario: Scenario,
    /// Worked out anew.
    pub outcome: Outcome,
}

/// A file that cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayRefusal {
    /// It cannot be read, or is no trace.
    #[error(transparent)]
    File(#[from] FileError),
    /// It is of another algorithm.
    #[error("this is a run of {found}, not of {wanted}")]
    Algorithm {
        /// Whose run it is.
        found: String,
        /// Whose it should be.
        wanted: &'static str,
    },
    /// It is of an algorithm with other parameters.
    #[error("its parameters are not those of the algorithm: {0}")]
    Params(Refusal),
    /// Its links make no graph.
    #[error("its network is none: {0}")]
    Graph(#[from] GraphError),
    /// It is on a network that the algorithm does not run on.
    #[error("its network is not one that {0} runs on")]
    Network(&'static str),
    /// A message in it is none of the algorithm's.
    #[error("record {number} holds a message that the algorithm does not know: {error}")]
    Message {
        /// Which record.
        number: u64,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// It is no run of the algorithm.
    #[error(transparent)]
    Differs(#[from] ReplayError),
}

/// Replays a recorded run of the algorithm.
pub fn replayed<A: Algorithm>(mut file: TraceFile<impl BufRead>) -> Result<Replayed<A::Params>, ReplayRefusal> {
    let header = file.header().clone();
    let name = A::ABOUT.name;
    if header.algorithm != name {
        return Err(ReplayRefusal::Algorithm { found: header.algorithm, wanted: name });
    }
    let texts: Vec<String> = header.params.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let params = params::<A>(&texts).map_err(ReplayRefusal::Params)?;
    let network = header.network.build()?;
    let fits = match (A::ABOUT.network, &network) {
        (NetworkKind::Ring, Network::Ring(ring)) => ring.size > 0,
        (NetworkKind::InformedRing, Network::InformedRing(ring)) => ring.size > 0 && !header.runs,
        (NetworkKind::InformedRing, Network::Ring(ring)) => ring.size > 0 && header.runs,
        (NetworkKind::Complete, Network::Complete(complete)) => complete.size > 0,
        (NetworkKind::Graph, Network::Complete(complete)) => complete.size > 0,
        (NetworkKind::Graph, Network::Graph(graph)) => graph.check_connected().is_ok() && graph.size() > 0,
        (NetworkKind::Tree, Network::Graph(graph)) => graph.is_tree(),
        _ => false,
    };
    if !fits {
        return Err(ReplayRefusal::Network(name));
    }
    let mut scenario = Scenario::new(network);
    scenario.ids.clone_from(&header.ids);
    scenario.values.clone_from(&header.values);
    (scenario.best, scenario.seed, scenario.until) = (header.best, header.seed, header.until);
    (scenario.notice, scenario.runs) = (header.notice, header.runs);
    (scenario.votes, scenario.cheats) = (header.votes.clone(), header.cheats.clone());
    scenario.bandwidth = header.bandwidth;
    A::check(&params, scenario.network.members()).map_err(|misfit| ReplayRefusal::Params(misfit.into()))?;
    let (protocol, ranks) = erased::<A>(&params, &scenario);
    let setting = header.setting(&scenario.network);
    let mut replay = Replay::new(&protocol, &ranks, &setting)?;
    let mut faults = Vec::new();
    for record in file.records() {
        let record: Record<DynMessage> = record?;
        let (number, tick, node) = (record.number, record.tick, record.node);
        let record = protocol.adopt(record).map_err(|error| ReplayRefusal::Message { number, error })?;
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
    judge::<A>(&mut outcome);
    scenario.faults = faults;
    Ok(Replayed { params, scenario, outcome })
}
