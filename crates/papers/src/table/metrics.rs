//! The descriptions of the metrics of a run.

/// The columns of results that are not settings of the experiment, with their descriptions. In addition there are the
/// columns `messages.KIND`.
pub(crate) const METRICS: [(&str, &str); 27] = [
    ("point", "hash of the settings"),
    ("repetition", "repetition of the point, from 0"),
    ("seed", "seed of the run"),
    ("version", "version of the program"),
    ("links", "links between nodes"),
    ("leader", "position of the leader"),
    ("agreement", "whether every live node names the leader"),
    ("live", "nodes that are up at the end"),
    ("hung", "whether messages were in flight at the last tick"),
    ("messages", "messages sent"),
    ("notice_messages", "messages of failure detection, not included in the total"),
    ("bytes", "bytes sent"),
    ("lost", "lost messages"),
    ("load_mean", "messages that a node handled, on average"),
    ("load_max", "messages that the busiest node handled"),
    ("collisions", "arrivals at one node in one tick after the first"),
    ("collisions_max", "maximum number of arrivals at one node in one tick"),
    ("elected", "ticks until the leader was elected"),
    ("agreed", "ticks until every live node named the leader"),
    ("quiescent", "ticks until no message was left"),
    ("estimate", "network size that all nodes computed"),
    ("expected", "messages by the exact formula of the algorithm"),
    ("before.messages", "messages sent in the run without the faults"),
    ("before.bytes", "bytes sent in the run without the faults"),
    ("before.elected", "ticks until the leader was elected, without the faults"),
    ("before.agreed", "ticks until every live node named the leader, without the faults"),
    ("before.quiescent", "ticks until no message was left, without the faults"),
];
