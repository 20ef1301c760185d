//! The alerts, the dashboard and the manual name metrics that exist, and promtool accepts them.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use crate::common;
use crate::processes::Cluster;

fn contrib(file: &str) -> PathBuf {
    common::repository().join("contrib").join(file)
}

/// What a real node exports.
fn exported() -> String {
    let mut cluster = Cluster::new(&["a", "b"], &[]);
    cluster.start(&["a", "b"]);
    cluster.wait_for_agreement(&["a", "b"], |_| true);
    cluster.run("a", &["metrics"]).out
}

/// The names of metrics in a text. Those of a histogram end without their suffix.
fn names(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let named = words.filter(|word| word.starts_with("hustings_") || word.starts_with("process_"));
    let whole = |word: &str| match word.strip_prefix("hustings_disk_write_seconds") {
        Some(_) => "hustings_disk_write_seconds".to_string(),
        None => word.to_string(),
    };
    named.map(whole).collect()
}

/// The names that the first column of the tables of a page quotes.
/// Those of the HTTP server are left out: the node does not know of it.
fn documented(page: &str) -> BTreeSet<String> {
    let cells = page.lines().filter_map(|line| line.strip_prefix("| `")?.split(['`', '{']).next());
    let named = cells.filter(|cell| cell.starts_with("hustings_") || cell.starts_with("process_"));
    named.filter(|cell| !cell.starts_with("hustings_http_")).map(str::to_string).collect()
}

#[test]
fn alerts_dashboard_and_manual_name_what_a_node_exports() {
    let text = exported();
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    // The last one is there only if the configuration asks for it.
    let known: BTreeSet<String> = types.chain(["hustings_realtime"]).map(str::to_string).collect();
    let rules = fs::read_to_string(contrib("prometheus/hustings.rules.yml")).expect("the file is there");
    let dashboard = fs::read_to_string(contrib("grafana/hustings.json")).expect("the file is there");
    for (file, text) in [("the rules", &rules), ("the dashboard", &dashboard)] {
        let unknown: Vec<String> = names(text).difference(&known).cloned().collect();
        assert!(unknown.is_empty(), "{file} name metrics that no node has: {unknown:?}");
        assert!(names(text).len() > 10, "{file} hardly use any metric");
    }
    let page = fs::read_to_string(common::repository().join("docs/monitoring.md")).expect("the page is there");
    assert_eq!(documented(&page), known, "docs/monitoring.md and the metrics differ");
    let alerts = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: "));
    let tests = fs::read_to_string(contrib("prometheus/hustings.rules.test.yml")).expect("the file is there");
    for alert in alerts {
        assert!(page.contains(&format!("| `{alert}` |")), "docs/monitoring.md does not explain {alert}");
        assert!(tests.contains(&format!("alertname: {alert}\n")), "no test names {alert}");
    }
}

#[test]
fn the_dashboard_is_valid() {
    let text = fs::read_to_string(contrib("grafana/hustings.json")).expect("the file is there");
    let dashboard: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    let panels = dashboard["panels"].as_array().expect("it has panels");
    let ids: BTreeSet<u64> = panels.iter().filter_map(|panel| panel["id"].as_u64()).collect();
    assert_eq!(ids.len(), panels.len(), "every panel has an id of its own");
    for panel in panels.iter().filter(|panel| panel["type"] != "row") {
        let targets = panel["targets"].as_array().map_or(0, Vec::len);
        assert!(targets > 0 && panel["title"].is_string() && panel["gridPos"].is_object(), "{panel}");
    }
}

/// Runs promtool with this input. `None` if it is not installed.
pub(crate) fn promtool(args: &[&str], input: &str) -> Option<Output> {
    let command = Command::new("promtool")
        .args(args)
        .current_dir(contrib("prometheus"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match command {
        Ok(child) => child,
        Err(error) => {
            common::skip(&format!("promtool cannot be started: {error}; `apt-get install prometheus` brings it"));
            return None;
        }
    };
    child.stdin.take().expect("it is piped").write_all(input.as_bytes()).expect("promtool reads");
    Some(child.wait_with_output().expect("promtool ends"))
}

#[test]
fn promtool_finds_nothing() {
    let Some(checked) = promtool(&["check", "metrics"], &exported()) else { return };
    let text = |output: &Output| {
        [&output.stdout[..], &output.stderr[..]].map(|part| String::from_utf8_lossy(part).into_owned()).concat()
    };
    assert!(checked.status.success() && text(&checked).is_empty(), "{}", text(&checked));
    for args in [["check", "rules", "hustings.rules.yml"], ["test", "rules", "hustings.rules.test.yml"]] {
        let output = promtool(&args, "").expect("it was started before");
        assert!(output.status.success(), "{args:?}: {}", text(&output));
    }
    let broken = promtool(&["check", "metrics"], "# TYPE x counter\nx 1\n").expect("it was started before");
    assert!(!broken.status.success(), "promtool accepts everything");
}
