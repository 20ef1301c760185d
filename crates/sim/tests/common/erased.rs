//! Runs and replays with erased types. The engines are large, so all tests share the copies that are compiled into the
//! simulator.

use std::collections::BTreeMap;

use hustings_algorithms::Algorithm;
use hustings_protocol::{Message, Protocol, Record};
use hustings_sim::erased::{DynMessage, DynProtocol};
use hustings_sim::outcome::Outcome;
use hustings_sim::replay::{self, ReplayError};
use hustings_sim::scenario::Scenario;
use hustings_sim::simulate::simulate_general;
use hustings_sim::trace::{Limits, Observer, TraceFile, TraceWriter};

use super::elections::election;

/// Runs a protocol in the general engine.
pub(crate) fn run<P: Protocol>(
    protocol: P,
    ranks: &[P::Rank],
    scenario: &Scenario,
    observer: Option<&mut dyn Observer<DynMessage>>,
) -> Outcome {
    let (protocol, ranks) = DynProtocol::new(protocol, ranks);
    simulate_general(&protocol, &ranks, scenario, observer)
}

/// Runs a protocol in the general engine and returns all records, with the protocol's own messages.
pub(crate) fn watch<P: Protocol>(
    protocol: P,
    ranks: &[P::Rank],
    scenario: &Scenario,
) -> (Outcome, Vec<Record<P::Message>>) {
    let mut records: Vec<Record<DynMessage>> = Vec::new();
    let outcome = run(protocol, ranks, scenario, Some(&mut records));
    (outcome, records.iter().map(with_messages_of).collect())
}

/// Runs an algorithm of the catalogue in the general engine.
pub(crate) fn run_algorithm<A: Algorithm>(
    params: &A::Params,
    scenario: &Scenario,
    observer: Option<&mut dyn Observer<DynMessage>>,
) -> Outcome {
    let (protocol, ranks) = election::<A>(params).protocol(scenario);
    simulate_general(&protocol, &ranks, scenario, observer)
}

/// Replays the records of a protocol, as if they were read from a file.
pub(crate) fn replay<P: Protocol>(
    protocol: P,
    ranks: &[P::Rank],
    scenario: &Scenario,
    records: &[Record<P::Message>],
) -> Result<Outcome, ReplayError> {
    let (protocol, ranks) = DynProtocol::new(protocol, ranks);
    let records = from_a_file(&protocol, scenario, records);
    replay::replay(&protocol, &ranks, scenario, records)
}

/// Writes records to a file and reads them again.
pub(crate) fn from_a_file<M: Message>(
    protocol: &DynProtocol,
    scenario: &Scenario,
    records: &[Record<M>],
) -> Vec<Record<DynMessage>> {
    let writer = TraceWriter::new(Vec::new(), "any", BTreeMap::new(), scenario);
    let mut writer = writer.expect("a header can be written");
    records.iter().for_each(|record| writer.record(record));
    let text = writer.finish().expect("records can be written");
    let mut file = TraceFile::open(&text[..], Limits::default()).expect("the header can be read");
    file.records(protocol).map(|record| record.expect("the messages are the protocol's")).collect()
}

/// The same record with messages of another type that are written alike.
fn with_messages_of<M: Message, N: Message>(record: &Record<M>) -> Record<N> {
    let written = serde_json::to_value(record).expect("a record can be written");
    serde_json::from_value(written).expect("a record can be read")
}
