//! Just enough of Rust's lexical structure to tell code from comments and strings.

/// What a character belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    /// Code, white space included.
    Code,
    /// A comment, documentation included.
    Comment,
    /// A string or character literal, quotes included.
    Literal,
}

/// A line of a source file and the class of each of its characters.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) text: Vec<char>,
    pub(crate) classes: Vec<Class>,
}

impl Line {
    /// The line with everything blanked out that is not of this class.
    pub(crate) fn only(&self, class: Class) -> String {
        self.text.iter().zip(&self.classes).map(|(c, of)| if *of == class { *c } else { ' ' }).collect()
    }

    /// Whether part of it is a literal.
    pub(crate) fn has_literal(&self) -> bool {
        self.classes.contains(&Class::Literal)
    }
}

/// Takes a source file apart.
pub(crate) fn lines(source: &str) -> Vec<Line> {
    let text: Vec<char> = source.chars().collect();
    let classes = classes(&text);
    let mut lines = Vec::new();
    let mut start = 0;
    for end in (0..=text.len()).filter(|&at| at == text.len() || text[at] == '\n') {
        if end < text.len() || start < end {
            lines.push(Line { text: text[start..end].to_vec(), classes: classes[start..end].to_vec() });
        }
        start = end + 1;
    }
    lines
}

fn classes(text: &[char]) -> Vec<Class> {
    let mut classes = Vec::with_capacity(text.len());
    while classes.len() < text.len() {
        let at = classes.len();
        let (class, end) = token(text, at);
        classes.resize(end.clamp(at + 1, text.len()), class);
    }
    classes
}

/// The class and the end of what begins here.
fn token(text: &[char], at: usize) -> (Class, usize) {
    let next = |offset: usize| text.get(at + offset).copied().unwrap_or(' ');
    match (next(0), next(1)) {
        ('/', '/') => (Class::Comment, until(text, at, |c| c == '\n')),
        ('/', '*') => (Class::Comment, block_comment(text, at)),
        ('"', _) => (Class::Literal, string(text, at)),
        ('\'', _) => match character(text, at) {
            Some(end) => (Class::Literal, end),
            None => (Class::Code, at + 1), // a lifetime
        },
        (first, _) if is_name(first) => {
            let end = until(text, at, |c| !is_name(c));
            let prefix: String = text[at..end].iter().collect();
            if ["r", "br", "cr"].contains(&prefix.as_str())
                && let Some(end) = raw_string(text, end)
            {
                (Class::Literal, end)
            } else {
                (Class::Code, end)
            }
        }
        _ => (Class::Code, at + 1),
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn until(text: &[char], at: usize, stop: impl Fn(char) -> bool) -> usize {
    text[at..].iter().position(|c| stop(*c)).map_or(text.len(), |offset| at + offset)
}

fn block_comment(text: &[char], at: usize) -> usize {
    let (mut depth, mut end) = (0, at);
    while end < text.len() {
        match text[end..].get(..2) {
            Some(['/', '*']) => (depth, end) = (depth + 1, end + 2),
            Some(['*', '/']) => (depth, end) = (depth - 1, end + 2),
            _ => end += 1,
        }
        if depth == 0 {
            break;
        }
    }
    end
}

fn string(text: &[char], at: usize) -> usize {
    let mut end = at + 1;
    while end < text.len() && text[end] != '"' {
        end += if text[end] == '\\' { 2 } else { 1 };
    }
    end + 1
}

/// The end of a character literal, or none if the quote begins a lifetime.
fn character(text: &[char], at: usize) -> Option<usize> {
    if text.get(at + 1) == Some(&'\\') {
        // The escaped character may itself be a quote.
        return Some(until(text, (at + 3).min(text.len()), |c| c == '\'') + 1);
    }
    (text.get(at + 2) == Some(&'\'')).then_some(at + 3)
}

/// The end of a raw string whose hashes or quote begin here, if one does.
fn raw_string(text: &[char], at: usize) -> Option<usize> {
    let quote = until(text, at, |c| c != '#');
    if text.get(quote) != Some(&'"') {
        return None;
    }
    let hashes = quote - at;
    let closes =
        |end: &usize| text[*end] == '"' && text[end + 1..].iter().take(hashes).filter(|c| **c == '#').count() == hashes;
    Some((quote + 1..text.len()).find(closes).map_or(text.len(), |end| end + 1 + hashes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A letter per character: code, comment, literal.
    fn shape(source: &str) -> String {
        let letter = |class: &Class| match class {
            Class::Code => '.',
            Class::Comment => 'c',
            Class::Literal => 'l',
        };
        lines(source)
            .iter()
            .map(|line| line.classes.iter().map(letter).collect::<String>())
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn code_comments_and_literals_are_told_apart() {
        assert_eq!(shape("a // \"b\"\nc"), "..cccccc\n.");
        assert_eq!(shape(r#"f("a\"//", 'x')"#), "..lllllll..lll.");
        assert_eq!(shape("a /* b /* c */ d */ e"), "..ccccccccccccccccc..");
        assert_eq!(shape("r#\"a\"b\"# c"), "llllllll..");
        assert_eq!(shape("\"a\nb\" c"), "ll\nll..");
    }

    #[test]
    fn a_lifetime_is_no_character() {
        assert_eq!(shape("<'a> '\\'' '\\u{7f}' b'x'"), ".....llll.llllllll..lll");
        assert_eq!(shape("bar\"x\""), "...lll");
    }

    #[test]
    fn what_is_never_closed_ends_with_the_file() {
        for source in ["\"a", "\"a\\", "/* a", "r#\"a\"", "'\\", "'", "r#"] {
            assert_eq!(shape(source).len(), source.len(), "{source}");
        }
    }

    #[test]
    fn lines_are_those_of_an_editor() {
        assert_eq!(lines("a\n\nb\n").len(), 3);
        assert_eq!(lines("a\n\nb").len(), 3);
        assert_eq!(lines("").len(), 0);
    }
}
