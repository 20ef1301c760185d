//! After all faults are healed, every office that somebody campaigns for has a holder soon, and keeps one.

use std::collections::BTreeSet;

use super::phases::{self, Phase};
use super::{Rule, Tenure, Violation, milliseconds};
use crate::history::{Event, Scenario, ScenarioOffice};

/// Checks the time from the healing of all faults on, during which processes may still have to start, and the recovery
/// phases, in which all clients campaign.
pub(super) fn check(scenario: &Scenario, events: &[Event], tenures: &[Tenure]) -> Vec<Violation> {
    let healed = phases::collect(events, |event| if let Event::Healed { at } = event { Some(*at) } else { None });
    let mut violations = Vec::new();
    // One vacancy may violate both bounds.
    let mut reported: BTreeSet<(&str, u64)> = BTreeSet::new();
    for (phases, more) in [(phases::recoveries(events), 0), (healed, scenario.restart)] {
        for phase in phases {
            for office in &scenario.offices {
                let allowed = max_vacancy(scenario, office).saturating_add(more);
                let held = tenures.iter().filter(|tenure| tenure.office == office.name && tenure.lasted());
                for vacancy in vacancies(phase, held) {
                    if vacancy.to - vacancy.from > allowed && reported.insert((&office.name, vacancy.to)) {
                        violations.push(violation(office, vacancy, allowed));
                    }
                }
            }
        }
    }
    violations
}

/// How long an office may have no holder.
fn max_vacancy(scenario: &Scenario, office: &ScenarioOffice) -> u64 {
    scenario.max_vacancy.saturating_add(if office.exclusive { scenario.lease } else { 0 })
}

/// The times within a phase in which no client held the office. The tenures are given in the order in which they began.
fn vacancies<'a>(phase: Phase, held: impl Iterator<Item = &'a Tenure>) -> Vec<Phase> {
    let mut vacancies = Vec::new();
    let mut since = phase.from;
    for tenure in held {
        let until = tenure.from.min(phase.to);
        if since < until {
            vacancies.push(Phase { from: since, to: until });
        }
        since = since.max(tenure.end());
    }
    if since < phase.to {
        vacancies.push(Phase { from: since, to: phase.to });
    }
    vacancies
}

fn violation(office: &ScenarioOffice, vacancy: Phase, allowed: u64) -> Violation {
    let what = format!(
        "`{}` had no holder for {}, although all faults were healed and clients campaigned for it; allowed are {}",
        office.name,
        milliseconds(vacancy.to - vacancy.from),
        milliseconds(allowed)
    );
    Violation { rule: Rule::Vacancy, at: vacancy.from, what }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::*;
    use super::super::{Rule, check};
    use super::*;

    /// Everything is healed at `healed`, and the recovery phase lasts from 20,000 to 40,000.
    fn history(healed: u64, tenures: &[Event], stalls: &[(u64, u64)]) -> Vec<Rule> {
        let mut events = vec![Event::Scenario(scenario())];
        events.extend_from_slice(tenures);
        events.extend([Event::Healed { at: healed }, Event::Recovery { at: 20_000 }]);
        for node in ["n1", "n2", "n3"] {
            // Often enough, so that only vacancies are reported.
            for at in (20_000..40_000).step_by(500) {
                events.push(read(node, "x", Some("n1"), 9, true, at));
                events.push(read(node, "f", Some("n1"), 9, true, at));
            }
        }
        events.extend(stalls.iter().map(|&(from, at)| Event::Stall { from, at }));
        events.push(Event::RecoveryOver { at: 40_000 });
        check(&events).violations.iter().map(|found| found.rule).filter(|rule| *rule == Rule::Vacancy).collect()
    }

    fn both(from: u64) -> [Event; 2] {
        [acquired("n1", "x", 9, from, 50_000), acquired("n1", "f", 9, 9_000, 50_000)]
    }

    #[test]
    fn accepts_offices_that_are_held_in_time() {
        assert_eq!(history(19_000, &both(9_000), &[]), []);
        assert_eq!(history(19_000, &both(20_000 + MAX_VACANCY + LEASE), &[]), [], "exclusive: lease on top");
        let handed_over = [
            acquired("n1", "f", 8, 9_000, 50_000),
            released("n1", "f", 8, 30_000),
            acquired("n2", "f", 9, 30_000 + MAX_VACANCY, 50_000),
            acquired("n1", "x", 9, 9_000, 50_000),
        ];
        assert_eq!(history(19_000, &handed_over, &[]), []);
    }

    #[test]
    fn reports_an_office_without_a_holder_after_the_recovery_began() {
        let late = 20_000 + MAX_VACANCY + LEASE + 1;
        assert_eq!(history(19_000, &both(late), &[]), [Rule::Vacancy]);
        assert_eq!(history(19_000, &both(late), &[(20_000, 20_010)]), [], "the machine stalled meanwhile");
        let never = [acquired("n1", "x", 9, 9_000, 50_000)];
        assert_eq!(history(19_000, &never, &[]), [Rule::Vacancy], "the fenced one");
    }

    #[test]
    fn reports_a_holder_that_is_lost_in_the_recovery_phase() {
        let lost = [
            acquired("n1", "f", 8, 9_000, 30_000),
            acquired("n2", "f", 9, 30_001 + MAX_VACANCY, 50_000),
            acquired("n1", "x", 9, 9_000, 50_000),
        ];
        assert_eq!(history(19_000, &lost, &[]), [Rule::Vacancy]);
    }

    #[test]
    fn reports_a_cluster_that_stops_before_the_recovery_phase_begins() {
        // The recovery phase begins late, because an operator's change is not carried out for so long.
        let until = |from| {
            vec![
                acquired("n1", "f", 9, 9_000, 50_000),
                acquired("n1", "x", 8, 9_000, 10_000),
                acquired("n1", "x", 9, from, 50_000),
            ]
        };
        assert_eq!(history(10_000, &until(10_000 + RESTART + MAX_VACANCY + LEASE), &[]), []);
        assert_eq!(history(10_000, &until(10_001 + RESTART + MAX_VACANCY + LEASE), &[]), [Rule::Vacancy]);
    }

    #[test]
    fn the_time_with_faults_and_the_time_between_tenures_that_overlap_do_not_count() {
        let phase = Phase { from: 100, to: 200 };
        let told = [acquired("n1", "x", 1, 10, 120), acquired("n2", "x", 2, 50, 110), acquired("n3", "x", 3, 150, 300)];
        let (tenures, _) = super::super::collect(&told);
        assert_eq!(vacancies(phase, tenures.iter()), [Phase { from: 120, to: 150 }]);
        assert_eq!(vacancies(phase, [].iter()), [phase]);
    }
}
