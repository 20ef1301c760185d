//! A small token ring: the starter's token collects the greatest rank, then the winner is announced around the ring.

use hustings_protocol::{Context, Id, Port, Protocol, StartReason, kinds};
use hustings_sim::outcome::Times;
use serde::{Deserialize, Serialize};

use super::*;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(crate) enum Token {
    Election { starter: Id, best: Id },
    Coordinator { starter: Id, leader: Id },
}
kinds!(Token: Election = "election", Coordinator = "coordinator");

#[derive(Clone)]
pub(crate) struct TokenRing;

impl TokenRing {
    fn accept<C: Context<Self>>(leader: Id, cx: &mut C) {
        if leader == cx.rank() { cx.lead() } else { cx.follow(leader) }
    }
}

impl Protocol for TokenRing {
    type Rank = Id;
    type State = ();
    type Message = Token;

    fn init(&self) {}

    fn handle_start<C: Context<Self>>(&self, (): &mut (), _: StartReason, cx: &mut C) {
        cx.send(Port::NEXT, Token::Election { starter: cx.rank(), best: cx.rank() });
    }

    fn handle_message<C: Context<Self>>(&self, (): &mut (), _: Port, message: Token, cx: &mut C) {
        let own = cx.rank();
        match message {
            Token::Election { starter, best } if starter == own => {
                cx.send(Port::NEXT, Token::Coordinator { starter, leader: best });
            }
            Token::Election { starter, best } => {
                cx.send(Port::NEXT, Token::Election { starter, best: best.max(own) });
            }
            Token::Coordinator { starter, leader } => {
                Self::accept(leader, cx);
                if starter != own {
                    cx.send(Port::NEXT, message);
                }
            }
        }
    }

    fn handle_unreachable<C: Context<Self>>(&self, (): &mut (), port: Port, _: Token, cx: &mut C) {
        cx.skip(port);
    }
}

fn down_from_the_start(size: u32, dead: &[u32], starter: u32) -> Scenario {
    let faults = dead.iter().map(|&at| fault(0, FaultKind::Crash(at))).collect();
    Scenario { faults, starts: vec![start(starter, 0)], ..ring(size) }
}

#[test]
fn without_crashes() {
    let outcome = run(&TokenRing, &down_from_the_start(8, &[], 3));
    assert_eq!(outcome.by_kind, [8, 8]);
    assert_eq!(outcome.time, Times { elected: Some(12), agreed: Some(16), quiescent: Some(16) });
}

#[test]
fn every_crashed_node_costs_one_message_and_two_ticks() {
    for (dead, starter) in [(&[7][..], 0), (&[2, 3, 7], 0), (&[5, 6, 7], 1), (&[0, 1, 2, 3, 4, 5, 7], 6)] {
        let outcome = run(&TokenRing, &down_from_the_start(8, dead, starter));
        let live = 8 - dead.len() as u64;
        assert_eq!(outcome.by_kind, [8, live], "{dead:?}");
        assert_eq!((outcome.time.quiescent, outcome.lost), (Some(16), dead.len() as u64), "{dead:?}");
        assert!(outcome.agreement && !outcome.hung, "{dead:?}");
        assert_eq!(u64::from(outcome.live), live);
    }
}

#[test]
fn a_later_start_holds_a_second_election_without_the_dead_leader() {
    let scenario =
        Scenario { faults: vec![fault(50, FaultKind::Crash(7))], starts: vec![start(0, 0), start(2, 60)], ..ring(8) };
    let outcome = run(&TokenRing, &scenario);
    assert_eq!((outcome.leader, outcome.agreement), (Some(6), true));
    // The second token finds the crashed node: 8 + 8 messages, then 8 + 7.
    assert_eq!(outcome.by_kind, [16, 15]);
    assert_eq!(outcome.time.quiescent, Some(60 + 16));
}
