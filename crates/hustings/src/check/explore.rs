//! Exploring the cases of a wish, several at once, and what they come to together.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hustings_check::{Findings, Limits, Most, Progress, Property, Verdict};
use hustings_protocol::Record;
use hustings_sim::erased::DynMessage;
use hustings_sim::scenario::Scenario;

use super::cases::Case;

/// How much work may be done.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// How many threads work: on as many cases, or all of them on the only one.
    pub threads: usize,
    /// The most states of one case.
    pub states: u64,
    /// When to stop.
    pub until: Option<Instant>,
    /// Whether a case is explored to its end although something is violated.
    pub keep_going: bool,
}

/// What all cases came to.
#[derive(Debug)]
pub struct Explored {
    /// Those that were explored, in their order, as far as they were.
    pub cases: Vec<Tried>,
    /// How many were not even begun.
    pub left: usize,
    /// The shortest execution that breaks something, in the first of the cases that have one.
    pub proof: Option<Proof>,
    /// How long it took.
    pub took: Duration,
}

/// A case that was explored.
#[derive(Debug)]
pub struct Tried {
    /// The ids of its positions.
    pub ids: Vec<u64>,
    /// Who starts.
    pub starters: Vec<u32>,
    /// What was found.
    pub findings: Findings,
}

/// An execution that breaks something.
#[derive(Debug)]
pub struct Proof {
    /// Which case it is of.
    pub case: usize,
    /// The election.
    pub scenario: Scenario,
    /// What it breaks.
    pub property: Property,
    /// How many steps it has, those of the clock included.
    pub steps: usize,
    /// What happens.
    pub records: Vec<Record<DynMessage>>,
    /// If it goes on for ever: the record with which the part begins that is repeated.
    pub repeats_from: Option<usize>,
}

/// How far the work is.
#[derive(Clone, Copy, Debug)]
pub struct Watched {
    /// States that were explored.
    pub states: u64,
    /// Cases that are done.
    pub done: usize,
    /// All cases.
    pub cases: usize,
    /// Since when.
    pub elapsed: Duration,
}

/// What a worker tells.
enum News {
    Begun(usize, Arc<Progress>),
    Done(usize, Box<(Tried, Option<Proof>)>),
}

/// How often whoever watches hears of it.
const PULSE: Duration = Duration::from_millis(100);

/// Explores all cases, until `stop` is raised.
pub fn explore(cases: Vec<Case>, effort: &Effort, stop: &AtomicBool, watch: &mut dyn FnMut(Watched)) -> Explored {
    let begun = Instant::now();
    let count = cases.len();
    let workers = effort.threads.clamp(1, count.max(1));
    let queue = Mutex::new(cases.into_iter().enumerate());
    let (send, receive) = mpsc::channel();
    let mut tried: Vec<Option<Tried>> = (0..count).map(|_| None).collect();
    let mut proof: Option<Proof> = None;
    std::thread::scope(|scope| {
        for _ in 0..workers {
            let (send, queue) = (send.clone(), &queue);
            scope.spawn(move || {
                let is_over =
                    || stop.load(Ordering::Relaxed) || effort.until.is_some_and(|until| Instant::now() >= until);
                while !is_over() {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some((number, case)) = next else { break };
                    // Nobody listens any more only if the other end panicked.
                    let _ = send.send(News::Begun(number, case.check.progress()));
                    let done = explore_one(number, case, effort, effort.threads / workers);
                    let _ = send.send(News::Done(number, Box::new(done)));
                }
            });
        }
        drop(send);
        let mut active: Vec<(usize, Arc<Progress>)> = Vec::new();
        let (mut done, mut states) = (0, 0);
        loop {
            match receive.recv_timeout(PULSE) {
                Ok(News::Begun(number, progress)) => active.push((number, progress)),
                Ok(News::Done(number, result)) => {
                    let (case, found) = *result;
                    active.retain(|(other, _)| *other != number);
                    done += 1;
                    states += case.findings.worlds;
                    tried[number] = Some(case);
                    let rank = |proof: &Proof| (proof.steps, proof.case);
                    proof = proof.take().into_iter().chain(found).min_by_key(rank);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if stop.load(Ordering::Relaxed) {
                active.iter().for_each(|(_, progress)| progress.stop.store(true, Ordering::Relaxed));
            }
            let under_way: u64 = active.iter().map(|(_, progress)| progress.worlds.load(Ordering::Relaxed)).sum();
            watch(Watched { states: states + under_way, done, cases: count, elapsed: begun.elapsed() });
        }
    });
    let cases: Vec<Tried> = tried.into_iter().flatten().collect();
    Explored { left: count - cases.len(), cases, proof, took: begun.elapsed() }
}

fn explore_one(number: usize, mut case: Case, effort: &Effort, threads: usize) -> (Tried, Option<Proof>) {
    case.check.threads = threads.max(1);
    case.check.keep_going = effort.keep_going;
    case.check.limit(Limits { worlds: effort.states, until: effort.until });
    let findings = case.check.run();
    let proof = findings.witness.as_ref().map(|witness| Proof {
        case: number,
        scenario: case.scenario.clone(),
        property: witness.property,
        steps: witness.len(),
        records: case.check.records(witness),
        repeats_from: witness.stem().map(|stem| case.check.records(&stem).len()),
    });
    let starters = case.scenario.starts.iter().map(|start| start.at).collect();
    (Tried { ids: case.scenario.ids, starters, findings }, proof)
}

impl Explored {
    /// How many different states there are in all cases.
    pub fn states(&self) -> u64 {
        self.cases.iter().map(|case| case.findings.worlds).sum()
    }

    /// How many were generated.
    pub fn generated(&self) -> u64 {
        self.cases.iter().map(|case| case.findings.generated).sum()
    }

    /// How many steps away the farthest state of any case is.
    pub fn depth(&self) -> u32 {
        self.cases.iter().map(|case| case.findings.depth).max().unwrap_or(0)
    }

    /// The most messages that an execution of any case sends.
    pub fn most_messages(&self) -> Most {
        self.cases.iter().map(|case| case.findings.most_messages).fold(Most::Messages(0), |one, other| {
            match (one, other) {
                (Most::Messages(one), Most::Messages(other)) => Most::Messages(one.max(other)),
                _ => Most::Unbounded,
            }
        })
    }

    /// Whether everything was explored.
    pub fn is_complete(&self) -> bool {
        self.left == 0 && self.cases.iter().all(|case| case.findings.is_complete)
    }

    /// Whether in some case that was explored to its end nobody ever leads, or nothing ends well.
    pub fn is_vacuous(&self) -> bool {
        self.cases.iter().any(|case| case.findings.is_complete && case.findings.is_vacuous)
    }

    /// What became of each property: the worst of all cases.
    pub fn verdicts(&self) -> Vec<(Property, Verdict)> {
        let checked = |property: &Property| self.cases.iter().any(|case| case.findings.of(*property).is_some());
        let worst = |property: Property| {
            let found = self.cases.iter().filter_map(|case| case.findings.of(property));
            let unfinished = (self.left > 0).then_some(Verdict::Unknown);
            (property, found.chain(unfinished).fold(Verdict::Holds, worse))
        };
        Property::ALL.into_iter().filter(checked).map(worst).collect()
    }

    /// What became of everything together.
    pub fn verdict(&self) -> Verdict {
        let unfinished = if self.is_complete() { Verdict::Holds } else { Verdict::Unknown };
        self.verdicts().into_iter().map(|(_, verdict)| verdict).fold(unfinished, worse)
    }
}

fn worse(one: Verdict, other: Verdict) -> Verdict {
    match (one, other) {
        (Verdict::Violated, _) | (_, Verdict::Violated) => Verdict::Violated,
        (Verdict::Unknown, _) | (_, Verdict::Unknown) => Verdict::Unknown,
        (Verdict::Holds, Verdict::Holds) => Verdict::Holds,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(verdict: Verdict, is_complete: bool, is_vacuous: bool) -> Tried {
        let findings = Findings {
            worlds: 10,
            generated: 20,
            depth: 3,
            ends: 1,
            most_messages: Most::Messages(4),
            is_complete,
            is_vacuous,
            verdicts: vec![(Property::Agreement, verdict)],
            witness: None,
            took: Duration::ZERO,
        };
        Tried { ids: vec![0], starters: vec![0], findings }
    }

    fn of(cases: Vec<Tried>, left: usize) -> Explored {
        Explored { cases, left, proof: None, took: Duration::ZERO }
    }

    #[test]
    fn the_worst_case_counts() {
        let (holds, violated) = (|| tried(Verdict::Holds, true, false), tried(Verdict::Violated, false, true));
        let cut_off = || tried(Verdict::Unknown, false, true);
        assert_eq!(of(vec![holds(), holds()], 0).verdict(), Verdict::Holds);
        assert_eq!(of(vec![holds(), cut_off()], 0).verdict(), Verdict::Unknown);
        assert_eq!(of(vec![holds()], 1).verdicts(), [(Property::Agreement, Verdict::Unknown)]);
        assert_eq!(of(Vec::new(), 1).verdict(), Verdict::Unknown);
        let worst = of(vec![holds(), cut_off(), violated], 1);
        assert_eq!((worst.verdict(), worst.states(), worst.generated(), worst.depth()), (Verdict::Violated, 30, 60, 3));
    }

    #[test]
    fn only_what_was_explored_to_its_end_is_vacuous() {
        assert!(of(vec![tried(Verdict::Holds, true, false), tried(Verdict::Holds, true, true)], 0).is_vacuous());
        assert!(!of(vec![tried(Verdict::Unknown, false, true)], 0).is_vacuous());
    }
}
