//! Checking one election: explore everything, then look at the whole.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hustings_algorithms::Goal;
use hustings_protocol::{Protocol, Record};
use stateright::{Checker, HasDiscoveries, Model};

use crate::graph::{Graph, Most, Recorder};
use crate::machine::{Local, Machine};
use crate::promise::Promise;
use crate::property::{Marks, Property};
use crate::scene::Scene;
use crate::space::{Limits, Progress, Space, UNTIL_THE_END};
use crate::witness::{self, Lasso, Witness};

/// An election that is checked: a protocol in a scene, with what is promised of it.
pub struct Check<P: Protocol> {
    local: Arc<Local<P>>,
    space: Space<P::Rank>,
    /// How many threads explore.
    pub threads: usize,
    /// Whether to go on after the first violation.
    pub keep_going: bool,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Findings {
    /// How many different worlds there are.
    pub worlds: u64,
    /// How many worlds were generated: the first one and one for each step.
    pub generated: u64,
    /// How many steps away the farthest world is.
    pub depth: u32,
    /// How many worlds are ends.
    pub ends: u64,
    /// The most messages that an execution sends, as far as was explored.
    pub most_messages: Most,
    /// Whether everything was explored.
    pub is_complete: bool,
    /// Whether anybody ever leads, and whether anything ends well: if not, the rest says little.
    pub is_vacuous: bool,
    /// What became of each property that was checked.
    pub verdicts: Vec<(Property, Verdict)>,
    /// For the first property that is broken: an execution that breaks it.
    pub witness: Option<Witness>,
    /// How long it took.
    pub took: Duration,
}

/// What became of a property.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It holds in every execution.
    Holds,
    /// There is an execution that breaks it.
    Violated,
    /// Nothing breaks it as far as was explored, which is not everything.
    Unknown,
}

impl Findings {
    /// What became of all properties together.
    pub fn verdict(&self) -> Verdict {
        let any = |wanted| self.verdicts.iter().any(|(_, verdict)| *verdict == wanted);
        match (any(Verdict::Violated), any(Verdict::Unknown) || !self.is_complete) {
            (true, _) => Verdict::Violated,
            (false, true) => Verdict::Unknown,
            (false, false) => Verdict::Holds,
        }
    }

    /// What became of one property; `None` if it was not checked.
    pub fn of(&self, property: Property) -> Option<Verdict> {
        self.verdicts.iter().find(|(checked, _)| *checked == property).map(|(_, verdict)| *verdict)
    }
}

impl<P: Protocol> Check<P> {
    /// Everything that can happen to this protocol in this scene, without limits and on one thread.
    pub fn new(protocol: P, scene: Scene<P::Rank>, promise: Promise) -> Self {
        let members = &scene.ranks[..scene.members as usize];
        let order = members.iter().map(|rank| members.iter().filter(|other| *other < rank).count() as u32).collect();
        let local = Arc::new(Local::new(protocol, &scene));
        let space = Space {
            scene: Arc::new(scene),
            machine: Arc::clone(&local) as Arc<dyn Machine>,
            promise: Arc::new(promise),
            order,
            limits: Limits { worlds: u64::MAX, until: None },
            progress: Arc::new(Progress::default()),
            recorder: Arc::new(Recorder::default()),
        };
        Check { local, space, threads: 1, keep_going: false }
    }

    /// Explores so much at most.
    pub fn limit(&mut self, limits: Limits) {
        self.space.limits = limits;
    }

    /// How far it is, for whoever watches.
    pub fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.space.progress)
    }

    /// Explores everything, and judges.
    pub fn run(&self) -> Findings {
        let begun = Instant::now();
        let findings = self.explore_and_judge(self.threads, begun);
        let is_stopped = self.space.progress.stop.load(Ordering::Relaxed);
        if self.threads == 1 || findings.witness.is_none() || is_stopped {
            return findings;
        }
        // Several threads do not go strictly by distance, nor in the same order twice: what is shown is what a single
        // one finds.
        self.space.progress.worlds.store(0, Ordering::Relaxed);
        self.local.forget();
        self.explore_and_judge(1, begun)
    }

    fn explore_and_judge(&self, threads: usize, begun: Instant) -> Findings {
        self.explore(threads);
        let graph = self.space.recorder.graph(self.space.first().fingerprint);
        self.judge(&graph, begun)
    }

    fn explore(&self, threads: usize) {
        let never = || HasDiscoveries::AllOf(BTreeSet::from([UNTIL_THE_END]));
        let finish = if self.keep_going { never() } else { HasDiscoveries::AnyFailures };
        self.space.clone().checker().threads(threads).finish_when(finish).spawn_bfs().join();
    }

    fn judge(&self, graph: &Graph, begun: Instant) -> Findings {
        let knots = graph.knots();
        let (most_messages, longest) = graph.most_messages(&knots);
        let is_complete = !graph.is_cut_off && !self.space.machine.left_out_coins();
        let is_estimate = self.space.promise.goal == Goal::Estimate;
        let mut findings = Findings {
            worlds: graph.worlds(),
            generated: graph.steps() + 1,
            depth: graph.depth(),
            ends: graph.count(Marks::END),
            most_messages,
            is_complete,
            is_vacuous: !(graph.is_any(Marks::GOOD_END) && (is_estimate || graph.is_any(Marks::LEADER))),
            verdicts: Vec::new(),
            witness: None,
            took: Duration::ZERO,
        };
        for &property in &self.space.promise.properties {
            let broken = match property {
                Property::Termination => self.endless(graph, &knots),
                Property::MessageBound => match (most_messages, self.space.promise.most_messages) {
                    (Most::Messages(most), Some(bound)) if most <= bound => None,
                    (_, None) => continue,
                    _ => Some((longest.clone(), None)),
                },
                other => other.mark().and_then(|mark| {
                    let nearest = graph.nearest(|at| graph.marks(at).has(mark))?;
                    Some((graph.way_to(nearest), None))
                }),
            };
            let verdict = match (&broken, is_complete) {
                (Some(_), _) => Verdict::Violated,
                (None, true) => Verdict::Holds,
                (None, false) => Verdict::Unknown,
            };
            findings.verdicts.push((property, verdict));
            if let (Some((way, lasso)), None) = (broken, &findings.witness) {
                findings.witness = Some(witness::witness(&self.space, property, &way, lasso));
            }
        }
        findings.took = begun.elapsed();
        findings
    }

    /// A way into an execution that never ends well, if there is one.
    fn endless(&self, graph: &Graph, knots: &[u32]) -> Option<(Vec<u64>, Option<Lasso>)> {
        let loops = graph.loops(knots);
        // Where only traffic that never ends goes on, and all agree for good, it has ended well.
        let is_settled = |knot: &[u32]| {
            !graph.can_leave(knot, knots) && knot.iter().all(|&at| graph.marks(at).has(Marks::AGREEMENT))
        };
        if !self.space.promise.has_coins {
            for knot in loops.iter().filter(|knot| !is_settled(knot)) {
                let entry = *knot.iter().min_by_key(|&&at| graph.depth_of(at))?;
                let way = graph.way_to(entry);
                let members: BTreeSet<u64> = knot.iter().map(|&at| graph.fingerprint(at)).collect();
                if let Some(lasso) = witness::fair_lasso(&self.space, &way, &members) {
                    return Some((way, Some(lasso)));
                }
            }
        }
        // Where nothing goes round, everything ends; a bad end is another property's business.
        if graph.is_cut_off || (loops.is_empty() && !self.space.promise.has_coins) {
            return None;
        }
        let settled: Vec<u32> = loops.iter().filter(|knot| is_settled(knot)).flatten().copied().collect();
        let can = graph.can_reach(Marks::GOOD_END, &settled);
        let is_lost = |at: u32| !can[at as usize] && !graph.marks(at).has(Marks::END);
        Some((graph.way_to(graph.nearest(is_lost)?), None))
    }

    /// The expected number of rounds with fair coins, for the opponent that decides who acts when and wants few rounds,
    /// and for the one that wants many. `None` if there are more worlds than that.
    pub fn expected_rounds(&self, most_worlds: usize) -> Option<(f64, f64)> {
        crate::expect::rounds(&self.space, most_worlds)
    }

    /// The records of a witness, as a simulator can replay them.
    pub fn records(&self, witness: &Witness) -> Vec<Record<P::Message>> {
        crate::records::records(&self.local, &self.space, witness)
    }
}
