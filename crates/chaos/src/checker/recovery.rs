//! After all faults are healed, the right candidate leads in time, and every node names it.

use std::collections::BTreeSet;

use super::phases::{self, Phase};
use super::{Rule, Tenure, Violation, seconds};
use crate::history::{Event, Scenario, ScenarioOffice};

/// How long a member that resigned does not campaign for the office, in nanoseconds.
const RESIGNED: u64 = 10_000_000_000;
/// How long a transfer takes at most, in nanoseconds, even if the operator did not get an answer.
const TRANSFER: u64 = 5_000_000_000;

struct Answer<'a> {
    node: &'a str,
    holder: Option<&'a str>,
    token: u64,
    current: bool,
    at: u64,
}

/// Checks all recovery phases. Returns how many were long enough, and the violations.
pub(super) fn check(scenario: &Scenario, events: &[Event], tenures: &[Tenure]) -> (u64, Vec<Violation>) {
    let mut violations = Vec::new();
    let mut checked = 0;
    for window in windows(scenario, events) {
        checked += 1;
        for office in &scenario.offices {
            if office.preempts && has_resigned(scenario, events, window, &office.name) {
                // It may change hands at any time. The other rules apply.
                continue;
            }
            let answers = answers(events, &window, &office.name);
            let is_free = |holder: (&str, u64)| was_transferred(events, &office.name, holder, tenures);
            if let Err(what) = check_office(scenario, office, &answers, tenures, &is_free) {
                violations.push(Violation { rule: Rule::Recovery, at: window.from, what });
            }
        }
    }
    (checked, violations)
}

/// The parts of the recovery phases in which the cluster must have recovered: from the bound on. After a stall of the
/// machine the bound is counted again.
fn windows(scenario: &Scenario, events: &[Event]) -> Vec<Phase> {
    let rest = |phase: Phase| Phase { from: phase.from.saturating_add(scenario.bound), ..phase };
    // Between two stalls, the readers may not have had the time to ask every node.
    let is_long = |phase: &Phase| phase.to.saturating_sub(phase.from) >= (scenario.bound / 8).max(1);
    phases::recoveries(events).into_iter().map(rest).filter(is_long).collect()
}

/// Whether a member resigned such a short time before that it may still take the office back. Meanwhile a worse
/// candidate holds it.
fn has_resigned(scenario: &Scenario, events: &[Event], window: Phase, about: &str) -> bool {
    events.iter().any(|event| match event {
        Event::Operator { request, office: Some(office), at, .. } if request == "resign" && office == about => {
            at.saturating_add(RESIGNED).saturating_add(scenario.bound) > window.from
        }
        _ => false,
    })
}

/// Whether an operator transferred an office to its holder, which then keeps it until it is lost.
fn was_transferred(events: &[Event], about: &str, (holder, token): (&str, u64), tenures: &[Tenure]) -> bool {
    let own = tenures.iter().filter(|tenure| tenure.office == about && tenure.node == holder && tenure.token == token);
    let Some(since) = own.map(|tenure| tenure.from).min() else { return false };
    events.iter().any(|event| match event {
        Event::Operator { request, office: Some(office), to: Some(to), began, .. } => {
            let is_in_time = (*began..=began.saturating_add(TRANSFER)).contains(&since);
            request == "transfer" && office == about && to == holder && is_in_time
        }
        _ => false,
    })
}

/// The answers about an office that were asked for and given within the window.
fn answers<'a>(events: &'a [Event], window: &Phase, about: &str) -> Vec<Answer<'a>> {
    let within = |event: &'a Event| match event {
        Event::Read { node, office, holder, token, current, began, at }
            if office == about && *began >= window.from && *at <= window.to =>
        {
            Some(Answer { node, holder: holder.as_deref(), token: *token, current: *current, at: *at })
        }
        _ => None,
    };
    events.iter().filter_map(within).collect()
}

/// Fails unless every node names the right holder, and its client knows that it holds the office. The holder must be
/// the best candidate, unless `is_free` says that this one need not be.
fn check_office(
    scenario: &Scenario,
    office: &ScenarioOffice,
    answers: &[Answer<'_>],
    tenures: &[Tenure],
    is_free: &dyn Fn((&str, u64)) -> bool,
) -> Result<(), String> {
    let name = &office.name;
    let received: BTreeSet<&str> = answers.iter().map(|answer| answer.node).collect();
    if let Some(silent) = scenario.nodes.iter().find(|node| !received.contains(node.name.as_str())) {
        return Err(format!("{} did not answer who holds `{name}`, although all faults were healed", silent.name));
    }
    let Some(first) = answers.first() else { return Err(format!("no node answered who holds `{name}`")) };
    let Some(holder) = first.holder else {
        return Err(format!("`{name}` has no holder, according to {} at {}", first.node, seconds(first.at)));
    };
    // Without an arbiter nodes do not agree on tokens.
    let same_token = |token: u64| !scenario.arbiter || token == first.token;
    if let Some(other) = answers.iter().find(|answer| answer.holder != Some(holder) || !same_token(answer.token)) {
        return Err(format!(
            "{} says at {} that {holder} holds `{name}` with token {}, {} says at {} that it is {} with token {}",
            first.node,
            seconds(first.at),
            first.token,
            other.node,
            seconds(other.at),
            other.holder.unwrap_or("nobody"),
            other.token
        ));
    }
    if let Some(unsure) = answers.iter().find(|answer| !answer.current) {
        return Err(format!("{} did not confirm at {} who holds `{name}`", unsure.node, seconds(unsure.at)));
    }
    let best = scenario.nodes.iter().max_by_key(|node| node.priority).map(|node| node.name.as_str());
    if office.preempts && best != Some(holder) && !is_free((holder, first.token)) {
        return Err(format!("{holder} holds `{name}`, although {} is better", best.unwrap_or("nobody")));
    }
    let told = tenures.iter().any(|tenure| {
        tenure.office == *name && same_token(tenure.token) && tenure.node == holder && tenure.end() > first.at
    });
    match told {
        true => Ok(()),
        false => Err(format!("no client on {holder} was told that it holds `{name}` with token {}", first.token)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::*;
    use super::super::{Rule, Verdict, check};
    use super::*;

    /// A recovery phase from 1000 on in which n1, the best candidate, holds `x` and n2 holds `f`, after a change.
    fn recovery(change: impl Fn(&mut Vec<Event>)) -> Verdict {
        let mut events = vec![
            Event::Scenario(scenario()),
            acquired("n1", "x", 5, 900, 3000),
            acquired("n2", "f", 6, 900, 3000),
            Event::Recovery { at: 1000 },
        ];
        for node in ["n1", "n2", "n3"] {
            events.push(read(node, "x", Some("n1"), 5, true, 1000 + BOUND));
            events.push(read(node, "f", Some("n2"), 6, true, 1001 + BOUND));
        }
        events.push(Event::RecoveryOver { at: 2000 });
        change(&mut events);
        check(&events)
    }

    #[test]
    fn accepts_a_cluster_that_recovers() {
        let verdict = recovery(|_| {});
        assert_eq!(rules(&verdict), []);
        assert_eq!(verdict.recoveries, 1);
        let earlier_trouble = recovery(|events| events.insert(4, read("n3", "x", None, 0, false, 999 + BOUND)));
        assert_eq!(rules(&earlier_trouble), [], "before the bound nodes may answer anything");
    }

    #[test]
    fn reports_nodes_that_disagree() {
        assert_eq!(rules(&recovery(|events| events[4] = read("n1", "x", Some("n2"), 5, true, 1500))), [Rule::Recovery]);
        assert_eq!(
            rules(&recovery(|events| events[4] = read("n1", "x", Some("n1"), 4, false, 1500))),
            [Rule::Recovery]
        );
    }

    #[test]
    fn without_an_arbiter_tokens_may_differ_and_holders_may_not() {
        let alone = |answer: Event| {
            rules(&recovery(|events| {
                events[0] = Event::Scenario(Scenario { arbiter: false, ..scenario() });
                events[4] = answer.clone();
            }))
        };
        assert_eq!(alone(read("n1", "x", Some("n1"), 77, true, 1500)), []);
        assert_eq!(alone(read("n1", "x", Some("n2"), 5, true, 1500)), [Rule::Recovery]);
    }

    #[test]
    fn reports_a_node_that_does_not_answer_or_confirm() {
        assert_eq!(rules(&recovery(|events| drop(events.remove(4)))), [Rule::Recovery]);
        assert_eq!(
            rules(&recovery(|events| events[4] = read("n1", "x", Some("n1"), 5, false, 1500))),
            [Rule::Recovery]
        );
    }

    #[test]
    fn reports_an_office_that_stays_vacant() {
        let vacant = recovery(|events| {
            for event in events.iter_mut() {
                if let Event::Read { office, holder, .. } = event
                    && office == "f"
                {
                    *holder = None;
                }
            }
        });
        assert_eq!(rules(&vacant), [Rule::Recovery]);
    }

    fn all_name(events: &mut [Event], about: &str, name: &str) {
        for event in events {
            if let Event::Read { office, holder, .. } = event
                && office == about
            {
                *holder = Some(name.to_string());
            }
        }
    }

    #[test]
    fn reports_a_worse_holder_only_if_the_office_can_be_preempted() {
        let worse = recovery(|events| {
            events[1] = acquired("n3", "x", 5, 900, 3000);
            all_name(events, "x", "n3");
        });
        assert_eq!(rules(&worse), [Rule::Recovery]);
        let any = recovery(|events| {
            events[2] = acquired("n3", "f", 6, 900, 3000);
            all_name(events, "f", "n3");
        });
        assert_eq!(rules(&any), []);
    }

    #[test]
    fn an_operator_may_choose_a_worse_holder() {
        let moved = |request: Event| {
            rules(&recovery(|events| {
                events[1] = acquired("n3", "x", 5, 900, 3000);
                all_name(events, "x", "n3");
                events.push(request.clone());
            }))
        };
        assert_eq!(moved(operator("transfer", "x", Some("n3"), 890)), []);
        assert_eq!(moved(operator("transfer", "x", Some("n3"), 901)), [Rule::Recovery], "it came later");
        assert_eq!(moved(operator("transfer", "x", Some("n2"), 890)), [Rule::Recovery], "to another one");
        assert_eq!(moved(operator("transfer", "f", Some("n3"), 890)), [Rule::Recovery], "of another office");
        assert_eq!(moved(operator("resign", "x", None, 890)), [], "the best one resigned a moment ago");
        let back = recovery(|events| {
            events.push(operator("resign", "x", None, 890));
            events.push(read("n1", "x", Some("n2"), 6, true, 1900));
        });
        assert_eq!(rules(&back), [], "the one that resigned takes it back");
    }

    #[test]
    fn a_resignation_ends_after_ten_seconds() {
        let events = [operator("resign", "x", None, 1)];
        let resigned = |from| has_resigned(&scenario(), &events, Phase { from, to: from + 1 }, "x");
        assert!(resigned(RESIGNED + BOUND) && !resigned(RESIGNED + BOUND + 2));
        assert!(!has_resigned(&scenario(), &events, Phase { from: 2, to: 3 }, "f"), "another office");
    }

    #[test]
    fn reports_a_holder_whose_client_was_not_told() {
        assert_eq!(rules(&recovery(|events| events[1] = acquired("n1", "x", 5, 900, 950))), [Rule::Recovery]);
    }

    #[test]
    fn a_stall_restarts_the_bound() {
        let moved = |stalls: &'static [(u64, u64)]| {
            rules(&recovery(|events| {
                events.push(read("n1", "x", Some("n3"), 9, true, 1800));
                events.extend(stalls.iter().map(|&(from, at)| Event::Stall { from, at }));
            }))
        };
        assert_eq!(moved(&[]), [Rule::Recovery]);
        assert_eq!(moved(&[(1700, 1750)]), [], "answers before the stall are checked, answers soon after are not");
        assert_eq!(moved(&[(900, 950), (1900, 1950)]), [Rule::Recovery], "a stall at another time does not matter");
    }

    #[test]
    fn a_moment_between_two_stalls_is_not_checked() {
        let stalled = |until| {
            rules(&recovery(|events| {
                // In this history n1 is not asked before the second stall.
                events.retain(|event| !matches!(event, Event::Read { node, .. } if node == "n1"));
                events.extend([Event::Stall { from: 1000, at: 1001 }, Event::Stall { from: until, at: 1999 }]);
            }))
        };
        assert_eq!(stalled(1001 + BOUND + BOUND / 8 - 1), []);
        assert_eq!(stalled(1001 + BOUND + BOUND / 8), [Rule::Recovery; 2], "one for each office");
    }

    #[test]
    fn reports_a_history_without_a_recovery_phase_to_check() {
        let short = recovery(|events| {
            events.pop();
            events.push(Event::RecoveryOver { at: 1000 + BOUND });
        });
        assert_eq!(rules(&short), [Rule::History]);
        assert_eq!(short.inconclusive, None);
    }

    #[test]
    fn without_a_recovery_phase_to_check_a_stalled_run_is_inconclusive() {
        let stalled = |more: &[Event]| {
            recovery(|events| {
                events.extend_from_slice(more);
                events.push(Event::Stall { from: 1000, at: 1999 });
            })
        };
        let unchecked = stalled(&[]);
        assert_eq!((rules(&unchecked), unchecked.recoveries), (vec![], 0));
        assert!(unchecked.inconclusive.is_some_and(|why| why.ends_with("the machine stalled")));
        // Violations of other rules are still reported.
        assert_eq!(rules(&stalled(&[acquired("n2", "x", 9, 2000, 3500)])), [Rule::Overlap, Rule::Token]);
    }
}
