//! What the tests of the checker share: elections in a few words, what was found of them, and protocols that are bent.

mod bent;

use hustings_algorithms::{Algorithm, Params, Setting, Winner};
use hustings_check::{Check, Findings, Promise, Property, Scene, Verdict};
use hustings_protocol::{Id, Protocol};
use hustings_sim::outcome::Outcome;
use hustings_sim::replay::{self, replay};
use hustings_sim::scenario::{Medium, Notice};
use hustings_sim::topology::{Graph, Network, Ring};
use hustings_sim::trace::{Format, Names, write};

#[allow(unused_imports, reason = "every test uses some of it")]
pub(crate) use bent::{Bent, Turn, carry_out, place_of};

/// The page that shows executions of these tests.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/checking.md");

/// Whether that page has this on it. It is read when a test runs, so that a word on it costs no compilation.
fn page_has(text: &str) -> bool {
    let page = std::fs::read_to_string(PAGE).unwrap_or_else(|error| panic!("{PAGE}: {error}"));
    page.contains(text)
}

pub(crate) fn ids(ids: &[u64]) -> Vec<Id> {
    ids.iter().copied().map(Id).collect()
}

pub(crate) fn ring(ranks: &[u64]) -> Scene<Id> {
    Scene::ring(ids(ranks))
}

/// Everybody reaches everybody; only the first position starts.
pub(crate) fn complete(ranks: &[u64]) -> Scene<Id> {
    Scene { starters: vec![0], ..Scene::complete(ids(ranks)) }
}

/// An algorithm with parameters as they would be typed.
pub(crate) fn protocol<A: Algorithm>(given: &[(&str, &str)], scene: &Scene<Id>) -> A::Protocol<Id> {
    let mut params = A::Params::default();
    for (name, value) in given {
        params.set(name, value).unwrap_or_else(|error| panic!("{error}"));
    }
    A::protocol(&params, &Setting::of(&scene.ranks))
}

/// What the catalogue promises of an algorithm.
pub(crate) fn promise<A: Algorithm>(scene: &mut Scene<Id>) -> Promise {
    scene.notes_entrants = A::ABOUT.winner == Winner::GreatestInitiator;
    Promise::of(&A::ABOUT, scene, &[], false)
}

/// Checks an algorithm of the catalogue against what the catalogue promises of it.
pub(crate) fn check<A: Algorithm>(given: &[(&str, &str)], mut scene: Scene<Id>) -> Found {
    let promise = promise::<A>(&mut scene);
    examine(|scene| protocol::<A>(given, scene), scene, promise)
}

/// Checks a protocol; what breaks a property is replayed.
pub(crate) fn examine<P>(make: impl Fn(&Scene<Id>) -> P, scene: Scene<Id>, promise: Promise) -> Found
where
    P: Protocol<Rank = Id>,
{
    let check = Check::new(make(&scene), scene.clone(), promise);
    let findings = check.run();
    let shown = findings.witness.as_ref().map(|witness| {
        let records = check.records(witness);
        let setting = replay::Setting {
            network: &network(&scene),
            medium: Medium::Links,
            absent: Vec::new(),
            duplicates: scene.budget.copies > 0,
            notice: Notice::Oracle,
        };
        let outcome = replay(&make(&scene), &scene.ranks, &setting, records.clone());
        let numbers = scene.ranks.iter().map(|id| id.0).collect();
        let mut story = Vec::new();
        write(Format::Text, &Names::new("", numbers, network(&scene)), &records, &mut story)
            .expect("writing to memory does not fail");
        let story = String::from_utf8(story).expect("text is written in UTF-8");
        match outcome {
            Ok(outcome) => Shown { outcome, story },
            Err(error) => panic!("it does not replay: {error}\n{story}"),
        }
    });
    Found { findings, shown }
}

fn network(scene: &Scene<Id>) -> Network {
    if scene.is_ring {
        return Network::Ring(Ring { size: scene.members });
    }
    let graph = Graph::new(scene.members, |link| {
        for (at, peers) in (0..).zip(&scene.links) {
            peers.iter().filter(|(peer, _)| *peer > at).for_each(|&(peer, _)| link(at, peer));
        }
    });
    Network::Graph(graph.unwrap_or_else(|error| panic!("{error}")))
}

/// What was found, and an execution that breaks something.
pub(crate) struct Found {
    pub(crate) findings: Findings,
    pub(crate) shown: Option<Shown>,
}

/// An execution that breaks something.
pub(crate) struct Shown {
    /// What it comes to in the simulator.
    pub(crate) outcome: Outcome,
    /// What happens in it, in words.
    pub(crate) story: String,
}

impl Found {
    /// Everything that is promised holds, and something happens at all.
    #[track_caller]
    pub(crate) fn holds(&self) -> &Findings {
        assert_eq!(self.findings.verdict(), Verdict::Holds, "{}", self.report());
        assert!(!self.findings.is_vacuous, "{}", self.report());
        &self.findings
    }

    /// This is the first property that does not hold, and the execution that shows it has so many steps.
    #[track_caller]
    pub(crate) fn breaks(&self, property: Property, steps: usize) -> &Shown {
        assert_eq!(self.findings.of(property), Some(Verdict::Violated), "{}", self.report());
        match (&self.findings.witness, &self.shown) {
            (Some(witness), Some(shown)) => {
                assert_eq!((witness.property, witness.len()), (property, steps), "{}", self.report());
                shown
            }
            _ => panic!("no execution shows it: {}", self.report()),
        }
    }

    fn report(&self) -> String {
        let Findings { worlds, generated, depth, most_messages, verdicts, witness, .. } = &self.findings;
        let story = self.shown.as_ref().map_or("", |shown| &shown.story);
        let broken = witness.as_ref().map(|witness| (witness.property, witness.len(), witness.repeats_from));
        format!(
            "{worlds} worlds, {generated} generated, depth {depth}, {most_messages:?}\n\
             {verdicts:?}\n{broken:?}\n{story}"
        )
    }
}

impl Shown {
    /// The page on checking shows this very execution.
    #[track_caller]
    pub(crate) fn is_on_the_page(&self) -> &Self {
        assert!(page_has(&self.story), "docs/checking.md does not show this execution:\n{}", self.story);
        self
    }

    /// The page shows how it ends: so many lines.
    #[track_caller]
    pub(crate) fn ends_on_the_page(&self, lines: usize) -> &Self {
        let all: Vec<&str> = self.story.split_inclusive('\n').collect();
        let end = all[all.len().saturating_sub(lines)..].concat();
        assert!(page_has(&end), "docs/checking.md does not show how this execution ends:\n{}", self.story);
        self
    }
}
