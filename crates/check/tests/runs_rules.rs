//! A rule of runs that matters only if a node crashes and recovers unnoticed.

use hustings_algorithms::Algorithm;
use hustings_algorithms::ring::TokenRing;
use hustings_algorithms::runs::{Runs, ViewRule};
use hustings_check::{Check, FaultBudget, Findings, Limit, Limits, Model, Property, Spec, Verdict};
use hustings_protocol::{Change, Effect, Event, Id, Protocol};

use crate::support::{Mutant, NodeEvent, protocol, ring};

type TokenRuns = Runs<<TokenRing as Algorithm>::Protocol<Id>>;

/// What a node has been told so far.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
enum Told {
    /// It has just come up, as after a recovery.
    #[default]
    Nothing,
    /// It knows that it has come up, but not whom it reaches.
    CameUp,
    /// It has had a reachability update.
    Reachable,
}

/// All nodes have just come up, as after a power cut. A start signal stands for the first reachability update: all
/// others are up.
fn comes_up(node: &mut NodeEvent<'_, TokenRuns, Told>) -> Vec<Effect<<TokenRuns as Protocol>::Message>> {
    let mut effects = Vec::new();
    if *node.extra == Told::Nothing {
        effects = node.handle(Event::Rejoin);
        *node.extra = Told::CameUp;
    }
    let event = match node.event.clone() {
        Event::Start(_) if *node.extra == Told::Reachable => return effects,
        Event::Start(_) => Event::Change(Change::Reachable((1..=3).map(Id).collect())),
        Event::Rejoin => return effects,
        event => event,
    };
    if matches!(event, Event::Change(_)) {
        *node.extra = Told::Reachable;
    }
    effects.extend(node.handle(event));
    effects
}

fn check(rule: Option<ViewRule>, max_states: u64) -> Findings {
    let budget = FaultBudget { crashes: 1, recoveries: 1, ..FaultBudget::default() };
    let model = Model { budget, ..ring(&[1, 2, 3]) };
    let mut spec = Spec::of(&TokenRing::ABOUT, &model, &[], true);
    spec.properties = vec![Property::Agreement];
    let runs = Runs::new(protocol::<TokenRing>(&[], &model), &TokenRing::ABOUT, &model.ranks).with_incarnations(0);
    let runs = if let Some(rule) = rule { runs.without(rule) } else { runs };
    let mut check = Check::new(Mutant::new(runs, comes_up), model, spec);
    check.limit(Limits { max_states, ..Limits::NONE });
    check.run()
}

/// A node that has just recovered adopts a view that was meant for its former incarnation, although a member of that
/// view has already sent it a message of the run. That message is lost, and the run never ends.
#[test]
fn a_foreseen_view_is_not_adopted_despite_newcomers() {
    let findings = check(Some(ViewRule::Foreseen), u64::MAX);
    assert_eq!(findings.of(Property::Agreement), Some(Verdict::Violated));
    assert_eq!(findings.counterexample.map(|counterexample| counterexample.len()), Some(10));
    // With the rule, none of as many states violates it. (There are too many to explore all.)
    let with_rule = check(None, findings.states);
    assert_eq!((with_rule.of(Property::Agreement), with_rule.limit), (Some(Verdict::Unknown), Some(Limit::States)));
}
