//! Findings as LaTeX tables (booktabs).

use std::fmt::Write;

use super::columns::{Column, columns};
use super::commands;
use super::notes::{marks, notes};
use crate::comparison::{ItemComparison, Origin, PaperComparison, WinnersTable};

/// A column with longer cells wraps its lines.
const MAX_UNWRAPPED: usize = 16;

/// A table for each item of a paper that has findings, to be included in a document.
pub(super) fn tables(comparison: &PaperComparison) -> String {
    let paper = comparison.paper;
    let mut out = String::new();
    let _ = writeln!(out, "% {}: {}", paper.authors, paper.title);
    let _ = writeln!(out, "% \\usepackage{{booktabs,tabularx}}");
    let _ = writeln!(out, "% {}\n", paper.counting);
    for compared in
        comparison.items.iter().filter(|compared| !compared.findings.is_empty() || !compared.winners.is_empty())
    {
        if !compared.findings.is_empty() {
            one(&mut out, comparison, compared);
        }
        for (table, number) in compared.winners.iter().zip(1..) {
            winners(&mut out, table, &format!("{}-{}-{number}", paper.name, compared.item.id));
        }
    }
    out
}

fn one(out: &mut String, comparison: &PaperComparison, compared: &ItemComparison) {
    let notes = notes(compared);
    let _ = writeln!(out, "% {}", commands::of_item(comparison.paper, compared.item));
    let _ = writeln!(out, "\\begin{{table}}\n  \\centering\\small");
    let _ = writeln!(
        out,
        "  \\caption{{{} ({}, {})}}",
        escaped(&compared.item.title),
        comparison.paper.name,
        escaped(&compared.item.place)
    );
    let _ = writeln!(out, "  \\label{{tab:{}-{}}}", comparison.paper.name, compared.item.id);
    let columns = columns(compared);
    let kinds: String = columns.iter().map(kind).collect();
    let _ = writeln!(out, "  \\begin{{tabularx}}{{\\linewidth}}{{{WRAPPED}{kinds}l}}\n    \\toprule");
    let heads: String = columns.iter().map(|column| format!(" & {}", column.name)).collect();
    let _ = writeln!(out, "    {heads} & \\\\\n    \\midrule");
    for finding in &compared.findings {
        let mut verdict = finding.verdict.to_string();
        for (number, amount) in marks(finding, &notes) {
            let _ = write!(verdict, " {}$^{{{number}}}$", escaped(&amount));
        }
        let text = |column: &Column| column.of(finding).map_or_else(String::new, |shown| escaped(&shown.text));
        let cells: String = columns.iter().map(|column| format!(" & {}", text(column))).collect();
        let ours = if finding.origin() == Origin::OwnClaim { " (ours)" } else { "" };
        let _ = writeln!(out, "    {}{ours}{cells} & {verdict} \\\\", escaped(&finding.label));
    }
    let _ = writeln!(out, "    \\bottomrule\n  \\end{{tabularx}}");
    for (reason, number) in notes.iter().zip(1..) {
        let _ = writeln!(out, "  \\par\\raggedright\\footnotesize $^{{{number}}}$ {}", escaped(&reason.says));
    }
    let _ = writeln!(out, "\\end{{table}}\n");
}

/// The column type of wrapped text.
const WRAPPED: &str = ">{\\raggedright\\arraybackslash}X";

/// The column type: numbers are aligned right, text left, and long text is wrapped.
fn kind(column: &Column) -> &'static str {
    match column {
        Column { longest, .. } if *longest > MAX_UNWRAPPED => WRAPPED,
        Column { is_text: true, .. } => "l",
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

/// Escapes text for LaTeX.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut inside, mut is_code) = (false, false);
    for sign in text.chars() {
        match sign {
            '\\' => out.push_str("\\textbackslash{}"),
            '{' | '}' | '$' | '&' | '#' | '%' | '_' => {
                out.push('\\');
                out.push(sign);
            }
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '<' | '>' | '·' | '²' | '−' | '≤' | 'Σ' | '⌈' | '⌉' | '⌊' | '⌋' | '∈' | 'Ω' | '≠' => {
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
                    '≠' => "\\ne",
                    '<' => "<",
                    _ => ">",
                };
                let _ = write!(out, "${math}$");
            }
            '"' => {
                inside = !inside;
                out.push_str(if inside { "``" } else { "''" });
            }
            '`' => {
                is_code = !is_code;
                out.push_str(if is_code { "\\texttt{" } else { "}" });
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
    fn escapes_special_characters() {
        assert_eq!(escaped("50 % of n_1 & {a}"), "50 \\% of n\\_1 \\& \\{a\\}");
        assert_eq!(escaped("n²·p.u ≤ \\"), "n$^2$$\\cdot$p.u $\\le$ \\textbackslash{}");
        assert_eq!(escaped("\"8 steps\""), "``8 steps''");
        assert_eq!(escaped("as `sim bully` does"), "as \\texttt{sim bully} does");
    }
}
