//! What `hustings bench offices` prints.

use std::io::Write;

use comfy_table::{Table, presets};
use hustings_harness::hogs::{LOOPS, WRITERS};
use serde_json::{Value, json};

use super::super::value_name;
use super::{Measured, OfficesArgs, Row};

/// All offices must be granted within this many seconds.
const MAX_GRANT_SECONDS: f64 = 10.0;
/// All offices of a killed node must have their next holder within this many milliseconds.
const MAX_TAKEOVER_MS: f64 = 3_000.0;

/// Which goals do not hold.
pub(super) fn problems(measured: &Measured) -> Vec<String> {
    let mut problems = Vec::new();
    for row in &measured.grants {
        let grants = row.measured;
        if grants.seconds.is_none_or(|seconds| seconds > MAX_GRANT_SECONDS) {
            let held = grants.granted + 1;
            let when =
                grants.seconds.map_or(format!("only {held} held"), |seconds| format!("all held after {seconds:.2} s"));
            problems.push(row.problem(&format!("{when}, at most {MAX_GRANT_SECONDS} s are allowed")));
        }
        problems.extend(lapses(row, grants.lapsed, "while they were granted"));
    }
    for row in &measured.idle {
        match row.measured {
            None => problems.push(row.problem("a node did not answer while the cluster was left alone")),
            Some(cost) => {
                if cost.held + 1 < row.offices as usize {
                    problems.push(row.problem(&format!("{} held after the cluster was left alone", cost.held + 1)));
                }
                problems.extend(lapses(row, cost.lapsed, "while the cluster was left alone"));
            }
        }
    }
    for row in &measured.takeovers {
        let takeover = &row.measured;
        if takeover.taken_over < takeover.lost {
            let (done, lost) = (takeover.taken_over, takeover.lost);
            problems.push(row.problem(&format!("{done} of {lost} offices of the killed node were taken over")));
        }
        if let Some(latency) = takeover.latency.filter(|latency| latency.max > MAX_TAKEOVER_MS) {
            let slowest = latency.max;
            problems
                .push(row.problem(&format!("taken over after {slowest:.0} ms, at most {MAX_TAKEOVER_MS} are allowed")));
        }
        problems.extend(lapses(row, takeover.lapsed, "before or after a node was killed"));
    }
    problems
}

fn lapses<T>(row: &Row<T>, lapsed: usize, when: &str) -> Option<String> {
    (lapsed > 0).then(|| row.problem(&format!("{lapsed} leases were lost that nobody took, {when}")))
}

impl<T> Row<T> {
    fn problem(&self, what: &str) -> String {
        format!("run {}, {}, {} offices: {what}", self.run, value_name(&self.mode), self.offices)
    }

    /// The members of every row in JSON, and its own.
    fn to_json(&self, own: Value) -> Value {
        let mut all = json!({"run": self.run, "mode": value_name(&self.mode), "offices": self.offices});
        if let (Value::Object(all), Value::Object(own)) = (&mut all, own) {
            all.extend(own);
        }
        all
    }
}

pub(super) fn to_json(args: &OfficesArgs, measured: &Measured, problems: &[String]) -> Value {
    let grants = measured.grants.iter().map(|row| {
        let grants = row.measured;
        row.to_json(json!({"campaigns": grants.offices, "granted": grants.granted, "seconds": grants.seconds,
            "cpu_ms_per_grant": grants.cpu_ms_per_grant, "lapsed": grants.lapsed}))
    });
    let idle = measured.idle.iter().map(|row| {
        let cost = row.measured;
        row.to_json(json!({"held": cost.map(|cost| cost.held + 1), "cpu_percent": cost.map(|cost| cost.cpu_percent),
            "bytes_a_second": cost.map(|cost| cost.bytes_a_second), "lapsed": cost.map(|cost| cost.lapsed)}))
    });
    let takeovers = measured.takeovers.iter().map(|row| {
        let (takeover, latency) = (&row.measured, row.measured.latency);
        row.to_json(json!({"lost": takeover.lost, "taken_over": takeover.taken_over,
            "p50_ms": latency.map(|latency| latency.p50), "p99_ms": latency.map(|latency| latency.p99),
            "max_ms": latency.map(|latency| latency.max), "led_arbiter": takeover.led_arbiter,
            "lapsed": takeover.lapsed}))
    });
    let hogs = measured
        .hogs
        .iter()
        .map(|row| row.to_json(json!({"cores": row.measured.cores, "mib_a_second": row.measured.mib_a_second})));
    json!({"nodes": args.nodes, "contested": args.contested, "busy": args.busy, "runs": args.runs,
        "seconds_per_step": args.seconds, "grants": grants.collect::<Vec<_>>(), "idle": idle.collect::<Vec<_>>(),
        "node_killed": takeovers.collect::<Vec<_>>(), "hogs": hogs.collect::<Vec<_>>(), "problems": problems})
}

pub(super) fn print(
    args: &OfficesArgs,
    measured: &Measured,
    problems: &[String],
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let limit = format!("not within {} s", args.seconds);
    let candidates = if args.contested { "candidates on all nodes" } else { "one candidate" };
    writeln!(out, "{} nodes, each office with {candidates}, all at once in a new cluster", args.nodes)?;
    writeln!(out, "{}\n", grants(args, measured, &limit))?;
    writeln!(out, "left alone for {} s\n{}\n", args.idle, idle(args, measured))?;
    writeln!(out, "a node killed, each office with candidates on all nodes\n{}", takeovers(args, measured, &limit))?;
    if args.busy {
        let mut table = table(args, &["offices", "cores", "MiB a second"]);
        for row in &measured.hogs {
            let numbers = [row.measured.cores, row.measured.mib_a_second].map(|value| number(Some(value), 2));
            table.add_row(cells(args, row, [row.offices.to_string()].into_iter().chain(numbers)));
        }
        writeln!(out, "\nwhat {LOOPS} processes that compute and {WRITERS} that write had of the host\n{table}")?;
    }
    problems.iter().try_for_each(|problem| writeln!(out, "not met: {problem}"))
}

fn grants(args: &OfficesArgs, measured: &Measured, limit: &str) -> Table {
    let mut table = table(args, &["offices", "held", "all held after s", "CPU ms per grant", "lapsed leases"]);
    for row in &measured.grants {
        let grants = row.measured;
        let own = [
            row.offices.to_string(),
            (grants.granted + 1).to_string(),
            grants.seconds.map_or(limit.to_string(), |seconds| format!("{seconds:.2}")),
            number(grants.cpu_ms_per_grant, 3),
            grants.lapsed.to_string(),
        ];
        table.add_row(cells(args, row, own));
    }
    table
}

fn idle(args: &OfficesArgs, measured: &Measured) -> Table {
    let mut table = table(args, &["held", "CPU %, all nodes", "bytes a second", "lapsed leases"]);
    for row in &measured.idle {
        let cost = row.measured;
        let own = [
            cost.map_or("no answer".to_string(), |cost| (cost.held + 1).to_string()),
            number(cost.map(|cost| cost.cpu_percent), 2),
            number(cost.map(|cost| cost.bytes_a_second), 0),
            cost.map_or("–".to_string(), |cost| cost.lapsed.to_string()),
        ];
        table.add_row(cells(args, row, own));
    }
    table
}

fn takeovers(args: &OfficesArgs, measured: &Measured, limit: &str) -> Table {
    let mut table = table(args, &["lost", "taken over", "p50 ms", "p99 ms", "max ms", "lapsed elsewhere"]);
    for row in &measured.takeovers {
        let (takeover, latency) = (&row.measured, row.measured.latency);
        let missing = match takeover.lost - takeover.taken_over {
            0 => String::new(),
            missing => format!(" ({missing} {limit})"),
        };
        let own = [
            takeover.lost.to_string(),
            format!("{}{missing}", takeover.taken_over),
            number(latency.map(|latency| latency.p50), 1),
            number(latency.map(|latency| latency.p99), 1),
            number(latency.map(|latency| latency.max), 1),
            takeover.lapsed.to_string(),
        ];
        table.add_row(cells(args, row, own));
    }
    table
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or("–".to_string(), |value| format!("{value:.digits$}"))
}

/// The cells of every row, and its own. The run is shown if there are several.
fn cells<T>(args: &OfficesArgs, row: &Row<T>, own: impl IntoIterator<Item = String>) -> Vec<String> {
    let run = (args.runs > 1).then(|| row.run.to_string());
    run.into_iter().chain([value_name(&row.mode)]).chain(own).collect()
}

fn table(args: &OfficesArgs, heading: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let run = (args.runs > 1).then_some("run");
    table.set_header(run.into_iter().chain(["office"]).chain(heading.iter().copied()));
    table
}

#[cfg(test)]
mod tests {
    use hustings_harness::Percentiles;
    use hustings_harness::offices::{Grants, IdleCost, Takeover};

    use super::*;
    use crate::cli::cluster::bench::ModeArg;

    fn row<T>(measured: T) -> Row<T> {
        Row { run: 2, mode: ModeArg::Fenced, offices: 10, measured }
    }

    /// Measurements for which all goals hold, just so.
    fn good() -> Measured {
        let grants = Grants { offices: 9, granted: 9, seconds: Some(10.0), cpu_ms_per_grant: None, lapsed: 0 };
        let idle = IdleCost { held: 9, cpu_percent: 1.0, bytes_a_second: 1.0, lapsed: 0 };
        let latency = Percentiles::of(vec![3_000_000_000]);
        let takeover = Takeover { lost: 1, taken_over: 1, latency, led_arbiter: false, lapsed: 0 };
        Measured {
            grants: vec![row(grants)],
            idle: vec![row(Some(idle))],
            takeovers: vec![row(takeover)],
            hogs: Vec::new(),
        }
    }

    fn problem_after(change: impl FnOnce(&mut Measured)) -> String {
        let mut measured = good();
        change(&mut measured);
        problems(&measured).join("; ")
    }

    #[test]
    fn every_goal_that_is_missed_is_named() {
        assert_eq!(problem_after(|_| ()), "");
        let grants = |change: fn(&mut Grants)| problem_after(|all| change(&mut all.grants[0].measured));
        let late = "run 2, fenced, 10 offices: all held after 10.01 s, at most 10 s are allowed";
        assert_eq!(grants(|grants| grants.seconds = Some(10.01)), late);
        let never = "run 2, fenced, 10 offices: only 10 held, at most 10 s are allowed";
        assert_eq!(grants(|grants| grants.seconds = None), never);
        let lost = "run 2, fenced, 10 offices: 3 leases were lost that nobody took, while they were granted";
        assert_eq!(grants(|grants| grants.lapsed = 3), lost);
        let idle = |change: fn(&mut IdleCost)| problem_after(|all| all.idle[0].measured.iter_mut().for_each(change));
        assert!(idle(|cost| cost.held = 8).ends_with(": 9 held after the cluster was left alone"));
        assert!(idle(|cost| cost.lapsed = 1).ends_with("nobody took, while the cluster was left alone"));
        assert!(problem_after(|all| all.idle[0].measured = None).contains("a node did not answer"));
        let takeover = |change: fn(&mut Takeover)| problem_after(|all| change(&mut all.takeovers[0].measured));
        assert!(takeover(|row| row.lost = 2).ends_with(": 1 of 2 offices of the killed node were taken over"));
        assert!(takeover(|row| row.lapsed = 4).ends_with("nobody took, before or after a node was killed"));
        let slow = takeover(|row| row.latency = Percentiles::of(vec![3_100_000_000]));
        assert!(slow.ends_with(": taken over after 3100 ms, at most 3000 are allowed"), "{slow}");
    }
}
