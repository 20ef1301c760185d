//! What the figures of a run mean, wherever they are shown.

/// The columns of results that do not come from the experiment, with what they mean. Beside them there are
/// `messages.KIND`.
pub(crate) const METRICS: [(&str, &str); 27] = [
    ("point", "hash of the settings"),
    ("repetition", "repetition of the point, from 0"),
    ("seed", "seed of the run"),
    ("version", "version of the program"),
    ("links", "links between nodes"),
    ("leader", "position of the leader"),
    ("agreement", "whether every live node names the leader"),
    ("live", "nodes that are up at the end"),
    ("hung", "whether mail was under way when the time was up"),
    ("messages", "messages sent"),
    ("notice_messages", "messages for noticing a dead leader, outside the total"),
    ("bytes", "bytes sent"),
    ("lost", "messages that did not arrive"),
    ("load_mean", "messages that a node handled, on average"),
    ("load_max", "messages that the busiest node handled"),
    ("collisions", "arrivals at one node in one tick beyond the first"),
    ("collisions_max", "most arrivals at one node in one tick"),
    ("elected", "ticks until the leader was elected"),
    ("agreed", "ticks until every live node named the leader"),
    ("quiescent", "ticks until all was quiet"),
    ("estimate", "size that all nodes found"),
    ("expected", "messages by the exact formula of the algorithm"),
    ("before.messages", "messages sent in the run without the faults"),
    ("before.bytes", "bytes sent in the run without the faults"),
    ("before.elected", "ticks until the leader was elected, without the faults"),
    ("before.agreed", "ticks until every live node named the leader, without the faults"),
    ("before.quiescent", "ticks until all was quiet, without the faults"),
];
