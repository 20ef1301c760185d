use super::*;

const MS: u64 = 1_000_000;
const FRESH: Duration = Duration::from_millis(90);
/// The length of a lease.
const LENGTH: Duration = Duration::from_millis(99);

fn at(ms: u64) -> Timestamp {
    Timestamp(1_000 * MS + ms * MS)
}

fn lease(token: u64, deadline: u64) -> Lease {
    Lease { office: "o".to_string(), token, deadline: at(deadline), lease: LENGTH, stop: Duration::ZERO }
}

/// A renewal that moves the deadline to this time.
fn renewed(deadline: u64) -> Reply {
    Reply::Renewed { from: at(deadline) - LENGTH }
}

fn status(holder: Option<&str>, current: bool) -> Reply {
    Reply::Office(OfficeStatus {
        office: "o".to_string(),
        mode: Mode::Exclusive,
        holder: holder.map(str::to_string),
        address: None,
        token: 1,
        since_unix_ms: 0,
        reason: ChangeReason::Vacant,
        current,
    })
}

fn history() -> Reply {
    Reply::History { changes: Vec::new() }
}

fn names(requests: &[Request]) -> Vec<&'static str> {
    let name = |request: &Request| match request {
        Request::Campaign { .. } => "campaign",
        Request::Withdraw { .. } => "withdraw",
        Request::Stopped { .. } => "stopped",
        Request::Watch { .. } => "watch",
        Request::History { .. } => "probe",
        Request::KeepAlive { .. } => "keep-alive",
        _ => "?",
    };
    requests.iter().map(name).collect()
}

/// Publishes the updates and returns the names of the requests.
fn sent(updates: Updates) -> Vec<&'static str> {
    let names = names(&updates.requests);
    updates.publish();
    names
}

/// A connected state with a campaign, and what the campaigner sees.
fn campaigning() -> (State, watch::Receiver<Phase>, Deadline) {
    let mut state = State::new(FRESH, None, None);
    sent(state.handle_connected(at(0)));
    let (receiver, deadline, updates) = state.campaign("o", None, at(0)).expect("nobody else campaigns");
    assert_eq!(sent(updates), ["campaign"]);
    assert_eq!(sent(state.handle_reply(Reply::Done, at(0))), [""; 0]);
    (state, receiver, deadline)
}

/// The same, with the guard taken: token 7, until 100.
fn holding_office() -> (State, watch::Receiver<Phase>, Deadline) {
    let (mut state, receiver, deadline) = campaigning();
    sent(state.handle_reply(Reply::Held(lease(7, 100)), at(1)));
    assert_eq!(*receiver.borrow(), Phase::Held(7));
    assert_eq!(state.take("o", at(2)), Some(7));
    (state, receiver, deadline)
}

#[test]
fn a_lease_is_renewed_and_then_expires_by_the_clock_alone() {
    let (mut state, receiver, deadline) = holding_office();
    sent(state.handle_reply(renewed(150), at(50)));
    assert_eq!((deadline.get(), state.next_deadline()), (at(150), at(150)));
    sent(state.handle_time(at(149)));
    assert_eq!(*receiver.borrow(), Phase::Held(7));
    // The node is told that the work has stopped. A renewal that arrives now is too late.
    assert_eq!(sent(state.handle_reply(renewed(200), at(150))), ["withdraw"]);
    assert_eq!(*receiver.borrow(), Phase::Lost(EndReason::DeadlinePassed));
    assert_eq!(deadline.get(), Timestamp::ZERO);
    // Dropping the guard sends nothing more.
    assert_eq!(sent(state.withdraw("o", None)), [""; 0]);
}

#[test]
fn the_loss_of_another_token_has_no_effect() {
    let (mut state, _receiver, deadline) = holding_office();
    sent(state.handle_reply(Reply::Lost { office: "o".into(), token: 6, reason: ChangeReason::Expired }, at(50)));
    assert_eq!(deadline.get(), at(100));
}

#[test]
fn the_program_must_begin_to_stop_before_the_deadline() {
    let (mut state, receiver, deadline) = campaigning();
    let stop = Duration::from_millis(30);
    sent(state.handle_reply(Reply::Held(Lease { stop, ..lease(7, 100) }), at(1)));
    assert_eq!(state.take("o", at(2)), Some(7));
    assert_eq!(state.next_deadline(), at(70));
    sent(state.handle_reply(renewed(150), at(50)));
    assert_eq!(state.next_deadline(), at(120));
    sent(state.handle_time(at(119)));
    assert_eq!(*receiver.borrow(), Phase::Held(7));
    assert_eq!(sent(state.handle_time(at(120))), [""; 0], "the office is not given back while the guard exists");
    assert_eq!(*receiver.borrow(), Phase::Stopping(7, EndReason::DeadlinePassed));
    // A renewal does not revive it.
    sent(state.handle_reply(renewed(200), at(121)));
    assert_eq!((deadline.get(), state.next_deadline()), (at(150), at(150)));
    assert_eq!(sent(state.withdraw("o", None)), ["stopped", "withdraw"]);
}

#[test]
fn an_office_is_held_until_the_work_has_stopped() {
    let (mut state, receiver, deadline) = holding_office();
    sent(state.handle_reply(Reply::Stop { office: "o".into(), token: 7, reason: ChangeReason::Transferred }, at(10)));
    assert_eq!(*receiver.borrow(), Phase::Stopping(7, EndReason::Revoked(ChangeReason::Transferred)));
    assert_eq!(deadline.get(), at(100));
    // No renewal keeps it any more.
    sent(state.handle_reply(renewed(150), at(11)));
    assert_eq!(deadline.get(), at(100));
    let (waits, mut known) = oneshot::channel();
    assert_eq!(sent(state.withdraw("o", Some(waits))), ["stopped", "withdraw"]);
    sent(state.handle_reply(Reply::Done, at(12)));
    assert!(known.try_recv().is_err());
    sent(state.handle_reply(Reply::Done, at(12)));
    assert!(known.try_recv().is_ok());
}

#[test]
fn the_reason_of_the_stop_is_the_reason_of_the_loss() {
    let (mut state, receiver, _deadline) = holding_office();
    sent(state.handle_reply(Reply::Stop { office: "o".into(), token: 7, reason: ChangeReason::Preempted }, at(10)));
    sent(state.handle_time(at(100)));
    assert_eq!(*receiver.borrow(), Phase::Lost(EndReason::Revoked(ChangeReason::Preempted)));
}

/// The node granted the office before it received the withdrawal, and revokes that grant then. A new campaign must not
/// take the old grant for its own.
#[test]
fn a_grant_to_an_earlier_campaign_is_ignored() {
    let (mut state, _first, _) = campaigning();
    assert_eq!(sent(state.withdraw("o", None)), ["withdraw"]);
    let (receiver, deadline, updates) = state.campaign("o", None, at(0)).expect("the first is over");
    assert_eq!(sent(updates), ["campaign"]);
    sent(state.handle_reply(Reply::Held(lease(7, 100)), at(1)));
    assert_eq!((receiver.borrow().clone(), deadline.get()), (Phase::Waiting, Timestamp::ZERO));
    sent(state.handle_reply(Reply::Done, at(2)));
    sent(state.handle_reply(Reply::Held(lease(7, 100)), at(3)));
    assert_eq!(*receiver.borrow(), Phase::Waiting, "that was the answer to the withdrawal");
    sent(state.handle_reply(Reply::Done, at(4)));
    sent(state.handle_reply(Reply::Held(lease(8, 100)), at(5)));
    assert_eq!((receiver.borrow().clone(), deadline.get()), (Phase::Held(8), at(100)));
}

#[test]
fn an_unclaimed_grant_that_expires_is_waited_for_again() {
    let (mut state, receiver, deadline) = campaigning();
    sent(state.handle_reply(Reply::Held(lease(7, 100)), at(1)));
    // The task was slow: the deadline has passed, and the node is told that nobody works.
    assert_eq!(state.take("o", at(100)), None);
    assert_eq!(sent(state.handle_time(at(100))), ["stopped"]);
    assert_eq!((receiver.borrow().clone(), deadline.get()), (Phase::Waiting, Timestamp::ZERO));
    sent(state.handle_reply(Reply::Done, at(101)));
    sent(state.handle_reply(Reply::Held(lease(8, 200)), at(102)));
    assert_eq!(state.take("o", at(103)), Some(8));
}

#[test]
fn a_stop_before_the_guard_is_claimed_is_confirmed_at_once() {
    let (mut state, receiver, _) = campaigning();
    sent(state.handle_reply(Reply::Held(lease(7, 100)), at(1)));
    let stop = Reply::Stop { office: "o".into(), token: 7, reason: ChangeReason::Preempted };
    assert_eq!(sent(state.handle_reply(stop, at(2))), ["stopped"]);
    assert_eq!(*receiver.borrow(), Phase::Waiting);
    assert_eq!(state.take("o", at(3)), None);
}

#[test]
fn an_error_ends_its_campaign() {
    let mut state = State::new(FRESH, None, None);
    sent(state.handle_connected(at(0)));
    let (receiver, _, updates) = state.campaign("o", Some(Mode::Fenced), at(0)).expect("nobody else campaigns");
    sent(updates);
    assert!(state.campaign("o", None, at(0)).is_none(), "only one at a time");
    let refusal = RequestError { code: "other-mode".into(), message: "no".into() };
    sent(state.handle_reply(Reply::Error(refusal.clone()), at(1)));
    assert_eq!(*receiver.borrow(), Phase::Rejected(refusal));
    assert_eq!(sent(state.withdraw("o", None)), [""; 0]);
}

#[test]
fn a_mode_mismatch_rejects_the_campaign() {
    let (mut state, receiver, _) = campaigning();
    let lost = Reply::Lost { office: "o".into(), token: 7, reason: ChangeReason::ModeMismatch };
    assert_eq!(sent(state.handle_reply(lost, at(1))), [""; 0]);
    let phase = receiver.borrow().clone();
    assert!(matches!(&phase, Phase::Rejected(refusal) if refusal.code == "other-mode"), "{phase:?}");
    assert_eq!(sent(state.withdraw("o", None)), [""; 0], "the node knows that");
}

#[test]
fn a_reconnect_stops_held_offices_and_repeats_campaigns() {
    let (mut state, receiver, deadline) = holding_office();
    let (waiting, _, updates) = state.campaign("p", None, at(0)).expect("nobody else campaigns");
    sent(updates);
    sent(state.handle_disconnected(at(20)));
    assert_eq!(*receiver.borrow(), Phase::Stopping(7, EndReason::NodeLost));
    assert_eq!((deadline.get(), state.next_deadline()), (at(100), at(100)));
    let again = state.handle_connected(at(50));
    let wanted = Request::Campaign { office: "p".to_string(), mode: None, guard: None };
    assert_eq!(again.requests, [wanted], "not what somebody still holds");
    again.publish();
    // The answer is to that one.
    sent(state.handle_reply(Reply::Done, at(51)));
    sent(state.handle_reply(Reply::Held(Lease { office: "p".into(), ..lease(1, 200) }), at(52)));
    assert_eq!(*waiting.borrow(), Phase::Held(1));
    assert_eq!(sent(state.handle_time(at(100))), [""; 0], "this node knows nothing of it");
    assert_eq!(*receiver.borrow(), Phase::Lost(EndReason::NodeLost));
}

#[test]
fn an_office_without_a_lease_is_lost_with_the_node() {
    let (mut state, receiver, deadline) = holding_office();
    sent(state.handle_reply(Reply::Held(Lease { deadline: Timestamp::NEVER, ..lease(7, 0) }), at(10)));
    sent(state.handle_disconnected(at(20)));
    assert_eq!((receiver.borrow().clone(), deadline.get()), (Phase::Lost(EndReason::NodeLost), Timestamp::ZERO));
}

#[test]
fn a_pending_resignation_fails_when_the_connection_ends() {
    let (mut state, _receiver, _) = holding_office();
    let (waits, mut known) = oneshot::channel();
    assert_eq!(sent(state.withdraw("o", Some(waits))), ["withdraw"]);
    sent(state.handle_disconnected(at(20)));
    assert_eq!(known.try_recv(), Err(oneshot::error::TryRecvError::Closed));
}

#[test]
fn a_leader_is_shown_only_while_probes_are_answered() {
    let mut state = State::new(FRESH, None, None);
    sent(state.handle_connected(at(0)));
    let (receiver, updates) = state.observe("o", at(0));
    assert_eq!(sent(updates), ["watch", "probe"]);
    let shown = || receiver.borrow().leader().map(str::to_string);
    sent(state.handle_reply(status(Some("a"), true), at(1)));
    assert_eq!(shown(), None, "this may have been in the socket for long");
    sent(state.handle_reply(history(), at(2)));
    assert_eq!(shown().as_deref(), Some("a"));
    // A third of the time later it is asked again, and counts from when it was asked.
    assert_eq!(state.next_deadline(), at(30));
    assert_eq!(sent(state.handle_time(at(30))), ["probe"]);
    sent(state.handle_reply(history(), at(89)));
    assert_eq!((shown().as_deref(), state.fresh_until().get()), (Some("a"), at(120)));
    // From now on it is silent.
    assert_eq!(sent(state.handle_time(at(119))), ["probe"]);
    assert_eq!((shown().as_deref(), state.next_deadline()), (Some("a"), at(120)));
    sent(state.handle_time(at(120)));
    assert_eq!(*receiver.borrow(), LeaderView::Unknown);
    assert_eq!(state.next_deadline(), Timestamp::NEVER, "there is nothing to do but to wait for it");
    // An answer to what was asked before it fell silent proves nothing, but it is asked again.
    sent(state.handle_reply(history(), at(500)));
    assert_eq!(*receiver.borrow(), LeaderView::Unknown);
    assert_eq!(sent(state.handle_time(at(500))), ["probe"]);
    sent(state.handle_reply(history(), at(501)));
    assert_eq!(shown().as_deref(), Some("a"));
    sent(state.handle_disconnected(at(20)));
    assert_eq!(*receiver.borrow(), LeaderView::Unknown);
}

#[test]
fn an_unconfirmed_holder_is_unknown_and_no_holder_is_vacant() {
    let mut state = State::new(FRESH, None, None);
    sent(state.handle_connected(at(0)));
    let (receiver, updates) = state.observe("o", at(0));
    sent(updates);
    sent(state.handle_reply(history(), at(0)));
    for (reply, wanted) in [
        (status(None, true), LeaderView::Vacant),
        (status(Some("a"), false), LeaderView::Unknown),
        (status(None, false), LeaderView::Unknown),
    ] {
        sent(state.handle_reply(reply, at(1)));
        assert_eq!(*receiver.borrow(), wanted);
    }
}

#[test]
fn no_probes_are_sent_without_observers() {
    let mut state = State::new(FRESH, None, None);
    sent(state.handle_connected(at(0)));
    let (receiver, updates) = state.observe("o", at(0));
    sent(updates);
    sent(state.handle_reply(history(), at(1)));
    drop(receiver);
    assert_eq!(state.next_deadline(), Timestamp::NEVER);
    assert_eq!(sent(state.handle_time(at(50))), [""; 0]);
    let (_receiver, updates) = state.observe("o", at(60));
    assert_eq!(sent(updates), ["probe"], "it is watched already");
}

#[test]
fn limits_the_number_of_watched_offices() {
    let mut state = State::new(FRESH, None, None);
    sent(state.handle_connected(at(0)));
    let watches = |updates: Updates| sent(updates).contains(&"watch");
    for number in 0..MAX_OFFICES {
        let (_receiver, updates) = state.observe(&format!("o{number}"), at(0));
        assert!(watches(updates));
    }
    let (receiver, updates) = state.observe("one-more", at(0));
    assert!(!watches(updates));
    assert_eq!(*receiver.borrow(), LeaderView::Unknown);
}

#[test]
fn a_program_that_campaigns_gives_a_word_four_times_within_its_time_to_live() {
    let mut state = State::new(FRESH, Some(Duration::from_millis(2_000)), Some(Guard::Process));
    sent(state.handle_connected(at(0)));
    assert_eq!(state.next_deadline(), Timestamp::NEVER, "who does not campaign has nothing to lose");
    let (_receiver, _, updates) = state.campaign("o", None, at(100)).expect("nobody else campaigns");
    assert_eq!(updates.requests[0], Request::KeepAlive { ttl_ms: 2_000 });
    let campaign = Request::Campaign { office: "o".to_string(), mode: None, guard: Some(Guard::Process) };
    assert_eq!(updates.requests[1..], [campaign]);
    sent(updates);
    sent(state.handle_reply(Reply::Done, at(101)));
    sent(state.handle_reply(Reply::Done, at(101)));
    sent(state.handle_reply(Reply::Held(lease(7, 10_000)), at(102)));
    assert_eq!(state.next_deadline(), at(600));
    assert!(sent(state.handle_time(at(599))).is_empty());
    assert_eq!(sent(state.handle_time(at(600))), ["keep-alive"]);
    assert_eq!(state.next_deadline(), at(1_100));
    // The second campaign needs none of its own.
    let (_receiver, _, updates) = state.campaign("p", None, at(700)).expect("nobody else campaigns");
    assert_eq!(sent(updates), ["campaign"]);
    sent(state.handle_disconnected(at(800)));
    assert!(sent(state.handle_time(at(1_100))).is_empty());
    assert_eq!(sent(state.handle_connected(at(1_200))), ["keep-alive", "campaign", "campaign"]);
}

#[test]
fn that_the_connection_ends_for_silence_answers_no_request() {
    let mut state = State::new(FRESH, Some(Duration::from_millis(2_000)), None);
    sent(state.handle_connected(at(0)));
    let (receiver, _, updates) = state.campaign("o", None, at(0)).expect("nobody else campaigns");
    sent(updates);
    let silent = RequestError { code: "silent".to_string(), message: String::new() };
    sent(state.handle_reply(Reply::Done, at(1)));
    sent(state.handle_reply(Reply::Error(silent), at(5_000)));
    assert_eq!(*receiver.borrow(), Phase::Waiting);
    sent(state.handle_disconnected(at(5_001)));
    assert_eq!(sent(state.handle_connected(at(5_100))), ["keep-alive", "campaign"]);
}
