//! Worked examples: what a text tells of a run, against the run's trace.

use std::collections::BTreeSet;

use super::facts::Sent;
use super::rows::select;
use super::{Because, Finding, Laboratory, Shown, StudyError, Verdict};
use crate::texts::{Item, Step};

/// A run, drawn.
#[derive(Clone, PartialEq, Debug)]
pub struct Drawing {
    /// A name for its files.
    pub name: String,
    /// Its space-time diagram.
    pub svg: String,
    /// Every event, a line each.
    pub text: String,
}

pub(super) fn findings(item: &Item, laboratory: &Laboratory) -> Result<(Vec<Finding>, Option<Drawing>), StudyError> {
    let Some(example) = &item.example else { return Ok((Vec::new(), None)) };
    let Some(name) = example.experiment.as_ref().or(item.experiment.as_ref()) else {
        return Err(StudyError::new("example", "no experiment is named"));
    };
    let results = laboratory.results(name)?;
    let row = select(&results, &[&example.narrowed])?[0];
    let run = laboratory.run(&results, row)?;
    let mut told: BTreeSet<&Sent> = BTreeSet::new();
    let mut findings = Vec::new();
    for step in &example.steps {
        let (finding, sent) = held_against(step, &run.sent, &run.ids)?;
        findings.push(finding);
        told.extend(sent);
    }
    if example.whole {
        let more = run.sent.iter().filter(|sent| !told.contains(sent)).map(|sent| shown(sent, &run.ids, true));
        let more: Vec<String> = more.collect();
        findings.push(Finding {
            label: "nothing else is sent".to_string(),
            published: Some(Shown::words(format!("{} messages", told.len()))),
            formula: None,
            measured: Some(Shown::words(format!("{} messages", run.sent.len()))),
            verdict: if more.is_empty() { Verdict::Equal } else { Verdict::Open },
            reasons: if more.is_empty() {
                Vec::new()
            } else {
                vec![because(format!("also sent: {}", more.join("; ")))]
            },
        });
    }
    let drawing = Drawing { name: name.clone(), svg: run.svg.clone(), text: run.text.clone() };
    Ok((findings, Some(drawing)))
}

fn because(says: String) -> Because {
    Because { kind: None, says, amount: None }
}

/// The name of a position: its id, if it has one.
fn named(position: u32, ids: &[u64]) -> u64 {
    ids.get(position as usize).copied().unwrap_or(u64::from(position))
}

fn shown(sent: &Sent, ids: &[u64], with_word: bool) -> String {
    let word = if with_word && !sent.word.is_empty() { format!("({})", sent.word) } else { String::new() };
    format!("{} {}{word} {}", named(sent.from, ids), sent.kind, named(sent.to, ids))
}

/// `4 election 5 6` as it is read: `election: 4 → 5, 6`.
fn drawn(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        [from, kind, to @ ..] => format!("{kind}: {from} → {}", to.join(", ")),
        _ => line.to_string(),
    }
}

/// A step against everything of its senders and kinds that was sent at its tick.
fn held_against<'a>(step: &Step, all: &'a [Sent], ids: &[u64]) -> Result<(Finding, Vec<&'a Sent>), StudyError> {
    let mut wanted = BTreeSet::new();
    let mut senders = BTreeSet::new();
    let mut worded = false;
    for line in &step.sends {
        let mut words = line.split_whitespace();
        let (Some(from), Some(kind)) = (words.next(), words.next()) else {
            return Err(StudyError::new(&step.place, format!("`{line}` is not FROM KIND TO…")));
        };
        worded |= kind.contains('(');
        let bare = kind.split('(').next().unwrap_or(kind);
        senders.insert((from.to_string(), bare.to_string()));
        wanted.extend(words.map(|to| format!("{from} {kind} {to}")));
    }
    let at = all.iter().filter(|sent| sent.tick == step.tick);
    let here = at.filter(|sent| senders.contains(&(named(sent.from, ids).to_string(), sent.kind.clone())));
    let here: Vec<&Sent> = here.collect();
    let measured: BTreeSet<String> = here.iter().map(|sent| shown(sent, ids, worded)).collect();
    let equal = measured == wanted;
    let list = |texts: &BTreeSet<String>| texts.iter().cloned().collect::<Vec<_>>().join("; ");
    let finding = Finding {
        label: format!("{}: {}", step.place, step.says),
        published: Some(Shown::words(step.sends.iter().map(|line| drawn(line)).collect::<Vec<_>>().join("; "))),
        formula: None,
        measured: Some(Shown::words(format!(
            "tick {}: {} of {}",
            step.tick,
            measured.intersection(&wanted).count(),
            wanted.len()
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
