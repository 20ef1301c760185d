//! The tests of claims in words: quantities without the names that they have in files.

use super::display::pretty;

/// What the columns of results are called in reports.
const WORDS: [(&str, &str); 22] = [
    ("quiescent", "ticks until the end"),
    ("elected", "ticks until the winner leads"),
    ("agreed", "ticks until all agree"),
    ("agreement", "all agree"),
    ("load_mean", "messages handled per node"),
    ("load_max", "most messages handled by one node"),
    ("collisions", "simultaneous arrivals"),
    ("collisions_max", "most simultaneous arrivals"),
    ("live", "live nodes"),
    ("lost", "lost messages"),
    ("nodes", "n"),
    ("edges", "links"),
    ("hung", "runs that do not end"),
    ("let.state", "bytes of state"),
    ("let.rounds", "rounds"),
    ("trace.before_elected", "messages before the winner knows"),
    ("trace.names", "different names"),
    ("trace.noticed", "nodes that notice"),
    ("trace.noticed.passed-over", "nodes that notice that they were passed over"),
    ("trace.noticed.silent-winner", "nodes that notice that the winner is silent"),
    ("infinite", "fair executions without an end"),
    ("cycles", "executions of any length"),
];

/// A formula in words and mathematical notation.
pub(super) fn in_words(formula: &str) -> String {
    let mut out = String::new();
    let mut rest = formula.trim();
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
    pretty(&out).replace(HYPHEN, "-")
}

/// Stands for a hyphen while a formula is formatted.
const HYPHEN: &str = "\u{2010}";

fn name_in_words(name: &str) -> String {
    if let Some((_, words)) = WORDS.iter().find(|(known, _)| *known == name) {
        return (*words).to_string();
    }
    match name.split_once('.') {
        Some(("messages", kind)) => format!("{kind} messages"),
        Some(("p" | "let", name)) => name.to_string(),
        _ => name.to_string(),
    }
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
                let readable = inner.replace("==", "=").replace(">=", "≥").replace("<=", "≤");
                Some(in_words(&readable))
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
    }

    #[test]
    fn products_of_conditions_are_lists() {
        assert_eq!(conditions("agreement * (leader == n-1)").as_deref(), Some("all agree, leader = n−1"));
        assert_eq!(conditions("agreement").as_deref(), Some("all agree"));
        assert_eq!(conditions("leader == 2").as_deref(), Some("leader = 2"));
        assert_eq!(conditions("messages - n"), None);
    }
}
