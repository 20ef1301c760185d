//! The messages of this version, byte by byte.

use super::Message;
use super::kind::examples::every_message;
use crate::golden;

/// All messages of the log are of one variant.
fn name(message: &Message) -> &'static str {
    match message {
        Message::Raft(_) => "raft",
        message => message.kind().name(),
    }
}

#[test]
fn messages_of_version_1() {
    let cases: Vec<_> = every_message().into_iter().map(|message| (name(&message), message)).collect();
    golden::check("messages-v1", &cases, Message::encode, |bytes| Message::decode(bytes).expect("a message"));
    assert_eq!(crate::transport::PROTOCOL_VERSION, 1, "a new version gets a new golden file");
}
