//! Whatever a file says, it is read or refused: nothing panics, nothing takes long.

use proptest::prelude::*;

use super::Experiment;
use crate::formula::Formula;

/// Pieces of files, of which some fit together.
fn piece() -> impl Strategy<Value = String> {
    let keys = prop::sample::select(vec![
        "algorithm",
        "nodes",
        "ids",
        "topology",
        "crash",
        "initiators",
        "bandwidth",
        "loss",
        "runs",
        "p.u",
        "p.depth",
        "let.u",
        "let.k",
        "when",
        "name",
        "x",
        "y",
        "pair",
        "seed",
        "repetitions",
        "version",
        "heal",
        "partition",
    ]);
    let values = prop::sample::select(vec![
        "'cr'",
        "['sun', 'bully']",
        "3",
        "-1",
        "0.5",
        "1e400",
        "nan",
        "true",
        "[]",
        "[3, 4]",
        "[[1]]",
        "{ a = 1 }",
        "'1..9'",
        "'2^1..2^70'",
        "'{n-1}@0'",
        "'{u'",
        "'{k}'",
        "'{u}'",
        "'{1/0}'",
        "'leader@quiet+1'",
        "'@quiet'",
        "'all'",
        "'none'",
        "'default'",
        "'random:5-10'",
        "'n > 3'",
        "'messages'",
        "'nodes'",
        "''",
        "2026-01-01",
        "'all@quiet'",
        "'0-3/leader@quiet+99999999999999999999'",
        "99999999999999999999",
    ]);
    prop_oneof![
        8 => (keys, values).prop_map(|(key, value)| format!("{key} = {value}\n")),
        1 => Just("[vary]\n".to_string()),
        1 => Just("[[skip]]\n".to_string()),
        1 => Just("[[plot]]\n".to_string()),
    ]
}

proptest! {
    #[test]
    fn any_file_is_read_or_refused(head in any::<bool>(), pieces in prop::collection::vec(piece(), 0..12)) {
        let head = if head { "version = 1\nname = 'a'\n[vary]\nalgorithm = 'sun'\n" } else { "" };
        let text = format!("{head}{}", pieces.concat());
        if let Ok(experiment) = Experiment::parse("random.toml", &text) {
            for point in experiment.points().iter().take(20) {
                let _ = experiment.prepare(point);
            }
        }
    }

    #[test]
    fn any_formula_is_read_or_refused(text in "[-+*/%^<>=!() .,0-9a-dnH`{}é]{0,40}") {
        if let Ok(formula) = Formula::parse(&text) {
            let _ = formula.eval(&|_| Some(3.0));
        }
    }

    #[test]
    fn sums_of_products_are_worked_out_as_rust_does(a in -99i32..99, b in -99i32..99, c in -99i32..99, d in 1i32..99) {
        let (a, b, c, d) = (f64::from(a), f64::from(b), f64::from(c), f64::from(d));
        let formula = Formula::parse("a + b * -c - (a - b) / d < c * a - b").unwrap();
        let value_of = |name: &str| match name { "a" => Some(a), "b" => Some(b), "c" => Some(c), _ => Some(d) };
        let expected = a + b * -c - (a - b) / d < c * a - b;
        prop_assert_eq!(formula.eval(&value_of), Ok(f64::from(u8::from(expected))));
    }
}
