//! Elections with faults, by the hundred: what is run, and whether it ended as it should.
//!
//! A [`Case`] is written like the options of `hustings sim`, so that one that fails is shown as the command to type.

// Every test file uses its own part of this.
#![allow(dead_code)]

use std::collections::BTreeSet;
use std::fmt;

use hustings_algorithms::catalogue::{self, Visitor};
use hustings_algorithms::runs::{Runs, ViewRule};
use hustings_algorithms::{About, Algorithm, Goal};
use hustings_sim::erased::{DynMessage, DynProtocol, DynRank};
use hustings_sim::outcome::Outcome;
use hustings_sim::scenario::{Fault, FaultKind, Scenario};
use hustings_sim::simulate::{self, ElectionSpec, Field, simulate_general};
use hustings_sim::trace::Observer;

use crate::common::elections::by_name;
use crate::common::parts::Parts;

/// An algorithm of the catalogue, its type hidden.
#[derive(Clone, Copy)]
pub(crate) struct Subject {
    pub(crate) about: About,
    fits: fn(&Case, u32) -> bool,
}

/// All algorithms that are to find a leader.
pub(crate) fn subjects() -> Vec<Subject> {
    struct Name;
    impl Visitor for Name {
        type Output = Subject;
        fn visit<A: Algorithm>(self) -> Subject {
            Subject { about: A::ABOUT, fits: fits::<A> }
        }
    }
    let find = |name| catalogue::visit(name, Name).expect("the catalogue knows its own names");
    let all = catalogue::ENTRIES.iter().filter(|entry| entry.about.goal == Goal::Leader);
    all.map(|entry| find(entry.about.name)).collect()
}

/// The protocol of a case, with the ranks of all positions.
fn build(about: &About, case: &Case, scenario: &Scenario) -> (DynProtocol, Vec<DynRank>) {
    let election = by_name(about.name, &case.params());
    let Some(rule) = case.broken else { return election.protocol(scenario) };
    let (protocol, ranks) = election.protocol(&Scenario { runs: false, ..scenario.clone() });
    let runs = Runs::new(protocol, about, &ranks[..scenario.network.members() as usize]).without(rule);
    (DynProtocol::in_runs(runs, &ranks), ranks)
}

fn fits<A: Algorithm>(case: &Case, size: u32) -> bool {
    simulate::params::<A>(&case.params()).is_ok_and(|params| A::check(&params, size).is_ok())
}

/// An election, as it would be typed.
#[derive(Clone, Default)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    options: Vec<(&'static str, String)>,
    /// Who crashes and recovers within a tick, and in which. The command line has no word for that.
    restarts: Vec<(u32, u64)>,
    broken: Option<ViewRule>,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hustings sim {}", self.name)?;
        self.options.iter().try_for_each(|(name, value)| match value.as_str() {
            "" => write!(f, " {name}"),
            value => write!(f, " {name} {value}"),
        })?;
        let mut restarts = self.restarts.iter();
        restarts.try_for_each(|(at, tick)| write!(f, " (and {at} restarts within tick {tick})"))
    }
}

impl Case {
    /// Those whose default is meant for many nodes are made small.
    pub(crate) fn of(subject: &Subject) -> Self {
        let case = Case { name: subject.about.name, ..Case::default() };
        match case.name {
            "sun" | "divided" | "sun-divided" => case.with("-p", "u=2"),
            _ => case,
        }
    }

    /// The same with one more option.
    pub(crate) fn with(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.options.push((name, value.to_string()));
        self
    }

    pub(crate) fn restart(mut self, at: u32, tick: u64) -> Self {
        self.restarts.push((at, tick));
        self
    }

    /// The same with runs that lack a rule.
    pub(crate) fn without(self, rule: ViewRule) -> Self {
        Case { broken: Some(rule), ..self }
    }

    fn params(&self) -> Vec<String> {
        self.options.iter().filter(|(name, _)| *name == "-p").map(|(_, value)| value.clone()).collect()
    }

    fn request(&self) -> ElectionSpec {
        let mut request = ElectionSpec::default();
        for (name, value) in &self.options {
            let known = set(&mut request, name, value);
            known.unwrap_or_else(|| panic!("{name} {value}: no option that these cases know, or no value for it"));
        }
        request
    }
}

/// Sets an option; `None` if there is no such option or value.
fn set(request: &mut ElectionSpec, name: &str, value: &str) -> Option<()> {
    match name {
        "-n" => request.nodes = Some(value.parse().ok()?),
        "--ids" => request.ids = Some(value.parse().ok()?),
        "--topology" => request.topology = Some(value.parse().ok()?),
        "--initiators" => request.initiators = Some(value.parse().ok()?),
        "--notice" => request.notice = value.parse().ok()?,
        "--crash" => request.set(Field::Crashes, value).ok()?,
        "--recover" => request.set(Field::Recoveries, value).ok()?,
        "--cut" => request.set(Field::Cuts, value).ok()?,
        "--heal" => request.set(Field::Heals, value).ok()?,
        "--partition" => request.set(Field::Partitions, value).ok()?,
        "--delay" => request.delay = value.parse().ok()?,
        "--loss" => request.loss = value.parse().ok()?,
        "--seed" => request.seed = value.parse().ok()?,
        "--until" => request.until = Some(value.parse().ok()?),
        "--runs" => request.runs = true,
        "-p" => {}
        _ => return None,
    }
    Some(())
}

impl Subject {
    /// The smallest case of a size that the algorithm takes, from 5 nodes on.
    pub(crate) fn small(&self, case: Case) -> (Case, u32) {
        let size = [5, 6, 4, 7, 8, 9].into_iter().chain(10..=64).find(|&size| (self.fits)(&case, size));
        let size = size.unwrap_or_else(|| panic!("{} takes no small number of nodes", self.about.name));
        (case.with("-n", size), size)
    }

    /// Whether the algorithm takes that many nodes.
    pub(crate) fn fits(&self, case: &Case, size: u32) -> bool {
        (self.fits)(case, size)
    }

    /// What a case needs: its scenario, the protocol, the ranks.
    pub(crate) fn prepared(&self, case: &Case) -> (Scenario, DynProtocol, Vec<DynRank>) {
        let planned = by_name(self.about.name, &case.params()).build(&case.request());
        let mut scenario = planned.unwrap_or_else(|refusal| panic!("{case}: {refusal}")).scenario;
        for &(at, tick) in &case.restarts {
            scenario.faults.extend([FaultKind::Crash(at), FaultKind::Recover(at)].map(|what| Fault { tick, what }));
        }
        scenario.faults.sort_by_key(|fault| fault.tick);
        let (protocol, ranks) = build(&self.about, case, &scenario);
        (scenario, protocol, ranks)
    }

    /// Runs a case.
    pub(crate) fn watched(&self, case: &Case, observer: Option<&mut dyn Observer<DynMessage>>) -> Outcome {
        let (scenario, protocol, ranks) = self.prepared(case);
        simulate_general(&protocol, &ranks, &scenario, observer)
    }

    /// Runs a case. When its last message has arrived, and what is wrong then.
    pub(crate) fn run(&self, case: &Case) -> (u64, Result<(), String>) {
        let (scenario, protocol, ranks) = self.prepared(case);
        let mut parts = Parts::of(&scenario.network).past_the_dead(scenario.runs);
        let outcome = simulate_general(&protocol, &ranks, &scenario, Some(&mut parts));
        let agreed = parts.check(&scenario.network, &scenario.ids);
        let verdict = if outcome.hung { Err("messages circulate forever".to_string()) } else { agreed };
        (outcome.time.quiescent.unwrap_or(0), verdict)
    }
}

/// Ways to part so many nodes in two, as they are typed: all if there are not too many.
pub(crate) fn splits(size: u32) -> Vec<String> {
    // The side of node 0, so that no split is there twice.
    let all: Vec<String> = (1..1 << size.min(10)).step_by(2).filter_map(|side| group(side, size)).collect();
    let step = all.len().div_ceil(16).max(1);
    all.into_iter().step_by(step).collect()
}

/// The nodes whose bits are set against the others, as it is typed. `None` if that is all or nobody.
pub(crate) fn group(bits: u64, size: u32) -> Option<String> {
    let (some, others): (Vec<u32>, Vec<u32>) = (0..size).partition(|at| bits >> at & 1 == 1);
    let typed = |nodes: Vec<u32>| nodes.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    if some.is_empty() || others.is_empty() { None } else { Some(format!("{}/{}", typed(some), typed(others))) }
}

/// What went wrong, a few cases of each algorithm.
#[derive(Default)]
pub(crate) struct Tally {
    cases: u64,
    wrong: Vec<(&'static str, String)>,
}

impl Tally {
    const MAX_SHOWN: usize = 3;

    pub(crate) fn add(&mut self, subject: &Subject, case: &Case) {
        self.cases += 1;
        if let Err(problem) = subject.run(case).1 {
            self.wrong.push((case.name, format!("{case}\n      {problem}")));
        }
    }

    pub(crate) fn wrong(&self) -> usize {
        self.wrong.len()
    }

    /// Fails if anything went wrong, or nothing was run.
    pub(crate) fn judge(self) {
        let names: BTreeSet<&str> = self.wrong.iter().map(|(name, _)| *name).collect();
        let mut report = String::new();
        for name in names {
            let wrong: Vec<&String> = self.wrong.iter().filter(|(of, _)| *of == name).map(|(_, case)| case).collect();
            report += &format!("{name}: {} cases went wrong\n", wrong.len());
            wrong.iter().take(Self::MAX_SHOWN).for_each(|case| report += &format!("    {case}\n"));
        }
        assert!(self.wrong.is_empty(), "of {} cases\n{report}", self.cases);
        assert!(self.cases > 0, "nothing was run");
    }
}
