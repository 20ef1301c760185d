//! Charts from tables, and the errors on the way.

use super::*;
use crate::table::{Heading, Table, Values};

/// Two algorithms, three sizes, two bandwidths, two repetitions; the second algorithm sends twice as much.
pub(crate) fn results() -> Table {
    let mut rows = Vec::new();
    for algorithm in ["two-tier", "aefa"] {
        for nodes in [10, 100, 1000] {
            for bandwidth in [50, 10] {
                for repetition in 0..2 {
                    rows.push((algorithm, nodes, bandwidth, repetition));
                }
            }
        }
    }
    let messages = |row: &(&str, i64, i64, i64)| row.1 * (if row.0 == "aefa" { 4 } else { 2 }) + 2 * row.3;
    let columns = [
        ("algorithm", "", Values::Texts(rows.iter().map(|row| Some(row.0.into())).collect())),
        ("nodes", "number of nodes", Values::Integers(rows.iter().map(|row| Some(row.1)).collect())),
        ("bandwidth", "", Values::Integers(rows.iter().map(|row| Some(row.2)).collect())),
        ("messages", "messages sent", Values::Integers(rows.iter().map(|row| Some(messages(row))).collect())),
        ("estimate", "", Values::Floats(vec![None; rows.len()])),
        ("agreement", "", Values::Bools(rows.iter().map(|row| Some(row.3 == 0)).collect())),
    ];
    let mut table = Table::default();
    for (name, about, values) in columns {
        table.push(Heading { name: name.into(), about: about.into() }, values).expect("they have the same length");
    }
    table
}

pub(crate) fn spec() -> PlotSpec {
    PlotSpec {
        x: "nodes".into(),
        y: "messages".into(),
        by: vec!["algorithm".into()],
        facet: Some("bandwidth".into()),
        ..PlotSpec::default()
    }
}

#[test]
fn rows_become_panels_lines_and_means() {
    let chart = Chart::from_table(&results(), &spec()).unwrap();
    assert_eq!(chart.title, "messages over nodes");
    assert_eq!((chart.x.label.as_str(), chart.y.label.as_str()), ("number of nodes", "messages sent"));
    assert_eq!(chart.series, ["two-tier", "aefa"], "words as they come");
    let titles: Vec<&str> = chart.panels.iter().map(|panel| panel.title.as_str()).collect();
    assert_eq!(titles, ["bandwidth = 10", "bandwidth = 50"], "numbers by size");
    let aefa = &chart.panels[1].lines[1];
    assert_eq!(aefa.series, 1);
    let places: Vec<(f64, f64, usize)> = aefa.points.iter().map(|point| (point.x, point.y, point.count)).collect();
    assert_eq!(places, [(10.0, 41.0, 2), (100.0, 401.0, 2), (1000.0, 4001.0, 2)]);
    let margin = 12.70620474;
    assert!((aefa.points[0].high - 41.0 - margin).abs() < 1e-9 && (41.0 - margin - aefa.points[0].low).abs() < 1e-9);
    assert_eq!(chart.note, "Each point is the mean of 2 runs; bands are 95 % confidence intervals.");
    assert_eq!((chart.rows, chart.left_out), (24, 0));
}

#[test]
fn filters_compare_text_and_numbers() {
    let filter = |column: &str, value: &str| Filter { column: column.into(), values: vec![value.into()] };
    let filters = vec![filter("algorithm", "aefa"), filter("bandwidth", "1e1"), filter("agreement", "true")];
    let chart = Chart::from_table(&results(), &PlotSpec { filters, ..spec() }).unwrap();
    assert_eq!((chart.series.len(), chart.panels.len(), chart.rows), (1, 1, 3));
    assert_eq!(chart.note, "");
}

#[test]
fn text_gives_bars_and_powers_of_two_give_log2() {
    let bars = PlotSpec { x: "algorithm".into(), by: vec!["nodes".into()], facet: None, ..spec() };
    let chart = Chart::from_table(&results(), &bars).unwrap();
    assert_eq!(chart.x.scale, Scale::Categories(vec!["two-tier".into(), "aefa".into()]));
    assert_eq!(chart.series, ["nodes = 10", "nodes = 100", "nodes = 1000"]);
    let log = PlotSpec { log: Log { x: true, y: true }, ..spec() };
    let chart = Chart::from_table(&results(), &log).unwrap();
    assert_eq!((chart.x.scale, chart.y.scale), (Scale::Log10, Scale::Log10));
    let mut powers = Table::default();
    let heading = |name: &str| Heading { name: name.into(), about: "".into() };
    powers.push(heading("nodes"), Values::Integers(vec![Some(16), Some(1 << 20), Some(0)])).unwrap();
    powers.push(heading("messages"), Values::Floats(vec![Some(1.0), Some(2.0), Some(3.0)])).unwrap();
    let chart = Chart::from_table(&powers, &PlotSpec { by: vec![], facet: None, ..log }).unwrap();
    assert_eq!((chart.x.scale, chart.left_out), (Scale::Log2, 1));
}

fn overlay(label: &str, y: &str) -> Overlay {
    Overlay { label: label.into(), y: y.into() }
}

#[test]
fn formulas_are_curves_or_evaluated_by_row() {
    let formulas = vec![overlay("2n", "2*n"), overlay("b", "bandwidth"), overlay("m", "messages/2 - 1")];
    let chart = Chart::from_table(&results(), &PlotSpec { formulas, ..spec() }).unwrap();
    let [first, second] = &chart.panels[..] else { panic!("two panels") };
    let smooth = &first.curves[0];
    assert!(smooth.points.len() > 100 && smooth.series.is_none());
    assert!(smooth.points.iter().all(|(x, y)| *y == 2.0 * x && x.fract() == 0.0), "{smooth:?}");
    assert_eq!(first.curves[1].points, [(10.0, 10.0), (100.0, 10.0), (1000.0, 10.0)]);
    assert_eq!(second.curves[1].points, [(10.0, 50.0), (100.0, 50.0), (1000.0, 50.0)]);
    let of_series: Vec<Option<usize>> = first.curves[2..].iter().map(|curve| curve.series).collect();
    assert_eq!(of_series, [Some(0), Some(1)], "each series has values of its own");
}

#[test]
fn errors_name_the_column_and_a_suggestion() {
    let filter = |column: &str, value: &str| vec![Filter { column: column.into(), values: vec![value.into()] }];
    let cases: Vec<(PlotSpec, &str)> = vec![
        (
            PlotSpec { x: "node".into(), ..spec() },
            "x: there is no column `node`; the nearest is `nodes`; there are: algorithm, nodes, bandwidth, messages, \
             estimate, agreement",
        ),
        (PlotSpec { y: "mesages/n".into(), ..spec() }, "y: there is no column `mesages`; the nearest is `messages`"),
        (PlotSpec { y: "algorithm".into(), ..spec() }, "y: column `algorithm` is text; allowed: columns of numbers"),
        (PlotSpec { y: "messages*".into(), ..spec() }, "y: `messages*`: column 10: "),
        (PlotSpec { by: vec!["algo".into()], ..spec() }, "by: there is no column `algo`; the nearest is `algorithm`"),
        (PlotSpec { facet: Some("zzz".into()), ..spec() }, "facet: there is no column `zzz`; there are: algorithm"),
        (
            PlotSpec { filters: filter("bandwith", "1"), ..spec() },
            "where: there is no column `bandwith`; the nearest is `bandwidth`",
        ),
        (
            PlotSpec { filters: filter("bandwidth", "1"), ..spec() },
            "where: no row has bandwidth = 1; there are: 10, 50",
        ),
        (
            PlotSpec { filters: [filter("nodes", "10"), filter("nodes", "100")].concat(), ..spec() },
            "where: no row passes all the conditions together",
        ),
        (
            PlotSpec { y: "estimate".into(), ..spec() },
            "nothing can be drawn: of 24 rows, 0 have no number for x (`nodes`) and 24 have none for y (`estimate`); ",
        ),
        (
            PlotSpec { x: "algorithm".into(), log: Log { x: true, y: false }, ..spec() },
            "log: column `algorithm` is text, so x cannot be logarithmic; allowed here: y, or nothing",
        ),
        (
            PlotSpec { formulas: vec![overlay("f", "nodez")], ..spec() },
            "formula \"f\": there is no column `nodez`; the nearest is `nodes`",
        ),
        (
            PlotSpec { formulas: vec![overlay("f", "1/(n-n)")], ..spec() },
            "formula \"f\": `1/(n-n)` has no value that can be drawn in any row: `1/(n-n)` is not a finite number here",
        ),
        (
            PlotSpec { formulas: vec![overlay("f", "estimate")], ..spec() },
            "formula \"f\": `estimate` has no value that can be drawn in any row: `estimate` has no value here",
        ),
        (
            PlotSpec { formulas: vec![overlay("f", "n"); 9], ..spec() },
            "formula: 9 formulas are too many, at most 8; select some with `where`",
        ),
    ];
    for (spec, wanted) in cases {
        let error = Chart::from_table(&results(), &spec).unwrap_err().to_string();
        assert!(error.starts_with(wanted), "{error}\n  is not: {wanted}");
    }
    assert_eq!(Chart::from_table(&Table::default(), &spec()), Err(PlotError::Empty));
}

mod any {
    //! Whatever is in a table and whatever is asked for: an error, or a picture with finite coordinates.

    use proptest::prelude::*;

    use super::*;
    use crate::table::samples::any_table;

    fn name(table: &Table, at: usize) -> String {
        let names: Vec<_> = table.columns().map(|(heading, _)| heading.name.to_string()).collect();
        names[at % names.len()].clone()
    }

    /// Every number in an attribute that holds coordinates.
    fn coordinates(picture: &str) -> Vec<f64> {
        let attributes = [
            " x=\"",
            " y=\"",
            " x1=\"",
            " y1=\"",
            " x2=\"",
            " y2=\"",
            " cx=\"",
            " cy=\"",
            " width=\"",
            " height=\"",
            " points=\"",
            "viewBox=\"",
        ];
        let mut numbers = Vec::new();
        for attribute in attributes {
            for (at, _) in picture.match_indices(attribute) {
                let value = picture[at + attribute.len()..].split('"').next().unwrap_or_default();
                let pieces = value.split([' ', ',']).filter(|piece| !piece.is_empty());
                numbers.extend(pieces.map(|piece| piece.parse::<f64>().unwrap_or(f64::NAN)));
            }
        }
        numbers
    }

    proptest! {
        #[test]
        fn tables_give_finite_pictures(
            table in any_table(),
            at in any::<[usize; 4]>(),
            with in any::<[bool; 5]>(),
            formula in proptest::sample::select(vec!["n", "1", "1/0", "a*a", "2^1000", "-3"]),
        ) {
            let spec = PlotSpec {
                x: name(&table, at[0]),
                y: if with[0] { name(&table, at[1]) } else { "1e99 * 3".into() },
                by: if with[1] { vec![name(&table, at[2])] } else { vec![] },
                facet: with[2].then(|| name(&table, at[3])),
                log: Log { x: with[3], y: with[4] },
                formulas: vec![overlay("f", formula)].into_iter().filter(|_| with[1] == with[4]).collect(),
                ..PlotSpec::default()
            };
            if let Ok(chart) = Chart::from_table(&table, &spec) {
                let picture = svg(&chart);
                let numbers = coordinates(&picture);
                prop_assert!(numbers.len() > 10);
                prop_assert!(numbers.iter().all(|number| number.is_finite() && number.abs() < 10_000.0), "{}", picture);
                prop_assert_eq!(&picture, &svg(&chart));
                png(&picture).expect("what we draw can be drawn as pixels");
            }
        }
    }
}
