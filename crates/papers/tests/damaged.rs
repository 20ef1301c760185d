//! Damaged Parquet files: what the library does not foresee comes out as an error, and in no other way.

use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};

use hustings_papers::table::{Heading, Table, Values, parquet};

static TOLD: AtomicUsize = AtomicUsize::new(0);

/// The only test of this file: it listens to every panic of the process.
#[test]
fn a_panic_of_the_library_is_not_told() {
    panic::set_hook(Box::new(|_| _ = TOLD.fetch_add(1, Ordering::Relaxed)));
    let mut table = Table::default();
    let words = ["bully", "aefa", "bully"].map(|word| Some(word.into())).to_vec();
    let columns = [
        ("algorithm", Values::Texts(words)),
        ("nodes", Values::Integers(vec![Some(8), None, Some(8)])),
        ("agreement", Values::Flags(vec![Some(true), Some(false), None])),
        ("load_mean", Values::Reals(vec![Some(2.0), Some(0.5), None])),
    ];
    for (name, values) in columns {
        table.push(Heading { name: name.into(), about: "".into() }, values).expect("names differ, lengths do not");
    }
    let mut whole = Vec::new();
    parquet::write(&table, &mut whole).expect("memory takes everything");
    let mut caught = 0;
    for at in 0..whole.len() {
        for value in 0..=255 {
            let mut damaged = whole.clone();
            damaged[at] = value;
            let error = parquet::read(&damaged[..]).err().map(|error| error.to_string());
            caught += usize::from(error.is_some_and(|error| error.ends_with("a page cannot be decoded")));
        }
    }
    let told = TOLD.load(Ordering::Relaxed);
    // Told by a failure of this test alone: the hook hears of no other.
    let _ = panic::take_hook();
    assert!(caught > 0, "the library does not panic any more: nothing need be caught");
    assert_eq!(told, 0, "{caught} panics were caught");
}
