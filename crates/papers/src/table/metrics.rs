//! The metrics of a run: their names, what reports call them, and their descriptions.

/// The columns of results that are not settings of the experiment, with what they are called in formulas of reports and
/// their descriptions. In addition there are the columns `messages.KIND`.
pub(crate) const METRICS: [(&str, &str, &str); 27] = [
    ("point", "point", "hash of the settings"),
    ("repetition", "repetition", "repetition of the point, from 0"),
    ("seed", "seed", "seed of the run"),
    ("version", "version", "version of the program"),
    ("links", "links", "links between nodes"),
    ("leader", "leader", "position of the leader"),
    ("agreement", "all agree", "whether every live node names the leader"),
    ("live", "live nodes", "nodes that are up at the end"),
    ("hung", "runs that do not end", "whether messages were in flight at the last tick"),
    ("messages", "messages", "messages sent"),
    ("notice_messages", "messages of failure detection", "messages of failure detection, not included in the total"),
    ("bytes", "bytes", "bytes sent"),
    ("lost", "lost messages", "lost messages"),
    ("load_mean", "messages handled per node", "messages that a node handled, on average"),
    ("load_max", "most messages handled by one node", "messages that the busiest node handled"),
    ("collisions", "simultaneous arrivals", "arrivals at one node in one tick after the first"),
    ("collisions_max", "most simultaneous arrivals", "maximum number of arrivals at one node in one tick"),
    ("elected", "ticks until the winner leads", "ticks until the leader was elected"),
    ("agreed", "ticks until all agree", "ticks until every live node named the leader"),
    ("quiescent", "ticks until the end", "ticks until no message was left"),
    ("estimate", "estimate", "network size that all nodes computed"),
    ("expected", "messages by the formula", "messages by the exact formula of the algorithm"),
    ("before.messages", "messages before the faults", "messages sent in the run without the faults"),
    ("before.bytes", "bytes before the faults", "bytes sent in the run without the faults"),
    ("before.elected", "ticks until the first winner leads", "ticks until the leader was elected, without the faults"),
    (
        "before.agreed",
        "ticks until all agree on the first winner",
        "ticks until every live node named the leader, without the faults",
    ),
    (
        "before.quiescent",
        "ticks until the end without the faults",
        "ticks until no message was left, without the faults",
    ),
];
