use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::*;
use crate::table::{Cell, csv};

fn experiment(vary: &str, repetitions: u32) -> Experiment {
    let text = format!("version = 1\nname = 'test'\nseed = 7\nrepetitions = {repetitions}\n[vary]\n{vary}");
    Experiment::parse("test.toml", &text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn bytes(table: &Table) -> String {
    let mut out = Vec::new();
    csv::write(table, &mut out).expect("writing to memory does not fail");
    String::from_utf8(out).expect("CSV is UTF-8")
}

const MIXED: &str = "algorithm = ['chang-roberts', 'aefa', 'itai-rodeh']\nnodes = [5, 12, 30]\nids = 'random'\n\
                     delay = ['unit', 'uniform:1-3']";

/// Runs a sweep in a folder, and stops it after `stop_at` runs.
fn sweep(folder: &Path, experiment: &Experiment, mode: StartMode, stop_at: Option<u64>) -> Result<Store, SweepError> {
    let store = Store::new(folder, experiment);
    let Some(mut opened) = store.open(experiment, mode)? else { return Ok(store) };
    let stop = AtomicBool::new(stop_at == Some(0));
    opened.run(experiment, 2, &stop, &mut |progress| {
        stop.fetch_or(stop_at.is_some_and(|runs| progress.done >= runs), Ordering::Relaxed);
    })?;
    if stop_at.is_none() {
        assert!(opened.results().is_complete());
        store.write(&opened.results().table(experiment)?)?;
        store.remove_log()?;
    }
    Ok(store)
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let experiment = experiment(MIXED, 9);
    let one = bytes(&table(&experiment, 1).unwrap());
    assert_eq!(one.lines().count(), 1 + 3 * 3 * 2 * 9);
    for threads in [2, 5] {
        assert!(bytes(&table(&experiment, threads).unwrap()) == one, "{threads} threads");
    }
}

#[test]
fn a_row_has_inputs_and_metrics() {
    let table =
        table(&experiment("algorithm = ['cr', 'bully']\nnodes = [4, 8]\nids = 'descending'\nloss = 0", 2), 2).unwrap();
    let names: Vec<&str> = table.columns().map(|(heading, _)| &*heading.name).collect();
    let expected = "algorithm nodes ids loss point repetition seed version links leader agreement live hung messages \
                  messages.candidate messages.elected messages.coordinator bytes lost load_mean load_max \
                  collisions collisions_max elected agreed quiescent estimate expected";
    assert_eq!(names.join(" "), expected);
    let row = |row: usize, name: &str| table.cell(row, name);
    assert_eq!(row(2, "algorithm"), Cell::Text("chang-roberts".into()));
    assert_eq!(
        (row(2, "nodes"), row(2, "loss"), row(3, "repetition")),
        (Cell::Integer(8), Cell::Float(0.0), Cell::Integer(1))
    );
    assert_eq!((row(2, "messages.candidate"), row(2, "messages.coordinator")), (Cell::Integer(36), Cell::Missing));
    assert_eq!((row(2, "messages"), row(2, "expected")), (Cell::Integer(44), Cell::Integer(44)));
    assert_eq!((row(2, "leader"), row(2, "agreement")), (Cell::Integer(0), Cell::Bool(true)));
    assert_eq!(row(4, "messages.candidate"), Cell::Missing);
    assert_eq!(row(0, "version"), Cell::Text(VERSION.into()));
}

#[test]
fn the_second_phase_is_measured_alone() {
    let vary = "algorithm = ['aefa', 'two-tier']\nnodes = 20\ntopology = 'random:5-10'\n\
                crash = ['none', 'leader@quiet+1']\ninitiators = ['default', '0, other@quiet+3']";
    let table = table(&experiment(vary, 3), 2).unwrap();
    let figure = |row: usize, name: &str| table.cell(row, name).number().expect("it is there");
    // Algorithm, crash, initiators, repetition: rows 9 to 11 are aefa whose leader crashes and who is started again.
    for row in 9..12 {
        assert_eq!(table.cell(row, "agreement"), Cell::Bool(true));
        let (links, nodes) = (figure(row, "links"), figure(row, "nodes"));
        // Four waves and at most one word to the winner.
        let first = 4.0 * (2.0 * links - (nodes - 1.0));
        assert!((figure(row, "before.messages") - first).abs() <= 1.0);
        assert!(figure(row, "messages") > 0.0 && figure(row, "messages") < first + 40.0);
        assert!((0.0..100.0).contains(&figure(row, "elected")));
        assert_eq!(figure(row, "live"), 19.0);
    }
    // Without a fault there is nothing before.
    assert_eq!(table.cell(0, "before.messages"), Cell::Missing);
}

#[test]
fn maxima_cover_both_phases() {
    let vary = "algorithm = 'cr'\nnodes = 4\nids = 'descending'\ncrash = ['none', '1@quiet+1']";
    let table = table(&experiment(vary, 1), 1).unwrap();
    let figures = |name: &str| (table.cell(0, name), table.cell(1, name));
    assert_eq!(figures("messages"), (Cell::Integer(14), Cell::Integer(0)));
    // Nobody was busier than the busiest of the first phase.
    assert_eq!(figures("load_max").0, figures("load_max").1);
    assert_eq!(figures("load_mean").1, Cell::Float(0.0));
}

#[test]
fn without_a_leader_there_is_no_second_phase() {
    let experiment = experiment("algorithm = 'cr'\ninitiators = 'none'\ncrash = 'leader@quiet+1'", 1);
    let mut results = Results::new(&experiment);
    runner::run(&experiment, &mut results, None, 1, &AtomicBool::new(false), &mut |_| {}).unwrap();
    assert_eq!(results.summary().without_second, 1);
    let table = results.table(&experiment).unwrap();
    assert_eq!((table.cell(0, "messages"), table.cell(0, "before.messages")), (Cell::Missing, Cell::Integer(0)));
}

#[test]
fn a_fault_at_a_fixed_tick_measures_the_whole_run() {
    let experiment = experiment("algorithm = 'bully'\nnodes = 6\ncrash = ['leader@0', '5@0']", 1);
    let table = table(&experiment, 1).unwrap();
    assert_eq!(table.cell(0, "messages"), table.cell(1, "messages"));
    assert_eq!(table.cell(0, "elected"), table.cell(1, "elected"));
    assert_ne!(table.cell(0, "before.messages"), Cell::Missing);
}

#[test]
fn a_resumed_sweep_writes_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let experiment = experiment(MIXED, 40);
    let whole = sweep(&folder.path().join("whole"), &experiment, StartMode::Fresh, None).unwrap();
    let parts = folder.path().join("parts");
    let store = sweep(&parts, &experiment, StartMode::Fresh, Some(0)).unwrap();
    assert!(store.log.exists() && !store.csv.exists() && !store.parquet.exists());
    sweep(&parts, &experiment, StartMode::Resume, Some(200)).unwrap();
    sweep(&parts, &experiment, StartMode::Resume, None).unwrap();
    assert!(fs::read(&whole.csv).unwrap() == fs::read(&store.csv).unwrap());
    assert!(fs::read(&whole.parquet).unwrap() == fs::read(&store.parquet).unwrap());
    assert!(!store.log.exists());
}

#[test]
fn every_torn_tail_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let experiment = experiment("algorithm = 'cr'\nnodes = [3, 4, 5]\nids = 'random'", 2);
    let store = Store::new(folder.path(), &experiment);
    let mut opened = store.open(&experiment, StartMode::Fresh).unwrap().expect("there is work");
    let header = fs::metadata(&store.log).unwrap().len() as usize;
    opened.run(&experiment, 1, &AtomicBool::new(false), &mut |_| {}).unwrap();
    let expected = bytes(&opened.results().table(&experiment).unwrap());
    drop(opened);
    let log = fs::read(&store.log).unwrap();
    for length in header..log.len() {
        for flip in [false, true] {
            let mut torn = log[..length].to_vec();
            if let (true, Some(last)) = (flip && length > header, torn.last_mut()) {
                *last ^= 0x10;
            }
            fs::write(&store.log, &torn).unwrap();
            let mut opened = store.open(&experiment, StartMode::Resume).unwrap().expect("there is work");
            assert!(!opened.results().is_complete());
            opened.run(&experiment, 1, &AtomicBool::new(false), &mut |_| {}).unwrap();
            assert!(bytes(&opened.results().table(&experiment).unwrap()) == expected, "cut at {length}");
        }
    }
    // Whoever was stopped before the header was whole has run nothing: the sweep begins.
    for length in 0..header {
        fs::write(&store.log, &log[..length]).unwrap();
        let opened = store.open(&experiment, StartMode::Resume).unwrap().expect("there is work");
        assert_eq!((opened.results().done(), opened.cut), (0, 0));
        drop(opened);
        assert!(fs::read(&store.log).unwrap() == log[..header], "cut at {length}");
    }
    let mut other = log[..header - 1].to_vec();
    other[20] ^= 1;
    fs::write(&store.log, &other).unwrap();
    assert!(matches!(store.open(&experiment, StartMode::Resume), Err(SweepError::Foreign { .. })));
}

#[test]
fn a_log_of_another_experiment_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mine = experiment("algorithm = 'cr'\nnodes = [3, 4]", 2);
    sweep(folder.path(), &mine, StartMode::Fresh, Some(0)).unwrap();
    let refused = |other: &Experiment| sweep(folder.path(), other, StartMode::Resume, None).unwrap_err().to_string();
    let path = folder.path().join("test.log");
    let told = |reason: &str| format!("`{}` does not belong to this experiment: {reason}", path.display());
    assert_eq!(
        refused(&experiment("algorithm = 'cr'\nnodes = [3, 4]", 3)),
        told("its number of repetitions is 2, not 3")
    );
    assert_eq!(
        refused(&experiment("algorithm = 'cr'\nnodes = [3, 4, 5]", 2)),
        told("its number of points is 2, not 3")
    );
    assert_eq!(refused(&experiment("algorithm = 'cr'\nnodes = [3, 5]", 2)), told("its settings differ"));
    let mut seeded = mine.clone();
    seeded.seed = 8;
    assert_eq!(refused(&seeded), told("its seed is 7, not 8"));
    fs::write(&path, "something else").unwrap();
    assert!(refused(&mine).contains("it is not the log of a sweep"));
}

#[test]
fn files_are_overwritten_only_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let experiment = experiment("algorithm = 'cr'\nnodes = [3, 4]", 2);
    let store = sweep(folder.path(), &experiment, StartMode::Fresh, Some(0)).unwrap();
    let again = || sweep(folder.path(), &experiment, StartMode::Fresh, None);
    assert!(matches!(again(), Err(SweepError::Unfinished { .. })));
    let open = store.open(&experiment, StartMode::Resume).unwrap();
    assert!(matches!(store.open(&experiment, StartMode::Replace), Err(SweepError::Busy { .. })));
    drop(open);
    sweep(folder.path(), &experiment, StartMode::Replace, None).unwrap();
    assert!(matches!(again(), Err(SweepError::Exists { .. })));
    // All is done: there is nothing to go on with.
    assert!(store.open(&experiment, StartMode::Resume).unwrap().is_none());
    let other = super::tests::experiment("algorithm = 'cr'\nnodes = [3, 5]", 2);
    assert!(matches!(store.open(&other, StartMode::Resume), Err(SweepError::Foreign { .. })));
}

#[test]
fn results_of_other_settings_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let paired = |algorithm: &str| {
        let text = format!(
            "version = 1\nname = 'test'\npair = ['algorithm']\n[vary]\nalgorithm = '{algorithm}'\nnodes = [3, 4]"
        );
        Experiment::parse("test.toml", &text).unwrap()
    };
    // The same seeds, other runs.
    let store = sweep(folder.path(), &paired("franklin"), StartMode::Fresh, None).unwrap();
    let refused = store.open(&paired("peterson"), StartMode::Resume).unwrap_err().to_string();
    assert!(refused.ends_with("does not belong to this experiment: row 1 has different settings"), "{refused}");
}

#[test]
fn a_missing_csv_is_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let experiment = experiment(MIXED, 2);
    let store = sweep(folder.path(), &experiment, StartMode::Fresh, None).unwrap();
    let csv = fs::read(&store.csv).unwrap();
    fs::remove_file(&store.csv).unwrap();
    assert!(store.open(&experiment, StartMode::Resume).unwrap().is_none());
    assert!(fs::read(&store.csv).unwrap() == csv);
}

#[test]
fn an_estimate_covers_every_point() {
    let few = estimate(&experiment("algorithm = 'cr'\nnodes = [100, 200]\nids = 'random'", 10), 2).unwrap();
    let many = estimate(&experiment("algorithm = 'cr'\nnodes = [100, 200]\nids = 'random'", 100_000), 2).unwrap();
    assert!(few.time.as_secs_f64() > 0.0 && many.time > few.time && !many.at_least);
}

#[test]
fn an_estimate_does_not_wait_for_a_long_run() {
    // Sixteen million messages: far more than a twentieth of a second's work.
    let experiment = experiment("algorithm = 'bully'\nnodes = 4000\ncrash = '3999@0'", 1000);
    let patience = Duration::from_millis(50);
    let guess = estimate::estimate_within(&experiment, 2, patience).unwrap();
    assert!(guess.at_least && guess.time >= patience * 500, "{guess:?}");
    // A single run is no faster on two threads.
    let mut single = experiment;
    single.repetitions = 1;
    assert!(estimate::estimate_within(&single, 2, patience).unwrap().time >= patience);
}
