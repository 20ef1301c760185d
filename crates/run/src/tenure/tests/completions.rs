//! What is completed under a key is done once.

use hustings_cluster::api::Completion;

use super::*;

#[test]
fn what_is_completed_is_not_started() {
    let once = Policy { once: Some("slot".to_string()), ..policy() };
    let mut test = Test::held(once.clone());
    let key = "slot".to_string();
    assert_eq!(test.sent(), vec![Request::Completed { office: "job".to_string(), key: key.clone() }]);
    let completion = Completion { holder: "b".to_string(), token: 3, unix_ms: 0 };
    test.reply(Reply::Completed { completion: Some(completion), current: true }, ms(1_001));
    assert_eq!(test.started(), vec![]);
    assert_eq!(test.outcome(ms(1_002)), Outcome::AlreadyCompleted { token: 3 });

    // Nobody knows for sure: it asks again.
    let mut test = Test::held(once.clone());
    test.take();
    test.reply(Reply::Completed { completion: None, current: false }, ms(1_001));
    assert_eq!(test.take(), vec![]);
    test.tenure.handle_time(ms(1_051));
    assert!(matches!(test.sent()[..], [Request::Completed { .. }]));
    test.reply(Reply::Completed { completion: None, current: true }, ms(1_052));
    assert_eq!(test.started(), vec![Process::Command]);
    test.tenure.handle_exit(Process::Command, CommandEnd::Code(0), ms(1_100));
    test.tenure.handle_tree_empty(ms(1_100));
    assert_eq!(test.sent(), vec![Request::Complete { office: "job".to_string(), token: 7, key }]);
    test.reply(Reply::Done, ms(1_101));
    assert!(matches!(test.sent()[..], [Request::Withdraw { .. }]), "it is recorded before the office is given up");
    assert_eq!(test.outcome(ms(1_102)).exit_code(), 0);
}

#[test]
fn a_success_that_cannot_be_recorded_is_no_success() {
    let mut test = Test::held(Policy { once: Some("slot".to_string()), ..policy() });
    test.reply(Reply::Completed { completion: None, current: true }, ms(1_001));
    test.take();
    test.tenure.handle_exit(Process::Command, CommandEnd::Code(0), ms(1_100));
    test.tenure.handle_tree_empty(ms(1_100));
    let error = |code: &str| RequestError { code: code.to_string(), message: "another holder".to_string() };
    test.take();
    // What may pass is tried again.
    test.reply(Reply::Error(error("no-majority")), ms(1_101));
    assert_eq!(test.take(), vec![]);
    test.tenure.handle_time(ms(1_151));
    assert!(matches!(test.sent()[..], [Request::Complete { .. }]));
    let error = error("stale-token");
    test.reply(Reply::Error(error), ms(1_152));
    assert_eq!(test.outcome(ms(1_153)).exit_code(), 3);
}
