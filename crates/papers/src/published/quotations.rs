//! What a paper is said to say: quotations must be among its words, and claims that are ours must say so.

use super::model::{Claim, Item, Line, Paper};
use super::phrases::Phrases;
use super::place::place;
use crate::comparison::CompareError;

/// A piece of prose in the file of a paper: the item, the row, and the text.
type Prose<'a> = (&'a str, &'a str, &'a str);

/// Checks the quotations of a paper, and whether each claim has one or is marked as ours.
pub(crate) fn check(paper: &Paper) -> Result<(), CompareError> {
    let words = match &paper.file.words {
        Some(file) => Some(Phrases::read(file).map_err(|problem| CompareError {
            place: paper.text.clone().unwrap_or_else(|| paper.name.clone()),
            problem,
        })?),
        None => None,
    };
    let year = paper.newest_citation.map(|year| year.to_string());
    for (key, text) in [("organization", &paper.organization), ("newest_citation", &year)] {
        let Some(text) = text else { continue };
        is_there(words.as_ref(), text)
            .map_err(|problem| CompareError { place: place(paper, "", key, text), problem })?;
    }
    for item in &paper.items {
        for claim in &item.claims {
            has_one_origin(item, claim).map_err(|problem| CompareError {
                place: place(paper, &item.id, &format!("claim `{}`", claim.says), &claim.says),
                problem,
            })?;
        }
    }
    for (item, row, text) in prose(paper) {
        let wrong = |key: &str, problem: String| CompareError { place: place(paper, item, row, key), problem };
        let quoted = quoted(text).map_err(|problem| wrong(text, problem))?;
        quoted.into_iter().try_for_each(|quotation| {
            is_there(words.as_ref(), quotation).map_err(|problem| wrong(quotation, problem))
        })?;
    }
    let quotes = paper.items.iter().flat_map(|item| item.claims.iter().map(move |claim| (item, claim)));
    for (item, claim) in quotes {
        let Some(quotation) = &claim.quote else { continue };
        is_there(words.as_ref(), quotation).map_err(|problem| CompareError {
            place: place(paper, &item.id, &format!("claim `{}`", claim.says), quotation),
            problem,
        })?;
    }
    Ok(())
}

fn has_one_origin(item: &Item, claim: &Claim) -> Result<(), String> {
    match (&claim.quote, claim.ours) {
        (Some(_), true) => Err("a claim that is ours has no `quote`".to_string()),
        (None, false) if !item.ours => {
            Err("whose claim is it? allowed: `quote = \"…\"`, the words of the paper, or `ours = true`".to_string())
        }
        _ => Ok(()),
    }
}

fn is_there(words: Option<&Phrases>, quotation: &str) -> Result<(), String> {
    let Some(words) = words else {
        return Err(format!(
            "the quotation \"{quotation}\" cannot be checked: `text` names no file with the paper's text"
        ));
    };
    match words.missing(quotation) {
        None => Ok(()),
        Some(missing) => Err(format!("the quotation \"{quotation}\" is not in the text, which has no \"{missing}\"")),
    }
}

/// The texts between quotation marks.
fn quoted(text: &str) -> Result<Vec<&str>, String> {
    let parts: Vec<&str> = text.split(['"', '“', '”']).collect();
    if parts.len().is_multiple_of(2) {
        return Err(format!("a quotation mark is not closed in `{text}`"));
    }
    Ok(parts.into_iter().skip(1).step_by(2).collect())
}

/// Everything that a reader of the report sees.
fn prose(paper: &Paper) -> Vec<Prose<'_>> {
    let mut all = vec![("", "about", paper.about.as_str()), ("", "counting", paper.counting.as_str())];
    for item in &paper.items {
        let id = item.id.as_str();
        all.extend(
            [("place", &item.place), ("title", &item.title), ("about", &item.about)]
                .map(|(row, text)| (id, row, text.as_str())),
        );
        let grid = item.grid.iter();
        let lines = grid.clone().flat_map(|grid| grid.rows.iter().chain(&grid.columns)).chain(candidates(item));
        all.extend(lines.map(|line| (id, "label", line.label.as_str())));
        all.extend(grid.flat_map(|grid| &grid.reasons).map(|reason| (id, "reason", reason.says.as_str())));
        for claim in &item.claims {
            let texts = [Some(&claim.says), claim.because.as_ref(), claim.choice.as_ref()];
            all.extend(texts.into_iter().flatten().map(|text| (id, claim.says.as_str(), text.as_str())));
        }
        let steps = item.example.iter().flat_map(|example| &example.steps);
        all.extend(steps.flat_map(|step| [(id, "step", step.place.as_str()), (id, "step", step.says.as_str())]));
        all.extend(item.winners.iter().map(|table| (id, "winners", table.title.as_str())));
    }
    all
}

fn candidates(item: &Item) -> impl Iterator<Item = &Line> {
    item.winners.iter().flat_map(|table| &table.candidates)
}
