//! Messages that a third member passes on count only for the process that they are for, once, and in order.

use hustings_protocol::Id;

use super::harness::{TestCluster, config, incarnation};
use super::incarnations::candidacy;
use crate::member::Role;
use crate::tests::seal;
use crate::wire::{Heartbeat, LeaderHeartbeat, Message, Relay};

const ROLES: [(u64, Role); 4] = [(1, Role::Elector), (2, Role::Elector), (3, Role::Witness), (4, Role::Observer)];

/// A node. The test simulates the others, which are connected.
fn lone_node(node: u64) -> TestCluster {
    let mut cluster = TestCluster::new(vec![config(node, &ROLES)]);
    for (other, incarnation) in [(1, 6), (2, 7), (3, 9), (4, 11)].into_iter().filter(|(other, _)| *other != node) {
        cluster.drive(node, |core, now| core.handle_connected(Id(other), incarnation, now));
    }
    cluster
}

/// A message of an incarnation of node 2 to node 1, with this number.
fn relay(incarnation_of_2: u64, number: u64, message: &Message) -> Relay {
    Relay {
        from: Id(2),
        incarnation: incarnation_of_2,
        to: Id(1),
        to_incarnation: incarnation(1),
        number,
        is_bulk: message.is_bulk(),
        bytes: message.encode(),
        seal: None,
    }
}

fn sealed(mut relay: Relay) -> Message {
    seal(&mut relay);
    Message::Relay(relay)
}

fn question() -> Message {
    Message::ReadinessRequest { office: "leader".into() }
}

/// A question of an incarnation of node 2, with this number.
fn says(incarnation: u64, number: u64) -> Message {
    sealed(relay(incarnation, number, &question()))
}

/// What node 1 sent to node 2 through others, and for which incarnations of both.
fn sent_through_relays(sent: &[(Id, Message)]) -> Vec<((u64, u64), Message)> {
    let relayed = sent.iter().filter_map(|(_, message)| match message {
        Message::Relay(Relay { from: Id(1), incarnation, to: Id(2), to_incarnation, bytes, .. }) => {
            Some(((*incarnation, *to_incarnation), Message::decode(bytes).expect("a node relays valid messages")))
        }
        _ => None,
    });
    relayed.collect()
}

/// The answers to node 2: for each that is relayed, the incarnations of both nodes.
fn answers(cluster: &mut TestCluster) -> Vec<Option<(u64, u64)>> {
    let sent = std::mem::take(&mut cluster.node(1).sent);
    let is_answer = |message: &Message| match message {
        Message::ReadinessResponse { .. } | Message::BlobPiece { .. } => true,
        Message::Heartbeat(heartbeat) => heartbeat.follower.is_some(),
        _ => false,
    };
    let direct = sent.iter().filter(|(_, message)| is_answer(message)).map(|_| None);
    let relayed = sent_through_relays(&sent).into_iter().filter(|(_, message)| is_answer(message));
    direct.chain(relayed.map(|(incarnations, _)| Some(incarnations))).collect()
}

/// Whether node 1 introduced itself to node 2.
fn introduced(cluster: &mut TestCluster) -> bool {
    let sent = std::mem::take(&mut cluster.node(1).sent);
    let relayed = sent_through_relays(&sent).into_iter().map(|(_, message)| message);
    let mut all = sent.into_iter().filter(|(to, _)| *to == Id(2)).map(|(_, message)| message).chain(relayed);
    all.any(|message| matches!(message, Message::Candidacy(candidacy) if candidacy.incarnation >= incarnation(1)))
}

#[test]
fn relayed_messages_carry_the_incarnations_of_both_ends() {
    let mut cluster = lone_node(1);
    cluster.deliver(3, 1, says(6, 1));
    assert_eq!(answers(&mut cluster), [], "the message is from an earlier incarnation of node 2");
    cluster.deliver(3, 1, says(7, 2));
    assert_eq!(answers(&mut cluster), [None]);
    // Without a connection, the response is relayed as well, and carries the incarnations.
    cluster.drive(1, |core, now| core.handle_disconnected(Id(2), now));
    cluster.deliver(3, 1, says(7, 3));
    assert_eq!(answers(&mut cluster), [Some((incarnation(1), 7))]);
}

#[test]
fn a_member_that_is_restarted_without_a_connection_introduces_itself() {
    let mut cluster = lone_node(1);
    cluster.drive(1, |core, now| core.handle_disconnected(Id(2), now));
    answers(&mut cluster);
    cluster.deliver(3, 1, says(8, 1));
    let sent = sent_through_relays(&cluster.node(1).sent);
    let introduces =
        |message: &Message| matches!(message, Message::Candidacy(candidacy) if candidacy.incarnation == incarnation(1));
    let is_introduction =
        |(incarnations, message): &((u64, u64), Message)| *incarnations == (incarnation(1), 8) && introduces(message);
    assert!(sent.iter().any(is_introduction), "{sent:?}");
    assert_eq!(answers(&mut cluster), [], "nothing is known of its disk");
    cluster.deliver(3, 1, sealed(relay(8, 2, &candidacy(9, 22))));
    cluster.deliver(3, 1, says(8, 3));
    assert_eq!(answers(&mut cluster), [], "the candidacy is not its own");
    cluster.deliver(3, 1, sealed(relay(8, 4, &candidacy(8, 22))));
    cluster.deliver(3, 1, says(8, 5));
    assert_eq!(answers(&mut cluster), [Some((incarnation(1), 8))]);
    // What an earlier incarnation sent may arrive late, through another relay.
    cluster.advance_ms(1_500);
    cluster.drive(1, |core, now| core.handle_connected(Id(3), 9, now));
    cluster.deliver(3, 1, sealed(relay(7, 6, &candidacy(7, 22))));
    cluster.deliver(3, 1, says(7, 7));
    assert_eq!(answers(&mut cluster), [], "it is no longer running");
    cluster.deliver(3, 1, says(8, 8));
    assert_eq!(answers(&mut cluster), [Some((incarnation(1), 8))]);
}

/// Who passes messages on may keep one and repeat it when the receiver was restarted: a confirmation would renew the
/// leases of the next process.
#[test]
fn a_message_for_an_earlier_process_has_no_effect() {
    let leader = LeaderHeartbeat { term: 1, commit: 0, round: 1, confirmed: 1 };
    let heartbeat = Message::Heartbeat(Heartbeat { number: 0, leader: Some(leader), follower: None });
    for message in [heartbeat, question()] {
        let mut cluster = lone_node(1);
        let kept = sealed(relay(7, 5, &message));
        cluster.deliver(3, 1, kept.clone());
        assert_eq!(answers(&mut cluster).len(), 1);
        cluster.restart(1);
        for (other, incarnation) in [(2, 7), (3, 9)] {
            cluster.drive(1, |core, now| core.handle_connected(Id(other), incarnation, now));
        }
        cluster.node(1).sent.clear();
        cluster.deliver(3, 1, kept.clone());
        let sent = cluster.node(1).sent.clone();
        assert_eq!(answers(&mut cluster), [], "{sent:?}");
        cluster.node(1).sent = sent;
        assert!(introduced(&mut cluster), "node 2 does not know that node 1 was restarted");
        cluster.deliver(3, 1, kept);
        assert!(!introduced(&mut cluster), "not again and again");
    }
}

#[test]
fn a_message_to_a_process_that_its_sender_does_not_know_is_answered_by_an_introduction() {
    let mut cluster = lone_node(1);
    let unknown = Relay { to_incarnation: 0, ..relay(7, 5, &question()) };
    cluster.deliver(3, 1, sealed(unknown));
    let sent = cluster.node(1).sent.clone();
    assert_eq!(answers(&mut cluster), []);
    cluster.node(1).sent = sent;
    assert!(introduced(&mut cluster));
}

#[test]
fn a_message_has_no_effect_twice_or_after_a_later_one() {
    let mut cluster = lone_node(1);
    let mut count = |message| {
        cluster.deliver(3, 1, message);
        answers(&mut cluster).len()
    };
    assert_eq!([5, 5, 4, 6, 1].map(|number| count(says(7, number))), [1, 0, 0, 1, 0]);
    // Bulk messages may be overtaken by others, and are compared with each other.
    let bulk = Message::BlobRequest { blob: 1, piece: 0 };
    assert!(bulk.is_bulk());
    assert_eq!([3, 3, 2, 4].map(|number| count(sealed(relay(7, number, &bulk)))), [1, 0, 0, 1]);
    assert_eq!(
        count(sealed(Relay { is_bulk: false, ..relay(7, 9, &bulk) })),
        0,
        "it says that it is of the other kind"
    );
    assert_eq!(count(sealed(Relay { is_bulk: true, ..relay(7, 9, &question()) })), 0);
    let inner = says(7, 20);
    assert_eq!(count(sealed(relay(7, 10, &inner))), 0, "a message is relayed only once");
    let mut forged = relay(7, 30, &question());
    assert_eq!(count(Message::Relay(forged.clone())), 0, "it is not sealed");
    seal(&mut forged);
    forged.number = 31;
    assert_eq!(count(Message::Relay(forged)), 0, "it was changed");
}

#[test]
fn a_messages_number_is_greater_than_that_of_the_one_before() {
    let mut cluster = lone_node(1);
    cluster.drive(1, |core, now| core.handle_disconnected(Id(2), now));
    cluster.node(1).sent.clear();
    for number in 1..5 {
        cluster.deliver(3, 1, says(7, number));
    }
    let numbers: Vec<u64> = cluster
        .node(1)
        .sent
        .iter()
        .filter_map(|(to, message)| match message {
            Message::Relay(relay) => Some((to, relay)).filter(|(to, _)| **to == Id(3)).map(|(_, relay)| relay.number),
            _ => None,
        })
        .collect();
    assert!(numbers.len() >= 4 && numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
}

#[test]
fn only_voters_relay() {
    let mut cluster = lone_node(1);
    cluster.deliver(4, 1, says(7, 1));
    assert_eq!(answers(&mut cluster), [], "node 4 is an observer");
    cluster.deliver(3, 1, says(7, 1));
    assert_eq!(answers(&mut cluster).len(), 1, "node 3 is a witness, which votes");
    cluster.deliver(2, 1, says(7, 2));
    assert_eq!(answers(&mut cluster), [], "nobody relays for itself");
    let unknown = Relay { from: Id(9), ..relay(7, 3, &question()) };
    cluster.deliver(3, 1, sealed(unknown));
    assert_eq!(answers(&mut cluster), [], "it is not from a member");
    // If only an observer is connected, nothing is relayed.
    cluster.drive(1, |core, now| core.handle_disconnected(Id(2), now));
    cluster.drive(1, |core, now| core.handle_disconnected(Id(3), now));
    cluster.node(1).sent.clear();
    cluster.deliver(3, 1, says(7, 4));
    cluster.advance_ms(500);
    let sent = &cluster.node(1).sent;
    assert!(!sent.iter().any(|(_, message)| matches!(message, Message::Relay(_))), "{sent:?}");
}

#[test]
fn only_what_members_send_to_members_is_passed_on() {
    let pass = |node: u64, from: u64, relay: Relay| {
        let mut cluster = lone_node(node);
        cluster.drive(node, |core, now| core.handle_connected(Id(9), 99, now));
        let (to, message) = (relay.to, sealed(relay));
        cluster.deliver(from, node, message.clone());
        cluster.node(node).sent.contains(&(to, message))
    };
    let to_3 = || Relay { to: Id(3), ..relay(6, 1, &Message::Leave) };
    assert!(pass(1, 2, to_3()), "it is passed on as it is, whatever it says of its sender");
    assert!(!pass(1, 4, to_3()), "node 4 says that it comes from node 2");
    assert!(!pass(4, 2, to_3()), "an observer passes nothing on");
    assert!(!pass(1, 2, Relay { to: Id(9), ..to_3() }), "its receiver is connected, but no member");
    assert!(!pass(1, 9, Relay { from: Id(9), ..to_3() }), "its sender is no member");
}
