//! The catalogue of a program, with algorithms of its own. These are not unit tests, for which all engines would be
//! compiled once more.

use hustings_algorithms::catalogue::{ENTRIES, NameTaken};
use hustings_algorithms::ring::ChangRoberts;
use hustings_algorithms::{About, Algorithm, NoParams, Setting};
use hustings_elections::Catalogue;
use hustings_protocol::{Best, Rank, Record};
use hustings_sim::erased::DynMessage;
use hustings_sim::simulate::{ElectionSpec, Field};

/// Chang–Roberts under another name.
struct Own;

impl Algorithm for Own {
    type Params = NoParams;
    type Protocol<R: Rank> = <ChangRoberts as Algorithm>::Protocol<R>;
    const ABOUT: About = About { name: "own", aliases: &["mine"], ..ChangRoberts::ABOUT };
    fn protocol<R: Rank>(params: &NoParams, setting: &Setting<'_, R>) -> Self::Protocol<R> {
        ChangRoberts::protocol(params, setting)
    }
}

#[test]
fn every_built_in_algorithm_is_known_by_all_its_names() {
    let catalogue = Catalogue::default();
    assert_eq!(catalogue.all().len(), ENTRIES.len());
    for entry in ENTRIES {
        for name in entry.about.names() {
            let election = catalogue.find(name).map(|known| known.election(&[]));
            assert_eq!(election.unwrap().unwrap().about().name, entry.about.name);
        }
    }
    assert!(catalogue.find("own").is_none());
}

#[test]
fn an_added_algorithm_is_found_and_elects() {
    let catalogue = Catalogue::default().with::<Own>().unwrap();
    assert_eq!(catalogue.all().len(), ENTRIES.len() + 1);
    let election = catalogue.find("mine").unwrap().election(&[]).unwrap();
    let built = election.build(&ElectionSpec { nodes: Some(5), ..ElectionSpec::default() }).unwrap();
    assert_eq!(election.run(&built.scenario).leader, Some(4));
    assert!(election.has_default_params());
}

#[test]
fn a_name_is_not_added_twice() {
    let once = Catalogue::default().with::<Own>().unwrap();
    let twice = once.with::<Own>().unwrap_err();
    assert_eq!(twice, NameTaken { name: "own", new: "own", known: "own" });
}

#[test]
fn parameters_tell_whether_they_are_the_defaults() {
    let bully = Catalogue::default().find("bully").copied().unwrap();
    let is_default = |text: &str| bully.election(&[text.to_string()]).unwrap().has_default_params();
    assert!(!is_default("highest=announce"));
    for (name, value) in bully.election(&[]).unwrap().params() {
        assert!(is_default(&format!("{name}={value}")));
    }
}

/// `run` takes the fastest engine that supports the election, `observed` always the general one.
#[test]
fn every_algorithm_has_the_same_outcome_on_all_engines() {
    let plain = ElectionSpec { nodes: Some(16), seed: 5, ..ElectionSpec::default() };
    let mut crash = plain.clone();
    crash.set(Field::Crashes, "3@4").expect("position 3, tick 4");
    let specs = [
        ElectionSpec { ids: Some("random".parse().expect("ids in random order")), ..plain.clone() },
        ElectionSpec { best: Best::Min, ..plain.clone() },
        crash,
        plain,
    ];
    let mut compared = 0;
    for known in Catalogue::default().all() {
        let election = known.election(&[]).expect("the default parameters are valid");
        // Some algorithms refuse some of these.
        for built in specs.iter().filter_map(|spec| election.build(spec).ok()) {
            let mut records: Vec<Record<DynMessage>> = Vec::new();
            let general = election.observed(&built.scenario, &mut records);
            assert_eq!(election.run(&built.scenario), general, "{}: {:?}", known.about().name, built.scenario);
            compared += 1;
        }
    }
    assert!(compared > 2 * ENTRIES.len(), "only {compared} elections were compared");
}
