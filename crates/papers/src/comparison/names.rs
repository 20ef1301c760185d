//! What the names in a formula stand for: settings of a run, or what was measured in it.

use crate::experiment::Key;
use crate::formula::Formula;

/// Names that are settings without being options of an election: the size and the links of the network, and columns
/// that tell computed tables' rows apart.
const SETTINGS: [&str; 3] = ["n", "links", "coins"];

/// Measured, but part of the structure of a run: who was up, and what could not arrive.
const STRUCTURE: [&str; 2] = ["live", "lost"];

/// Whether a run is needed to know the value of this name.
pub(super) fn is_measured(name: &str) -> bool {
    !SETTINGS.contains(&name) && Key::parse(name).is_err()
}

/// Whether a reason may use this name: a setting, or the structure of a run.
pub(super) fn is_structural(name: &str) -> bool {
    !is_measured(name) || STRUCTURE.contains(&name)
}

/// The measured names in a formula.
pub(super) fn measured(formula: &Formula) -> Vec<&str> {
    formula.names().into_iter().filter(|name| is_measured(name)).collect()
}
