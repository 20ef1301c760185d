//! The words of a text, as hashes: enough to see whether a quotation is in it, without the text itself, which is not
//! ours to publish.

use std::collections::BTreeSet;
use std::fmt::Write;

/// The lengths of the sequences of words that are hashed. Of a quotation of five words or more all sequences of five
/// must be there, of a shorter one all pairs, of a single word the word.
const LENGTHS: [usize; 3] = [5, 2, 1];

/// The first line of a file of hashes.
const HEAD: &str = "# The word sequences of a text, as CRC-32.";

/// Hashes in a line of a file.
const PER_LINE: usize = 12;

/// The word sequences of a text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Phrases {
    hashes: BTreeSet<u32>,
}

impl Phrases {
    /// The sequences of a text.
    pub(crate) fn of(text: &str) -> Phrases {
        let words = words(text);
        let of_length = |length: usize| words.windows(length).map(hash).collect::<Vec<u32>>();
        Phrases { hashes: LENGTHS.into_iter().flat_map(of_length).collect() }
    }

    /// Reads a file of hashes, or a text.
    pub(crate) fn read(file: &str) -> Result<Phrases, String> {
        let Some(rest) = file.strip_prefix(HEAD) else { return Ok(Phrases::of(file)) };
        let number = |word: &str| {
            u32::from_str_radix(word, 16).map_err(|_| format!("`{word}` is not a hash; allowed: hexadecimal numbers"))
        };
        Ok(Phrases { hashes: rest.split_whitespace().map(number).collect::<Result<_, _>>()? })
    }

    /// The file of hashes.
    pub(crate) fn file(&self) -> String {
        let mut file = format!("{HEAD}\n");
        let all: Vec<u32> = self.hashes.iter().copied().collect();
        for line in all.chunks(PER_LINE) {
            for (index, hash) in line.iter().enumerate() {
                let _ = write!(file, "{}{hash:08x}", if index == 0 { "" } else { " " });
            }
            file.push('\n');
        }
        file
    }

    /// The first words of a quotation that are not in the text. `…` stands for words that are left out.
    pub(crate) fn missing(&self, quotation: &str) -> Option<String> {
        let parts: Vec<Vec<String>> = quotation.split('…').map(words).collect();
        if parts.iter().all(Vec::is_empty) {
            return Some(quotation.to_string());
        }
        parts.iter().find_map(|words| {
            let length = *LENGTHS.iter().find(|length| **length <= words.len())?;
            words.windows(length).find(|window| !self.hashes.contains(&hash(window))).map(|window| window.join(" "))
        })
    }
}

fn hash(words: &[String]) -> u32 {
    crc32fast::hash(words.join(" ").as_bytes())
}

/// Commands of LaTeX that are words.
const FUNCTIONS: [&str; 4] = ["log", "ln", "max", "min"];

/// The words of a text in lower case: letters and digits. Apostrophes are left out, and commands of LaTeX but these.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut rest = text.chars().peekable();
    while let Some(sign) = rest.next() {
        match sign {
            '\'' | '’' => {}
            _ if sign.is_alphanumeric() => word.extend(sign.to_lowercase()),
            _ => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                if sign == '\\' {
                    let command: String = std::iter::from_fn(|| rest.next_if(char::is_ascii_alphabetic)).collect();
                    words.extend(FUNCTIONS.contains(&command.as_str()).then_some(command));
                }
            }
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "We don't need **more** than $2N$ messages, \\log_2 N of them\nare \\dots lost; see L_1 in the Table.";

    #[test]
    fn words_have_neither_case_nor_marks() {
        let wanted = "we dont need more than 2n messages log 2 n of them are lost see l 1 in the table"
            .split(' ')
            .collect::<Vec<_>>();
        assert_eq!(words(TEXT), wanted);
    }

    #[test]
    fn a_quotation_is_in_the_text_word_by_word() {
        let phrases = Phrases::of(TEXT);
        for there in ["need more than 2N messages", "We don’t need … 2N messages", "lost", "the table", "See L_1"] {
            assert_eq!(phrases.missing(there), None, "{there}");
        }
        let cases = [
            ("We need more than 2N messages", "we need more than 2n"),
            ("need less", "need less"),
            ("than 2N messages are lost", "than 2n messages are lost"),
            ("found", "found"),
            ("lost … messages see", "messages see"),
            (" … ", " … "),
        ];
        for (quotation, missing) in cases {
            assert_eq!(phrases.missing(quotation).as_deref(), Some(missing), "{quotation}");
        }
    }

    #[test]
    fn a_file_of_hashes_is_as_good_as_the_text() {
        let phrases = Phrases::of(TEXT);
        let file = phrases.file();
        assert!(file.is_ascii() && !file.contains("messages"));
        assert_eq!(Phrases::read(&file), Ok(phrases.clone()));
        assert_eq!(Phrases::read(TEXT), Ok(phrases));
        let error = Phrases::read(&format!("{HEAD}\n0badcafe words\n")).unwrap_err();
        assert!(error.starts_with("`words` is not a hash"), "{error}");
    }
}
