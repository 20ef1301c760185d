//! Checks the interventions of a specification, as far as that is possible before the run.
//!
//! Whether a node is up or a message in flight at that point is known only during the run: see
//! [`Outcome::refused`](crate::outcome::Outcome::refused).

use super::timeline::{check_position, checked_link, groups};
use super::{Faults, Field, FieldRef, SpecError, SpecProblem};
use crate::parse::InterventionAction;
use crate::scenario::{Action, FaultKind, Intervention};
use crate::topology::Network;

/// The maximum number of interventions in one run.
const MAX_INTERVENTIONS: usize = 1000;

/// The interventions of a specification, in the order of the trace.
pub(super) fn checked(faults: &Faults, network: &Network) -> Result<Vec<Intervention>, SpecError> {
    let count = faults.interventions.len();
    if count > MAX_INTERVENTIONS {
        return Err(SpecProblem::TooManyInterventions { count, max: MAX_INTERVENTIONS }.of(Field::Interventions));
    }
    let mut checked: Vec<Intervention> = Vec::with_capacity(count);
    for (index, one) in faults.interventions.iter().enumerate() {
        let field = FieldRef::entry(Field::Interventions, index, one);
        if let Some(last) = checked.last().filter(|last| last.after > one.after) {
            return Err(SpecProblem::Unsorted { after: last.after }.of(field));
        }
        let node = |at: u32| check_position(&field, at, network.size()).map(|()| at);
        let link = |from, to| checked_link(&field, from, to, network);
        let action = match one.action {
            InterventionAction::Crash(at) => Action::Fault(FaultKind::Crash(node(at)?)),
            InterventionAction::Revive(at) => Action::Fault(FaultKind::Recover(node(at)?)),
            InterventionAction::Start(at) => {
                check_position(&field, at, network.members())?;
                Action::Start(at)
            }
            InterventionAction::Cut(from, to) => link(from, to).map(|(a, b)| Action::Fault(FaultKind::Cut(a, b)))?,
            InterventionAction::Heal(from, to) => link(from, to).map(|(a, b)| Action::Fault(FaultKind::Heal(a, b)))?,
            InterventionAction::HealAll => Action::Fault(FaultKind::HealAll),
            InterventionAction::Split(ref split) => {
                Action::Fault(FaultKind::Partition(groups(&field, split, network.size())?))
            }
            InterventionAction::Message(which, change) => Action::Message(which, change),
        };
        checked.push(Intervention { after: one.after, action });
    }
    Ok(checked)
}
