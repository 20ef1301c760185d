//! Compares a chart of each kind with the file in `testdata/plots`.
//!
//! `HUSTINGS_REGENERATE=1` rewrites the files; review them afterwards.

use std::path::Path;

use hustings_papers::plot::{Chart, Filter, Log, Overlay, PlotSpec, png, svg};
use hustings_papers::table::{Heading, Table, Values};

/// Rows like those of an experiment: algorithms, sizes and bandwidths, twelve repetitions each, with some noise.
fn results(algorithms: &[&str], sizes: &[i64]) -> Table {
    let (mut names, mut nodes, mut bandwidths) = (Vec::new(), Vec::new(), Vec::new());
    let (mut messages, mut elected, mut agreement) = (Vec::new(), Vec::new(), Vec::new());
    let mut noise: u64 = 1;
    for (at, algorithm) in algorithms.iter().enumerate() {
        for size in sizes {
            for bandwidth in [10, 50, 100, 500, 1000] {
                for _ in 0..12 {
                    noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let about_one = 0.8 + 0.4 * (noise >> 40) as f64 / (1u64 << 24) as f64;
                    let n = *size as f64;
                    names.push(Some((*algorithm).into()));
                    nodes.push(Some(*size));
                    bandwidths.push(Some(bandwidth));
                    let rate = [1.0, 2.2, 5.0, 9.0, 14.0, 20.0, 30.0, 45.0, 70.0][at];
                    messages.push(Some((rate * n * n.log2() * about_one).round() as i64));
                    elected.push(Some(n.sqrt() * about_one * (1.0 + rate * n / bandwidth as f64 / 40.0)));
                    agreement.push(Some(noise >> 60 != 0));
                }
            }
        }
    }
    let columns = [
        ("algorithm", "", Values::Texts(names)),
        ("nodes", "nodes n", Values::Integers(nodes)),
        ("bandwidth", "messages a link takes in a tick", Values::Integers(bandwidths)),
        ("messages", "messages sent", Values::Integers(messages)),
        ("elected", "ticks until the leader was elected", Values::Floats(elected)),
        ("agreement", "runs in which all agreed", Values::Bools(agreement)),
    ];
    let mut table = Table::default();
    for (name, about, values) in columns {
        table.push(Heading { name: name.into(), about: about.into() }, values).expect("columns are of one length");
    }
    table
}

fn overlay(label: &str, y: &str) -> Overlay {
    Overlay { label: label.to_string(), y: y.to_string() }
}

fn compare(name: &str, table: &Table, spec: &PlotSpec) {
    let chart = Chart::from_table(table, spec).unwrap_or_else(|error| panic!("{name}: {error}"));
    let picture = svg(&chart);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/plots").join(format!("{name}.svg"));
    if std::env::var_os("HUSTINGS_REGENERATE").is_some_and(|value| value == "1") {
        std::fs::write(&path, &picture).expect("the picture can be written");
    }
    let held = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = held.lines().zip(picture.lines()).position(|(held, drawn)| held != drawn);
    assert!(
        held == picture,
        "{name}.svg differs from line {:?} on; run the tests with HUSTINGS_REGENERATE=1 and review the picture",
        differs.map(|line| line + 1)
    );
    let pixels = png(&picture).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(&pixels[1..4], b"PNG");
}

fn base() -> PlotSpec {
    PlotSpec { x: "nodes".into(), y: "messages".into(), by: vec!["algorithm".into()], ..PlotSpec::default() }
}

fn only(column: &str, value: &str) -> Vec<Filter> {
    vec![Filter { column: column.into(), values: vec![value.into()] }]
}

#[test]
fn lines_with_bands_and_a_formula() {
    let spec = PlotSpec {
        title: "Messages until the leader is known".into(),
        formulas: vec![overlay("n log₂ n", "n*log2(n)")],
        filters: only("bandwidth", "100"),
        ..base()
    };
    compare("lines", &results(&["aefa", "two-tier", "echo-extinction"], &[10, 50, 100, 200, 400, 700, 1000]), &spec);
}

#[test]
fn both_axes_logarithmic() {
    let spec = PlotSpec {
        title: "Messages of nine algorithms; what one of them takes at most, and what none can beat".into(),
        log: Log { x: true, y: true },
        formulas: vec![overlay("n(n-1)", "n*(n-1)"), overlay("Ω(n log n)", "n*log2(n)/2")],
        ..base()
    };
    let names = [
        "chang-roberts",
        "franklin",
        "hirschberg-sinclair",
        "dolev-klawe-rodeh",
        "peterson",
        "bully",
        "improved-bully",
        "campaigner",
        "le-lann",
    ];
    compare("log-log", &results(&names, &[10, 100, 1000, 10_000, 100_000]), &spec);
}

#[test]
fn powers_of_two() {
    let spec = PlotSpec {
        y: "messages / nodes".into(),
        y_label: Some("messages a node sends".into()),
        by: vec![],
        log: Log { x: true, y: false },
        formulas: vec![overlay("H(n)", "H(n)")],
        ..base()
    };
    let sizes: Vec<i64> = (4..=20).step_by(2).map(|power| 1 << power).collect();
    compare("powers-of-two", &results(&["chang-roberts"], &sizes), &spec);
}

#[test]
fn a_panel_for_each_value() {
    let spec = PlotSpec {
        title: "Time until the leader is elected, over the number of nodes, for five bandwidths".into(),
        y: "elected".into(),
        facet: Some("bandwidth".into()),
        formulas: vec![overlay("√n (1 + n/40b)", "sqrt(n)*(1 + n/bandwidth/40)")],
        ..base()
    };
    compare("panels", &results(&["aefa", "two-tier"], &[10, 50, 100, 500, 1000]), &spec);
}

#[test]
fn bars_for_text() {
    let spec = PlotSpec {
        title: "Messages by algorithm".into(),
        x: "algorithm".into(),
        by: vec!["nodes".into()],
        filters: only("bandwidth", "50"),
        formulas: vec![overlay("10 n", "n * 10")],
        ..base()
    };
    compare("bars", &results(&["aefa", "two-tier", "echo-extinction", "tree"], &[100, 500, 1000]), &spec);
}

#[test]
fn bars_in_panels_with_long_names() {
    let spec = PlotSpec {
        title: "Agreement".into(),
        x: "algorithm".into(),
        y: "agreement".into(),
        by: vec![],
        facet: Some("bandwidth".into()),
        ..base()
    };
    let names =
        ["chang-roberts", "hirschberg-sinclair", "dolev-klawe-rodeh", "an algorithm with a very long name indeed"];
    compare("bars-in-panels", &results(&names, &[100]), &spec);
}
