//! What the sentences say is compared with what the engine did, over all algorithms.

use std::collections::BTreeMap;

use hustings_elections::Catalogue;
use hustings_protocol::{Effect, Event, Timer, TraceEvent};

use super::VERBS;
use crate::request::Bounds;
use crate::run::{Finished, run};
use crate::timeline::Timeline;

#[test]
fn every_kind_of_the_catalogue_has_a_verb() {
    for known in Catalogue::default().all() {
        for kind in known.entry().kinds {
            assert!(VERBS.iter().any(|(known, _)| known == kind), "{kind} of {} has no verb", known.about().name);
        }
    }
}

#[test]
fn verbs_are_sorted_and_unique() {
    assert!(VERBS.is_sorted_by(|a, b| a.0 < b.0));
}

/// What happens to an election. Position 15 is the highest, 1 another.
const TROUBLES: [&str; 9] = [
    "n=16",
    "n=2",
    "n=16&initiators=all",
    "n=16&crash=15@0",
    "n=16&initiators=0,1@70&crash=15@60",
    "n=16&crash=1@3&recover=1@4",
    "n=16&notice=heartbeat:2&crash=15@30&recover=15@60",
    "n=16&delay=uniform:1-5&unordered=true&seed=3&crash=1@4&recover=1@6",
    "n=16&runs=true&crash=15@20&recover=15@40",
];

/// A run.
struct Seen {
    text: String,
    finished: Finished,
    timeline: Timeline,
}

/// What the page shows of the nodes.
#[derive(Clone)]
struct States {
    roles: Vec<&'static str>,
    names: Vec<i64>,
}

/// Whether a sentence is true: of the run, the number of the event, and the states before and after it.
type Check = fn(&Seen, usize, &States, &States) -> bool;

/// What sentences say, and what must be true then.
const CHECKS: [(&str, Check); 10] = [
    ("Nothing changes.", |seen, number, _, _| !changes(seen, number) && seen.timeline.events[number].s.is_none()),
    ("takes note.", |seen, number, _, _| changes(seen, number) && seen.timeline.events[number].s.is_none()),
    (" has waited ", |seen, number, _, _| {
        let record = &seen.finished.records[number];
        let TraceEvent::Handled { event: Event::Timer(due), .. } = &record.what else { return false };
        let cause = record.cause.expect("a timer has a cause") as usize;
        let ticks = number_after(seen, number, " has waited ");
        timers(seen, cause).iter().any(|(after, timer)| Some(*after) == ticks && timer == due)
    }),
    ("waits up to ", |seen, number, _, _| {
        let ticks = number_after(seen, number, "waits up to ");
        timers(seen, number).iter().any(|(after, timer)| Some(*after) == ticks && !timer.is_periodic())
    }),
    (" is down.", |seen, number, before, _| {
        let event = &seen.timeline.events[number];
        event.k == "crash" || before.roles[event.n as usize] == "down"
    }),
    (" was down", |seen, number, _, _| {
        let (returned, records) = (&seen.timeline.events[number], &seen.finished.records);
        let TraceEvent::Handled { peer: Some(peer), .. } = &records[number].what else { return false };
        let is_lost = |event: &crate::timeline::Event| {
            event.k == "lost" && event.n == *peer && event.m == returned.m && event.w.ends_with("is down.")
        };
        seen.timeline.events[..number].iter().any(is_lost)
    }),
    ("believes that its leader is gone", |seen, number, before, _| {
        before.names[seen.timeline.events[number].n as usize] >= 0
    }),
    (" as its leader", |seen, number, _, after| {
        let event = &seen.timeline.events[number];
        let accepted = event.w.split(" as its leader").next().and_then(|begin| begin.rsplit(' ').next());
        let named = after.names[event.n as usize];
        named >= 0 && accepted == Some(seen.timeline.labels[named as usize].as_str())
    }),
    (" leads", |seen, number, _, after| {
        let event = &seen.timeline.events[number];
        let says_so = [": it leads", ", leads", " and leads"].iter().any(|part| event.w.contains(part));
        !says_so || after.roles[event.n as usize] == "leader"
    }),
    ("comes back, with fresh state", |seen, number, _, _| {
        let at = seen.timeline.events[number].n;
        let mut known = BTreeMap::from_iter(seen.timeline.initial.iter().cloned());
        for event in seen.timeline.events[..=number].iter().filter(|event| event.n == at) {
            known.extend(event.v.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
        known.retain(|_, value| !value.is_empty());
        known == seen.timeline.initial.iter().filter(|(_, value)| !value.is_empty()).cloned().collect()
    }),
];

/// Whether the event changes the state of its node.
fn changes(seen: &Seen, number: usize) -> bool {
    let event = &seen.timeline.events[number];
    !event.v.is_empty() || event.r.is_some() || event.l.is_some()
}

/// The timers that the record sets.
fn timers(seen: &Seen, number: usize) -> Vec<(u64, Timer)> {
    let TraceEvent::Handled { effects, .. } = &seen.finished.records[number].what else { return Vec::new() };
    let set =
        |effect: &Effect<_>| if let Effect::SetTimer(ticks, timer) = effect { Some((*ticks, *timer)) } else { None };
    effects.iter().filter_map(set).collect()
}

/// The number that stands in the sentence after these words.
fn number_after(seen: &Seen, number: usize, words: &str) -> Option<u64> {
    let (_, rest) = seen.timeline.events[number].w.rsplit_once(words)?;
    rest.split(' ').next()?.parse().ok()
}

#[test]
fn sentences_are_true_of_every_algorithm_in_every_trouble() {
    let catalogue = Catalogue::default();
    let (mut said, mut wrong) = ([0; CHECKS.len()], Vec::new());
    for known in catalogue.all() {
        let name = known.about().name;
        let mut runs = 0;
        for trouble in TROUBLES {
            let text = format!("a={name}&{trouble}&until=400");
            let Ok(finished) = run(&text, &catalogue, &Bounds::OWN) else { continue };
            let timeline = finished.timeline().expect("it is a run");
            assert_eq!(timeline.total as usize, timeline.events.len(), "{text}");
            let seen = Seen { text, finished, timeline };
            wrong.extend(false_sentences(&seen, &mut said));
            wrong.extend(repeated_receivers(&seen));
            runs += 1;
        }
        assert!(runs > 3, "{name} can be in {runs} of the troubles only");
    }
    assert!(wrong.is_empty(), "{} sentences are false:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
    for ((part, _), times) in CHECKS.iter().zip(said) {
        assert!(times > 0, "nothing says {part:?}");
    }
}

/// Checks the sentences of a run, and counts what they say.
fn false_sentences(seen: &Seen, said: &mut [usize]) -> Vec<String> {
    let size = seen.timeline.labels.len();
    let mut states = States { roles: vec!["idle"; size], names: vec![-1; size] };
    for absent in &seen.timeline.absent {
        states.roles[*absent as usize] = "down";
    }
    let mut wrong = Vec::new();
    for (number, event) in seen.timeline.events.iter().enumerate() {
        let (before, at) = (states.clone(), event.n as usize);
        states.roles[at] = event.r.unwrap_or(states.roles[at]);
        states.names[at] = event.l.unwrap_or(states.names[at]);
        for (place, (part, is_true)) in CHECKS.iter().enumerate().filter(|(_, (part, _))| event.w.contains(part)) {
            said[place] += 1;
            if !is_true(seen, number, &before, &states) {
                wrong.push(format!("{}: event {number}: {part:?} in: {}", seen.text, event.w));
            }
        }
    }
    wrong
}

/// Sentences that name or count a receiver twice.
fn repeated_receivers(seen: &Seen) -> Vec<String> {
    let mut wrong = Vec::new();
    for event in &seen.timeline.events {
        let Some((first, count)) = event.s else { continue };
        let messages = &seen.timeline.messages[first..first + count];
        for group in messages.chunk_by(|one, other| (one.k, &one.x) == (other.k, &other.x)) {
            let mut receivers: Vec<u32> = group.iter().map(|message| message.o).collect();
            receivers.sort_unstable();
            receivers.dedup();
            if receivers.len() < group.len() && event.w.contains("nodes ") && !event.w.contains("twice") {
                wrong.push(format!("{}: {}", seen.text, event.w));
            }
        }
    }
    wrong
}
