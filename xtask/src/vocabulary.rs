//! Words that the code base no longer uses, because the field has another one for the same thing.
//!
//! The glossary in `docs/architecture.md` has the words that it does use.

/// Parts of names, in snake case or camel case, and words of prose, with what to write instead.
const RETIRED: &[(&str, &str)] = &[
    ("council", "consensus"),
    ("errand", "ready"),
    ("errands", "ready"),
    ("granter", "grants"),
    ("herald", "notifier"),
    ("purse", "rng"),
    ("dice", "rng"),
    ("summons", "start reason"),
    ("happening", "event"),
    ("parcel", "message"),
    ("surroundings", "context"),
    ("knots", "strongly connected components"),
    ("town", "cluster"),
    ("heed", "follow"),
    ("shone", "sent a beacon"),
    ("twin", "clone"),
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
    fn leaves_other_words_alone() {
        assert_eq!(words("most_recent, almost, downtown, indices, twins, MAX_BYTES"), [""; 0]);
    }
}
