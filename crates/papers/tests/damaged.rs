//! Damaged Parquet files: a panic of the library becomes an error and is not printed.

use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};

use hustings_papers::table::{Heading, Table, Values, parquet};

static PRINTED: AtomicUsize = AtomicUsize::new(0);

/// The only test of this file, because the hook sees every panic of the process.
#[test]
fn a_panic_of_the_library_is_not_printed() {
    panic::set_hook(Box::new(|_| _ = PRINTED.fetch_add(1, Ordering::Relaxed)));
    let mut table = Table::default();
    let texts = ["bully", "aefa", "bully"].map(|text| Some(text.into())).to_vec();
    let columns = [
        ("algorithm", Values::Texts(texts)),
        ("nodes", Values::Integers(vec![Some(8), None, Some(8)])),
        ("agreement", Values::Bools(vec![Some(true), Some(false), None])),
        ("load_mean", Values::Floats(vec![Some(2.0), Some(0.5), None])),
    ];
    for (name, values) in columns {
        table.push(Heading { name: name.into(), about: "".into() }, values).expect("names differ, lengths do not");
    }
    let mut whole = Vec::new();
    parquet::write(&table, &mut whole).expect("writing to memory does not fail");
    let mut caught = 0;
    for at in 0..whole.len() {
        for value in 0..=255 {
            let mut damaged = whole.clone();
            damaged[at] = value;
            let error = parquet::read(&damaged[..]).err().map(|error| error.to_string());
            caught += usize::from(error.is_some_and(|error| error.ends_with("a page cannot be decoded")));
        }
    }
    let printed = PRINTED.load(Ordering::Relaxed);
    // Failed assertions below must be printed.
    let _ = panic::take_hook();
    assert!(caught > 0, "the library no longer panics, so nothing has to be caught");
    assert_eq!(printed, 0, "{caught} panics were caught");
}
