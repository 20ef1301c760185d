//! How long nobody held an office while a majority was well.

use super::Claim;
use crate::history::{Event, Facts};

/// The longest such time of any office: its length, the office, and when it began. Before its first claim an office
/// is not missed.
pub(super) fn longest(facts: &Facts, events: &[Event], claims: &[Claim]) -> Option<(u64, String, u64)> {
    let spans = well(events);
    let mut longest: Option<(u64, String, u64)> = None;
    for office in &facts.offices {
        let held: Vec<&Claim> = claims.iter().filter(|claim| claim.office == office.name && claim.lasted()).collect();
        let mut until = match held.first() {
            Some(first) => first.end(),
            None => continue,
        };
        for claim in held {
            for &(from, to) in &spans {
                let (from, to) = (from.max(until), to.min(claim.from));
                if from < to && longest.as_ref().is_none_or(|(length, _, _)| to - from > *length) {
                    longest = Some((to - from, office.name.clone(), from));
                }
            }
            until = until.max(claim.end());
        }
    }
    longest
}

/// From when to when a majority was well.
fn well(events: &[Event]) -> Vec<(u64, u64)> {
    let mut spans = Vec::new();
    let mut since = None;
    for event in events {
        if let Event::Majority { well, at } = event {
            match (since, well) {
                (None, true) => since = Some(*at),
                (Some(from), false) => {
                    spans.push((from, *at));
                    since = None;
                }
                _ => {}
            }
        }
    }
    spans.extend(since.map(|from| (from, u64::MAX)));
    spans
}

#[cfg(test)]
mod tests {
    use super::super::judge;
    use super::super::stories::*;
    use super::*;

    #[test]
    fn only_the_time_with_a_majority_counts() {
        let story = |well_again| {
            told(&[
                Event::Majority { well: true, at: 1 },
                claimed("n1", "x", 1, 10, 100),
                claimed("n2", "x", 2, 105, 200),
                Event::Majority { well: false, at: 250 },
                Event::Majority { well: true, at: well_again },
                claimed("n3", "x", 3, 600, 700),
                Event::Majority { well: false, at: 650 },
            ])
        };
        assert_eq!(judge(&story(520)).longest_gap, Some((80, "x".to_string(), 520)));
        assert_eq!(judge(&story(590)).longest_gap, Some((50, "x".to_string(), 200)));
        assert_eq!(judge(&told(&[])).longest_gap, None);
    }
}
