//! Faults that tests inject, to show that a test fails when a safety rule is missing.
//!
//! Without the cargo feature `fault-injection` no fault can be injected: [`DisabledRules`] is empty, and every question
//! about it is answered with a constant.

#[cfg(feature = "fault-injection")]
use std::fmt;
#[cfg(feature = "fault-injection")]
use std::str::FromStr;

/// A safety rule of a node that a test can disable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// Holders and the arbiter add the drift of clocks to the length of a lease.
    DriftMargin,
    /// Votes and entries are durable before a message promises them.
    DurableBeforeSend,
    /// Messages of an earlier run of the election are dropped.
    StaleRuns,
    /// A session of the HTTP API that is not renewed ends only when its client's last deadline is over.
    SessionPromise,
}

#[cfg(feature = "fault-injection")]
impl Rule {
    const ALL: [Rule; 4] = [Rule::DriftMargin, Rule::DurableBeforeSend, Rule::StaleRuns, Rule::SessionPromise];
}

/// The name on the command line.
#[cfg(feature = "fault-injection")]
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rule::DriftMargin => "drift-margin",
            Rule::DurableBeforeSend => "durable-before-send",
            Rule::StaleRuns => "stale-runs",
            Rule::SessionPromise => "session-promise",
        })
    }
}

#[cfg(feature = "fault-injection")]
impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Rule, String> {
        Rule::ALL.into_iter().find(|rule| rule.to_string() == text).ok_or_else(|| {
            let names = Rule::ALL.map(|rule| rule.to_string()).join(", ");
            format!("allowed are {names}")
        })
    }
}

/// The safety rules that are disabled: by default none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DisabledRules {
    /// One bit a rule.
    #[cfg(feature = "fault-injection")]
    bits: u8,
}

impl DisabledRules {
    /// Whether this rule is disabled.
    pub fn contains(self, rule: Rule) -> bool {
        #[cfg(feature = "fault-injection")]
        return self.bits & (1 << rule as u8) != 0;
        #[cfg(not(feature = "fault-injection"))]
        {
            let _ = rule;
            false
        }
    }
}

#[cfg(feature = "fault-injection")]
impl FromIterator<Rule> for DisabledRules {
    fn from_iter<T: IntoIterator<Item = Rule>>(rules: T) -> Self {
        DisabledRules { bits: rules.into_iter().fold(0, |bits, rule| bits | 1 << rule as u8) }
    }
}

#[cfg(feature = "fault-injection")]
impl From<Rule> for DisabledRules {
    fn from(rule: Rule) -> Self {
        [rule].into_iter().collect()
    }
}

/// A fault in how an election handles messages.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum InjectedFault {
    /// Messages of later views are not held back.
    NotHeld,
    /// The end of a connection is ignored.
    NoLosses,
    /// Counters in messages of other elections are ignored.
    NotCounted,
    /// Messages are buffered even if other messages of the same view were discarded.
    NoFloors,
    /// Messages of earlier views are accepted as if they belonged to the current one.
    NotDropped,
}

/// At most one injected fault.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct FaultSwitch {
    #[cfg(feature = "fault-injection")]
    fault: Option<InjectedFault>,
}

impl FaultSwitch {
    /// Injects a fault.
    #[cfg(feature = "fault-injection")]
    pub(crate) fn on(fault: InjectedFault) -> Self {
        FaultSwitch { fault: Some(fault) }
    }

    /// Whether this fault is injected.
    pub(crate) fn is(self, fault: InjectedFault) -> bool {
        #[cfg(feature = "fault-injection")]
        return self.fault == Some(fault);
        #[cfg(not(feature = "fault-injection"))]
        {
            let _ = fault;
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_rules_are_disabled() {
        let disabled =
            |rules: &[Rule]| Rule::ALL.map(|rule| rules.iter().copied().collect::<DisabledRules>().contains(rule));
        assert_eq!(disabled(&[]), [false; 4]);
        assert_eq!(disabled(&[Rule::StaleRuns]), [false, false, true, false]);
        assert_eq!(disabled(&[Rule::DriftMargin, Rule::SessionPromise]), [true, false, false, true]);
    }

    #[test]
    fn every_rule_has_a_name() {
        assert_eq!(Rule::ALL.map(|rule| rule.to_string().parse()), Rule::ALL.map(Ok));
        let error = "gravity".parse::<Rule>().expect_err("no such rule");
        assert_eq!(error, "allowed are drift-margin, durable-before-send, stale-runs, session-promise");
    }
}
