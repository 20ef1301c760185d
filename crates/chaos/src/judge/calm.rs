//! Once nothing is broken any more, the right one leads in time, and everybody says so.

use std::collections::BTreeSet;

use super::{Claim, Rule, Violation, seconds};
use crate::history::{Event, Facts, OfficeFacts};

/// The part of a calm in which everything must be as it should.
struct Window {
    from: u64,
    to: u64,
}

struct Answer<'a> {
    node: &'a str,
    holder: Option<&'a str>,
    token: u64,
    current: bool,
    at: u64,
}

/// How many calms were judged, and what was wrong in them.
pub(super) fn judge(facts: &Facts, events: &[Event], claims: &[Claim]) -> (u64, Vec<Violation>) {
    let mut violations = Vec::new();
    let mut judged = 0;
    for window in windows(facts, events) {
        judged += 1;
        for office in &facts.offices {
            let answers = answers(events, &window, &office.name);
            if let Err(what) = settled(facts, office, &answers, claims) {
                violations.push(Violation { rule: Rule::Calm, at: window.from, what });
            }
        }
    }
    (judged, violations)
}

/// From the bound after each calm began until it was over; too short calms are left out. If the machine stands still,
/// the bound counts anew.
fn windows(facts: &Facts, events: &[Event]) -> Vec<Window> {
    let mut turns: Vec<(u64, Turn)> = events
        .iter()
        .filter_map(|event| match event {
            Event::Calm { at } => Some((*at, Turn::Begins)),
            Event::Stall { from, at } => Some((*from, Turn::BeginsAnew(*at))),
            Event::CalmOver { at } | Event::Fault { at, .. } => Some((*at, Turn::Ends)),
            _ => None,
        })
        .collect();
    turns.sort_unstable();
    let mut windows = Vec::new();
    let mut since: Option<u64> = None;
    for (at, turn) in turns {
        if let Some(from) = since.map(|since| since.saturating_add(facts.bound))
            && turn != Turn::Begins
            && from < at
        {
            windows.push(Window { from, to: at });
        }
        since = match turn {
            Turn::Begins => Some(at),
            Turn::BeginsAnew(end) => since.map(|_| end),
            Turn::Ends => None,
        };
    }
    windows
}

/// What calm does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    Begins,
    BeginsAnew(u64),
    Ends,
}

/// What was answered to questions that were asked and answered within the window.
fn answers<'a>(events: &'a [Event], window: &Window, about: &str) -> Vec<Answer<'a>> {
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

/// Whether one holder is named by everybody, the right one, and knows of it itself.
fn settled(facts: &Facts, office: &OfficeFacts, answers: &[Answer<'_>], claims: &[Claim]) -> Result<(), String> {
    let name = &office.name;
    let heard: BTreeSet<&str> = answers.iter().map(|answer| answer.node).collect();
    if let Some(silent) = facts.nodes.iter().find(|node| !heard.contains(node.name.as_str())) {
        return Err(format!("{} did not say who holds `{name}`, though everything was mended", silent.name));
    }
    let Some(first) = answers.first() else { return Err(format!("nobody said who holds `{name}`")) };
    let Some(holder) = first.holder else {
        return Err(format!("nobody holds `{name}`, says {} at {}", first.node, seconds(first.at)));
    };
    // Without an arbiter nobody agrees on tokens.
    let same_token = |token: u64| !facts.arbiter || token == first.token;
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
        return Err(format!("{} is not sure at {} who holds `{name}`", unsure.node, seconds(unsure.at)));
    }
    let best = facts.nodes.iter().max_by_key(|node| node.priority).map(|node| node.name.as_str());
    if office.better && best != Some(holder) {
        return Err(format!("{holder} holds `{name}`, though {} is better", best.unwrap_or("nobody")));
    }
    let told = claims.iter().any(|claim| {
        claim.office == *name && same_token(claim.token) && claim.node == holder && claim.end() > first.at
    });
    match told {
        true => Ok(()),
        false => Err(format!("no client on {holder} was told that it holds `{name}` with token {}", first.token)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::stories::*;
    use super::super::{Rule, Verdict, judge};
    use super::*;

    /// A calm from 1000 on in which `x` is held by n1, the best, and `f` by n2; `change` may break it.
    fn calm(change: impl Fn(&mut Vec<Event>)) -> Verdict {
        let mut events = vec![
            Event::Facts(facts()),
            claimed("n1", "x", 5, 900, 3000),
            claimed("n2", "f", 6, 900, 3000),
            Event::Calm { at: 1000 },
        ];
        for node in ["n1", "n2", "n3"] {
            events.push(read(node, "x", Some("n1"), 5, true, 1000 + BOUND));
            events.push(read(node, "f", Some("n2"), 6, true, 1001 + BOUND));
        }
        events.push(Event::CalmOver { at: 2000 });
        change(&mut events);
        judge(&events)
    }

    #[test]
    fn a_settled_calm_is_well() {
        let verdict = calm(|_| {});
        assert_eq!(rules(&verdict), []);
        assert_eq!(verdict.calms, 1);
        let earlier_trouble = calm(|events| events.insert(4, read("n3", "x", None, 0, false, 999 + BOUND)));
        assert_eq!(rules(&earlier_trouble), [], "before the bound anything may be said");
    }

    #[test]
    fn nodes_that_disagree_are_found() {
        assert_eq!(rules(&calm(|events| events[4] = read("n1", "x", Some("n2"), 5, true, 1500))), [Rule::Calm]);
        assert_eq!(rules(&calm(|events| events[4] = read("n1", "x", Some("n1"), 4, false, 1500))), [Rule::Calm]);
    }

    #[test]
    fn without_an_arbiter_tokens_may_differ_and_holders_may_not() {
        let alone = |answer: Event| {
            rules(&calm(|events| {
                events[0] = Event::Facts(Facts { arbiter: false, ..facts() });
                events[4] = answer.clone();
            }))
        };
        assert_eq!(alone(read("n1", "x", Some("n1"), 77, true, 1500)), []);
        assert_eq!(alone(read("n1", "x", Some("n2"), 5, true, 1500)), [Rule::Calm]);
    }

    #[test]
    fn a_node_that_says_nothing_or_is_not_sure_is_found() {
        assert_eq!(rules(&calm(|events| drop(events.remove(4)))), [Rule::Calm]);
        assert_eq!(rules(&calm(|events| events[4] = read("n1", "x", Some("n1"), 5, false, 1500))), [Rule::Calm]);
    }

    #[test]
    fn an_office_that_stays_vacant_is_found() {
        let vacant = calm(|events| {
            for event in events.iter_mut() {
                if let Event::Read { office, holder, .. } = event
                    && office == "f"
                {
                    *holder = None;
                }
            }
        });
        assert_eq!(rules(&vacant), [Rule::Calm]);
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
    fn somebody_worse_is_found_only_where_the_better_one_must_lead() {
        let worse = calm(|events| {
            events[1] = claimed("n3", "x", 5, 900, 3000);
            all_name(events, "x", "n3");
        });
        assert_eq!(rules(&worse), [Rule::Calm]);
        let any = calm(|events| {
            events[2] = claimed("n3", "f", 6, 900, 3000);
            all_name(events, "f", "n3");
        });
        assert_eq!(rules(&any), []);
    }

    #[test]
    fn a_holder_that_was_not_told_is_found() {
        assert_eq!(rules(&calm(|events| events[1] = claimed("n1", "x", 5, 900, 950))), [Rule::Calm]);
    }

    #[test]
    fn a_machine_that_stands_still_begins_the_calm_anew() {
        let moved = |stalls: &'static [(u64, u64)]| {
            rules(&calm(|events| {
                events.push(read("n1", "x", Some("n3"), 9, true, 1800));
                events.extend(stalls.iter().map(|&(from, at)| Event::Stall { from, at }));
            }))
        };
        assert_eq!(moved(&[]), [Rule::Calm]);
        assert_eq!(moved(&[(1700, 1750)]), [], "what was said before is judged, what is said soon after is not");
        assert_eq!(moved(&[(900, 950), (1900, 1950)]), [Rule::Calm], "a stall at another time does not matter");
    }

    #[test]
    fn a_record_without_a_calm_that_lasts_is_found() {
        let short = calm(|events| {
            events.pop();
            events.push(Event::CalmOver { at: 1000 + BOUND });
        });
        assert_eq!(rules(&short), [Rule::Record]);
        assert_eq!(short.inconclusive, None);
    }

    #[test]
    fn a_record_without_a_calm_is_inconclusive_if_the_machine_stalled() {
        let stalled = |more: &[Event]| {
            calm(|events| {
                events.extend_from_slice(more);
                events.push(Event::Stall { from: 1000, at: 1999 });
            })
        };
        let unchecked = stalled(&[]);
        assert_eq!((rules(&unchecked), unchecked.calms), (vec![], 0));
        assert!(unchecked.inconclusive.is_some_and(|why| why.ends_with("the machine stalled")));
        // Violations of other rules are still reported.
        assert_eq!(rules(&stalled(&[claimed("n2", "x", 9, 2000, 3500)])), [Rule::Overlap, Rule::Token]);
    }
}
