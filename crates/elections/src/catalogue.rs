//! All algorithms that a program knows, by name.

use std::io::BufRead;
use std::sync::Arc;

use hustings_algorithms::catalogue::{ENTRIES, Entry, NameTaken, Visitor, check_names, visit};
use hustings_algorithms::{About, Algorithm};
use hustings_sim::simulate::{self, ReplayFileError, SpecError};
use hustings_sim::trace::TraceFile;

use crate::{Compiled, Election, Replayed};

/// The algorithms that a program knows: by default those of [`hustings_algorithms::catalogue`], and any that are added.
///
/// It is a value, not a global: whoever turns names into elections is given one. Copies are cheap.
#[derive(Clone)]
pub struct Catalogue {
    known: Arc<Vec<Known>>,
}

/// An algorithm of a [`Catalogue`]: its description, and how it becomes elections.
#[derive(Clone, Copy)]
pub struct Known {
    entry: Entry,
    election: MakeElection,
    replayed: Replay,
}

type MakeElection = fn(&[String]) -> Result<Box<dyn Election>, SpecError>;
type Replay = fn(TraceFile<Box<dyn BufRead>>) -> Result<Replayed, ReplayFileError>;

impl Default for Catalogue {
    fn default() -> Self {
        struct Compile;
        impl Visitor for Compile {
            type Output = Known;
            fn visit<A: Algorithm>(self) -> Known {
                Known::of::<A>()
            }
        }
        let known = ENTRIES.iter().filter_map(|entry| visit(entry.about.name, Compile));
        Catalogue { known: Arc::new(known.collect()) }
    }
}

impl Catalogue {
    /// Adds an algorithm at the end. Fails if its name or one of its aliases is taken.
    pub fn with<A: Algorithm>(mut self) -> Result<Self, NameTaken> {
        check_names(&A::ABOUT, self.all().map(Known::about))?;
        Arc::make_mut(&mut self.known).push(Known::of::<A>());
        Ok(self)
    }

    /// All algorithms, in the order of the lists.
    pub fn all(&self) -> impl ExactSizeIterator<Item = &Known> {
        self.known.iter()
    }

    /// The algorithm of this name or alias.
    pub fn find(&self, name: &str) -> Option<&Known> {
        self.all().find(|known| known.about().is_called(name))
    }

    /// All names and aliases, for suggestions.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.all().flat_map(|known| known.about().names())
    }
}

impl Known {
    fn of<A: Algorithm>() -> Self {
        Known { entry: Entry::of::<A>(), election: election::<A>, replayed: replayed::<A> }
    }

    /// The description with its parameters and kinds of messages.
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// The description.
    pub fn about(&self) -> &About {
        &self.entry.about
    }

    /// The algorithm with parameters as they are typed (`name=value`).
    pub fn election(&self, params: &[String]) -> Result<Box<dyn Election>, SpecError> {
        (self.election)(params)
    }

    /// Replays a recorded run.
    pub fn replayed(&self, file: TraceFile<Box<dyn BufRead>>) -> Result<Replayed, ReplayFileError> {
        (self.replayed)(file)
    }
}

fn election<A: Algorithm>(params: &[String]) -> Result<Box<dyn Election>, SpecError> {
    Ok(Box::new(Compiled::<A>(simulate::params::<A>(params)?)))
}

fn replayed<A: Algorithm>(file: TraceFile<Box<dyn BufRead>>) -> Result<Replayed, ReplayFileError> {
    let simulate::Replayed { params, scenario, outcome } = simulate::replayed::<A>(file)?;
    Ok(Replayed { election: Box::new(Compiled::<A>(params)), scenario, outcome })
}

impl std::fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.all().map(|known| known.about().name)).finish()
    }
}

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Known").field(&self.about().name).finish()
    }
}
