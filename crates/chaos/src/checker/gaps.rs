//! How long an office had no holder while a majority was healthy.

use super::Tenure;
use crate::history::{Event, Scenario};

/// The longest such time of any office: its length, the office, and when it began. The time before an office's first
/// tenure does not count.
pub(super) fn longest(scenario: &Scenario, events: &[Event], tenures: &[Tenure]) -> Option<(u64, String, u64)> {
    let spans = healthy_spans(events);
    let mut longest: Option<(u64, String, u64)> = None;
    for office in &scenario.offices {
        let held: Vec<&Tenure> =
            tenures.iter().filter(|tenure| tenure.office == office.name && tenure.lasted()).collect();
        let mut until = match held.first() {
            Some(first) => first.end(),
            None => continue,
        };
        for tenure in held {
            for &(from, to) in &spans {
                let (from, to) = (from.max(until), to.min(tenure.from));
                if from < to && longest.as_ref().is_none_or(|(length, _, _)| to - from > *length) {
                    longest = Some((to - from, office.name.clone(), from));
                }
            }
            until = until.max(tenure.end());
        }
    }
    longest
}

/// The times during which a majority was healthy.
fn healthy_spans(events: &[Event]) -> Vec<(u64, u64)> {
    let mut spans = Vec::new();
    let mut since = None;
    for event in events {
        if let Event::Majority { healthy, at } = event {
            match (since, healthy) {
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
    use super::super::check;
    use super::super::fixtures::*;
    use super::*;

    #[test]
    fn only_the_time_with_a_majority_counts() {
        let history = |healthy_again| {
            with_recovery(&[
                Event::Majority { healthy: true, at: 1 },
                acquired("n1", "x", 1, 10, 100),
                acquired("n2", "x", 2, 105, 200),
                Event::Majority { healthy: false, at: 250 },
                Event::Majority { healthy: true, at: healthy_again },
                acquired("n3", "x", 3, 600, 700),
                Event::Majority { healthy: false, at: 650 },
            ])
        };
        assert_eq!(check(&history(520)).longest_gap, Some((80, "x".to_string(), 520)));
        assert_eq!(check(&history(590)).longest_gap, Some((50, "x".to_string(), 200)));
        assert_eq!(check(&with_recovery(&[])).longest_gap, None);
    }
}
