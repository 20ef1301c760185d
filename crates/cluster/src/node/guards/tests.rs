use mio::Poll;

use super::*;
use crate::api::{ChangeReason, Lease};

/// Guards for at most two guardians, and this process as the peer of a connection. Nothing here is ever killed.
struct Harness {
    guards: Guards,
    stream: UnixStream,
    _other_end: UnixStream,
    _poll: Poll,
}

impl Harness {
    fn new() -> Harness {
        let poll = Poll::new().expect("descriptors are there");
        let (stream, other_end) = UnixStream::pair().expect("descriptors are there");
        let waker = Arc::new(mio::Waker::new(poll.registry(), Token(0)).expect("descriptors are there"));
        let guards = Guards::new(poll.registry(), waker, 100, 2, Urgency::Normal).expect("descriptors are there");
        Harness { guards, stream, _other_end: other_end, _poll: poll }
    }

    /// A client campaigns. Returns the code of the refusal.
    fn campaign(&mut self, client: u64, guard: Guard) -> Option<String> {
        let request = Request::Campaign { office: "a".to_string(), mode: None, guard: Some(guard) };
        let result = self.guards.handle_request(ClientId(client), &request, Some(&self.stream), None);
        result.err().map(|refusal| refusal.code)
    }

    /// A client is granted the office `a`.
    fn grant(&mut self, client: u64, token: u64) {
        let lease = Lease {
            office: "a".to_string(),
            token,
            deadline: Timestamp(1 << 40),
            lease: std::time::Duration::from_secs(1),
            stop: std::time::Duration::ZERO,
        };
        self.guards.handle_reply(ClientId(client), &Reply::Held(lease));
    }

    fn stopped(&mut self, client: u64, token: u64) {
        let request = Request::Stopped { office: "a".to_string(), token };
        self.guards.handle_request(ClientId(client), &request, Some(&self.stream), None).expect("it is no campaign");
    }

    fn is_armed(&self) -> bool {
        self.guards.due() != Timestamp::NEVER
    }
}

#[test]
fn a_connection_has_one_guard() {
    let mut harness = Harness::new();
    assert_eq!(harness.campaign(1, Guard::PidNamespace).as_deref(), Some("bad-request"), "this is no init");
    assert_eq!(harness.campaign(1, Guard::ProcessTree), None);
    assert_eq!(harness.campaign(1, Guard::ProcessTree), None, "it is the same one");
    assert_eq!(harness.campaign(1, Guard::PidNamespace).as_deref(), Some("bad-request"));
    assert_eq!(harness.guards.guardians.len(), 1);
}

#[test]
fn the_number_of_guardians_is_bounded() {
    let mut harness = Harness::new();
    assert_eq!((harness.campaign(1, Guard::ProcessTree), harness.campaign(2, Guard::ProcessTree)), (None, None));
    assert_eq!(harness.campaign(3, Guard::ProcessTree).as_deref(), Some("too-many"));
    // The first one may still act, the second one has no lease.
    harness.grant(1, 5);
    harness.guards.handle_client_gone(ClientId(1));
    assert_eq!(harness.campaign(3, Guard::ProcessTree).as_deref(), Some("too-many"));
    harness.guards.handle_client_gone(ClientId(2));
    assert_eq!(harness.campaign(3, Guard::ProcessTree), None);
}

#[test]
fn leases_without_a_guard_are_not_followed() {
    let mut harness = Harness::new();
    harness.grant(1, 5);
    assert!(!harness.is_armed());
    assert!(harness.guards.handle_request(ClientId(1), &Request::Status, None, None).is_ok());
}

#[test]
fn another_client_speaks_only_for_one_whose_connection_has_ended() {
    let mut harness = Harness::new();
    harness.campaign(1, Guard::ProcessTree);
    harness.grant(1, 5);
    harness.stopped(2, 5);
    assert!(harness.is_armed(), "the guardian is connected");
    harness.guards.handle_client_gone(ClientId(1));
    harness.stopped(2, 4);
    assert!(harness.is_armed(), "that was an earlier lease");
    harness.stopped(2, 5);
    assert!(!harness.is_armed() && harness.guards.guardians.is_empty(), "there is nothing left to do");
}

#[test]
fn a_guardian_speaks_for_itself() {
    let mut harness = Harness::new();
    harness.campaign(1, Guard::ProcessTree);
    for token in [5, 6] {
        harness.grant(1, token);
        harness.stopped(1, token);
        assert!(!harness.is_armed());
    }
    harness.grant(1, 7);
    let withdraw = Request::Withdraw { office: "a".to_string() };
    harness.guards.handle_request(ClientId(1), &withdraw, None, None).expect("it is no campaign");
    assert!(!harness.is_armed());
    assert_eq!(harness.guards.guardians.len(), 1, "it is still connected");
}

#[test]
fn a_program_of_one_process_is_followed_and_never_killed() {
    let mut harness = Harness::new();
    assert_eq!(harness.campaign(1, Guard::Process), None);
    harness.grant(1, 5);
    assert_eq!(harness.guards.due(), Timestamp(1 << 40), "not earlier, as for one that is killed");
    harness.guards.handle_client_gone(ClientId(1));
    harness.guards.ready(100);
    let ended = EndedGuardian { client: ClientId(1), leases: vec![("a".to_string(), 5)] };
    assert_eq!(harness.guards.take_ended(), [ended]);
    assert!(harness.guards.guardians.is_empty());
    // One that outlives its connection and its lease takes up no place.
    assert_eq!(harness.campaign(2, Guard::Process), None);
    harness.grant(2, 6);
    harness.guards.handle_client_gone(ClientId(2));
    harness.guards.kill_overdue(Timestamp(1 << 40));
    assert!(harness.guards.take_killed().is_empty() && harness.guards.guardians.is_empty());
}

#[test]
fn only_the_end_of_a_pid_namespace_proves_that_the_work_is_gone() {
    let mut harness = Harness::new();
    harness.campaign(1, Guard::ProcessTree);
    harness.campaign(2, Guard::ProcessTree);
    harness.guards.guardians.get_mut(&1).expect("it is the second one").containment = Containment::PidNamespace;
    harness.grant(1, 5);
    harness.grant(2, 6);
    let lost = Reply::Lost { office: "a".to_string(), token: 6, reason: ChangeReason::Expired };
    harness.guards.handle_reply(ClientId(2), &lost);
    harness.guards.handle_client_gone(ClientId(2));
    assert_eq!(harness.guards.take_ended(), []);
    [100, 101, 102, 99].into_iter().for_each(|token| harness.guards.ready(token));
    let ended = EndedGuardian { client: ClientId(2), leases: vec![("a".to_string(), 6)] };
    assert_eq!(harness.guards.take_ended(), [ended]);
    assert!(harness.guards.guardians.is_empty() && harness.guards.by_client.is_empty());
}

#[test]
fn a_guardian_that_could_not_be_killed_is_guarded_when_it_holds_again() {
    let mut harness = Harness::new();
    harness.campaign(1, Guard::ProcessTree);
    harness.grant(1, 5);
    // As if it had been tried.
    harness.guards.guardians.get_mut(&0).expect("it is the first one").is_killed = true;
    assert!(!harness.is_armed());
    let result = Err(io::ErrorKind::TimedOut.into());
    let failed = KilledGuardian { number: 0, leases: vec![("a".to_string(), 5)], result };
    harness.guards.killed.0.send(failed).expect("the guards listen");
    assert_eq!(harness.guards.take_killed().len(), 1);
    assert!(!harness.is_armed(), "it is not tried again and again");
    harness.grant(1, 6);
    assert!(harness.is_armed());
}

/// What kills work at its deadline is as urgent as the loop, whose threads do not inherit its urgency.
#[test]
fn threads_that_kill_are_urgent() {
    let (tell, told) = channel();
    run_on_thread(Urgency::Nice, move || {
        let _ = tell.send(rustix::process::getpriority_process(None).expect("it is this thread"));
    });
    let nice = told.recv().expect("it runs");
    match std::thread::spawn(|| Urgency::Nice.apply()).join().expect("it does not panic") {
        Ok(()) => assert_eq!(nice, crate::node::NICE_VALUE),
        Err(error) => crate::tests::skip(&format!("threads_that_kill_are_urgent: no higher priority here: {error}")),
    }
}
