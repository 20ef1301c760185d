//! The words of the report: no names of files, columns or parameters, which only its makers know.

/// Elements whose text is not a sentence of the report: what a browser does not show, commands that are to be typed,
/// and the words of a paper.
const LEFT_OUT: [&str; 5] = ["style", "script", "title", "code", "q"];

/// What a reader sees, piece by piece. The page escapes `<`, `>` and `&`.
fn visible(page: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut inside: Option<&str> = None;
    for part in page.split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap_or((part, ""));
        let name = tag.split([' ', '\n']).next().unwrap_or_default();
        match inside {
            Some(open) if name.strip_prefix('/') == Some(open) => inside = None,
            None => inside = LEFT_OUT.into_iter().find(|left_out| *left_out == name),
            Some(_) => {}
        }
        if inside.is_none() && !text.trim().is_empty() {
            pieces.push(
                text.trim().replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&"),
            );
        }
    }
    pieces
}

/// Files of the report that a reader can open.
const FILES: [&str; 5] = [".csv", ".parquet", ".svg", ".bib", ".toml"];

/// Why a piece of text has no place in a report.
fn problem(text: &str) -> Option<String> {
    for part in ["==", ">=", "<=", "`", "checksum", "crc"] {
        if text.contains(part) {
            return Some(format!("`{part}`"));
        }
    }
    let is_sign = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '*');
    text.split(|c| !is_sign(c)).find(|word| is_internal(word)).map(|word| format!("`{word}`"))
}

/// `p.u`, `let.state`, `trace.first.coordinator`, `load_max`, `2*n`.
fn is_internal(word: &str) -> bool {
    let between = |sign: char| {
        let is_letter = |part: &str, last: bool| {
            let c = if last { part.chars().next_back() } else { part.chars().next() };
            c.is_some_and(char::is_alphanumeric)
        };
        word.match_indices(sign).any(|(at, _)| is_letter(&word[..at], true) && is_letter(&word[at + 1..], false))
    };
    // `1.5` and `§2.1` are numbers.
    let has_path = word.split('.').zip(word.split('.').skip(1)).any(|(before, after)| {
        before.chars().next_back().is_some_and(char::is_alphabetic) && after.starts_with(|c: char| c.is_lowercase())
    });
    (has_path && !FILES.iter().any(|end| word.ends_with(end))) || between('_') || between('*')
}

/// The whole page speaks to somebody who has not seen the program's files.
pub(super) fn no_internal_names(page: &str) {
    let pieces = visible(page);
    assert!(pieces.len() > 100, "{} pieces of text", pieces.len());
    let mut wrong: Vec<String> =
        pieces.iter().filter_map(|text| Some(format!("{} in: {text}", problem(text)?))).collect();
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{} names that only the program knows:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn internal_names_are_found() {
    for text in
        ["n/p.u", "36 cells, checksum bda327e3", "let.k", "trace.first.coordinator - 2", "load_max", "k == 2", "2*n"]
    {
        assert!(problem(text).is_some(), "{text}");
    }
    for text in ["1.5 (0.25 to 2)", "§2.1, fig. 3", "data: shirali-sun.csv", "n·(n−1) = 20", "M.Bully", "95 %. All"]
    {
        assert_eq!(problem(text), None, "{text}");
    }
    assert_eq!(visible("<p>a <q>p.u</q> b<code>x_y</code></p><style>c.d</style>"), ["a", "b"]);
}
