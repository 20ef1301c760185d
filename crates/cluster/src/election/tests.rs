//! Tests of what an election rejects, and of the state that elections share.

use hustings_algorithms::catalogue::{ENTRIES, NameTaken};
use hustings_algorithms::complete::Bully;
use hustings_algorithms::{About, Algorithm, Setting};
use hustings_protocol::Rank;

use super::*;

fn choice(name: &str, params: &[&str]) -> AlgorithmConfig {
    AlgorithmConfig::named(name, Some(params.iter().map(|text| text.to_string()).collect()))
}

fn ranks(ids: &[u64]) -> Vec<MemberRank> {
    ids.iter().map(|&id| MemberRank { priority: 0, health: 100, id: Id(id) }).collect()
}

fn refusal(name: &str, params: &[&str]) -> String {
    Election::check(&choice(name, params)).map_or_else(|error| error.to_string(), |()| String::new())
}

#[test]
fn rejects_unsuitable_algorithms_with_a_reason() {
    let known = refusal("bullly", &[]);
    assert!(known.starts_with("there is no algorithm `bullly`; choose one of chang-roberts, "), "{known}");
    assert!(!known.contains("itai-rodeh") && !known.contains("ring-size"), "{known}");
    assert!(refusal("itai-rodeh", &[]).contains("anonymous nodes"));
    assert!(refusal("anonymous-echo", &[]).contains("anonymous nodes"));
    assert!(refusal("ring-size", &[]).contains("does not elect"));
    assert_eq!(refusal("bully", &["highest"]), "`highest` is not of the form `name=value`");
    assert_eq!(refusal("bully", &["T=1", "T=2"]), "parameter `T` is given twice");
    assert!(refusal("bully", &["T=0"]).contains("a whole number of at least 1"));
    assert!(refusal("bully", &["speed=1"]).contains("there is no parameter `speed`"));
    assert_eq!(refusal("bully", &["highest=announce"]), "");
    for entry in ENTRIES {
        let name = entry.about.name;
        assert_eq!(refusal(name, &[]).is_empty(), entry.about.elects_by_id(), "{name}");
    }
}

#[test]
fn rejects_candidates_out_of_order_or_without_the_node_itself() {
    let choice = choice("bully", &[]);
    let start = |ids: &[u64]| {
        let (mut shared, mut actions) = (SharedState::new(1), Vec::new());
        Election::start(&choice, Id(2), &ranks(ids), &mut shared, &mut actions)
            .map(|election| (election.leader(), actions.len()))
    };
    let refused = Err(ElectionError::InvalidCandidates { own: Id(2) });
    for list in [&[][..], &[1, 3], &[2, 1], &[2, 2], &[3, 2, 1]] {
        assert_eq!(start(list), refused, "{list:?}");
    }
    assert_eq!(start(&[2]), Ok((Some(Id(2)), 0)), "a single candidate leads at once and sends nothing");
    assert!(start(&[1, 2, 3]).is_ok_and(|(leader, actions)| leader.is_none() && actions > 0));
}

#[test]
fn an_election_is_determined_by_the_seed() {
    let start = |seed| {
        let mut actions = Vec::new();
        let election = Election::start(
            &choice("two-tier", &[]),
            Id(1),
            &ranks(&[1, 2, 3]),
            &mut SharedState::new(seed),
            &mut actions,
        );
        election.map(|_| actions)
    };
    assert_eq!(start(5), start(5));
    assert_ne!(start(5), start(6), "views of two processes differ");
}

#[test]
fn ignores_timers_of_earlier_elections() {
    let (choice, list) = (choice("bully", &[]), ranks(&[1, 2]));
    let (mut shared, mut actions) = (SharedState::new(1), Vec::new());
    let mut start = |shared: &mut SharedState| {
        actions.clear();
        let election = Election::start(&choice, Id(2), &list, shared, &mut actions).expect("bully elects");
        let token = actions
            .iter()
            .find_map(|action| if let Action::SetTimer { token, .. } = action { Some(*token) } else { None });
        (election, token.expect("the highest candidate waits for answers"))
    };
    let (_, old) = start(&mut shared);
    let (mut election, token) = start(&mut shared);
    let mut actions = Vec::new();
    election.handle_timer(old, &mut shared, &mut actions);
    assert_eq!((election.leader(), actions.len()), (None, 0));
    election.handle_timer(token, &mut shared, &mut actions);
    assert_eq!(election.leader(), Some(Id(2)), "nobody answered");
    let view = election.view();
    election.handle_timer(token, &mut shared, &mut actions);
    assert_eq!((election.leader(), election.view()), (Some(Id(2)), view), "a timer fires only once");
}

#[test]
fn losing_a_candidate_interrupts_the_running_election_only() {
    let (choice, list) = (choice("bully", &[]), ranks(&[1, 2]));
    let (mut shared, mut actions) = (SharedState::new(1), Vec::new());
    shared.handle_disconnect(Id(1));
    let election = Election::start(&choice, Id(2), &list, &mut shared, &mut actions).expect("bully elects");
    assert!(!election.is_interrupted(&shared));
    shared.handle_disconnect(Id(3));
    assert!(!election.is_interrupted(&shared), "it is not a candidate");
    shared.handle_disconnect(Id(1));
    assert!(election.is_interrupted(&shared));
    let election = Election::start(&choice, Id(2), &list, &mut shared, &mut actions).expect("bully elects");
    assert!(!election.is_interrupted(&shared));
}

#[test]
fn starting_an_election_delivers_buffered_messages() {
    let (choice, list) = (choice("bully", &["highest=announce"]), ranks(&[1, 2]));
    let mut sent = Vec::new();
    let first = Election::start(&choice, Id(2), &list, &mut SharedState::new(1), &mut sent).expect("bully elects");
    assert_eq!(first.leader(), Some(Id(2)), "it announces at once");
    let mut shared = SharedState::new(2);
    for action in &sent {
        if let Action::Send { to: Id(1), bytes } = action {
            shared.buffer(first.key(), Id(2), bytes).expect("the message is valid");
        }
    }
    let mut actions = Vec::new();
    let second = Election::start(&choice, Id(1), &list, &mut shared, &mut actions).expect("bully elects");
    assert_eq!(
        (second.leader(), second.view()),
        (Some(Id(2)), first.view()),
        "it adopts the leader and the view of the first node"
    );
}

/// Bully under another name.
struct Own;

impl Algorithm for Own {
    type Params = <Bully as Algorithm>::Params;
    type Protocol<R: Rank> = <Bully as Algorithm>::Protocol<R>;
    const ABOUT: About = About { name: "own", ..Bully::ABOUT };
    fn protocol<R: Rank>(params: &Self::Params, setting: &Setting<'_, R>) -> Self::Protocol<R> {
        Bully::protocol(params, setting)
    }
}

#[test]
fn an_added_algorithm_elects() {
    assert!(refusal("own", &[]).starts_with("there is no algorithm `own`"));
    let algorithms = Algorithms::default().with::<Own>().expect("the name is free");
    let choice = algorithms.choose("own", None);
    assert_eq!((choice.name(), choice.params()), ("own", &["highest=announce".to_string()][..]));
    let (mut shared, mut actions) = (SharedState::new(1), Vec::new());
    let election = Election::start(&choice, Id(2), &ranks(&[1, 2]), &mut shared, &mut actions).expect("bully elects");
    assert_eq!(election.leader(), Some(Id(2)));
    let twice = algorithms.with::<Own>().err();
    assert_eq!(twice, Some(NameTaken { name: "own", new: "own", known: "own" }));
}
