//! The commands of `--on-acquire` and `--on-lose`.

use super::*;

#[test]
fn hooks_surround_the_command_and_stay_within_the_lease() {
    let hooks = Policy { has_on_acquire: true, has_on_lose: true, ..policy() };
    let mut test = Test::held(hooks.clone());
    assert_eq!(test.started(), vec![Process::OnAcquire]);
    test.tenure.handle_exit(Process::OnAcquire, CommandEnd::Code(0), ms(1_010));
    assert_eq!(test.started(), vec![Process::Command]);
    test.tenure.handle_exit(Process::Command, CommandEnd::Code(0), ms(1_020));
    test.tenure.handle_tree_empty(ms(1_020));
    let actions = test.take();
    assert!(actions.contains(&Action::Start(Process::OnLose, 7)) && actions.contains(&Action::SetDeadline(ms(1_297))));
    test.tenure.handle_time(ms(1_267));
    assert!(test.take().contains(&Action::KillAll), "the hook takes too long");
    test.tenure.handle_exit(Process::OnLose, CommandEnd::Signal(9), ms(1_268));
    test.tenure.handle_tree_empty(ms(1_268));
    assert_eq!(test.outcome(ms(1_269)).exit_code(), 0);

    // A hook that fails keeps the command from starting.
    let mut test = Test::held(hooks);
    test.tenure.handle_exit(Process::OnAcquire, CommandEnd::Code(9), ms(1_010));
    test.tenure.handle_tree_empty(ms(1_010));
    assert!(!test.started().contains(&Process::Command));
}

#[test]
fn a_hook_without_time_before_the_deadline_runs_before_the_next_campaign() {
    let mut test = Test::held(Policy { restart: Restart::Always, has_on_lose: true, ..policy() });
    test.take();
    // The lease is not renewed: at 30 ms before the deadline everything is killed.
    test.tenure.handle_time(ms(1_267));
    test.tenure.handle_exit(Process::Command, CommandEnd::Signal(9), ms(1_268));
    test.tenure.handle_tree_empty(ms(1_268));
    assert_eq!(test.started(), vec![], "there is no time for the hook");
    test.reply(Reply::Done, ms(1_270));
    test.reply(Reply::Done, ms(1_270));
    let actions = test.take();
    assert!(actions.contains(&Action::Report(Event::Released)), "{actions:?}");
    assert_eq!(actions.last(), Some(&Action::Start(Process::OnLose, 7)));
    assert_eq!(test.tenure.poll_timeout(), ms(11_270), "no lease bounds it, but a timeout does");
    test.tenure.handle_exit(Process::OnLose, CommandEnd::Code(0), ms(1_300));
    test.tenure.handle_tree_empty(ms(1_300));
    let actions = test.take();
    assert!(actions.contains(&Action::Report(Event::LoseHookDone)), "{actions:?}");
    assert!(matches!(actions[..], [.., Action::Send(Request::Campaign { .. }), _]), "{actions:?}");
}

#[test]
fn a_hook_that_is_late_and_hangs_is_killed_and_a_signal_ends_it_all() {
    let mut test = Test::held(Policy { restart: Restart::Always, has_on_lose: true, ..policy() });
    test.tenure.handle_time(ms(1_267));
    test.tenure.handle_tree_empty(ms(1_268));
    test.tenure.handle_disconnected(ms(1_269));
    assert_eq!(test.started().last(), Some(&Process::OnLose));
    test.tenure.handle_signal(libc::SIGTERM, false, ms(2_000));
    assert_eq!(test.take(), vec![], "the hook goes on");
    test.tenure.handle_time(ms(11_269));
    assert_eq!(test.take(), vec![Action::KillAll]);
    assert_eq!(test.tenure.poll_timeout(), ms(11_279), "what does not die is killed again");
    test.tenure.handle_exit(Process::OnLose, CommandEnd::Signal(9), ms(11_270));
    test.tenure.handle_tree_empty(ms(11_270));
    assert_eq!(test.take().pop(), Some(Action::Finish(Outcome::Signal { signal: libc::SIGTERM })));
}
