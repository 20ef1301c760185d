//! Tables for tests.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{Heading, Table, Values};

/// A table with a column of each type, missing values, and texts that look like numbers.
pub(crate) fn sample() -> Table {
    let mut table = Table::default();
    let words = |words: [Option<&str>; 3]| Values::Texts(words.map(|word| word.map(Into::into)).to_vec());
    let columns = [
        ("algorithm", "", words([Some("chang-roberts"), Some("a \"b\", c"), None])),
        ("nodes", "nodes", Values::Integers(vec![Some(8), Some(16), None])),
        ("p.k", "", Values::Integers(vec![None, Some(1), None])),
        ("agreement", "whether all name the same leader", Values::Bools(vec![Some(true), Some(false), None])),
        ("load_mean", "messages a node handles, mean", Values::Floats(vec![Some(2.0), Some(1e300), None])),
        ("point", "", words([Some("17"), Some("1e7"), Some("1a7")])),
    ];
    for (name, about, values) in columns {
        let heading = Heading { name: name.into(), about: about.into() };
        table.push(heading, values).expect("names differ, lengths do not");
    }
    table
}

/// Any table of a few columns and rows.
pub(crate) fn any_table() -> impl Strategy<Value = Table> {
    (0..6usize).prop_flat_map(|rows| vec((any_name(), "\\PC{0,8}", any_values(rows)), 1..6)).prop_map(|columns| {
        let mut table = Table::default();
        for (name, about, values) in columns {
            // A second column of a name is left out.
            let _ = table.push(Heading { name: name.into(), about: about.into() }, values);
        }
        table
    })
}

fn any_name() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[a-z]{1,3}", 1 => "p\\.[a-z]", 1 => "[ -~]{0,5}", 1 => "\\PC{0,4}"]
}

fn any_values(rows: usize) -> impl Strategy<Value = Values> {
    let real = prop_oneof![
        any::<f64>(),
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(-0.0),
        (-1e6..1e6f64).prop_map(f64::round),
        -1.0..1.0f64,
    ];
    let word = prop_oneof!["\\PC{0,6}", "[-+.,e0-9\"\n\r]{0,5}", "true|false|NaN|inf"];
    prop_oneof![
        vec(any::<Option<bool>>(), rows).prop_map(Values::Bools),
        vec(any::<Option<i64>>(), rows).prop_map(Values::Integers),
        vec(proptest::option::of(real), rows).prop_map(Values::Floats),
        vec(proptest::option::of(word.prop_map(Into::into)), rows).prop_map(Values::Texts),
    ]
}
