//! Words that the code base no longer uses, because the field has another one for the same thing.
//!
//! The glossary in `docs/architecture.md` has the words that it does use.

/// Parts of names, in snake case or camel case, and words of prose, with what to write instead.
const RETIRED: &[(&str, &str)] = &[
    ("anew", "again"),
    ("council", "consensus"),
    ("deed", "event"),
    ("deeds", "events"),
    ("desk", "local leases"),
    ("dice", "rng"),
    ("door", "listener"),
    ("errand", "ready"),
    ("errands", "ready"),
    ("granter", "grants"),
    ("happening", "event"),
    ("happenings", "events"),
    ("heed", "follow"),
    ("herald", "notifier"),
    ("heralds", "notifiers"),
    ("knot", "strongly connected component"),
    ("knots", "strongly connected components"),
    ("ledger", "leader index"),
    ("parcel", "message"),
    ("parcels", "messages"),
    ("player", "client"),
    ("players", "clients"),
    ("purse", "token bucket"),
    ("restate", "update"),
    ("scene", "model"),
    ("scenes", "models"),
    ("seat", "cursor"),
    ("seats", "cursors"),
    ("shone", "sent a beacon"),
    ("spot", "place"),
    ("spots", "places"),
    ("stories", "fixtures"),
    ("summons", "start reason"),
    ("surroundings", "context"),
    ("town", "cluster"),
    ("twin", "clone"),
    ("wish", "request"),
    ("wishes", "requests"),
];

/// Turns of phrase that are archaic or that only this project used, in comments and pages.
const RETIRED_PHRASES: &[(&str, &str)] = &[
    ("for ever", "forever"),
    ("makes out", "accounts for"),
    ("out of its mind", "faulty"),
    ("so much earlier", "earlier by that time"),
];

/// Bounds begin with `MAX_`: a part that is retired only as the first part of a constant.
const RETIRED_PREFIX: (&str, &str) = ("MOST_", "MAX_");

/// The retired words in a text, each with what to write instead.
pub(crate) fn retired(text: &str) -> impl Iterator<Item = (String, &'static str)> {
    let names = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    names.flat_map(|name| {
        let (prefix, instead) = RETIRED_PREFIX;
        let bound = name.starts_with(prefix).then(|| (prefix.trim_end_matches('_').to_lowercase(), instead));
        bound.into_iter().chain(
            parts(name)
                .filter_map(|part| RETIRED.iter().find(|(word, _)| *word == part).map(|(_, instead)| (part, *instead))),
        )
    })
}

/// The retired phrases in a line of prose, each with what to write instead.
pub(crate) fn retired_phrases(text: &str) -> impl Iterator<Item = (String, &'static str)> {
    let text = text.to_lowercase();
    let is_found = move |phrase: &str| {
        let is_letter = |c: Option<char>| c.is_some_and(char::is_alphabetic);
        text.match_indices(phrase).any(|(at, _)| {
            !is_letter(text[..at].chars().next_back()) && !is_letter(text[at + phrase.len()..].chars().next())
        })
    };
    let found = RETIRED_PHRASES.iter().filter(move |(phrase, _)| is_found(phrase));
    found.map(|(phrase, instead)| ((*phrase).to_string(), *instead))
}

/// The parts of a name in snake case or camel case, in lower case.
fn parts(name: &str) -> impl Iterator<Item = String> {
    let mut parts = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if c == '_' || (c.is_uppercase() && was_lower) {
            parts.push(String::new());
        }
        was_lower = c.is_lowercase();
        if c != '_' {
            parts.last_mut().expect("there is a first part").extend(c.to_lowercase());
        }
    }
    parts.into_iter().filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        retired(text).map(|(word, _)| word).collect()
    }

    #[test]
    fn finds_retired_words_as_parts_of_names() {
        assert_eq!(words("self.has_errands() + HeraldState::new(Parcel)"), ["errands", "herald", "parcel"]);
        assert_eq!(words("const MOST_BYTES: usize"), ["most"]);
    }

    #[test]
    fn finds_retired_phrases_between_other_words() {
        let phrases = |text: &str| retired_phrases(text).map(|(phrase, _)| phrase).collect::<Vec<_>>();
        assert_eq!(phrases("It waits For ever."), ["for ever"]);
        assert_eq!(phrases("for every node, forever"), [""; 0]);
    }

    #[test]
    fn every_retired_word_is_a_part_of_a_name_and_listed_once() {
        for (index, (word, instead)) in RETIRED.iter().enumerate() {
            assert_eq!(words(word), [*word]);
            assert!(words(instead).is_empty(), "{instead}");
            assert!(RETIRED[..index].iter().all(|(other, _)| other < word), "sorted: {word}");
        }
    }

    #[test]
    fn leaves_other_words_alone() {
        assert_eq!(words("most_recent, almost, downtown, indices, outdoor, spotless, MAX_BYTES"), [""; 0]);
    }
}
