//! Whether a row could come out otherwise: searches for measurements that would change it.

use hustings_protocol::SplitMix64;

use super::names::measured;
use super::rows::Scope;
use crate::formula::Formula;
use crate::table::Values;

/// How many runs of a claim are tried.
const RUNS: usize = 8;

/// How many combinations of values are tried after all single values and pairs.
const COMBINATIONS: u64 = 20_000;

/// Some of these rows, from the first to the last.
pub(super) fn some(rows: &[usize]) -> impl Iterator<Item = usize> {
    let step = rows.len().div_ceil(RUNS).max(1);
    rows.iter().copied().step_by(step)
}

/// Whether other measurements in this row could give the formula a value like this. Values of the formula where the
/// answer may change are `targets`.
pub(super) fn could_be(formula: &Formula, scope: &Scope<'_>, targets: &[f64], is_wanted: &dyn Fn(f64) -> bool) -> bool {
    let search = Search::new(formula, scope, targets);
    search.by_ones(is_wanted) || search.by_pairs(is_wanted) || search.by_chance(is_wanted)
}

/// A measured name, its value, and the values that are tried.
struct Name<'a> {
    name: &'a str,
    value: f64,
    tried: Vec<f64>,
}

struct Search<'a, 'b> {
    formula: &'a Formula,
    scope: &'a Scope<'b>,
    names: Vec<Name<'a>>,
}

impl<'a, 'b> Search<'a, 'b> {
    fn new(formula: &'a Formula, scope: &'a Scope<'b>, targets: &[f64]) -> Self {
        // Values within the formula, such as that of n-1 in `leader == n-1`, are where it may change.
        let inner = formula.values(&|name| scope.lookup(name)).unwrap_or_default();
        let name = |name| {
            let value = scope.lookup(name).unwrap_or(0.0);
            let is_flag = matches!(scope.table.column(name), Some(Values::Bools(_)));
            // What leads to a target if the formula is a sum with this value, or a multiple of it.
            let now = inner.last().copied().unwrap_or(0.0);
            let leads = |target: &f64| [*target, value + target - now, value - target + now, value * target / now];
            let inner: Vec<f64> = inner.iter().copied().chain(targets.iter().flat_map(leads)).collect();
            Name { name, value, tried: if is_flag { vec![0.0, 1.0] } else { near(value, &inner) } }
        };
        Search { formula, scope, names: measured(formula).into_iter().map(name).collect() }
    }

    fn by_ones(&self, is_wanted: &dyn Fn(f64) -> bool) -> bool {
        (0..self.names.len()).any(|at| self.names[at].tried.iter().any(|value| self.gives(&[(at, *value)], is_wanted)))
    }

    fn by_pairs(&self, is_wanted: &dyn Fn(f64) -> bool) -> bool {
        let pair = |a: usize, b: usize| {
            let both = |one: f64| self.names[b].tried.iter().any(|two| self.gives(&[(a, one), (b, *two)], is_wanted));
            self.names[a].tried.iter().any(|one| both(*one))
        };
        (0..self.names.len()).any(|a| (a + 1..self.names.len()).any(|b| pair(a, b)))
    }

    fn by_chance(&self, is_wanted: &dyn Fn(f64) -> bool) -> bool {
        let draw = |round: u64, at: usize| {
            let tried = &self.names[at].tried;
            (at, tried[(SplitMix64::hash(round, at as u64, 0) % tried.len() as u64) as usize])
        };
        self.names.len() > 2
            && (0..COMBINATIONS).any(|round| {
                let values: Vec<_> = (0..self.names.len()).map(|at| draw(round, at)).collect();
                self.gives(&values, is_wanted)
            })
    }

    /// Whether the formula gives such a value with these instead of the measured ones.
    fn gives(&self, instead: &[(usize, f64)], is_wanted: &dyn Fn(f64) -> bool) -> bool {
        let value_of = |name: &str| {
            let at = self.names.iter().position(|known| known.name == name)?;
            Some(instead.iter().find(|(other, _)| *other == at).map_or(self.names[at].value, |(_, value)| *value))
        };
        // The messages of all kinds are no fewer than those of some.
        let kinds = self.names.iter().filter(|known| known.name.starts_with("messages."));
        let kinds: f64 = kinds.filter_map(|known| value_of(known.name)).sum();
        if value_of("messages").is_some_and(|all| all < kinds) {
            return false;
        }
        let value = self.formula.eval(&|name| value_of(name).or_else(|| self.scope.lookup(name)));
        value.is_ok_and(is_wanted)
    }
}

/// Counts to try in the place of one.
fn near(value: f64, inner: &[f64]) -> Vec<f64> {
    /// More than any bound that a count could miss.
    const MANY: f64 = 1e7;
    let ends = [0.0, 1.0, 2.0, 2.0 * value + 3.0, MANY];
    let around = inner.iter().chain([&value]).flat_map(|one| [*one, one + 1.0, one - 1.0]);
    let mut tried: Vec<f64> =
        ends.into_iter().chain(around).filter(|count| count.is_finite() && *count >= 0.0).collect();
    tried.sort_by(f64::total_cmp);
    tried.dedup();
    tried
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Heading, Table};

    /// One run of eight nodes.
    fn table() -> Table {
        let mut table = Table::default();
        let mut push = |name: &str, values| table.push(Heading { name: name.into(), about: "".into() }, values);
        let numbers = [("nodes", 8), ("messages", 20), ("messages.ok", 5), ("leader", 2), ("lost", 1)];
        for (name, value) in numbers {
            push(name, Values::Integers(vec![Some(value)])).unwrap();
        }
        push("agreement", Values::Bools(vec![Some(false)])).unwrap();
        table
    }

    fn can(text: &str, is_wanted: &dyn Fn(f64) -> bool) -> bool {
        let table = table();
        could_be(
            &Formula::parse(text).unwrap(),
            &Scope { table: &table, row: 0, facts: None, extra: &[] },
            &[],
            is_wanted,
        )
    }

    #[test]
    fn what_a_measurement_can_change_is_found() {
        for text in ["messages", "messages - n^2", "leader == 7", "agreement * (leader == n-1)", "n - messages.ok"] {
            let table = table();
            let now =
                Scope { table: &table, row: 0, facts: None, extra: &[] }.eval(&Formula::parse(text).unwrap()).unwrap();
            assert!(can(text, &|value| value != now), "{text}");
        }
        assert!(can("agreement * (leader == 7) * (lost == 3)", &|value| value == 1.0));
        let table = table();
        let scope = Scope { table: &table, row: 0, facts: None, extra: &[] };
        assert!(could_be(&Formula::parse("messages / n").unwrap(), &scope, &[99.5], &|value| value == 99.5));
    }

    #[test]
    fn what_no_measurement_can_change_is_found_too() {
        for text in ["messages - messages", "messages / messages", "0 * messages", "messages >= 0", "n"] {
            let table = table();
            let now =
                Scope { table: &table, row: 0, facts: None, extra: &[] }.eval(&Formula::parse(text).unwrap()).unwrap();
            assert!(!can(text, &|value| value != now), "{text}");
        }
        assert!(!can("agreement", &|value| !(0.0..=1.0).contains(&value)), "it is 0 or 1");
        assert!(!can("messages - messages.ok", &|value| value < 0.0), "a part is no more than the whole");
    }
}
