//! Nodes that are alike: docs/model.md#anonymous-networks, topic by topic.

mod crashes;
mod elections;
mod follow_up;
mod order;
mod ring_size;
