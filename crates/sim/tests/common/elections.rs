//! Elections of the catalogue, with the engines that are compiled in `hustings-elections`. Calling the generic
//! functions of the simulator would compile every engine once more here.

use std::sync::LazyLock;

use hustings_algorithms::{Algorithm, Params};
use hustings_elections::{Catalogue, Election};
use hustings_sim::outcome::Outcome;
use hustings_sim::scenario::Scenario;
use hustings_sim::simulate::{ElectionSpec, Field};

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(Catalogue::default);

/// An algorithm with these parameters.
pub(crate) fn election<A: Algorithm>(params: &A::Params) -> Box<dyn Election> {
    let names = <A::Params as Params>::DESCRIPTIONS.iter().map(|parameter| parameter.name);
    let typed = |name: &'static str| params.get(name).map(|value| format!("{name}={value}"));
    by_name(A::ABOUT.name, &names.filter_map(typed).collect::<Vec<_>>())
}

/// The algorithm of this name with parameters as they are typed.
pub(crate) fn by_name(name: &str, params: &[String]) -> Box<dyn Election> {
    let known = CATALOGUE.find(name).expect("it is in the catalogue");
    known.election(params).unwrap_or_else(|error| panic!("{name} {params:?}: {error}"))
}

/// The same election with these fields.
pub(crate) fn with(mut spec: ElectionSpec, fields: &[(Field, &str)]) -> ElectionSpec {
    for (field, text) in fields {
        spec.set(*field, text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    spec
}

/// [`hustings_sim::simulate::simulate`].
pub(crate) fn simulate<A: Algorithm>(params: &A::Params, scenario: &Scenario) -> Outcome {
    election::<A>(params).run(scenario)
}

/// [`hustings_sim::simulate::expected`].
pub(crate) fn expected<A: Algorithm>(params: &A::Params, scenario: &Scenario) -> Option<Vec<u64>> {
    election::<A>(params).expected(scenario)
}
