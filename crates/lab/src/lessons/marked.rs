//! Sentences with claims in them: `It takes [16](messages) messages.`
//!
//! What is in brackets is shown; what is in parentheses right after it says what it claims. The page shows the sentence
//! without the marks.

use super::value::number_word;

/// A piece of a sentence, and what it claims.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Mark {
    /// What the reader sees.
    pub(super) shown: String,
    /// What it claims, as the file has it.
    pub(super) claim: String,
}

/// A sentence without its marks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Marked {
    /// What the reader sees.
    pub(super) plain: String,
    /// The claims, in order.
    pub(super) marks: Vec<Mark>,
    /// Numbers and commands that no claim covers.
    pub(super) unclaimed: Vec<String>,
}

/// Reads a sentence.
pub(super) fn read(text: &str) -> Result<Marked, String> {
    let mut marked = Marked::default();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        marked.add_plain(before);
        let end = |text: &str| format!("`[{}` has no end; allowed: [SHOWN](CLAIM)", hustings_text::quote(&begin(text)));
        let (shown, after) = after.split_once("](").ok_or_else(|| end(after))?;
        let claim_end = closing(after).ok_or_else(|| end(shown))?;
        marked.plain += shown;
        marked.marks.push(Mark { shown: shown.to_string(), claim: after[..claim_end].to_string() });
        rest = &after[claim_end + 1..];
    }
    marked.add_plain(rest);
    Ok(marked)
}

impl Marked {
    fn add_plain(&mut self, text: &str) {
        self.plain += text;
        self.unclaimed.extend(COMMANDS.iter().filter(|command| text.contains(**command)).map(ToString::to_string));
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '²';
        let words = text.split(|letter: char| !is_part(letter)).filter(|word| !word.is_empty());
        // "One" and "two" are hardly ever counts in English: one of them, two at once.
        let is_small = |word: &str| ["one", "two"].contains(&word.to_lowercase().as_str());
        let is_number =
            |word: &&str| word.chars().any(char::is_numeric) || (number_word(word).is_some() && !is_small(word));
        self.unclaimed.extend(words.filter(is_number).map(str::to_string));
    }
}

/// What a command begins with.
const COMMANDS: [&str; 5] = ["hustings sim", "hustings check", "hustings sweep", "hustings papers", "hustings list"];

/// The first words, for errors.
fn begin(text: &str) -> String {
    text.chars().take(30).collect()
}

/// Where the parenthesis ends that is open at the beginning.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 1;
    for (place, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(place);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_taken_out_of_a_sentence() {
        let marked = read("Node [6](leader) wins: [16](messages) in all.").expect("it is well formed");
        assert_eq!(marked.plain, "Node 6 wins: 16 in all.");
        assert_eq!(marked.marks[1], Mark { shown: "16".to_string(), claim: "messages".to_string() });
        assert!(marked.unclaimed.is_empty());
    }

    #[test]
    fn numbers_and_commands_without_a_claim_are_found() {
        let unclaimed = |text: &str| read(text).expect(text).unclaimed;
        assert_eq!(unclaimed("Node 6 sends n² messages to four of the 12th."), ["6", "n²", "four", "12th"]);
        assert_eq!(unclaimed("Two leaders, and one of them wins."), Vec::<String>::new());
        assert_eq!(unclaimed("Half of Sixteen."), ["Half", "Sixteen"]);
        assert_eq!(unclaimed("Try hustings check bully."), ["hustings check"]);
    }

    #[test]
    fn marks_without_an_end_are_errors() {
        for text in ["a [6", "a [6](leader", "a [6] b"] {
            assert!(read(text).expect_err(text).contains("allowed: [SHOWN](CLAIM)"));
        }
    }
}
