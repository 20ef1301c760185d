//! What a signal to `hustings run` means.

use super::*;

#[test]
fn a_key_of_the_terminal_is_not_sent_twice() {
    let mut test = Test::held(Policy { restart: Restart::Always, ..policy() });
    test.take();
    test.tenure.handle_signal(libc::SIGINT, true, ms(1_005));
    assert_eq!(test.take(), vec![]);
    test.tenure.handle_exit(Process::Command, CommandEnd::Signal(2), ms(1_010));
    test.tenure.handle_tree_empty(ms(1_010));
    assert_eq!(test.outcome(ms(1_011)).exit_code(), 130);
}

#[test]
fn signals_end_a_guardian_that_waits() {
    let mut test = Test::new(policy());
    test.take();
    test.tenure.handle_signal(libc::SIGUSR1, false, ms(1));
    assert_eq!(test.take(), vec![]);
    test.tenure.handle_signal(libc::SIGTERM, false, ms(2));
    assert_eq!(test.outcome(ms(3)).exit_code(), 143);
}

#[test]
fn a_signal_while_the_command_stops_ends_run() {
    let mut test = Test::held(Policy { restart: Restart::Always, ..policy() });
    test.take();
    test.reply(stop(7, ChangeReason::Transferred), ms(1_010));
    test.tenure.handle_signal(libc::SIGTERM, false, ms(1_011));
    test.tenure.handle_exit(Process::Command, CommandEnd::Signal(15), ms(1_020));
    test.tenure.handle_tree_empty(ms(1_020));
    assert_eq!(test.outcome(ms(1_021)).exit_code(), 143);
}
