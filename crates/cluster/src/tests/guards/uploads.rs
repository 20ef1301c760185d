//! Whoever stores a state is told that nothing has changed only if that is so.

use super::harness::{TestCluster, config};
use crate::api::{Base64, Reply, Request};
use crate::member::Role;

const ROLES: [(u64, Role); 5] =
    [(1, Role::Elector), (2, Role::Elector), (3, Role::Elector), (4, Role::Elector), (5, Role::Elector)];

fn whole_state(token: u64) -> Request {
    let data = Base64(bytes::Bytes::from_static(b"abc"));
    Request::PutState { office: "job".to_string(), token, bytes: 3, offset: 0, data }
}

/// A state of the holder of `job`, which is stored through a third node and takes effect. The answer is lost, and the
/// node cut off. Meanwhile another node is granted the office.
struct LostAnswer {
    cluster: TestCluster,
    /// The leader of the arbiter, and the node that waits for an answer.
    leader: u64,
    origin: u64,
    token: u64,
}

impl LostAnswer {
    fn new() -> LostAnswer {
        let mut cluster = TestCluster::new((1..=5).map(|id| config(id, &ROLES)).collect());
        cluster.advance_ms(1_000);
        let leader = cluster.arbiter_leader(1).expect("the arbiter has a leader");
        let mut others = (1..=5).filter(|node| *node != leader);
        let mut next = || others.next().expect("there are four");
        let (first, second, origin) = (next(), next(), next());
        cluster.campaign(first, 1, "job", None);
        cluster.advance_ms(500);
        let token = cluster.token(first, "job").expect("there is no other candidate");
        cluster.lost_piece_answers = true;
        cluster.request(origin, 9, whole_state(token));
        cluster.lost_piece_answers = false;
        cluster.isolate(origin);
        cluster.campaign(second, 1, "job", None);
        cluster.request(first, 1, Request::Withdraw { office: "job".to_string() });
        cluster.advance_ms(200);
        assert!(cluster.token(second, "job").is_some_and(|next| next > token));
        cluster.request(second, 8, Request::GetState { office: "job".to_string(), offset: 0 });
        cluster.advance_ms(50);
        let found = cluster.take_replies(second, 8);
        assert!(matches!(&found[..], [Reply::State { state: Some(state) }] if state.token == token), "{found:?}");
        assert_eq!(cluster.take_replies(origin, 9), []);
        LostAnswer { cluster, leader, origin, token }
    }

    /// What the node tells its client in the end.
    fn answer(&mut self) -> Reply {
        self.cluster.rejoin(self.origin);
        for _ in 0..3_000 {
            self.cluster.advance_ms(1);
            if let Some(reply) = self.cluster.take_replies(self.origin, 9).pop() {
                return reply;
            }
        }
        panic!("there is no answer");
    }
}

#[test]
fn a_state_that_took_effect_is_acknowledged_although_its_office_has_changed_hands() {
    let mut lost = LostAnswer::new();
    assert_eq!(lost.answer(), Reply::Done);
}

#[test]
fn a_state_that_took_effect_at_another_coordinator_is_not_refused_by_the_next() {
    let mut lost = LostAnswer::new();
    lost.cluster.kill(lost.leader);
    lost.cluster.advance_ms(1_000);
    let Reply::Error(error) = lost.answer() else { panic!("nobody knows the upload any more") };
    assert_eq!(error.code, "timed-out", "{}", error.message);
    assert!(error.message.contains("not held with this token any more"), "{}", error.message);
    assert!(error.message.contains("either the former or the new one"), "{}", error.message);
    // What has certainly no effect is still refused.
    let (origin, token) = (lost.origin, lost.token);
    lost.cluster.request(origin, 9, whole_state(token));
    lost.cluster.advance_ms(200);
    assert_eq!(lost.cluster.take_refusal_code(origin, 9).as_deref(), Some("stale-token"));
}
