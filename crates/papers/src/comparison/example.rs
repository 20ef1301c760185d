//! Compares the steps of a worked example with the trace of the run.

use std::collections::BTreeSet;

use super::plant::Plant;
use super::result_cache::TracedRun;
use super::rows::select;
use super::sample::sample;
use super::trace_facts::SentMessage;
use super::{AppliedReason, CompareError, DisplayValue, Finding, ResultCache, Verdict};
use crate::picture::{self, Picture, PictureMessage};
use crate::published::{Item, PictureSpec, Shape, Step};

/// The diagram of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Drawing {
    /// The name of its files.
    pub name: String,
    /// The space-time diagram.
    pub svg: String,
    /// The trace as text, a line per event.
    pub text: String,
    /// The network with its messages, if the example has a picture.
    pub picture: Option<String>,
}

pub(super) fn findings(item: &Item, cache: &ResultCache) -> Result<(Vec<Finding>, Option<Drawing>), CompareError> {
    let Some(example) = &item.example else { return Ok((Vec::new(), None)) };
    let Some(name) = example.experiment.as_ref().or(item.experiment.as_ref()) else {
        return Err(CompareError::new("example", "no experiment is named"));
    };
    let results = cache.results(name)?;
    let row = select(&results, &[&example.filter])?[0];
    let run = cache.run(&results, row)?;
    // An error that is planted: nothing was sent.
    let sent: &[SentMessage] = if cache.plant() == Plant::Wrong { &[] } else { &run.sent };
    let command = results.command(&[row]).map(|command| format!("{command} --trace text"));
    let mut described: BTreeSet<&SentMessage> = BTreeSet::new();
    let mut findings = Vec::new();
    for step in &example.steps {
        let (finding, here) = compare(step, sent, &run.ids)?;
        let sample = sample(&[(&results.table, &[row])]);
        findings.push(Finding { sample, command: command.clone(), is_printed: !item.ours, ..finding });
        described.extend(here);
    }
    if example.whole {
        let more = sent.iter().filter(|sent| !described.contains(sent)).map(|sent| shown(sent, &run.ids, true));
        let more: Vec<String> = more.collect();
        findings.push(Finding {
            label: "no other messages are sent".to_string(),
            published: Some(DisplayValue::text(format!("{} messages", described.len()))),
            test: None,
            choice: None,
            chance: None,
            quote: None,
            is_printed: !item.ours,
            sample: sample(&[(&results.table, &[row])]),
            command: command.clone(),
            formula: None,
            measured: Some(DisplayValue::text(format!("{} messages", sent.len()))),
            verdict: if more.is_empty() && !sent.is_empty() { Verdict::Equal } else { Verdict::Open },
            reasons: if more.is_empty() {
                Vec::new()
            } else {
                vec![because(format!("also sent: {}", more.join("; ")))]
            },
        });
    }
    let picture = example.picture.as_ref().map(|spec| picture::draw(&picture_of(spec, &run), &item.id));
    let drawing = Drawing { name: name.clone(), svg: run.svg.clone(), text: run.text.clone(), picture };
    Ok((findings, Some(drawing)))
}

/// The network of a run with its messages.
fn picture_of(spec: &PictureSpec, run: &TracedRun) -> Picture {
    let message =
        |sent: &SentMessage| PictureMessage { tick: sent.tick, from: sent.from, to: sent.to, kind: sent.kind.clone() };
    let number = |names: &[&str]| {
        let param = run.params.iter().find(|(name, _)| names.contains(name));
        param.and_then(|(_, value)| value.parse::<u32>().ok())
    };
    // The levels of a sun; the divisions of sun-divided are another parameter.
    let depth = number(&["sun-depth"]).or_else(|| number(&["depth"])).unwrap_or(0);
    Picture {
        shape: spec.shape,
        size: run.members,
        names: (0..run.members).map(|position| named(position, &run.ids).to_string()).collect(),
        down: run.down.clone(),
        levels: match spec.shape {
            Shape::Sun | Shape::SunInformer => (number(&["u"]).unwrap_or(0), depth + 1),
            _ => (0, 1),
        },
        messages: run.sent.iter().map(message).collect(),
        spec: spec.clone(),
    }
}

fn because(says: String) -> AppliedReason {
    AppliedReason { kind: None, says, amount: None }
}

/// The id of a position, or the position itself in anonymous networks.
fn named(position: u32, ids: &[u64]) -> u64 {
    ids.get(position as usize).copied().unwrap_or(u64::from(position))
}

fn shown(sent: &SentMessage, ids: &[u64], with_payload: bool) -> String {
    let payload = if with_payload && !sent.payload.is_empty() { format!("({})", sent.payload) } else { String::new() };
    format!("{} {}{payload} {}", named(sent.from, ids), sent.kind, named(sent.to, ids))
}

/// `4 election 5 6` in the form `election: 4 → 5, 6`.
fn drawn(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        [from, kind, to @ ..] => format!("{kind}: {from} → {}", to.join(", ")),
        _ => line.to_string(),
    }
}

/// Compares a step with the messages of the same senders and kinds at its tick.
fn compare<'a>(
    step: &Step,
    all: &'a [SentMessage],
    ids: &[u64],
) -> Result<(Finding, Vec<&'a SentMessage>), CompareError> {
    let mut expected = BTreeSet::new();
    let mut senders = BTreeSet::new();
    let mut with_payload = false;
    for line in &step.sends {
        let mut words = line.split_whitespace();
        let (Some(from), Some(kind)) = (words.next(), words.next()) else {
            return Err(CompareError::new(&step.place, format!("`{line}` is not FROM KIND TO…")));
        };
        with_payload |= kind.contains('(');
        let bare = kind.split('(').next().unwrap_or(kind);
        senders.insert((from.to_string(), bare.to_string()));
        expected.extend(words.map(|to| format!("{from} {kind} {to}")));
    }
    let at = all.iter().filter(|sent| sent.tick == step.tick);
    let here = at.filter(|sent| senders.contains(&(named(sent.from, ids).to_string(), sent.kind.clone())));
    let here: Vec<&SentMessage> = here.collect();
    let measured: BTreeSet<String> = here.iter().map(|sent| shown(sent, ids, with_payload)).collect();
    let equal = measured == expected;
    let list = |texts: &BTreeSet<String>| texts.iter().cloned().collect::<Vec<_>>().join("; ");
    let finding = Finding {
        label: format!("{}: {}", step.place, step.says),
        published: Some(DisplayValue::text(step.sends.iter().map(|line| drawn(line)).collect::<Vec<_>>().join("; "))),
        test: None,
        choice: None,
        chance: None,
        quote: None,
        is_printed: true,
        sample: String::new(),
        command: None,
        formula: None,
        measured: Some(DisplayValue::text(format!(
            "tick {}: {} of {}",
            step.tick,
            measured.intersection(&expected).count(),
            expected.len()
        ))),
        verdict: if equal { Verdict::Equal } else { Verdict::Open },
        reasons: if equal {
            Vec::new()
        } else {
            vec![because(format!("sent at tick {}: {}", step.tick, list(&measured)))]
        },
    };
    Ok((finding, here))
}
