//! "Did you mean": the name that comes nearest to what was typed.

/// The candidate that differs least from `word`, if it differs little enough to have been meant.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    // A typed text may be very long, and the distance costs its length times the candidate's.
    if word.len() > 64 {
        return None;
    }
    candidates
        .into_iter()
        .map(|candidate| (distance(&word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.chars().count() / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// An abbreviation of two letters or more is as near as one slip of the finger.
fn distance(word: &str, candidate: &str) -> usize {
    if word.chars().count() >= 2 && candidate.starts_with(word) {
        return usize::from(candidate != word);
    }
    strsim::damerau_levenshtein(word, candidate)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_and_abbreviations_are_understood_and_nonsense_is_not() {
        let names = ["chang-roberts", "le-lann", "franklin"];
        assert_eq!(nearest("chang-robberts", names), Some("chang-roberts"));
        assert_eq!(nearest("Frank", names), Some("franklin"));
        assert_eq!(nearest("lelann", names), Some("le-lann"));
        assert_eq!(nearest("zzzzzzzz", names), None);
        assert_eq!(nearest("", names), None);
        assert_eq!(nearest(&"x".repeat(100_000), names), None);
    }
}
