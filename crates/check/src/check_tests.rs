//! What evaluating does at a limit, counted in looks and not in seconds.

use std::cell::Cell;
use std::rc::Rc;

use hustings_algorithms::ring::ChangRoberts;
use hustings_algorithms::{Algorithm, NoParams, Setting};
use hustings_protocol::Id;

use super::*;
use crate::meter::WORK_BETWEEN_LOOKS;
use crate::state_graph::{Edge, Expanded};

const STATES: u64 = 3 * WORK_BETWEEN_LOOKS as u64;

/// A check that is said to have explored a path of many states, all of them in the first shard.
fn explored() -> Check<<ChangRoberts as Algorithm>::Protocol<Id>> {
    let model = Model::ring(vec![Id(1), Id(2), Id(3)]);
    let setting = Setting { ranks: &model.ranks, bandwidth: None, votes: &[], cheats: &[] };
    let protocol = ChangRoberts::protocol(&NoParams, &setting);
    let spec = Spec::of(&ChangRoberts::ABOUT, &model, &[], false);
    let check = Check::new(protocol, model, spec);
    let first = check.space.initial().fingerprint;
    let fingerprint = |at: u64| if at == 0 { first } else { at };
    for at in 0..STATES {
        let next: Vec<(u64, Edge)> =
            (at + 1..STATES).take(1).map(|next| (next, Edge::new(u32::from(at < 2)))).collect();
        let labels = Labels::default();
        check.space.recorder.record(Expanded { fingerprint: fingerprint(at), labels, next: next.into() });
    }
    check.space.progress.count_transitions(STATES - 1);
    check
}

/// Evaluates with a limit that is reached at the look after so many. Returns how often it looked.
fn evaluated(allowed: u64) -> (Findings, u64) {
    let looks = Rc::new(Cell::new(0));
    let counted = Rc::clone(&looks);
    let findings = explored().evaluate(Meter::new(move || {
        counted.set(counted.get() + 1);
        counted.get() > allowed
    }));
    (findings, looks.get())
}

#[test]
fn evaluating_looks_at_the_limits_all_the_time_and_ends_with_the_first_that_is_reached() {
    let (findings, needed) = evaluated(u64::MAX);
    assert!(findings.is_complete, "{findings:?}");
    assert_eq!(
        (findings.states, findings.depth, findings.max_messages),
        (STATES, STATES as u32 - 1, MaxMessages::Bounded(2))
    );
    // Each state is handled when it is numbered, entered, reached, put into a component (twice), and summed up.
    assert!(needed > 6 * STATES / u64::from(WORK_BETWEEN_LOOKS), "{needed}");
    for allowed in 0..needed {
        let (findings, looks) = evaluated(allowed);
        assert!(!findings.is_complete, "after {allowed} of {needed} looks");
        assert_eq!((findings.states, findings.generated), (STATES, STATES), "after {allowed} of {needed} looks");
        // Termination, which comes after the components, looks once more; nothing goes on after the limit.
        assert!(looks <= allowed + 2, "{looks} looks although the limit was reached at number {}", allowed + 1);
        assert_eq!(
            (findings.of(Property::Termination), findings.verdict()),
            (Some(Verdict::Unknown), Verdict::Unknown)
        );
        assert!(findings.counterexample.is_none());
    }
}
