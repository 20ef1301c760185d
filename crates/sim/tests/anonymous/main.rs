//! Nodes that are alike: docs/model.md#anonymous-networks, topic by topic.

mod crashes;
mod elections;
mod follow_up;
#[allow(dead_code, reason = "only its graphs are used here")]
#[path = "../common/gossip.rs"]
mod gossip;
mod order;
mod ring_size;
#[path = "../common/sample.rs"]
mod sample;
