//! Where something stands in the file of a paper, for errors.

use super::model::Paper;

/// `FILE:LINE: ITEM, ROW`. The line is that of `key` in the item, or of the item itself, if it is found. What belongs
/// to no item has an empty one.
pub(crate) fn place(paper: &Paper, item: &str, row: &str, key: &str) -> String {
    let file = if paper.file.path.is_empty() { &paper.name } else { &paper.file.path };
    let line = line(&paper.file.source, item, key).map_or_else(String::new, |line| format!(":{line}"));
    let names: Vec<&str> = [item, row].into_iter().filter(|name| !name.is_empty()).collect();
    format!("{file}{line}: {}", names.join(", "))
}

/// The line, from 1 on, with the beginning of this text, after the one with the item's id.
fn line(source: &str, item: &str, key: &str) -> Option<usize> {
    /// Enough to tell one text from the others, and little enough to stand on one line.
    const BEGINNING: usize = 30;
    let id = format!("id = \"{item}\"");
    let start = if item.is_empty() { 0 } else { source.lines().position(|line| line.trim() == id)? };
    // A quotation mark within a string has a backslash before it, and a line may end in one.
    let plain: String = key.chars().take_while(|sign| *sign != '\n').take(BEGINNING).collect();
    let escaped = plain.replace('\\', "\\\\").replace('"', "\\\"");
    let mut rest = source.lines().enumerate().skip(start);
    let found = rest.find(|(_, line)| !key.is_empty() && (line.contains(&escaped) || line.contains(&plain)));
    Some(found.map_or(start, |(line, _)| line) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_that_of_the_text_in_its_item() {
        let source =
            "[[item]]\nid = \"a\"\nsays = \"x \\\"y\\\" z\"\n[[item]]\nid = \"b\"\nsays = \"x\"\nvalue = 'm - m'\n";
        assert_eq!(line(source, "a", "x \"y\" z"), Some(3));
        assert_eq!(line(source, "b", "x"), Some(6));
        assert_eq!(line(source, "b", "m - m"), Some(7));
        assert_eq!(line(source, "b", "not there"), Some(5), "the item");
        assert_eq!(line(source, "c", "x"), None);
        assert_eq!(line(source, "", "m - m"), Some(7), "what belongs to no item");
    }
}
