//! The tests of claims in words: quantities without the names that they have in files.

use std::fmt::Write;

use super::computed::COLUMNS;
use super::display::pretty;
use super::trace_facts::FACTS;
use crate::table::METRICS;

/// Names that no list describes: settings, and variables of experiments.
const SETTINGS: [(&str, &str); 3] = [("nodes", "n"), ("edges", "links"), ("let.state", "bytes of state")];

/// A formula in words and mathematical notation.
pub(super) fn in_words(formula: &str) -> String {
    let mut out = String::new();
    let with_conditions = with_conditions(formula.trim());
    let mut rest = with_conditions.as_str();
    while let Some(first) = rest.chars().next() {
        let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '.' || c == '-';
        if !first.is_alphabetic() && first != '`' {
            out.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let (name, after) = match rest.strip_prefix('`').and_then(|quoted| quoted.split_once('`')) {
            Some(parts) => parts,
            // A hyphen is part of a name only after a dot: `messages.m-coordinator`, but `n-1`.
            None => {
                let has_dot = |text: &str| text.contains('.');
                let mut end = 0;
                for (at, c) in rest.char_indices() {
                    if !is_name(c) || (c == '-' && !has_dot(&rest[..at])) {
                        break;
                    }
                    end = at + c.len_utf8();
                }
                rest.split_at(end)
            }
        };
        // A hyphen in a name is not a minus sign.
        out.push_str(&name_in_words(name).replace('-', HYPHEN));
        rest = after;
    }
    let signs = [("==", "="), ("!=", "≠"), (">=", "≥"), ("<=", "≤"), (HYPHEN, "-")];
    signs.into_iter().fold(pretty(&out), |text, (sign, shown)| text.replace(sign, shown))
}

/// Stands for a hyphen while a formula is formatted.
const HYPHEN: &str = "\u{2010}";

/// What a name is called, where the quantity is described: a metric, a fact of a trace, a column of a computed table.
fn name_in_words(name: &str) -> String {
    let metrics = METRICS.iter().chain(&COLUMNS).map(|(known, words, _)| (*known, *words));
    if let Some((_, words)) = SETTINGS.into_iter().chain(metrics).find(|(known, _)| *known == name) {
        return words.to_string();
    }
    match name.split_once('.') {
        Some(("messages", kind)) => format!("{kind} messages"),
        Some(("trace", fact)) => fact_in_words(fact),
        Some(("p" | "let", name)) => name.to_string(),
        _ => name.to_string(),
    }
}

fn fact_in_words(fact: &str) -> String {
    if let Some((_, words)) = FACTS.iter().find(|(known, _)| *known == fact) {
        return (*words).to_string();
    }
    match fact.split_once('.') {
        Some((end, kind)) => format!("tick of the {end} {kind} message"),
        None => fact.to_string(),
    }
}

/// A condition within a sum or product counts 1 where it holds. Its parentheses contain no others.
fn with_conditions(formula: &str) -> String {
    let mut out = String::new();
    let mut rest = formula;
    while let Some((before, after)) = rest.split_once('(') {
        out.push_str(before);
        rest = after;
        out.push('(');
        let inner = after.split(['(', ')']).next().unwrap_or_default();
        if inner.contains(['<', '>', '=']) && after[inner.len()..].starts_with(')') {
            let _ = write!(out, "1 if {inner}, else 0");
            rest = &after[inner.len()..];
        }
    }
    out + rest
}

/// A product of conditions, such as `agreement * (leader == 6)`, as a list of them. `None` for any other formula.
pub(super) fn conditions(formula: &str) -> Option<String> {
    let factors: Vec<&str> = formula.split(" * ").map(str::trim).collect();
    let condition = |factor: &&str| -> Option<String> {
        let inner = factor.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
        // A formula that is nothing but a condition needs no parentheses.
        let inner = inner.or_else(|| (factors.len() == 1).then_some(*factor));
        match (*factor, inner) {
            ("agreement", _) => Some("all agree".to_string()),
            (_, Some(inner)) if inner.contains("==") || inner.contains('<') || inner.contains('>') => {
                Some(in_words(inner))
            }
            _ => None,
        }
    };
    let all: Option<Vec<String>> = factors.iter().map(condition).collect();
    all.map(|all| all.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_no_internal_names() {
        assert_eq!(in_words("quiescent - 2*n/p.u"), "ticks until the end − 2·n/u");
        assert_eq!(in_words("messages.m-coordinator - (n-1)"), "m-coordinator messages − (n−1)");
        assert_eq!(in_words("messages - n^2"), "messages − n²");
        assert_eq!(in_words("`p.sun-depth` + load_max"), "sun-depth + most messages handled by one node");
        assert_eq!(in_words("messages / `before.messages`"), "messages / messages before the faults");
        assert_eq!(in_words("wave*worst_links - let.k"), "wave·links − k");
        assert_eq!(in_words("`trace.first.m-coordinator` - 2"), "tick of the first m-coordinator message − 2");
        assert_eq!(in_words("quiescent - 2*(k == n/2)"), "ticks until the end − 2·(1 if k = n/2, else 0)");
        assert_eq!(in_words("max(n, 2)*(n >= 3)"), "max(n, 2)·(1 if n ≥ 3, else 0)");
    }

    #[test]
    fn products_of_conditions_are_lists() {
        assert_eq!(conditions("agreement * (leader == n-1)").as_deref(), Some("all agree, leader = n−1"));
        assert_eq!(conditions("agreement").as_deref(), Some("all agree"));
        assert_eq!(conditions("leader == 2").as_deref(), Some("leader = 2"));
        assert_eq!(conditions("messages - n"), None);
    }
}
