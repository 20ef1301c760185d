//! Nodes as they are run: real sockets, real disks.

mod town;

use hustings_cluster::machine::Exit;
use town::Town;

#[test]
fn three_elect_the_one_of_greatest_worth_and_all_say_so() {
    let mut town = Town::found(3);
    town.start_all();
    let agreed = town.agree(&[0, 1, 2], |status| status.holder.as_deref() == Some("c"));
    assert!(agreed.token > 0);
}

#[test]
fn a_holder_that_leaves_hands_over_to_a_greater_token() {
    let mut town = Town::found(3);
    town.start_all();
    let before = town.agree(&[0, 1, 2], |_| true);
    let holder = before.holder.as_deref().and_then(|name| name.bytes().next()).expect("it is held") - b'a';
    let left = town.stop(usize::from(holder)).expect("it leaves in good order");
    assert_eq!(left, Exit::Left);
    let others: Vec<usize> = (0..3).filter(|place| *place != usize::from(holder)).collect();
    let after = town.agree(&others, |status| status.holder != before.holder);
    assert!(after.token > before.token, "{after:?} after {before:?}");
}
