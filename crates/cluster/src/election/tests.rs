//! What is refused, and what is remembered.

use hustings_algorithms::catalogue::{ENTRIES, NameTaken};
use hustings_algorithms::complete::Bully;
use hustings_algorithms::{About, Algorithm, Setting};
use hustings_protocol::Rank;

use super::*;

fn choice(name: &str, params: &[&str]) -> Choice {
    Choice::named(name, Some(params.iter().map(|text| text.to_string()).collect()))
}

fn ranks(ids: &[u64]) -> Vec<MemberRank> {
    ids.iter().map(|&id| MemberRank { priority: 0, health: 100, id: Id(id) }).collect()
}

fn refusal(name: &str, params: &[&str]) -> String {
    Election::check(&choice(name, params)).map_or_else(|error| error.to_string(), |()| String::new())
}

#[test]
fn a_choice_that_cannot_elect_is_refused_with_the_reason() {
    let known = refusal("bullly", &[]);
    assert!(known.starts_with("there is no algorithm `bullly`; there are chang-roberts, "), "{known}");
    assert!(!known.contains("itai-rodeh") && !known.contains("ring-size"), "{known}");
    assert!(refusal("itai-rodeh", &[]).contains("without ids"));
    assert!(refusal("anonymous-echo", &[]).contains("without ids"));
    assert!(refusal("ring-size", &[]).contains("does not elect"));
    assert_eq!(refusal("bully", &["highest"]), "`highest` is not `name=value`");
    assert_eq!(refusal("bully", &["T=1", "T=2"]), "parameter `T` is given twice");
    assert!(refusal("bully", &["T=0"]).contains("a whole number from 1 on"));
    assert!(refusal("bully", &["speed=1"]).contains("there is no parameter `speed`"));
    assert_eq!(refusal("bully", &["highest=announce"]), "");
    for entry in ENTRIES {
        let name = entry.about.name;
        assert_eq!(refusal(name, &[]).is_empty(), entry.about.elects_by_id(), "{name}");
    }
}

#[test]
fn a_list_must_be_in_order_and_hold_the_node_itself() {
    let choice = choice("bully", &[]);
    let enter = |ids: &[u64]| {
        let (mut shared, mut actions) = (SharedState::new(1), Vec::new());
        Election::start(&choice, Id(2), &ranks(ids), &mut shared, &mut actions)
            .map(|election| (election.leader(), actions.len()))
    };
    let refused = Err(ElectionError::InvalidCandidates { own: Id(2) });
    for list in [&[][..], &[1, 3], &[2, 1], &[2, 2], &[3, 2, 1]] {
        assert_eq!(enter(list), refused, "{list:?}");
    }
    assert_eq!(enter(&[2]), Ok((Some(Id(2)), 0)), "alone it leads, and has nothing to say");
    assert!(enter(&[1, 2, 3]).is_ok_and(|(leader, actions)| leader.is_none() && actions > 0));
}

#[test]
fn what_a_race_does_comes_from_the_seed_and_lives_differ() {
    let enter = |seed| {
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
    assert_eq!(enter(5), enter(5));
    assert_ne!(enter(5), enter(6), "views of two processes are not taken for each other");
}

#[test]
fn an_alarm_of_an_older_race_is_not_heard() {
    let (choice, list) = (choice("bully", &[]), ranks(&[1, 2]));
    let (mut shared, mut actions) = (SharedState::new(1), Vec::new());
    let mut start = |shared: &mut SharedState| {
        actions.clear();
        let election = Election::start(&choice, Id(2), &list, shared, &mut actions).expect("bully elects");
        let token = actions
            .iter()
            .find_map(|action| if let Action::SetTimer { token, .. } = action { Some(*token) } else { None });
        (election, token.expect("the greatest waits for answers"))
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
    assert_eq!((election.leader(), election.view()), (Some(Id(2)), view), "nor is one that has rung");
}

#[test]
fn a_race_is_shaken_by_the_loss_of_a_candidate_until_the_next_is_entered() {
    let (choice, list) = (choice("bully", &[]), ranks(&[1, 2]));
    let (mut shared, mut actions) = (SharedState::new(1), Vec::new());
    shared.handle_disconnect(Id(1));
    let election = Election::start(&choice, Id(2), &list, &mut shared, &mut actions).expect("bully elects");
    assert!(!election.is_interrupted(&shared));
    shared.handle_disconnect(Id(3));
    assert!(!election.is_interrupted(&shared), "it is no candidate");
    shared.handle_disconnect(Id(1));
    assert!(election.is_interrupted(&shared));
    let election = Election::start(&choice, Id(2), &list, &mut shared, &mut actions).expect("bully elects");
    assert!(!election.is_interrupted(&shared));
}

#[test]
fn early_mail_is_there_when_the_race_is_entered() {
    let (choice, list) = (choice("bully", &["highest=announce"]), ranks(&[1, 2]));
    let mut sent = Vec::new();
    let first = Election::start(&choice, Id(2), &list, &mut SharedState::new(1), &mut sent).expect("bully elects");
    assert_eq!(first.leader(), Some(Id(2)), "at once");
    let mut shared = SharedState::new(2);
    for action in &sent {
        if let Action::Send { to: Id(1), bytes } = action {
            shared.buffer(first.key(), Id(2), bytes).expect("it is sound");
        }
    }
    let mut actions = Vec::new();
    let second = Election::start(&choice, Id(1), &list, &mut shared, &mut actions).expect("bully elects");
    assert_eq!((second.leader(), second.view()), (Some(Id(2)), first.view()), "at once, in the view of the first");
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
