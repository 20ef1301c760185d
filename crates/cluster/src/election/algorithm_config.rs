//! The algorithms that a cluster can use, and the one that it uses.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use hustings_algorithms::catalogue::{self, ENTRIES, NameTaken, Visitor};
use hustings_algorithms::runs::{Runs, ViewRule};
use hustings_algorithms::{About, Algorithm, Goal, Params, Setting};

use super::erased::DynProtocol;
use super::participant::Participant;
use super::{ElectionError, SharedState};
use crate::faults::InjectedFault;
use crate::member::MemberRank;

/// The algorithms that a node knows: by default those of [`hustings_algorithms::catalogue`], and any that are added.
/// Copies are cheap.
#[derive(Clone)]
pub struct Algorithms {
    known: Arc<Vec<Compiled>>,
}

/// An algorithm, compiled for the ranks of members.
#[derive(Clone, Copy)]
struct Compiled {
    about: &'static About,
    check: fn(&[String]) -> Result<(), ElectionError>,
    protocol: MakeProtocol,
}

type MakeProtocol = fn(&[String], &[MemberRank]) -> Result<DynProtocol, ElectionError>;

impl Default for Algorithms {
    fn default() -> Self {
        struct Compile;
        impl Visitor for Compile {
            type Output = Compiled;
            fn visit<A: Algorithm>(self) -> Compiled {
                Compiled::of::<A>()
            }
        }
        let known = ENTRIES.iter().filter_map(|entry| catalogue::visit(entry.about.name, Compile));
        Algorithms { known: Arc::new(known.collect()) }
    }
}

impl Algorithms {
    /// Adds an algorithm at the end. Fails if its name or one of its aliases is taken.
    pub fn with<A: Algorithm>(mut self) -> Result<Self, NameTaken> {
        catalogue::check_names(&A::ABOUT, self.all())?;
        Arc::make_mut(&mut self.known).push(Compiled::of::<A>());
        Ok(self)
    }

    /// The descriptions of all of them, those that cannot elect in a cluster included.
    pub(crate) fn all(&self) -> impl Iterator<Item = &'static About> {
        self.known.iter().map(|one| one.about)
    }

    /// Chooses the algorithm of this name or alias. Without parameters it has those that it should have in a cluster
    /// ([`About::cluster_params`]). A node checks when it starts that the result can elect.
    pub fn choose(&self, name: &str, params: Option<Vec<String>>) -> AlgorithmConfig {
        let Some(&compiled) = self.known.iter().find(|one| one.about.is_called(name)) else {
            return AlgorithmConfig::unresolved(name, params.unwrap_or_default());
        };
        let defaults = || compiled.about.cluster_params.iter().map(|text| (*text).to_string()).collect();
        let params = params.unwrap_or_else(defaults);
        AlgorithmConfig { name: compiled.about.name.to_string(), params, compiled: Some(compiled) }
    }
}

impl fmt::Debug for Algorithms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.all().map(|about| about.name)).finish()
    }
}

/// An election algorithm with its parameters.
#[derive(Clone)]
pub struct AlgorithmConfig {
    name: String,
    params: Vec<String>,
    /// `None` if the name was not looked up or is unknown.
    compiled: Option<Compiled>,
}

impl AlgorithmConfig {
    /// The name of the default algorithm.
    pub const DEFAULT_NAME: &str = "bully";

    /// Chooses a built-in algorithm, see [`Algorithms::choose`].
    pub(crate) fn named(name: &str, params: Option<Vec<String>>) -> Self {
        Algorithms::default().choose(name, params)
    }

    /// An algorithm whose name is not looked up. No node can run with it.
    pub(crate) fn unresolved(name: &str, params: Vec<String>) -> Self {
        AlgorithmConfig { name: name.to_string(), params, compiled: None }
    }

    /// The name of the algorithm.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Its parameters, each as `name=value`.
    pub(crate) fn params(&self) -> &[String] {
        &self.params
    }

    /// Its description, if its name is known.
    pub(crate) fn about(&self) -> Option<&'static About> {
        self.compiled.map(|compiled| compiled.about)
    }

    /// Fails if this algorithm cannot elect a leader of a cluster, or if its parameters are wrong.
    pub(super) fn check(&self) -> Result<(), ElectionError> {
        (self.compiled()?.check)(&self.params)
    }

    /// The part of the candidate at this place in an election.
    pub(super) fn participant(
        &self,
        candidates: &[MemberRank],
        index: usize,
        shared: &SharedState,
    ) -> Result<Box<Participant>, ElectionError> {
        let compiled = self.compiled()?;
        let protocol = (compiled.protocol)(&self.params, candidates)?;
        let runs = Runs::new(protocol, compiled.about, candidates).started_by_all();
        let runs = match shared.fault {
            fault if fault.is(InjectedFault::NotHeld) => runs.without(ViewRule::Hold),
            fault if fault.is(InjectedFault::NotDropped) => runs.without(ViewRule::Drop),
            _ => runs,
        };
        Ok(Box::new(Participant::new(runs, candidates, index, shared)))
    }

    fn compiled(&self) -> Result<Compiled, ElectionError> {
        self.compiled.ok_or_else(|| ElectionError::UnknownAlgorithm { name: self.name.clone(), known: built_in() })
    }
}

impl Default for AlgorithmConfig {
    fn default() -> Self {
        AlgorithmConfig::named(AlgorithmConfig::DEFAULT_NAME, None)
    }
}

impl PartialEq for AlgorithmConfig {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.params) == (&other.name, &other.params)
    }
}

impl Eq for AlgorithmConfig {}

impl Hash for AlgorithmConfig {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.name, &self.params).hash(state);
    }
}

impl fmt::Debug for AlgorithmConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AlgorithmConfig")
            .field("name", &self.name)
            .field("params", &self.params)
            .finish_non_exhaustive()
    }
}

/// The names of all built-in algorithms that can elect in a cluster.
fn built_in() -> String {
    let fitting = ENTRIES.iter().filter(|entry| entry.about.elects_by_id());
    fitting.map(|entry| entry.about.name).collect::<Vec<_>>().join(", ")
}

impl Compiled {
    fn of<A: Algorithm>() -> Self {
        Compiled { about: &A::ABOUT, check: check::<A>, protocol: protocol::<A> }
    }
}

fn check<A: Algorithm>(params: &[String]) -> Result<(), ElectionError> {
    parse::<A>(params).map(|_| ())
}

fn protocol<A: Algorithm>(params: &[String], candidates: &[MemberRank]) -> Result<DynProtocol, ElectionError> {
    let params = parse::<A>(params)?;
    Ok(DynProtocol::new(A::protocol::<MemberRank>(&params, &Setting::of(candidates))))
}

fn parse<A: Algorithm>(texts: &[String]) -> Result<A::Params, ElectionError> {
    let name = A::ABOUT.name;
    if !A::ABOUT.elects_by_id() {
        let elects = A::ABOUT.goal == Goal::Leader;
        return Err(if elects { ElectionError::Anonymous { name } } else { ElectionError::NotAnElection { name } });
    }
    let mut params = A::Params::default();
    let mut seen: Vec<&str> = Vec::new();
    for text in texts {
        let Some((name, value)) = text.split_once('=') else {
            return Err(ElectionError::MalformedParameter { text: text.clone() });
        };
        if seen.contains(&name) {
            return Err(ElectionError::DuplicateParameter { name: name.to_string() });
        }
        seen.push(name);
        params.set(name, value)?;
    }
    Ok(params)
}
