//! The report as one JSON object. The order of its keys is part of the format.

use hustings_algorithms::Goal;
use serde_json::{Map, Value, json};

use super::{NoticeRule, Report};

/// The object.
pub(crate) fn render(report: &Report<'_>) -> Value {
    let outcome = report.outcome;
    let params: Map<String, Value> =
        report.params.iter().map(|(name, value)| ((*name).to_string(), typed(value))).collect();
    let by_kind: Map<String, Value> =
        report.kinds.iter().zip(&outcome.by_kind).map(|(kind, count)| ((*kind).to_string(), json!(count))).collect();
    let mut object = json!({
        "algorithm": report.about.name,
        "nodes": report.scenario.network.members(),
        "edges": report.scenario.network.links(),
        "seed": report.scenario.seed,
        "params": params,
        "hung": outcome.hung,
        "leader": outcome.leader.map(|at| json!({"position": at, "id": report.id(at)})),
        "leaders": outcome.leaders,
        "agreement": outcome.agreement,
        "live": outcome.live,
        "messages": {
            "total": outcome.total(),
            "by_kind": by_kind,
            "bytes": outcome.bytes,
            "lost": outcome.lost,
        },
        "load": {"mean": outcome.load.mean, "max": outcome.load.max, "histogram": outcome.load.histogram},
        "collisions": {"total": outcome.collisions.total, "max": outcome.collisions.max},
        "time": {
            "elected": outcome.time.elected,
            "agreed": outcome.time.agreed,
            "quiescent": outcome.time.quiescent,
        },
    });
    if report.goal == Goal::Estimate || outcome.estimate.is_some() {
        object["estimate"] = json!(outcome.estimate);
    }
    if !outcome.names.is_empty() {
        object["names"] = outcome.names.iter().map(|(at, name)| json!({"position": at, "name": name})).collect();
    }
    if !report.scenario.cheats.is_empty() {
        let cheat =
            |(at, typed): (u32, String)| json!({"position": at, "cheat": typed, "acted": report.has_cheated(at)});
        let notice = |(at, rule): &(u32, NoticeRule)| json!({"position": at, "rule": rule.name()});
        object["cheats"] = report.cheats().map(cheat).collect();
        object["noticed"] = report.notices().iter().map(notice).collect();
    }
    if !outcome.notice.is_empty() {
        let notice: Map<String, Value> =
            outcome.notice.iter().map(|(kind, count)| ((*kind).to_string(), json!(count))).collect();
        object["notice"] = Value::Object(notice);
    }
    object
}

/// The value of a parameter: a number if it is one, otherwise a string.
pub(crate) fn typed(value: &str) -> Value {
    value.parse::<u64>().map_or_else(|_| json!(value), |number| json!(number))
}
