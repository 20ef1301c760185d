mod completions;
mod hooks;
mod restarts;
mod signals;

use hustings_cluster::api::{ChangeReason, Lease, RequestError};

use super::*;
use crate::messages::CommandEnd;

const LEASE: Duration = Duration::from_millis(297);

fn policy() -> Policy {
    Policy {
        office: "job".to_string(),
        guard: Guard::PidNamespace,
        grace: None,
        restart: Restart::Never,
        once: None,
        has_on_acquire: false,
        has_on_lose: false,
        has_health: false,
        health_every: Duration::from_secs(2),
    }
}

fn ms(count: u64) -> Timestamp {
    Timestamp::ZERO + Duration::from_millis(count)
}

/// A tenure with everything that it did so far.
struct Test {
    tenure: Tenure,
    done: Vec<Action>,
}

impl Test {
    /// A guardian that campaigns.
    fn new(policy: Policy) -> Test {
        Test::waiting_until(policy, Timestamp::NEVER)
    }

    fn waiting_until(policy: Policy, wait_until: Timestamp) -> Test {
        let mut test = Test { tenure: Tenure::new(policy, wait_until), done: Vec::new() };
        assert_eq!(test.take(), vec![Action::Connect]);
        test.tenure.handle_connected();
        assert!(test.sent().iter().any(|request| matches!(request, Request::Campaign { guard: Some(_), .. })));
        test.reply(Reply::Done, ms(0));
        test
    }

    /// A guardian that holds the office with token 7 at 1,000 ms, until 1,297 ms.
    fn held(policy: Policy) -> Test {
        let mut test = Test::new(policy);
        test.hold(7, ms(1_000));
        test
    }

    fn hold(&mut self, token: u64, now: Timestamp) {
        let stop = Duration::from_millis(10);
        let lease = Lease { office: "job".to_string(), token, deadline: now + LEASE, lease: LEASE, stop };
        self.reply(Reply::Held(lease), now);
    }

    fn reply(&mut self, reply: Reply, now: Timestamp) {
        self.tenure.handle_reply(reply, now);
    }

    fn take(&mut self) -> Vec<Action> {
        let taken: Vec<Action> = std::iter::from_fn(|| self.tenure.poll_action()).collect();
        self.done.extend(taken.iter().cloned());
        taken
    }

    /// The requests of the last step.
    fn sent(&mut self) -> Vec<Request> {
        let sent = |action| match action {
            Action::Send(request) => Some(request),
            _ => None,
        };
        self.take().into_iter().filter_map(sent).collect()
    }

    fn started(&mut self) -> Vec<Process> {
        let started = |action| match action {
            Action::Start(process, _) => Some(process),
            _ => None,
        };
        self.take().into_iter().filter_map(started).collect()
    }

    /// The result, once the node has confirmed that the office is given up.
    fn outcome(&mut self, now: Timestamp) -> Outcome {
        self.take();
        for _ in 0..3 {
            self.reply(Reply::Done, now);
        }
        match self.take().pop() {
            Some(Action::Finish(outcome)) => outcome,
            other => panic!("not finished: {other:?} after {:?}", self.done),
        }
    }
}

fn stop(token: u64, reason: ChangeReason) -> Reply {
    Reply::Stop { office: "job".to_string(), token, reason }
}

#[test]
fn the_command_starts_with_its_deadline_known_and_its_end_gives_the_office_up() {
    let mut test = Test::held(policy());
    let actions = test.take();
    let deadline_at = actions.iter().position(|action| *action == Action::SetDeadline(ms(1_297)));
    let start_at = actions.iter().position(|action| *action == Action::Start(Process::Command, 7));
    assert!(deadline_at.expect("it is set") < start_at.expect("it is started"), "{actions:?}");
    test.tenure.handle_exit(Process::Command, CommandEnd::Code(3), ms(1_100));
    assert!(test.take().contains(&Action::KillAll), "what it left behind is killed");
    assert_eq!(test.sent(), vec![], "the office is kept until the tree is gone");
    test.tenure.handle_tree_empty(ms(1_101));
    let actions = test.take();
    assert!(actions.contains(&Action::SetDeadline(Timestamp::ZERO)));
    assert!(actions.contains(&Action::Send(Request::Withdraw { office: "job".to_string() })), "{actions:?}");
    assert_eq!(test.outcome(ms(1_102)), Outcome::Command { end: CommandEnd::Code(3) });
}

#[test]
fn a_lease_that_is_not_renewed_ends_the_command_before_its_deadline() {
    let mut test = Test::held(policy());
    test.take();
    test.reply(Reply::Renewed { from: ms(1_050) }, ms(1_060));
    assert_eq!(test.take(), vec![Action::SetDeadline(ms(1_347))]);
    // 30 ms before the deadline: told and killed at once, because no grace period was asked for.
    assert_eq!(test.tenure.poll_timeout(), ms(1_317));
    test.tenure.handle_time(ms(1_316));
    assert_eq!(test.take(), vec![]);
    test.tenure.handle_time(ms(1_317));
    let actions = test.take();
    assert!(actions.contains(&Action::Signal(libc::SIGTERM)) && actions.contains(&Action::KillAll), "{actions:?}");
    // A late renewal does not revive it.
    test.reply(Reply::Renewed { from: ms(1_310) }, ms(1_318));
    assert_eq!(test.take(), vec![]);
    test.tenure.handle_exit(Process::Command, CommandEnd::Signal(9), ms(1_318));
    test.tenure.handle_tree_empty(ms(1_318));
    assert_eq!(test.outcome(ms(1_319)).exit_code(), crate::messages::LOST_LEADERSHIP);
}

#[test]
fn a_grace_period_comes_before_the_kill() {
    let mut test = Test::held(Policy { grace: Some(Duration::from_millis(100)), ..policy() });
    test.take();
    assert_eq!(test.tenure.poll_timeout(), ms(1_297 - 130));
    test.tenure.handle_time(ms(1_167));
    let actions = test.take();
    assert!(actions.contains(&Action::Signal(libc::SIGTERM)) && !actions.contains(&Action::KillAll), "{actions:?}");
    assert!(actions.contains(&Action::Signal(libc::SIGCONT)), "a stopped command must be able to end");
    assert_eq!(test.tenure.poll_timeout(), ms(1_267));
    test.tenure.handle_time(ms(1_267));
    assert!(test.take().contains(&Action::KillAll));
}

#[test]
fn a_transfer_leaves_the_command_what_is_left_of_the_lease() {
    let mut test = Test::held(policy());
    test.take();
    test.reply(stop(7, ChangeReason::Transferred), ms(1_010));
    let actions = test.take();
    assert!(actions.contains(&Action::Signal(libc::SIGTERM)) && !actions.contains(&Action::KillAll));
    // Nothing extends it any more.
    test.reply(Reply::Renewed { from: ms(1_200) }, ms(1_201));
    assert_eq!(test.tenure.poll_timeout(), ms(1_267));
    test.tenure.handle_exit(Process::Command, CommandEnd::Code(0), ms(1_100));
    test.tenure.handle_tree_empty(ms(1_100));
    let sent = test.sent();
    assert_eq!(sent[0], Request::Stopped { office: "job".to_string(), token: 7 });
    assert_eq!(sent[1], Request::Withdraw { office: "job".to_string() });
    let reason = StopReason::Office(ChangeReason::Transferred);
    assert_eq!(test.outcome(ms(1_101)), Outcome::LostLeadership { reason });
}

#[test]
fn a_stop_for_another_token_is_ignored() {
    let mut test = Test::held(policy());
    test.take();
    test.reply(stop(6, ChangeReason::Transferred), ms(1_010));
    test.reply(Reply::Lost { office: "job".to_string(), token: 6, reason: ChangeReason::Expired }, ms(1_010));
    assert_eq!(test.take(), vec![]);
}

#[test]
fn a_lost_office_is_the_end_at_once() {
    let mut test = Test::held(policy());
    test.take();
    test.reply(Reply::Lost { office: "job".to_string(), token: 7, reason: ChangeReason::Silent }, ms(1_010));
    assert!(test.take().contains(&Action::KillAll));
}

#[test]
fn a_guardian_that_wakes_up_late_kills_first() {
    let mut test = Test::held(policy());
    test.take();
    test.tenure.handle_time(ms(9_000));
    assert!(test.take().contains(&Action::KillAll));
}

#[test]
fn without_its_node_the_command_stops_and_the_campaign_goes_on_if_it_should() {
    let mut test = Test::held(Policy { restart: Restart::Always, ..policy() });
    test.take();
    test.tenure.handle_disconnected(ms(1_010));
    assert!(test.take().contains(&Action::Signal(libc::SIGTERM)));
    test.tenure.handle_exit(Process::Command, CommandEnd::Signal(15), ms(1_020));
    test.tenure.handle_tree_empty(ms(1_020));
    assert!(test.take().contains(&Action::Connect));
    test.tenure.handle_disconnected(ms(1_021));
    assert_eq!(test.tenure.poll_timeout(), ms(1_071), "it tries again");
    test.tenure.handle_time(ms(1_071));
    assert_eq!(test.take(), vec![Action::Connect]);
    test.tenure.handle_connected();
    assert!(matches!(test.sent()[..], [Request::Campaign { .. }]));
}

#[test]
fn the_time_to_wait_ends_a_campaign_but_not_a_tenure() {
    let mut test = Test::waiting_until(policy(), ms(500));
    test.take();
    assert_eq!(test.tenure.poll_timeout(), ms(500));
    test.tenure.handle_time(ms(500));
    assert_eq!(test.outcome(ms(501)), Outcome::NeverLed);

    let mut test = Test::waiting_until(policy(), ms(500));
    test.hold(7, ms(400));
    test.take();
    test.tenure.handle_time(ms(510));
    assert_eq!(test.take(), vec![], "it runs");
}

#[test]
fn an_unhealthy_command_gives_the_office_up() {
    let health = Policy { has_health: true, health_every: Duration::from_millis(50), ..policy() };
    let mut test = Test::held(health.clone());
    test.take();
    test.tenure.handle_time(ms(1_050));
    assert_eq!(test.started(), vec![Process::Health]);
    test.tenure.handle_exit(Process::Health, CommandEnd::Code(0), ms(1_060));
    test.tenure.handle_time(ms(1_100));
    assert_eq!(test.started(), vec![Process::Health]);
    test.tenure.handle_exit(Process::Health, CommandEnd::Code(1), ms(1_110));
    assert!(test.take().contains(&Action::Signal(libc::SIGTERM)));
    test.tenure.handle_exit(Process::Command, CommandEnd::Code(0), ms(1_120));
    test.tenure.handle_tree_empty(ms(1_120));
    assert_eq!(test.outcome(ms(1_121)), Outcome::LostLeadership { reason: StopReason::Unhealthy });

    // A check that does not end is a failed one.
    let mut test = Test::held(health);
    test.take();
    test.tenure.handle_time(ms(1_050));
    test.tenure.handle_time(ms(1_100));
    let actions = test.take();
    assert!(actions.contains(&Action::Kill(Process::Health)) && actions.contains(&Action::Signal(libc::SIGTERM)));
}

#[test]
fn a_command_that_cannot_be_started_is_a_failure() {
    let mut test = Test::held(policy());
    test.take();
    test.tenure.handle_start_failed(Process::Command, "no such file".to_string(), ms(1_001));
    test.tenure.handle_tree_empty(ms(1_001));
    assert_eq!(test.outcome(ms(1_002)), Outcome::Failure { message: "no such file".to_string() });
}

#[test]
fn a_rejected_campaign_is_a_failure() {
    let mut test = Test { tenure: Tenure::new(policy(), Timestamp::NEVER), done: Vec::new() };
    test.tenure.handle_connected();
    test.take();
    let error = RequestError { code: "not-an-elector".to_string(), message: "this node is a witness".to_string() };
    test.reply(Reply::Error(error), ms(1));
    let outcome = Outcome::Failure { message: "this node is a witness".to_string() };
    assert_eq!(test.take(), vec![Action::Finish(outcome)]);
}

#[test]
fn a_node_that_never_confirms_does_not_keep_the_guardian() {
    let mut test = Test::held(policy());
    test.tenure.handle_exit(Process::Command, CommandEnd::Code(0), ms(1_010));
    test.tenure.handle_tree_empty(ms(1_010));
    test.take();
    assert_eq!(test.tenure.poll_timeout(), ms(2_010));
    test.tenure.handle_time(ms(2_010));
    assert!(matches!(test.take().pop(), Some(Action::Finish(Outcome::Command { .. }))));
}

#[test]
fn what_does_not_die_is_killed_again_without_spinning() {
    let mut test = Test::held(policy());
    test.tenure.handle_time(ms(1_267));
    assert!(test.take().contains(&Action::KillAll));
    assert_eq!(test.tenure.poll_timeout(), ms(1_277));
    test.tenure.handle_time(ms(1_270));
    assert_eq!(test.take(), vec![]);
    test.tenure.handle_time(ms(1_277));
    assert_eq!(test.take(), vec![Action::KillAll]);
    assert_eq!(test.tenure.poll_timeout(), ms(1_287));
    test.tenure.handle_tree_empty(ms(1_280));
    assert!(matches!(test.sent()[..], [Request::Stopped { .. }, Request::Withdraw { .. }]));
}

#[test]
fn a_grant_from_before_the_withdrawal_is_not_taken_for_the_next_one() {
    let mut test = Test::held(Policy { restart: Restart::Always, ..policy() });
    test.take();
    test.reply(stop(7, ChangeReason::Transferred), ms(1_010));
    test.tenure.handle_exit(Process::Command, CommandEnd::Signal(15), ms(1_020));
    test.tenure.handle_tree_empty(ms(1_020));
    test.take();
    // The node does not answer, and then sends what it decided before it read the withdrawal.
    test.tenure.handle_time(ms(2_020));
    let actions = test.take();
    assert!(actions.contains(&Action::Disconnect) && actions.contains(&Action::Connect), "{actions:?}");
    test.hold(9, ms(2_021));
    assert_eq!(test.started(), vec![]);
}

#[test]
fn an_office_without_work_is_given_up_before_the_node_must_kill() {
    let give_up_at = ms(1_267);
    // While it waits to start the command again.
    let mut test = Test::held(Policy { restart: Restart::Always, ..policy() });
    test.tenure.handle_exit(Process::Command, CommandEnd::Code(1), ms(1_010));
    test.tenure.handle_tree_empty(ms(1_010));
    test.take();
    assert_eq!(test.tenure.poll_timeout(), give_up_at);
    test.tenure.handle_time(give_up_at);
    assert!(matches!(test.sent()[..], [Request::Withdraw { .. }]));

    // While it asks whether the key is completed.
    let once = Policy { once: Some("slot".to_string()), ..policy() };
    let mut test = Test::held(once.clone());
    test.take();
    test.tenure.handle_time(give_up_at);
    assert!(matches!(test.sent()[..], [Request::Withdraw { .. }]));

    // While the success is recorded.
    let mut test = Test::held(once.clone());
    test.reply(Reply::Completed { completion: None, current: true }, ms(1_001));
    test.tenure.handle_exit(Process::Command, CommandEnd::Code(0), ms(1_100));
    test.tenure.handle_tree_empty(ms(1_100));
    test.take();
    test.tenure.handle_time(give_up_at);
    assert_eq!(test.outcome(ms(1_268)).exit_code(), 3);

    // An answer that comes too late starts nothing, not even a hook.
    let mut test = Test::held(Policy { has_on_acquire: true, ..once });
    test.reply(Reply::Completed { completion: None, current: true }, ms(5_000));
    assert_eq!(test.started(), vec![]);
}

#[test]
fn run_is_woken_before_anything_starts() {
    let mut test = Test::held(Policy { has_on_lose: true, ..policy() });
    test.tenure.handle_exit(Process::Command, CommandEnd::Code(0), ms(1_100));
    test.tenure.handle_tree_empty(ms(1_100));
    let actions = test.take();
    for process in [Process::Command, Process::OnLose] {
        let start = actions.iter().position(|action| *action == Action::Start(process, 7)).expect("it starts");
        let before = &actions[start - 2..start];
        assert!(matches!(before, [Action::SetDeadline(_), Action::Report(Event::Working)]), "{before:?}");
    }
}
