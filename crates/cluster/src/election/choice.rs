//! From a name and typed parameters to an algorithm.

use hustings_algorithms::catalogue::{self, Visitor};
use hustings_algorithms::runs::{Runs, ViewRule};
use hustings_algorithms::{Algorithm, Goal, Identity, Params, Setting};

use super::participant::{Participant, Typed};
use super::{Flaw, Memory, Unfit};
use crate::config::Choice;
use crate::member::MemberRank;

/// Fails if this algorithm cannot elect a leader of a cluster, or if its parameters are wrong.
pub(super) fn check(choice: &Choice) -> Result<(), Unfit> {
    visit(choice, Check { params: &choice.params })
}

/// The part of the candidate at this place in a election.
pub(super) fn participant(
    choice: &Choice,
    candidates: &[MemberRank],
    index: usize,
    memory: &Memory,
) -> Result<Box<dyn Participant>, Unfit> {
    visit(choice, Build { params: &choice.params, candidates, index, memory })
}

fn visit<T, V: Visitor<Output = Result<T, Unfit>>>(choice: &Choice, visitor: V) -> Result<T, Unfit> {
    let unknown = || Unfit::Unknown { name: choice.name.clone(), known: known() };
    catalogue::visit(&choice.name, visitor).ok_or_else(unknown)?
}

/// The names of all that would do.
fn known() -> String {
    let fitting = catalogue::ENTRIES.iter().filter(|entry| elects(&entry.about).is_ok());
    fitting.map(|entry| entry.about.name).collect::<Vec<_>>().join(", ")
}

/// Fails unless the algorithm elects a leader among nodes with ids.
fn elects(about: &hustings_algorithms::About) -> Result<(), Unfit> {
    let name = about.name;
    if about.goal != Goal::Leader {
        return Err(Unfit::NoElection { name });
    }
    if about.assumptions.identity == Identity::Anonymous {
        return Err(Unfit::Anonymous { name });
    }
    Ok(())
}

fn parse<A: Algorithm>(texts: &[String]) -> Result<A::Params, Unfit> {
    elects(&A::ABOUT)?;
    let mut params = A::Params::default();
    let mut seen: Vec<&str> = Vec::new();
    for text in texts {
        let Some((name, value)) = text.split_once('=') else {
            return Err(Unfit::Form { text: text.clone() });
        };
        if seen.contains(&name) {
            return Err(Unfit::Twice { name: name.to_string() });
        }
        seen.push(name);
        params.set(name, value)?;
    }
    Ok(params)
}

struct Check<'a> {
    params: &'a [String],
}

impl Visitor for Check<'_> {
    type Output = Result<(), Unfit>;

    fn visit<A: Algorithm>(self) -> Self::Output {
        parse::<A>(self.params).map(|_| ())
    }
}

struct Build<'a> {
    params: &'a [String],
    candidates: &'a [MemberRank],
    index: usize,
    memory: &'a Memory,
}

impl Visitor for Build<'_> {
    type Output = Result<Box<dyn Participant>, Unfit>;

    fn visit<A: Algorithm>(self) -> Self::Output {
        let params = parse::<A>(self.params)?;
        let protocol = A::protocol::<MemberRank>(&params, &Setting::of(self.candidates));
        let runs = Runs::new(protocol, &A::ABOUT, self.candidates).started_by_all();
        let runs = match self.memory.flaw {
            Some(Flaw::NotHeld) => runs.without(ViewRule::Hold),
            Some(Flaw::NotDropped) => runs.without(ViewRule::Drop),
            _ => runs,
        };
        Ok(Box::new(Typed::new(runs, self.candidates, self.index, self.memory)))
    }
}
