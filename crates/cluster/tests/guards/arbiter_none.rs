//! Without an arbiter nobody has to be told that a program has stopped: the node itself sees to what follows.

use hustings_cluster::api::{OfficeStatus, Reply, Request};
use hustings_cluster::config::{ArbiterKind, Config};
use hustings_cluster::core::ClientId;
use hustings_cluster::member::Role;

use crate::town::{Town, config};

fn leader(town: &mut Town, node: u64) -> OfficeStatus {
    town.ask(node, 9, Request::Leader { office: "job".to_string() });
    let told = town.told(node, 9);
    let [Reply::Office(status)] = &told[..] else { panic!("{told:?}") };
    status.clone()
}

/// Two nodes without an arbiter; two programs on node 2, which is better, and one on node 1 want the office.
fn wanted() -> (Town, u64) {
    let roles = [(1, Role::Elector), (2, Role::Elector)];
    let configs = [1, 2].map(|node| Config { arbiter: ArbiterKind::None, ..config(node, &roles) });
    let mut town = Town::new(configs.to_vec());
    for (node, client) in [(2, 1), (2, 2), (1, 3)] {
        town.campaign(node, client, "job", None);
    }
    town.pass(500);
    let first = town.token(2, "job").expect("node 2 is the better one");
    (town, first)
}

#[test]
fn an_office_of_a_program_that_is_gone_goes_to_the_next() {
    let (mut town, first) = wanted();
    town.act(2, |core, now| core.client_gone(ClientId(1), now));
    town.pass(100);
    let told = town.told(2, 2);
    assert!(matches!(told.last(), Some(Reply::Held(next)) if next.token > first), "{told:?}");
}

#[test]
fn who_does_not_stand_any_more_names_nobody() {
    let (mut town, _) = wanted();
    town.ask(1, 3, Request::Withdraw { office: "job".to_string() });
    town.pass(500);
    let status = leader(&mut town, 1);
    assert_eq!(status.holder, None, "nobody tells it who holds it: {status:?}");
}

#[test]
fn an_office_goes_to_the_next_program_and_at_last_to_nobody() {
    let (mut town, first) = wanted();
    let withdraw = Request::Withdraw { office: "job".to_string() };
    town.ask(2, 1, withdraw.clone());
    town.pass(100);
    let told = town.told(2, 2);
    let Some(Reply::Held(next)) = told.last() else { panic!("{told:?}") };
    assert!(next.token > first, "{next:?} after {first}");
    town.ask(2, 2, withdraw);
    town.pass(500);
    assert!(matches!(town.told(1, 3).last(), Some(Reply::Held(_))), "nobody on node 2 wants it any more");
    assert_eq!(leader(&mut town, 1).holder.as_deref(), Some("n1"));
    assert_ne!(leader(&mut town, 2).holder.as_deref(), Some("n2"), "what it gave up");
}
