//! What one voter says against another one is not enough to end it.

use super::senders::{CLIENT, cluster};
use crate::core::Exit;
use crate::store::{DiskPosition, KnownDisk};
use crate::wire::Message;

/// What a voter says against another one must be said by two, or by all that can be asked.
#[test]
fn one_voter_does_not_end_another_that_others_trust() {
    let reached = DiskPosition { term: 1 << 20, log_term: 1, index: 1 << 20 };
    let old = Message::OldDisk(KnownDisk { store_id: 72, incarnation: 1, reached, refused_as: None });
    for (message, exit) in [(old, Exit::OldDisk), (Message::Superseded, Exit::Superseded)] {
        let mut cluster = cluster();
        cluster.deliver(3, 2, message.clone());
        cluster.advance_ms(5_000);
        assert_eq!(cluster.node(2).exit, None, "the first trusts it");
        cluster.kill(3);
        cluster.advance_ms(11_000);
        cluster.campaign(2, CLIENT, "other", None);
        cluster.advance_ms(1_000);
        assert!(cluster.token(2, "other").is_some(), "it takes part again without the one that doubted it");
        cluster.deliver(1, 2, message.clone());
        assert_eq!(cluster.node(2).exit, None, "the third one may come back");
        cluster.advance_ms(2_000);
        let is_over = (exit == Exit::OldDisk).then_some(exit);
        assert_eq!(cluster.node(2).exit, is_over, "a disk that all doubt that are there must not count");
    }
    let mut cluster = cluster();
    [1, 3].into_iter().for_each(|from| cluster.deliver(from, 2, Message::UnknownDisk(99)));
    cluster.advance_ms(2_000);
    assert_eq!(cluster.node(2).exit, None, "its log says that its disk is the right one");
}
