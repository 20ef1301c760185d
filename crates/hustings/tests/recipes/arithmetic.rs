//! The table of failover times in `docs/operations.md` is what `hustings node --explain-timing` prints.

use crate::common;

use std::fs;
use std::time::Duration;

use hustings::cluster::config::{ArbiterKind, Mode};
use hustings::cluster::timing::Timing;

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// The wide area that the page describes above its table.
fn wide_area() -> Timing {
    Timing {
        heartbeat: ms(500),
        silence_floor: ms(1500),
        silence_ceiling: ms(5000),
        lease: ms(4000),
        stop: ms(100),
        tick: ms(100),
        ..Timing::default()
    }
}

#[test]
fn the_table_of_failover_times_is_that_of_the_program() {
    let page = fs::read_to_string(common::repository().join("docs/operations.md")).expect("read the page");
    let (mut expected, modes) = (Vec::new(), [(Mode::Fenced, "fenced"), (Mode::Exclusive, "exclusive")]);
    for path in 0..3 {
        for (mode, name) in modes {
            let estimates = [Timing::default(), wide_area()].map(|timing| timing.explain(mode, 3, ArbiterKind::Raft));
            let loss = estimates[0].paths[path].loss;
            let times = estimates.map(|estimate| {
                let path = &estimate.paths[path];
                format!("{} | {}", path.typical.as_millis(), path.worst.as_millis())
            });
            expected.push(format!("| {loss} | {name} | {} |", times.join(" | ")));
        }
    }
    let section = page.split("### Failover arithmetic\n").nth(1).expect("the page has the section");
    let rows = section.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| what happens"));
    let rows: Vec<&str> = rows.take(expected.len()).collect();
    assert_eq!(rows, expected);
}
