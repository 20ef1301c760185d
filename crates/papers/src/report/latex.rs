//! Tables for LaTeX, with booktabs.

use std::fmt::Write;

use super::columns::{Column, columns};
use super::notes::{marks, notes};
use crate::findings::{Answer, Study, WinnersTable};

/// A column with more characters than this in one of its places breaks its lines: so much fits beside the others.
const MAX_ON_A_LINE: usize = 16;

/// All items of a text that have findings, a table each; to be included in a document.
pub fn tables(study: &Study) -> String {
    let text = study.text;
    let mut out = String::new();
    let _ = writeln!(out, "% {}: {}", text.authors, text.title);
    let _ = writeln!(out, "% \\usepackage{{booktabs,tabularx}}");
    let _ = writeln!(out, "% {}\n", text.counting);
    for answer in study.answers.iter().filter(|answer| !answer.findings.is_empty() || !answer.winners.is_empty()) {
        if !answer.findings.is_empty() {
            one(&mut out, study, answer);
        }
        for (table, number) in answer.winners.iter().zip(1..) {
            winners(&mut out, table, &format!("{}-{}-{number}", text.name, answer.item.id));
        }
    }
    out
}

fn one(out: &mut String, study: &Study, answer: &Answer) {
    let notes = notes(answer);
    let _ = writeln!(out, "\\begin{{table}}\n  \\centering\\small");
    let _ = writeln!(
        out,
        "  \\caption{{{} ({}, {})}}",
        escaped(&answer.item.title),
        study.text.name,
        escaped(&answer.item.place)
    );
    let _ = writeln!(out, "  \\label{{tab:{}-{}}}", study.text.name, answer.item.id);
    let columns = columns(answer);
    let kinds: String = columns.iter().map(kind).collect();
    let _ = writeln!(out, "  \\begin{{tabularx}}{{\\linewidth}}{{{BROKEN}{kinds}l}}\n    \\toprule");
    let heads: String = columns.iter().map(|column| format!(" & {}", column.name)).collect();
    let _ = writeln!(out, "    {heads} & \\\\\n    \\midrule");
    for finding in &answer.findings {
        let mut verdict = finding.verdict.to_string();
        for (number, amount) in marks(finding, &notes) {
            let _ = write!(verdict, " {}$^{{{number}}}$", escaped(&amount));
        }
        let text = |column: &Column| column.of(finding).map_or_else(String::new, |shown| escaped(&shown.text));
        let cells: String = columns.iter().map(|column| format!(" & {}", text(column))).collect();
        let _ = writeln!(out, "    {}{cells} & {verdict} \\\\", escaped(&finding.label));
    }
    let _ = writeln!(out, "    \\bottomrule\n  \\end{{tabularx}}");
    for (because, number) in notes.iter().zip(1..) {
        let _ = writeln!(out, "  \\par\\raggedright\\footnotesize $^{{{number}}}$ {}", escaped(&because.says));
    }
    let _ = writeln!(out, "\\end{{table}}\n");
}

/// A column that takes its share of the width and breaks its lines.
const BROKEN: &str = ">{\\raggedright\\arraybackslash}X";

/// How a column is set: numbers to the right, words to the left, and what is long in several lines.
fn kind(column: &Column) -> &'static str {
    match column {
        Column { longest, .. } if *longest > MAX_ON_A_LINE => BROKEN,
        Column { words: true, .. } => "l",
        _ => "r",
    }
}

fn winners(out: &mut String, table: &WinnersTable, label: &str) {
    let columns = "l".repeat(table.columns.len());
    let _ = writeln!(out, "\\begin{{table}}\n  \\centering\\small\n  \\caption{{{}}}", escaped(&table.title));
    let _ = writeln!(out, "  \\label{{tab:{label}}}");
    let _ = writeln!(out, "  \\begin{{tabular}}{{r{columns}}}\n    \\toprule");
    let heads: Vec<String> = table.columns.iter().map(|head| format!("{} = {head}", escaped(&table.axes.1))).collect();
    let _ = writeln!(out, "    {} & {} \\\\\n    \\midrule", escaped(&table.axes.0), heads.join(" & "));
    for (head, cells) in &table.rows {
        let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
        let _ = writeln!(out, "    {head} & {} \\\\", cells.join(" & "));
    }
    let _ = writeln!(out, "    \\bottomrule\n  \\end{{tabular}}\n\\end{{table}}\n");
}

/// Text with everything that LaTeX would take for something else made plain.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut inside = false;
    for sign in text.chars() {
        match sign {
            '\\' => out.push_str("\\textbackslash{}"),
            '{' | '}' | '$' | '&' | '#' | '%' | '_' => {
                out.push('\\');
                out.push(sign);
            }
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '<' | '>' | '·' | '²' | '−' | '≤' | 'Σ' | '⌈' | '⌉' | '⌊' | '⌋' | '∈' | 'Ω' => {
                let math = match sign {
                    '·' => "\\cdot",
                    '²' => "^2",
                    '−' => "-",
                    '≤' => "\\le",
                    'Σ' => "\\sum",
                    '⌈' => "\\lceil",
                    '⌉' => "\\rceil",
                    '⌊' => "\\lfloor",
                    '⌋' => "\\rfloor",
                    '∈' => "\\in",
                    'Ω' => "\\Omega",
                    '<' => "<",
                    _ => ">",
                };
                let _ = write!(out, "${math}$");
            }
            '"' => {
                inside = !inside;
                out.push_str(if inside { "``" } else { "''" });
            }
            '…' => out.push_str("\\ldots{}"),
            '→' => out.push_str("$\\to$"),
            '≥' => out.push_str("$\\ge$"),
            '₂' => out.push_str("$_2$"),
            _ => out.push(sign),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn signs_of_latex_are_made_plain() {
        assert_eq!(escaped("50 % of n_1 & {a}"), "50 \\% of n\\_1 \\& \\{a\\}");
        assert_eq!(escaped("n²·p.u ≤ \\"), "n$^2$$\\cdot$p.u $\\le$ \\textbackslash{}");
        assert_eq!(escaped("\"8 steps\""), "``8 steps''");
    }
}
