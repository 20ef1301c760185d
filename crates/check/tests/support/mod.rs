//! Shared by the tests of the checker: models, checks that replay their counterexamples, and mutants of protocols.

mod mutant;

use hustings_algorithms::{Algorithm, Params, Setting, Winner};
use hustings_check::{Check, Findings, Model, Property, Spec, Verdict};
use hustings_protocol::{Id, Protocol};
use hustings_sim::erased::{DynProtocol, DynRank};
use hustings_sim::outcome::Outcome;
use hustings_sim::replay::replay;
use hustings_sim::scenario::Scenario;
use hustings_sim::topology::{Graph, Network};
use hustings_sim::trace::{Format, Names, write};

#[allow(unused_imports, reason = "every test uses some of it")]
pub(crate) use mutant::{Mutant, NodeEvent, apply, node_info};

/// The page that shows executions of these tests.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/checking.md");

/// Whether the page contains a text. It is read at run time, so that an edit of the page needs no compilation.
fn page_contains(text: &str) -> bool {
    let page = std::fs::read_to_string(PAGE).unwrap_or_else(|error| panic!("{PAGE}: {error}"));
    page.contains(text)
}

pub(crate) fn ids(ids: &[u64]) -> Vec<Id> {
    ids.iter().copied().map(Id).collect()
}

pub(crate) fn ring(ranks: &[u64]) -> Model<Id> {
    Model::ring(ids(ranks))
}

/// A complete network; only position 0 starts.
pub(crate) fn complete(ranks: &[u64]) -> Model<Id> {
    Model { initiators: vec![0], ..Model::complete(ids(ranks)) }
}

/// The protocol of an algorithm with these parameters.
pub(crate) fn protocol<A: Algorithm>(given: &[(&str, &str)], model: &Model<Id>) -> A::Protocol<Id> {
    let mut params = A::Params::default();
    for (name, value) in given {
        params.set(name, value).unwrap_or_else(|error| panic!("{error}"));
    }
    A::protocol(&params, &Setting::of(&model.ranks))
}

/// The specification from the algorithm's description.
pub(crate) fn spec<A: Algorithm>(model: &mut Model<Id>) -> Spec {
    model.tracks_starts = A::ABOUT.winner == Winner::GreatestInitiator;
    model.tracks_withdrawals = A::ABOUT.withdraws;
    Spec::of(&A::ABOUT, model, &[], false)
}

/// Checks an algorithm against its description.
pub(crate) fn check<A: Algorithm>(given: &[(&str, &str)], mut model: Model<Id>) -> Checked {
    let spec = spec::<A>(&mut model);
    check_protocol(|model| protocol::<A>(given, model), model, spec)
}

/// Checks a protocol, and replays the counterexample if there is one.
pub(crate) fn check_protocol<P>(make: impl Fn(&Model<Id>) -> P, model: Model<Id>, spec: Spec) -> Checked
where
    P: Protocol<Rank = Id>,
{
    let check = erased_check(make(&model), &model, spec);
    let findings = check.run();
    let replayed = findings.counterexample.as_ref().map(|counterexample| {
        let records = check.records(counterexample);
        let duplicate = if model.budget.duplicates > 0 { 1.0 } else { 0.0 };
        let scenario = Scenario { duplicate, ..Scenario::new(network(&model)) };
        let (protocol, ranks) = DynProtocol::new(make(&model), &model.ranks);
        let outcome = replay(&protocol, &ranks, &scenario, records.clone());
        let numbers = model.ranks.iter().map(|id| id.0).collect();
        let mut trace = Vec::new();
        let names = Names { title: String::new(), ids: numbers, network: network(&model) };
        write(Format::Text, &names, &records, &mut trace).expect("writing to memory does not fail");
        let trace = String::from_utf8(trace).expect("text is written in UTF-8");
        match outcome {
            Ok(outcome) => Replayed { outcome, trace },
            Err(error) => panic!("it does not replay: {error}\n{trace}"),
        }
    });
    Checked { findings, replayed }
}

/// A check of a protocol whose types are erased, as in the program. The checker is compiled once for all of them.
pub(crate) fn erased_check<P: Protocol<Rank = Id>>(protocol: P, model: &Model<Id>, spec: Spec) -> Check<DynProtocol> {
    let (protocol, ranks) = DynProtocol::new(protocol, &model.ranks);
    Check::new(protocol, with_ranks(model.clone(), ranks), spec)
}

/// The same environment with other ranks.
fn with_ranks(model: Model<Id>, ranks: Vec<DynRank>) -> Model<DynRank> {
    let Model { ranks: _, members, links, is_ring, initiators, channels, timing, budget, .. } = model;
    let Model { reports_leader_loss, tracks_starts, tracks_withdrawals, requires_wakeup, .. } = model;
    Model {
        ranks,
        members,
        links,
        is_ring,
        initiators,
        channels,
        timing,
        budget,
        reports_leader_loss,
        tracks_starts,
        tracks_withdrawals,
        requires_wakeup,
    }
}

fn network(model: &Model<Id>) -> Network {
    if model.is_ring {
        return Network::Ring(model.members);
    }
    let graph = Graph::new(model.members, |link| {
        for (at, peers) in (0..).zip(&model.links) {
            peers.iter().filter(|(peer, _)| *peer > at).for_each(|&(peer, _)| link(at, peer));
        }
    });
    Network::Graph(graph.unwrap_or_else(|error| panic!("{error}")))
}

/// The result of a check, and the replayed counterexample.
pub(crate) struct Checked {
    pub(crate) findings: Findings,
    pub(crate) replayed: Option<Replayed>,
}

/// A counterexample that the simulator has replayed.
pub(crate) struct Replayed {
    /// Its outcome in the simulator.
    pub(crate) outcome: Outcome,
    /// Its trace as text.
    pub(crate) trace: String,
}

impl Checked {
    /// Asserts that all properties hold, and not vacuously.
    #[track_caller]
    pub(crate) fn holds(&self) -> &Findings {
        assert_eq!(self.findings.verdict(), Verdict::Holds, "{}", self.report());
        assert!(!self.findings.is_vacuous, "{}", self.report());
        &self.findings
    }

    /// Asserts that this is the first violated property, and that its counterexample has `steps` steps.
    #[track_caller]
    pub(crate) fn violates(&self, property: Property, steps: usize) -> &Replayed {
        assert_eq!(self.findings.of(property), Some(Verdict::Violated), "{}", self.report());
        match (&self.findings.counterexample, &self.replayed) {
            (Some(counterexample), Some(replayed)) => {
                assert_eq!((counterexample.property, counterexample.len()), (property, steps), "{}", self.report());
                replayed
            }
            _ => panic!("there is no counterexample: {}", self.report()),
        }
    }

    fn report(&self) -> String {
        let Findings { states, generated, depth, max_messages, verdicts, counterexample, .. } = &self.findings;
        let trace = self.replayed.as_ref().map_or("", |replayed| &replayed.trace);
        let violated = counterexample
            .as_ref()
            .map(|counterexample| (counterexample.property, counterexample.len(), counterexample.repeats_from));
        format!(
            "{states} states, {generated} generated, depth {depth}, {max_messages:?}\n\
             {verdicts:?}\n{violated:?}\n{trace}"
        )
    }
}

impl Replayed {
    /// Asserts that docs/checking.md shows this execution.
    #[track_caller]
    pub(crate) fn is_documented(&self) -> &Self {
        assert!(page_contains(&self.trace), "docs/checking.md does not show this execution:\n{}", self.trace);
        self
    }

    /// Asserts that docs/checking.md shows the last `lines` lines of this execution.
    #[track_caller]
    pub(crate) fn has_documented_end(&self, lines: usize) -> &Self {
        let all: Vec<&str> = self.trace.split_inclusive('\n').collect();
        let end = all[all.len().saturating_sub(lines)..].concat();
        assert!(page_contains(&end), "docs/checking.md does not show how this execution ends:\n{}", self.trace);
        self
    }
}
