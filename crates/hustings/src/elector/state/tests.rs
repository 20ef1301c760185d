use super::*;

const MS: u64 = 1_000_000;
const FRESH: Duration = Duration::from_millis(90);

fn at(ms: u64) -> Moment {
    Moment(1_000 * MS + ms * MS)
}

fn holding(token: u64, deadline: u64) -> Holding {
    Holding { office: "o".to_string(), token, deadline: at(deadline) }
}

fn status(holder: Option<&str>, current: bool) -> Reply {
    Reply::Office(OfficeStatus {
        office: "o".to_string(),
        mode: Mode::Exclusive,
        holder: holder.map(str::to_string),
        address: None,
        token: 1,
        since_unix_ms: 0,
        why: Cause::Vacant,
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
        Request::History { .. } => "life",
        _ => "?",
    };
    requests.iter().map(name).collect()
}

/// Publishes, and says what was to be sent.
fn sent(news: News) -> Vec<&'static str> {
    let names = names(&news.requests);
    news.publish();
    names
}

/// A connected state that campaigns, and what its campaigner sees.
fn campaigning() -> (State, watch::Receiver<Phase>, Deadline) {
    let mut state = State::new(FRESH);
    sent(state.connected(at(0)));
    let (receiver, deadline, news) = state.campaign("o", None).expect("nobody else campaigns");
    assert_eq!(sent(news), ["campaign"]);
    assert_eq!(sent(state.heard(Reply::Done, at(0))), [""; 0]);
    (state, receiver, deadline)
}

/// The same, with the guard taken: token 7, until 100.
fn holding_office() -> (State, watch::Receiver<Phase>, Deadline) {
    let (mut state, receiver, deadline) = campaigning();
    sent(state.heard(Reply::Held(holding(7, 100)), at(1)));
    assert_eq!(*receiver.borrow(), Phase::Held(7));
    assert_eq!(state.take("o", at(2)), Some(7));
    (state, receiver, deadline)
}

#[test]
fn what_is_held_is_renewed_and_then_lost_by_the_clock_alone() {
    let (mut state, receiver, deadline) = holding_office();
    sent(state.heard(Reply::Renewed(holding(7, 150)), at(50)));
    assert_eq!((deadline.get(), state.due()), (at(150), at(150)));
    sent(state.passed(at(149)));
    assert_eq!(*receiver.borrow(), Phase::Held(7));
    // The node is told that nobody works any more, and a renewal that comes now is too late.
    assert_eq!(sent(state.heard(Reply::Renewed(holding(7, 200)), at(150))), ["withdraw"]);
    assert_eq!(*receiver.borrow(), Phase::Lost(Ending::Deadline));
    assert_eq!(deadline.get(), Moment::ZERO);
    // The guard goes, and there is nothing left to say.
    assert_eq!(sent(state.withdraw("o", None)), [""; 0]);
}

#[test]
fn renewals_of_another_token_renew_nothing() {
    let (mut state, _receiver, deadline) = holding_office();
    sent(state.heard(Reply::Renewed(holding(6, 200)), at(50)));
    sent(state.heard(Reply::Lost { office: "o".into(), token: 6, why: Cause::Expired }, at(50)));
    assert_eq!(deadline.get(), at(100));
}

#[test]
fn who_is_asked_to_stop_holds_on_until_it_has() {
    let (mut state, receiver, deadline) = holding_office();
    sent(state.heard(Reply::Stop { office: "o".into(), token: 7, why: Cause::Transferred }, at(10)));
    assert_eq!(*receiver.borrow(), Phase::Stopping(7, Ending::Told(Cause::Transferred)));
    assert_eq!(deadline.get(), at(100));
    // No renewal keeps it any more.
    sent(state.heard(Reply::Renewed(holding(7, 150)), at(11)));
    assert_eq!(deadline.get(), at(100));
    let (waits, mut known) = oneshot::channel();
    assert_eq!(sent(state.withdraw("o", Some(waits))), ["stopped", "withdraw"]);
    sent(state.heard(Reply::Done, at(12)));
    assert!(known.try_recv().is_err());
    sent(state.heard(Reply::Done, at(12)));
    assert!(known.try_recv().is_ok());
}

#[test]
fn what_made_it_stop_is_the_reason_why_it_is_lost() {
    let (mut state, receiver, _deadline) = holding_office();
    sent(state.heard(Reply::Stop { office: "o".into(), token: 7, why: Cause::Preempted }, at(10)));
    sent(state.passed(at(100)));
    assert_eq!(*receiver.borrow(), Phase::Lost(Ending::Told(Cause::Preempted)));
}

/// The node had granted the office before it heard that it was no longer wanted, and takes that grant back when it
/// hears it: whoever campaigns again must not take that grant for its own.
#[test]
fn a_grant_to_an_earlier_campaign_is_not_taken_for_one_to_this() {
    let (mut state, _first, _) = campaigning();
    assert_eq!(sent(state.withdraw("o", None)), ["withdraw"]);
    let (receiver, deadline, news) = state.campaign("o", None).expect("the first is over");
    assert_eq!(sent(news), ["campaign"]);
    sent(state.heard(Reply::Held(holding(7, 100)), at(1)));
    assert_eq!((receiver.borrow().clone(), deadline.get()), (Phase::Waiting, Moment::ZERO));
    sent(state.heard(Reply::Done, at(2)));
    sent(state.heard(Reply::Held(holding(7, 100)), at(3)));
    assert_eq!(*receiver.borrow(), Phase::Waiting, "that was the answer to the withdrawal");
    sent(state.heard(Reply::Done, at(4)));
    sent(state.heard(Reply::Held(holding(8, 100)), at(5)));
    assert_eq!((receiver.borrow().clone(), deadline.get()), (Phase::Held(8), at(100)));
}

#[test]
fn what_nobody_took_up_is_waited_for_again() {
    let (mut state, receiver, deadline) = campaigning();
    sent(state.heard(Reply::Held(holding(7, 100)), at(1)));
    // The task was slow: the deadline has passed, and the node hears that nobody works.
    assert_eq!(state.take("o", at(100)), None);
    assert_eq!(sent(state.passed(at(100))), ["stopped"]);
    assert_eq!((receiver.borrow().clone(), deadline.get()), (Phase::Waiting, Moment::ZERO));
    sent(state.heard(Reply::Done, at(101)));
    sent(state.heard(Reply::Held(holding(8, 200)), at(102)));
    assert_eq!(state.take("o", at(103)), Some(8));
}

#[test]
fn a_stop_before_anybody_took_it_up_is_obeyed_at_once() {
    let (mut state, receiver, _) = campaigning();
    sent(state.heard(Reply::Held(holding(7, 100)), at(1)));
    let stop = Reply::Stop { office: "o".into(), token: 7, why: Cause::Preempted };
    assert_eq!(sent(state.heard(stop, at(2))), ["stopped"]);
    assert_eq!(*receiver.borrow(), Phase::Waiting);
    assert_eq!(state.take("o", at(3)), None);
}

#[test]
fn a_refusal_ends_the_campaign_it_is_for() {
    let mut state = State::new(FRESH);
    sent(state.connected(at(0)));
    let (receiver, _, news) = state.campaign("o", Some(Mode::Fenced)).expect("nobody else campaigns");
    sent(news);
    assert!(state.campaign("o", None).is_none(), "only one at a time");
    let refusal = Refusal { code: "other-mode".into(), message: "no".into() };
    sent(state.heard(Reply::Refused(refusal.clone()), at(1)));
    assert_eq!(*receiver.borrow(), Phase::Refused(refusal));
    assert_eq!(sent(state.withdraw("o", None)), [""; 0]);
}

#[test]
fn an_office_that_turns_out_to_be_of_the_other_kind_is_refused() {
    let (mut state, receiver, _) = campaigning();
    let lost = Reply::Lost { office: "o".into(), token: 7, why: Cause::OtherMode };
    assert_eq!(sent(state.heard(lost, at(1))), [""; 0]);
    let phase = receiver.borrow().clone();
    assert!(matches!(&phase, Phase::Refused(refusal) if refusal.code == "other-mode"), "{phase:?}");
    assert_eq!(sent(state.withdraw("o", None)), [""; 0], "the node knows that");
}

#[test]
fn without_a_node_what_is_held_is_to_be_given_up_and_what_is_wanted_is_wanted_again() {
    let (mut state, receiver, deadline) = holding_office();
    let (waiting, _, news) = state.campaign("p", None).expect("nobody else campaigns");
    sent(news);
    sent(state.disconnected(at(20)));
    assert_eq!(*receiver.borrow(), Phase::Stopping(7, Ending::NodeGone));
    assert_eq!((deadline.get(), state.due()), (at(100), at(100)));
    let again = state.connected(at(50));
    let wanted = Request::Campaign { office: "p".to_string(), mode: None };
    assert_eq!(again.requests, [wanted], "not what somebody still holds");
    again.publish();
    // The answer is to that one.
    sent(state.heard(Reply::Done, at(51)));
    sent(state.heard(Reply::Held(Holding { office: "p".into(), token: 1, deadline: at(200) }), at(52)));
    assert_eq!(*waiting.borrow(), Phase::Held(1));
    assert_eq!(sent(state.passed(at(100))), [""; 0], "this node knows nothing of it");
    assert_eq!(*receiver.borrow(), Phase::Lost(Ending::NodeGone));
}

#[test]
fn what_has_no_lease_is_lost_with_the_node() {
    let (mut state, receiver, deadline) = holding_office();
    sent(state.heard(Reply::Renewed(Holding { office: "o".into(), token: 7, deadline: Moment::NEVER }), at(10)));
    sent(state.disconnected(at(20)));
    assert_eq!((receiver.borrow().clone(), deadline.get()), (Phase::Lost(Ending::NodeGone), Moment::ZERO));
}

#[test]
fn who_waits_for_a_resignation_hears_of_the_end_of_the_connection() {
    let (mut state, _receiver, _) = holding_office();
    let (waits, mut known) = oneshot::channel();
    assert_eq!(sent(state.withdraw("o", Some(waits))), ["withdraw"]);
    sent(state.disconnected(at(20)));
    assert_eq!(known.try_recv(), Err(oneshot::error::TryRecvError::Closed));
}

#[test]
fn a_leader_is_shown_only_while_the_node_is_known_to_live() {
    let mut state = State::new(FRESH);
    sent(state.connected(at(0)));
    let (receiver, news) = state.observe("o", at(0));
    assert_eq!(sent(news), ["watch", "life"]);
    let shown = || receiver.borrow().leader().map(str::to_string);
    sent(state.heard(status(Some("a"), true), at(1)));
    assert_eq!(shown(), None, "this may have been in the socket for long");
    sent(state.heard(history(), at(2)));
    assert_eq!(shown().as_deref(), Some("a"));
    // A third of the time later it is asked again, and counts from when it was asked.
    assert_eq!(state.due(), at(30));
    assert_eq!(sent(state.passed(at(30))), ["life"]);
    sent(state.heard(history(), at(89)));
    assert_eq!((shown().as_deref(), state.fresh_until().get()), (Some("a"), at(120)));
    // From now on it is silent.
    assert_eq!(sent(state.passed(at(119))), ["life"]);
    assert_eq!((shown().as_deref(), state.due()), (Some("a"), at(120)));
    sent(state.passed(at(120)));
    assert_eq!(*receiver.borrow(), Sighting::Unknown);
    assert_eq!(state.due(), Moment::NEVER, "there is nothing to do but to wait for it");
    // An answer to what was asked before it fell silent proves nothing, but it is asked again.
    sent(state.heard(history(), at(500)));
    assert_eq!(*receiver.borrow(), Sighting::Unknown);
    assert_eq!(sent(state.passed(at(500))), ["life"]);
    sent(state.heard(history(), at(501)));
    assert_eq!(shown().as_deref(), Some("a"));
    sent(state.disconnected(at(20)));
    assert_eq!(*receiver.borrow(), Sighting::Unknown);
}

#[test]
fn what_is_not_current_is_unknown_and_nobody_is_nobody() {
    let mut state = State::new(FRESH);
    sent(state.connected(at(0)));
    let (receiver, news) = state.observe("o", at(0));
    sent(news);
    sent(state.heard(history(), at(0)));
    for (reply, wanted) in [
        (status(None, true), Sighting::Vacant),
        (status(Some("a"), false), Sighting::Unknown),
        (status(None, false), Sighting::Unknown),
    ] {
        sent(state.heard(reply, at(1)));
        assert_eq!(*receiver.borrow(), wanted);
    }
}

#[test]
fn nobody_is_asked_while_nobody_observes() {
    let mut state = State::new(FRESH);
    sent(state.connected(at(0)));
    let (receiver, news) = state.observe("o", at(0));
    sent(news);
    sent(state.heard(history(), at(1)));
    drop(receiver);
    assert_eq!(state.due(), Moment::NEVER);
    assert_eq!(sent(state.passed(at(50))), [""; 0]);
    let (_receiver, news) = state.observe("o", at(60));
    assert_eq!(sent(news), ["life"], "it is watched already");
}

#[test]
fn no_node_is_asked_for_more_offices_than_it_shows() {
    let mut state = State::new(FRESH);
    sent(state.connected(at(0)));
    let watches = |news: News| sent(news).contains(&"watch");
    for number in 0..MAX_OFFICES {
        let (_receiver, news) = state.observe(&format!("o{number}"), at(0));
        assert!(watches(news));
    }
    let (receiver, news) = state.observe("one-more", at(0));
    assert!(!watches(news));
    assert_eq!(*receiver.borrow(), Sighting::Unknown);
}
