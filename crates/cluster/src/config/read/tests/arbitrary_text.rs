//! No text, and no value of the environment, makes the reader panic.

use proptest::prelude::*;

use super::*;

/// The full example with some of its bytes replaced, doubled or left out.
fn mutated() -> impl Strategy<Value = String> {
    let edits = proptest::collection::vec((0..FULL.len(), 0..3_u8, any::<char>()), 1..6);
    (edits, 0..FULL.len()).prop_map(|(edits, from)| {
        let mut text: Vec<char> = FULL.chars().collect();
        for (at, kind, character) in edits {
            let at = at % text.len();
            match kind {
                0 => text[at] = character,
                1 => text.insert(at, character),
                _ => drop(text.remove(at)),
            }
        }
        // Now and then a piece of it twice.
        if from % 4 == 0 {
            text.extend(FULL.chars().skip(from).take(40));
        }
        text.into_iter().collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn no_text_panics(text in any::<String>()) {
        let _ = parse(&text);
    }

    #[test]
    fn no_mutation_panics_and_every_error_has_a_short_text(text in mutated()) {
        if let Err(error) = parse(&text) {
            let error = error.to_string();
            prop_assert!(!error.is_empty() && error.len() < 3000, "{error}");
        }
    }

    #[test]
    fn no_value_panics(key in 0..VARIABLES.len(), value in "[\\PC0-9a-z:.\\[\\]]{0,40}") {
        let lookup = |asked: &str| (asked == VARIABLES[key]).then(|| OsString::from(&value));
        let _ = Config::parse_with(FULL, Path::new("x"), &lookup);
    }
}
