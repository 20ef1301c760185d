//! From the name of an algorithm to its elections.
//!
//! The simulator is generic over the algorithm, so its engines are compiled for each one. That happens here and nowhere
//! else: code that knows an algorithm by name only asks a [`Catalogue`] for an [`Election`], whose types are hidden. It
//! is a crate of its own, so that the engines are not compiled again when a command line or a report changes.
//!
//! ```
//! use hustings_sim::simulate::ElectionSpec;
//!
//! let catalogue = hustings_elections::Catalogue::default();
//! let election = catalogue.find("chang-roberts").expect("it is built in").election(&[])?;
//! let built = election.build(&ElectionSpec { nodes: Some(5), ..ElectionSpec::default() })?;
//! assert_eq!(election.run(&built.scenario).leader, Some(4));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod catalogue;

use std::io::{self, Write};

use hustings_algorithms::runs::Envelope;
use hustings_algorithms::{About, Algorithm, Params};
use hustings_protocol::{Id, Message, Protocol};
use hustings_sim::erased::{DynMessage, DynProtocol, DynRank};
use hustings_sim::outcome::Outcome;
use hustings_sim::scenario::Scenario;
use hustings_sim::simulate::{self, BuiltScenario, ElectionSpec, SpecError};
use hustings_sim::trace::{Format, Observer};

pub use catalogue::{Catalogue, Known};

/// An algorithm with its parameters, ready to hold elections.
pub trait Election: Send + Sync {
    /// The description of the algorithm.
    fn about(&self) -> &'static About;
    /// All its parameters, as they would be typed.
    fn params(&self) -> Vec<(&'static str, String)>;
    /// Whether all parameters have their default values.
    fn has_default_params(&self) -> bool;
    /// The kinds under which its messages are counted; in runs there are more.
    fn kinds(&self, runs: bool) -> &'static [&'static str];
    /// Checks the specification of an election and builds its scenario: [`ElectionSpec::build`].
    fn build(&self, spec: &ElectionSpec) -> Result<BuiltScenario, SpecError>;
    /// Holds an election: [`simulate::simulate`].
    fn run(&self, scenario: &Scenario) -> Outcome;
    /// The same, writing its trace: [`simulate::simulate_traced`].
    fn traced(&self, scenario: &Scenario, format: Format, out: &mut dyn Write) -> io::Result<Outcome>;
    /// The same, showing every record to an observer: [`simulate::simulate_observed`].
    fn observed(&self, scenario: &Scenario, observer: &mut dyn Observer<DynMessage>) -> Outcome;
    /// What the formula gives, by kind: [`simulate::expected`].
    fn expected(&self, scenario: &Scenario) -> Option<Vec<u64>>;
    /// The protocol itself, and the ranks of all positions: [`simulate::erased`].
    fn protocol(&self, scenario: &Scenario) -> (DynProtocol, Vec<DynRank>);
    /// The longest travel time of a message that it relies on: [`Algorithm::delay_bound`].
    fn delay_bound(&self) -> Option<u64>;
    /// The level of a position, for pictures: [`Algorithm::level`].
    fn level(&self, size: u32, at: u32) -> u32;
}

/// The result of replaying a recorded run.
pub struct Replayed {
    /// The algorithm, with the parameters that it had then.
    pub election: Box<dyn Election>,
    /// The election that the file describes.
    pub scenario: Scenario,
    /// The outcome, computed again.
    pub outcome: Outcome,
}

/// An algorithm with its parameters, as a type.
struct Compiled<A: Algorithm>(A::Params);

impl<A: Algorithm> Election for Compiled<A> {
    fn about(&self) -> &'static About {
        &A::ABOUT
    }

    fn params(&self) -> Vec<(&'static str, String)> {
        let described = <A::Params as Params>::DESCRIPTIONS.iter();
        described.map(|one| (one.name, self.0.get(one.name).unwrap_or_default())).collect()
    }

    fn has_default_params(&self) -> bool {
        self.0 == A::Params::default()
    }

    fn kinds(&self, runs: bool) -> &'static [&'static str] {
        if runs {
            <Envelope<<A::Protocol<Id> as Protocol>::Message>>::KINDS
        } else {
            <<A::Protocol<Id> as Protocol>::Message>::KINDS
        }
    }

    fn build(&self, spec: &ElectionSpec) -> Result<BuiltScenario, SpecError> {
        spec.build::<A>(&self.0)
    }

    fn run(&self, scenario: &Scenario) -> Outcome {
        simulate::simulate::<A>(&self.0, scenario)
    }

    fn traced(&self, scenario: &Scenario, format: Format, out: &mut dyn Write) -> io::Result<Outcome> {
        simulate::simulate_traced::<A>(&self.0, scenario, format, out)
    }

    fn observed(&self, scenario: &Scenario, observer: &mut dyn Observer<DynMessage>) -> Outcome {
        simulate::simulate_observed::<A>(&self.0, scenario, observer)
    }

    fn expected(&self, scenario: &Scenario) -> Option<Vec<u64>> {
        simulate::expected::<A>(&self.0, scenario)
    }

    fn protocol(&self, scenario: &Scenario) -> (DynProtocol, Vec<DynRank>) {
        simulate::erased::<A>(&self.0, scenario)
    }

    fn delay_bound(&self) -> Option<u64> {
        A::delay_bound(&self.0)
    }

    fn level(&self, size: u32, at: u32) -> u32 {
        A::level(&self.0, size, at)
    }
}
