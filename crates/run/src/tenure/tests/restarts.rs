//! When a command that has ended is started again.

use super::*;

#[test]
fn a_failing_command_is_started_again_until_it_has_failed_too_often() {
    let restart = Restart::OnFailure { max_failures: Some(2) };
    let mut test = Test::held(Policy { restart, ..policy() });
    test.take();
    test.tenure.handle_exit(Process::Command, CommandEnd::Code(1), ms(1_010));
    test.tenure.handle_tree_empty(ms(1_010));
    assert_eq!(test.sent(), vec![], "the office is kept");
    test.reply(Reply::Renewed { from: ms(1_400) }, ms(1_401));
    assert_eq!(test.tenure.poll_timeout(), ms(1_510));
    test.tenure.handle_time(ms(1_510));
    assert_eq!(test.started(), vec![Process::Command]);
    test.tenure.handle_exit(Process::Command, CommandEnd::Code(1), ms(1_520));
    test.tenure.handle_tree_empty(ms(1_520));
    assert_eq!(test.sent(), vec![Request::Withdraw { office: "job".to_string() }]);
    test.reply(Reply::Done, ms(1_521));
    assert!(test.take().contains(&Action::Report(Event::StandingBack { for_ms: 60_000 })));
    assert_eq!(test.tenure.poll_timeout(), ms(61_521));
    test.tenure.handle_time(ms(61_521));
    assert!(matches!(test.sent()[..], [Request::Campaign { .. }]));
}

#[test]
fn a_command_that_succeeds_is_not_started_again_on_failure_but_always() {
    for (restart, is_restarted) in [(Restart::OnFailure { max_failures: None }, false), (Restart::Always, true)] {
        let mut test = Test::held(Policy { restart, ..policy() });
        test.take();
        test.tenure.handle_exit(Process::Command, CommandEnd::Code(0), ms(1_010));
        test.tenure.handle_tree_empty(ms(1_010));
        assert_eq!(test.sent().is_empty(), is_restarted, "{restart:?}");
    }
}

#[test]
fn a_command_that_was_asked_to_end_is_not_started_again() {
    let mut test = Test::held(Policy { restart: Restart::Always, ..policy() });
    test.take();
    test.tenure.handle_signal(libc::SIGTERM, false, ms(1_005));
    assert_eq!(test.take(), vec![Action::Signal(libc::SIGTERM)]);
    test.tenure.handle_exit(Process::Command, CommandEnd::Code(0), ms(1_010));
    test.tenure.handle_tree_empty(ms(1_010));
    assert_eq!(test.outcome(ms(1_011)), Outcome::Command { end: CommandEnd::Code(0) });
}
