//! How large messages and states are, and how a token is written down.

use std::mem::size_of;

use hustings_algorithms::catalogue::{self, Visitor};
use hustings_algorithms::{Algorithm, DefaultIds, NetworkKind, Params};
use hustings_protocol::{Effect, Event, Id, NodeInfo, Peers, Port, Protocol, Recorder, StartReason};

struct Sizes;

impl Visitor for Sizes {
    type Output = (usize, usize);
    fn visit<A: Algorithm>(self) -> (usize, usize) {
        (size_of::<<A::Protocol<Id> as Protocol>::Message>(), size_of::<<A::Protocol<Id> as Protocol>::State>())
    }
}

#[test]
fn messages_fit_in_16_bytes_and_states_in_what_is_declared() {
    for entry in catalogue::ENTRIES {
        let name = entry.about.name;
        let (message, state) = catalogue::visit(name, Sizes).unwrap();
        assert!(message <= 16, "{name}: a message takes {message} bytes");
        let most = entry.about.max_state_bytes;
        assert!(state <= most, "{name}: a state takes {state} bytes, and the description allows {most}");
    }
    for (name, expected) in [("chang-roberts", 1), ("le-lann", 1), ("token-ring", 1), ("hs", 3), ("franklin", 16)] {
        assert_eq!(catalogue::visit(name, Sizes).unwrap().1, expected, "{name}");
    }
}

#[test]
fn default_ids() {
    assert_eq!(DefaultIds::Positions.at(3), Id(3));
    assert_eq!(DefaultIds::PositionsFromOne.at(3), Id(4));
    for entry in catalogue::ENTRIES {
        let from_one = entry.about.network == NetworkKind::Complete;
        let expected = if from_one { DefaultIds::PositionsFromOne } else { DefaultIds::Positions };
        assert_eq!(entry.about.default_ids, expected, "{}", entry.about.name);
    }
}

/// Hands a token with these numbers to the node with id 9, and returns what it sends on.
fn token_after_nine(token: &str) -> serde_json::Value {
    let mut params = <hustings_algorithms::ring::TokenRing as Algorithm>::Params::default();
    params.set("token", token).unwrap();
    let rules = hustings_algorithms::ring::TokenRing::protocol::<Id>(&params, &hustings_algorithms::Setting::of(&[]));
    let mut effects = Vec::new();
    for id in [4, 9] {
        let place = NodeInfo { rank: Id(id), index: 0, size: 3, peers: Peers::Unknown(2) };
        let event = match effects.pop() {
            None => Event::Start(StartReason::Start),
            Some(Effect::Send(_, message)) => Event::Message { from: Port::PREVIOUS, message },
            other => panic!("only sending was expected, not {other:?}"),
        };
        let mut state = rules.init();
        rules.handle(&mut state, event, &mut Recorder::new(&place, |_| 0, &mut effects));
    }
    let Some(Effect::Send(Port::NEXT, message)) = effects.pop() else { panic!("the token went nowhere") };
    let written = serde_json::to_value(&message).unwrap();
    type Message = <<hustings_algorithms::ring::TokenRing as Algorithm>::Protocol<Id> as Protocol>::Message;
    assert_eq!(serde_json::from_value::<Message>(written.clone()).unwrap(), message);
    written
}

#[test]
fn a_token_carries_the_greatest_or_the_whole_list() {
    let token = |numbers| serde_json::json!({"election": {"detector": 4, "numbers": numbers}});
    assert_eq!(token_after_nine("max"), token(serde_json::json!({"greatest": 9})));
    assert_eq!(token_after_nine("collect"), token(serde_json::json!({"all": [4, 9]})));
}
