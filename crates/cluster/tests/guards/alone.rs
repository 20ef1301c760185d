//! Without an arbiter nobody has to be told that a program has stopped: the node itself sees to what follows.

use hustings_cluster::api::{OfficeStatus, Reply, Request};
use hustings_cluster::config::{ArbiterKind, Config};
use hustings_cluster::member::Role;

use crate::town::{Town, config};

fn leader(town: &mut Town, node: u64) -> OfficeStatus {
    town.ask(node, 9, Request::Leader { office: "job".to_string() });
    let told = town.told(node, 9);
    let [Reply::Office(status)] = &told[..] else { panic!("{told:?}") };
    status.clone()
}

#[test]
fn an_office_goes_to_the_next_program_and_at_last_to_nobody() {
    let roles = [(1, Role::Elector), (2, Role::Elector)];
    let configs = [1, 2].map(|node| Config { arbiter: ArbiterKind::None, ..config(node, &roles) });
    let mut town = Town::new(configs.to_vec());
    for (node, client) in [(2, 1), (2, 2), (1, 3)] {
        town.campaign(node, client, "job", None);
    }
    town.pass(500);
    let first = town.token(2, "job").expect("node 2 is the better one");
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
