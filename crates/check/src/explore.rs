//! Explores the cases of a request, several at once, and combines their results.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hustings_protocol::Record;
use hustings_sim::erased::DynMessage;
use hustings_sim::scenario::Scenario;

use crate::cases::Case;
use crate::check::{Findings, Limit, Limits, Verdict};
use crate::property::Property;
use crate::state_graph::MaxMessages;
use crate::state_space::Progress;

/// How the cases are explored.
#[derive(Clone, Copy, Debug)]
pub struct ExploreOptions {
    /// The number of threads. Each explores a case of its own; if there is only one case, all explore that.
    pub threads: usize,
    /// The limits: the number of states of one case, and the time for all.
    pub limits: Limits,
    /// Whether a case is explored completely although a property is violated.
    pub keep_going: bool,
}

/// The results of all cases.
#[derive(Debug)]
pub struct Report {
    /// The cases that were explored, at least partly, in their order.
    pub cases: Vec<CaseResult>,
    /// The number of cases that were not begun.
    pub cases_left: usize,
    /// The shortest counterexample, of the first of the cases that have one of that length.
    pub violation: Option<Violation>,
    /// The time that the exploration took.
    pub elapsed: Duration,
}

/// The result of one case.
#[derive(Debug)]
pub struct CaseResult {
    /// The ids, by position.
    pub ids: Vec<u64>,
    /// The positions that start.
    pub initiators: Vec<u32>,
    /// The result of the check.
    pub findings: Findings,
}

/// An execution that violates a property.
#[derive(Debug)]
pub struct Violation {
    /// The index of the case.
    case: usize,
    /// The election.
    pub scenario: Scenario,
    /// The property.
    pub property: Property,
    /// The number of steps, including those of the clock.
    pub steps: usize,
    /// The execution as a trace.
    pub records: Vec<Record<DynMessage>>,
    /// For an infinite execution: the index of the record with which the repeated part begins.
    pub repeats_from: Option<usize>,
}

/// The progress of an exploration.
#[derive(Clone, Copy, Debug)]
pub struct ExploreProgress {
    /// The number of states that were explored.
    pub states: u64,
    /// The number of cases that are finished.
    pub cases_done: usize,
    /// The number of all cases.
    pub cases: usize,
    /// The time since the start.
    pub elapsed: Duration,
}

/// The overall result of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Conclusion {
    /// All properties hold in every execution.
    Holds,
    /// All properties hold, but in some case no node can ever lead, or no execution ends in agreement.
    Vacuous,
    /// No property is violated as far as explored, which is not everything.
    Incomplete,
    /// Some property is violated.
    Violated,
}

/// A message from a worker thread.
enum WorkerEvent {
    Started(usize, Arc<Progress>),
    Finished(usize, Box<(CaseResult, Option<Violation>)>),
}

/// The time between two progress reports.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Explores all cases, until `stop` is set. Calls `on_progress` regularly.
pub fn explore(
    cases: Vec<Case>,
    options: &ExploreOptions,
    stop: &AtomicBool,
    on_progress: &mut dyn FnMut(ExploreProgress),
) -> Report {
    let started = Instant::now();
    let count = cases.len();
    let workers = options.threads.clamp(1, count.max(1));
    let queue = Mutex::new(cases.into_iter().enumerate());
    let (send, receive) = mpsc::channel();
    let mut results: Vec<Option<CaseResult>> = (0..count).map(|_| None).collect();
    let mut violation: Option<Violation> = None;
    std::thread::scope(|scope| {
        for _ in 0..workers {
            let (send, queue) = (send.clone(), &queue);
            scope.spawn(move || work(queue, &send, options, options.threads / workers, stop));
        }
        drop(send);
        let mut active: Vec<(usize, Arc<Progress>)> = Vec::new();
        let (mut cases_done, mut states) = (0, 0);
        loop {
            match receive.recv_timeout(PROGRESS_INTERVAL) {
                Ok(WorkerEvent::Started(number, progress)) => active.push((number, progress)),
                Ok(WorkerEvent::Finished(number, result)) => {
                    let (result, found) = *result;
                    active.retain(|(other, _)| *other != number);
                    cases_done += 1;
                    states += result.findings.states;
                    results[number] = Some(result);
                    let key = |violation: &Violation| (violation.steps, violation.case);
                    violation = violation.take().into_iter().chain(found).min_by_key(key);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if stop.load(Ordering::Relaxed) {
                active.iter().for_each(|(_, progress)| progress.stop.store(true, Ordering::Relaxed));
            }
            let active_states: u64 = active.iter().map(|(_, progress)| progress.states.load(Ordering::Relaxed)).sum();
            let states = states + active_states;
            on_progress(ExploreProgress { states, cases_done, cases: count, elapsed: started.elapsed() });
        }
    });
    let cases: Vec<CaseResult> = results.into_iter().flatten().collect();
    Report { cases_left: count - cases.len(), cases, violation, elapsed: started.elapsed() }
}

/// Explores cases from the queue until it is empty, the deadline has passed or `stop` is set.
fn work(
    queue: &Mutex<impl Iterator<Item = (usize, Case)>>,
    send: &mpsc::Sender<WorkerEvent>,
    options: &ExploreOptions,
    threads: usize,
    stop: &AtomicBool,
) {
    let is_over = || stop.load(Ordering::Relaxed) || options.limits.are_exhausted();
    while !is_over() {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        let Some((number, case)) = next else { break };
        // Sending fails only if the receiving thread panicked.
        let _ = send.send(WorkerEvent::Started(number, case.check.progress()));
        let result = explore_case(number, case, options, threads);
        let _ = send.send(WorkerEvent::Finished(number, Box::new(result)));
    }
}

fn explore_case(
    number: usize,
    mut case: Case,
    options: &ExploreOptions,
    threads: usize,
) -> (CaseResult, Option<Violation>) {
    case.check.threads = threads.max(1);
    case.check.keep_going = options.keep_going;
    case.check.limit(options.limits);
    let findings = case.check.run();
    let violation = findings.counterexample.as_ref().map(|counterexample| Violation {
        case: number,
        scenario: case.scenario.clone(),
        property: counterexample.property,
        steps: counterexample.len(),
        records: case.check.records(counterexample),
        repeats_from: counterexample.stem().map(|stem| case.check.records(&stem).len()),
    });
    let initiators = case.scenario.starts.iter().map(|start| start.at).collect();
    (CaseResult { ids: case.scenario.ids, initiators, findings }, violation)
}

impl Report {
    /// The number of distinct states, in all cases.
    pub fn states(&self) -> u64 {
        self.cases.iter().map(|case| case.findings.states).sum()
    }

    /// The number of generated states, in all cases.
    pub fn generated(&self) -> u64 {
        self.cases.iter().map(|case| case.findings.generated).sum()
    }

    /// The distance of the farthest state of any case, in steps.
    pub fn depth(&self) -> u32 {
        self.cases.iter().map(|case| case.findings.depth).max().unwrap_or(0)
    }

    /// The maximum number of messages of an execution of any case.
    pub fn max_messages(&self) -> MaxMessages {
        self.cases.iter().map(|case| case.findings.max_messages).max().unwrap_or(MaxMessages::Bounded(0))
    }

    /// The limit that ended it before everything was explored, if one did.
    pub fn limit(&self) -> Option<Limit> {
        self.cases.iter().find_map(|case| case.findings.limit)
    }

    /// Whether everything was explored.
    pub fn is_complete(&self) -> bool {
        self.cases_left == 0 && self.cases.iter().all(|case| case.findings.is_complete)
    }

    /// Whether in some completely explored case no node ever leads, or no execution ends in agreement.
    pub fn is_vacuous(&self) -> bool {
        self.cases.iter().any(|case| case.findings.is_complete && case.findings.is_vacuous)
    }

    /// The verdict on each property: the worst of all cases.
    pub fn verdicts(&self) -> Vec<(Property, Verdict)> {
        let of_property = |property: Property| {
            let mut verdicts = self.cases.iter().filter_map(|case| case.findings.of(property)).peekable();
            verdicts.peek()?;
            Some((property, Verdict::worst(verdicts, self.cases_left == 0)))
        };
        Property::ALL.into_iter().filter_map(of_property).collect()
    }

    /// The verdict on all properties together.
    pub fn verdict(&self) -> Verdict {
        Verdict::worst(self.cases.iter().map(|case| case.findings.verdict()), self.cases_left == 0)
    }

    /// The overall result.
    pub fn conclusion(&self) -> Conclusion {
        match (self.verdict(), self.is_vacuous()) {
            (Verdict::Violated, _) => Conclusion::Violated,
            (Verdict::Unknown, _) => Conclusion::Incomplete,
            (Verdict::Holds, true) => Conclusion::Vacuous,
            (Verdict::Holds, false) => Conclusion::Holds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(verdict: Verdict, is_complete: bool, is_vacuous: bool) -> CaseResult {
        let findings = Findings {
            states: 10,
            generated: 20,
            depth: 3,
            terminal_states: 1,
            max_messages: MaxMessages::Bounded(4),
            is_complete,
            limit: (!is_complete).then_some(Limit::States),
            is_vacuous,
            verdicts: vec![(Property::Agreement, verdict)],
            counterexample: None,
            elapsed: Duration::ZERO,
        };
        CaseResult { ids: vec![0], initiators: vec![0], findings }
    }

    fn report(cases: Vec<CaseResult>, cases_left: usize) -> Report {
        Report { cases, cases_left, violation: None, elapsed: Duration::ZERO }
    }

    #[test]
    fn the_worst_case_counts() {
        let (holds, violated) = (|| result(Verdict::Holds, true, false), result(Verdict::Violated, false, true));
        let unfinished = || result(Verdict::Unknown, false, true);
        assert_eq!(report(vec![holds(), holds()], 0).verdict(), Verdict::Holds);
        assert_eq!(report(vec![holds(), unfinished()], 0).verdict(), Verdict::Unknown);
        assert_eq!(report(vec![holds()], 1).verdicts(), [(Property::Agreement, Verdict::Unknown)]);
        assert_eq!(report(Vec::new(), 1).verdict(), Verdict::Unknown);
        let worst = report(vec![holds(), unfinished(), violated], 1);
        assert_eq!((worst.verdict(), worst.states(), worst.generated(), worst.depth()), (Verdict::Violated, 30, 60, 3));
    }

    #[test]
    fn only_complete_cases_can_be_vacuous() {
        assert!(report(vec![result(Verdict::Holds, true, false), result(Verdict::Holds, true, true)], 0).is_vacuous());
        assert!(!report(vec![result(Verdict::Unknown, false, true)], 0).is_vacuous());
    }
}
