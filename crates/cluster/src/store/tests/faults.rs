//! Disks that fail: what was acknowledged is what is found, and once the disk works again, so does the store.

use std::fmt;

use hustings_protocol::SplitMix64;

use super::fake::{Crash, Fake, Fault, Operations};
use super::model::{Model, Op, owner};
use crate::core::table::PIECE_BYTES;
use crate::store::blobs::{self, BlobWrite, Blobs};
use crate::store::{Store, StoreError, Write};

/// What happens to a store.
#[derive(Clone, Debug)]
enum Step {
    /// A write, which must be durable or not.
    Write(Op, bool),
    /// The first piece of a new blob, or one more of the last one.
    Piece { is_new: bool },
    /// Operations fail from now on.
    Fail(Fault),
    /// The disk works again.
    Heal,
    /// The process ends, and starts again.
    Restart(Crash),
}

/// Steps, one on each line.
struct Story<'a>(&'a [Step]);

impl fmt::Display for Story<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|step| writeln!(f, "  {step:?}"))
    }
}

/// What a store may hold: the log, and the blobs that its snapshot refers to.
#[derive(Clone, Default)]
struct Known {
    model: Model,
    kept: Blobs,
}

struct Run {
    fake: Fake,
    store: Option<Store>,
    /// The state after each write, the last ones of which may be lost.
    after: Vec<Known>,
    acknowledged: usize,
    /// All blobs, with pieces that no snapshot refers to.
    blobs: Blobs,
    last_blob: u64,
    /// Writes that are not done.
    pending: Vec<Write>,
    /// The number of the last write. No number is used twice, so that no two snapshots are the same.
    number: u64,
    /// Failed writes since the process started, and in all.
    failures: usize,
    all_failures: usize,
    /// How many file operations a start had that might fail, and whether it did.
    start_steps: usize,
    has_failed_to_start: bool,
    /// How many file operations there were, without those at the end.
    steps: usize,
    /// When the process ends, and what is lost then.
    crash: Option<(Moment, Crash)>,
    /// What fails while the process starts again, and what is lost if it ends then.
    failing_start: Option<(Fault, Crash)>,
}

/// When a process ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Moment {
    /// At the first failure.
    Failure,
    /// When something is acknowledged for the first time after a failure.
    Acknowledgement,
}

impl Run {
    fn new() -> Result<Run, String> {
        let fake = Fake::new();
        let (store, _) = fake.open(&owner()).map_err(|error| error.to_string())?;
        fake.set_fault(None);
        Ok(Run {
            fake,
            store: Some(store),
            after: vec![Known::default()],
            acknowledged: 0,
            blobs: Blobs::new(),
            last_blob: 0,
            pending: Vec::new(),
            number: 0,
            failures: 0,
            all_failures: 0,
            start_steps: 0,
            has_failed_to_start: false,
            steps: 0,
            crash: None,
            failing_start: None,
        })
    }

    /// A blob that is not durable, beside a durable entry of this size.
    fn with_unsynced_blob(size: usize) -> (Fake, Run) {
        let mut run = Run::new().expect("nothing fails yet");
        let mut entry = run.prepare(&Op::Append { dropped: 0, count: 1, size }, true);
        entry.blobs = run.prepare_piece(true).blobs;
        run.after.pop();
        entry.number = 1;
        run.number = 1;
        run.store.iter_mut().for_each(|store| store.write_all(&[entry.clone()]).expect("nothing fails yet"));
        run.acknowledged = 1;
        (run.fake.clone(), run)
    }

    /// Takes all steps. In the end the disk works, and everything is written.
    fn take(mut self, steps: &[Step]) -> Result<Run, String> {
        for step in steps {
            match step {
                Step::Write(op, sync) => {
                    let write = self.prepare(op, *sync);
                    self.write(write)?;
                }
                Step::Piece { is_new } => {
                    let write = self.prepare_piece(*is_new);
                    self.write(write)?;
                }
                Step::Fail(fault) => self.fake.set_fault(Some(*fault)),
                Step::Heal => self.fake.set_fault(None),
                Step::Restart(crash) => self.restart(*crash)?,
            }
        }
        self.steps = self.fake.steps();
        self.fake.set_fault(None);
        self.crash = None;
        let write = self.prepare(&Op::Vote, true);
        self.write(write)?;
        if !self.pending.is_empty() {
            return Err("the disk works again, but nothing is written".to_string());
        }
        let (last, acknowledged) = (self.after.len() - 1, self.acknowledged);
        self.restart(Crash::Power(9))?;
        match acknowledged == last {
            true => Ok(self),
            false => Err(format!("{acknowledged} of {last} writes are acknowledged")),
        }
    }

    fn prepare(&mut self, op: &Op, sync: bool) -> Write {
        let mut known = self.after[self.after.len() - 1].clone();
        let mut write = known.model.act(op, self.number + 1, sync);
        if write.snapshot.is_some() {
            let upto = self.last_blob;
            let keep: Vec<u64> = self.blobs.keys().rev().take(2).copied().collect();
            self.blobs.retain(|blob, _| keep.contains(blob));
            known.kept = self.blobs.clone();
            write.blobs = vec![BlobWrite::Retain { upto, keep }];
        }
        self.after.push(known);
        write
    }

    fn prepare_piece(&mut self, is_new: bool) -> Write {
        self.last_blob += u64::from(is_new || !self.blobs.contains_key(&self.last_blob));
        let blob = self.last_blob;
        self.after.push(self.after[self.after.len() - 1].clone());
        let index = self.blobs.get(&blob).map_or(0, Vec::len);
        let data = vec![blob as u8 ^ index as u8 ^ 0x80; if index == 2 { 100 } else { PIECE_BYTES }];
        let piece = BlobWrite::Piece { blob, index: index as u32, data: data.into() };
        blobs::apply(&mut self.blobs, &piece);
        Write { blobs: vec![piece], ..Write::default() }
    }

    /// Submits a write, together with those that failed.
    fn write(&mut self, mut write: Write) -> Result<(), String> {
        self.number += 1;
        write.number = self.number;
        self.pending.push(write);
        let Some(store) = &mut self.store else { return Err("the store is closed".to_string()) };
        match store.write_all(&self.pending) {
            Ok(()) => {
                if self.pending.iter().any(|write| write.sync || write.snapshot.is_some()) {
                    self.acknowledged = self.after.len() - 1;
                }
                self.pending.clear();
                if self.failures > 0
                    && self.acknowledged == self.after.len() - 1
                    && self.crashes(Moment::Acknowledgement)?
                {
                    return Ok(());
                }
                self.store.iter_mut().for_each(Store::maintain);
                Ok(())
            }
            Err(error) if error.is_transient() => {
                (self.failures, self.all_failures) = (self.failures + 1, self.all_failures + 1);
                self.crashes(Moment::Failure).map(drop)
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// The process ends, if this is the moment. Returns whether it does.
    fn crashes(&mut self, now: Moment) -> Result<bool, String> {
        let Some((_, crash)) = self.crash.take_if(|(moment, _)| *moment == now) else { return Ok(false) };
        self.restart(crash).map(|()| true)
    }

    /// Starts on a disk that fails, ends again, and returns what it had if it did not fail.
    fn start_failing(&mut self, (fault, crash): (Fault, Crash)) -> Result<Option<Model>, String> {
        self.fake.set_fault(Some(fault));
        let started = match self.fake.open(&owner()) {
            Ok((_, recovered)) => Some(Model::of(&recovered.storage)),
            Err(error) if error.is_transient() => None,
            Err(error) => return Err(error.to_string()),
        };
        (self.start_steps, self.has_failed_to_start) = (self.fake.steps(), started.is_none());
        self.fake.crash(crash);
        Ok(started)
    }

    fn restart(&mut self, crash: Crash) -> Result<(), String> {
        self.store = None;
        self.fake.crash(crash);
        let started = self.failing_start.take().map(|start| self.start_failing(start)).transpose()?.flatten();
        let (store, recovered) = self.fake.open(&owner()).map_err(|error: StoreError| error.to_string())?;
        let found = Model::of(&recovered.storage);
        let Some(place) = self.after.iter().rposition(|known| known.model == found) else {
            return Err(format!("{found:?} was never written"));
        };
        if started.is_some_and(|started| started != found) {
            return Err(format!("{found:?} is not what the store had when it was opened before"));
        }
        if place < self.acknowledged {
            return Err(format!("only {place} of {} acknowledged writes are left", self.acknowledged));
        }
        let known = self.after.swap_remove(place);
        if !blobs::contain(&recovered.storage.take_blobs(), &known.kept) {
            return Err(format!("a blob is lost to which the snapshot refers, after write {place}"));
        }
        self.store = Some(store);
        self.failures = 0;
        self.blobs = known.kept.clone();
        (self.after, self.acknowledged) = (vec![known], 0);
        self.pending.clear();
        Ok(())
    }
}

/// Every kind of write: what is known of disks, entries, votes, commits, pieces of blobs, own snapshots and one of
/// another node, a refusal, and a file that grows.
fn writes() -> Vec<Step> {
    let append = |dropped, count, size| Op::Append { dropped, count, size };
    vec![
        Step::Write(Op::Vote, true),
        Step::Write(append(0, 3, 100), true),
        Step::Piece { is_new: true },
        Step::Piece { is_new: true },
        Step::Write(Op::Commit, true),
        Step::Write(append(1, 2, 700), false),
        Step::Piece { is_new: false },
        Step::Write(Op::Remember, false),
        Step::Write(Op::Compact { kept: 1 }, true),
        Step::Piece { is_new: false },
        Step::Write(append(0, 1, 1_100_000), true),
        Step::Piece { is_new: true },
        Step::Write(append(0, 1, 9), true),
        Step::Write(Op::Install { ahead: 3 }, true),
        Step::Piece { is_new: true },
        Step::Write(append(0, 2, 60), true),
        Step::Write(Op::Refuse, true),
        Step::Write(Op::Vote, true),
    ]
}

const CRASHES: [Crash; 4] = [Crash::Process, Crash::Power(1), Crash::Power(2), Crash::Everything];

/// Without a crash, and with one at each moment.
fn crashes() -> impl Iterator<Item = Option<(Moment, Crash)>> {
    let at = |moment| CRASHES.into_iter().map(move |crash| Some((moment, crash)));
    [None].into_iter().chain(at(Moment::Failure)).chain(at(Moment::Acknowledgement))
}

/// Writes everything on a disk with this fault. Returns how many writes failed.
fn write_with(fault: Fault, crash: Option<(Moment, Crash)>) -> usize {
    let run = Run { crash, ..Run::new().expect("nothing fails yet") };
    run.fake.set_fault(Some(fault));
    let story = writes();
    // The disk works again in the middle of it, or only at the end.
    let story = match fault.step % 2 {
        0 => story,
        _ => [&story[..12], &[Step::Heal], &story[12..]].concat(),
    };
    run.take(&story).unwrap_or_else(|error| panic!("{fault:?}, then {crash:?}: {error}")).all_failures
}

fn steps() -> usize {
    let steps = Run::new().and_then(|run| run.take(&writes())).expect("nothing fails").steps;
    assert!(steps > 50, "{steps}");
    steps
}

#[test]
#[expect(clippy::print_stdout, reason = "says how much was tried")]
fn any_operation_may_fail_at_any_time() {
    let (mut runs, mut failures) = (0, 0);
    for fault in (0..steps()).flat_map(Fault::all_at) {
        for crash in crashes() {
            (runs, failures) = (runs + 1, failures + write_with(fault, crash));
        }
    }
    println!("{runs} runs, {failures} failed writes");
    assert!(failures > runs / 2, "{failures} failures in {runs} runs: the faults are somewhere else");
}

#[test]
#[expect(clippy::print_stdout, reason = "says how much was tried")]
fn any_operation_may_fail_while_the_store_recovers_from_another_failure() {
    let (mut runs, mut failures) = (0, 0);
    for (step, again) in (0..steps()).flat_map(|step| (1..=16).map(move |again| (step, again))) {
        for crash in [None, Some((Moment::Acknowledgement, Crash::Everything))] {
            let fault = Fault::twice(step, again % 2 == 0, again);
            (runs, failures) = (runs + 1, failures + write_with(fault, crash));
        }
    }
    println!("{runs} runs, {failures} failed writes");
    assert!(failures > runs, "{failures} failures in {runs} runs: the faults are somewhere else");
}

#[test]
#[expect(clippy::print_stdout, reason = "says how much was tried")]
fn any_operation_of_a_start_may_fail() {
    let (mut runs, mut failures) = (0, 0);
    let crashes = [Crash::Process, Crash::Power(1), Crash::Everything];
    for (end, crash) in (0..steps()).step_by(4).zip(crashes.into_iter().cycle()) {
        // What a process leaves that dies in one of its operations.
        let run_with = |failing_start| {
            let run = Run::new().expect("nothing fails yet");
            run.fake.set_fault(Some(Fault::death(end, end % 2 == 0)));
            let run = Run { crash: Some((Moment::Failure, crash)), failing_start, ..run };
            let run = run.take(&writes());
            run.unwrap_or_else(|error| panic!("dead at {end}, {crash:?}, then {failing_start:?}: {error}"))
        };
        let steps = run_with(Some((Fault::once(usize::MAX, false), Crash::Process))).start_steps;
        assert!(steps > 8, "{steps}");
        for fault in (0..steps).flat_map(Fault::all_at) {
            for crash in [Crash::Process, Crash::Everything] {
                let run = run_with(Some((fault, crash)));
                (runs, failures) = (runs + 1, failures + usize::from(run.has_failed_to_start));
            }
        }
    }
    println!("{runs} runs, {failures} failed starts");
    assert!(failures > runs / 2, "{failures} failures in {runs} runs: the faults are somewhere else");
}

/// What an attempt leaves that fails, without being able to remove it, has a durable name and any content. A crash
/// during the next attempt may forget that the new file was created, and remember that it got its name.
#[test]
fn what_a_failed_attempt_leaves_never_gets_a_name() {
    let write = |kept| Step::Write(Op::Compact { kept }, true);
    let (new, again) = (Step::Piece { is_new: true }, Step::Piece { is_new: false });
    for (first, second) in (0..8).flat_map(|first| (0..24).map(move |second| (first, second))) {
        for seed in 0..16 {
            let story = [
                Step::Write(Op::Append { dropped: 0, count: 2, size: 700 }, true),
                new.clone(),
                new.clone(),
                write(0),
                again.clone(),
                new.clone(),
                Step::Fail(Fault::death(first, true)),
                write(0),
                Step::Heal,
                Step::Fail(Fault::death(second, true)),
                write(1),
                again.clone(),
                Step::Restart(Crash::Power(seed)),
            ];
            let run = Run::new().and_then(|run| run.take(&story));
            run.map(drop).unwrap_or_else(|error| panic!("{first}, {second}, seed {seed}: {error}"));
        }
    }
}

/// It is the same with a blob. Its first piece belongs to a snapshot. The second one cannot be written, nor the copy
/// that the next write makes of both; what is left of that must not become the blob.
#[test]
fn what_a_failed_copy_of_a_blob_leaves_never_gets_its_name() {
    for (first, second) in (0..8).flat_map(|first| (0..12).map(move |second| (first, second))) {
        for seed in 0..32 {
            let story = [
                Step::Write(Op::Append { dropped: 0, count: 2, size: 700 }, true),
                Step::Piece { is_new: true },
                Step::Write(Op::Compact { kept: 0 }, true),
                Step::Fail(Fault::death(0, false)),
                Step::Piece { is_new: false },
                Step::Fail(Fault::death(first, true)),
                Step::Write(Op::Vote, true),
                Step::Fail(Fault::death(second, true)),
                Step::Write(Op::Vote, true),
                Step::Restart(Crash::Power(seed)),
            ];
            let run = Run::new().and_then(|run| run.take(&story));
            run.map(drop).unwrap_or_else(|error| panic!("{first}, {second}, seed {seed}: {error}"));
        }
    }
}

/// A re-read shows what is on the disk only if the kernel drops what it has in its cache.
#[test]
fn a_log_of_which_a_sync_failed_is_not_used_again_even_if_a_re_read_finds_everything() {
    let fake = Fake::new();
    fake.keep_cache();
    let (mut store, _) = fake.open(&owner()).expect("a new store");
    let mut model = Model::default();
    let write =
        |number, size, sync, model: &mut Model| model.act(&Op::Append { dropped: 0, count: 1, size }, number, sync);
    // After this batch, room is allocated in advance.
    let filling = write(1, 800_000, false, &mut model);
    fake.set_fault(Some(Fault::lasting(0, false, Operations::Syncing)));
    store.write(&filling).expect("the batch need not be durable");
    fake.set_fault(None);
    store.write(&write(2, 10, true, &mut model)).expect("the disk works again");
    drop(store);
    fake.crash(Crash::Everything);
    let (_, recovered) = fake.open(&owner()).expect("nothing is damaged");
    assert!(Model::of(&recovered.storage) == model, "an acknowledged write is lost");
}

/// The same with a blob, when a long log is rewritten after a write. A re-read finds everything, so that log stays.
#[test]
fn a_blob_of_which_a_sync_failed_is_written_again_even_if_a_re_read_finds_everything() {
    let (fake, mut run) = Run::with_unsynced_blob(4_500_000);
    fake.keep_cache();
    fake.set_fault(Some(Fault::once(0, false)));
    run.store.iter_mut().for_each(Store::maintain);
    fake.set_fault(None);
    run.take(&[Step::Write(Op::Compact { kept: 0 }, true)]).expect("the snapshot waits for the blob");
}

/// What the disk could not write when a write of the log failed may include a blob. Its own sync need not say so.
#[test]
fn a_blob_that_is_not_durable_is_written_again_after_any_failure() {
    let (fake, run) = Run::with_unsynced_blob(100);
    fake.fail_in_background();
    let story = [
        Step::Fail(Fault::once(0, false)),
        Step::Write(Op::Vote, true),
        Step::Heal,
        Step::Write(Op::Compact { kept: 0 }, true),
    ];
    run.take(&story).expect("the snapshot waits for the blob");
}

#[test]
fn a_disk_that_lies_after_a_failure_is_noticed() {
    let fake = Fake::new();
    let (mut store, _) = fake.open(&owner()).expect("a new store");
    let write = Model::default().act(&Op::Append { dropped: 0, count: 2, size: 100 }, 1, true);
    fake.set_fault(Some(Fault::once(0, false)));
    assert!(store.write(&write).is_err_and(|error| error.is_transient()));
    fake.set_fault(Some(Fault::lasting(0, false, Operations::Lying)));
    let error = store.write(&write).expect_err("a re-read finds nothing");
    assert!(!error.is_transient(), "{error}");
    fake.set_fault(None);
    assert!(store.write(&write).is_err(), "nothing is written to such a disk any more");
}

#[test]
fn a_full_disk_has_room_for_what_was_allocated_before_and_a_damaged_log_is_not_kept() {
    for is_damaged in [false, true] {
        let fake = Fake::new();
        let (mut store, _) = fake.open(&owner()).expect("a new store");
        let mut model = Model::default();
        let op = Op::Append { dropped: 0, count: 1, size: 60_000 };
        fake.set_fault(Some(Fault::lasting(0, false, Operations::Growing)));
        let (mut number, mut written) = (0, 0);
        while number == written {
            number += 1;
            let write = model.act(&op, number, true);
            if is_damaged && number == 12 {
                // In the first batch, which nothing reads or writes any more.
                fake.edit("log", |log| log[600] ^= 1);
            }
            written += u64::from(store.write(&write).is_ok());
        }
        // One MiB in all. Room is first allocated in advance when a quarter of it is left.
        match is_damaged {
            false => assert!(written > 14, "{written}"),
            true => assert!(written < 14, "{written}"),
        }
        fake.set_fault(None);
        fake.crash(Crash::Process);
        if !is_damaged {
            let (_, recovered) = fake.open(&owner()).expect("everything acknowledged is there");
            assert_eq!(Model::of(&recovered.storage).entries.len() as u64, written);
        }
    }
}

/// The steps of a seed.
fn random_steps(seed: u64) -> Vec<Step> {
    let mut rng = SplitMix64::new(seed);
    let count = 6 + rng.below(30);
    let crash = |rng: &mut SplitMix64| match rng.below(4) {
        0 => Crash::Process,
        1 => Crash::Everything,
        _ => Crash::Power(rng.next_u64()),
    };
    let step = |rng: &mut SplitMix64| match rng.below(24) {
        0..8 => {
            let size = if rng.below(12) == 0 { 600_000 } else { rng.below(3_000) as usize };
            Step::Write(Op::Append { dropped: rng.below(3), count: 1 + rng.below(3), size }, rng.below(3) > 0)
        }
        8..10 => Step::Write(Op::Vote, true),
        10..12 => Step::Write(Op::Commit, rng.below(2) == 0),
        12..16 => Step::Piece { is_new: rng.below(2) == 0 },
        16 => Step::Write(Op::Compact { kept: rng.below(3) }, true),
        17 => match rng.below(6) {
            0 => Step::Write(Op::Refuse, true),
            1 | 2 => Step::Write(Op::Remember, rng.below(2) == 0),
            _ => Step::Write(Op::Install { ahead: rng.below(3) }, true),
        },
        18 | 19 => Step::Fail(Fault::random(|bound| rng.below(bound), 12)),
        20 | 21 => Step::Heal,
        _ => Step::Restart(crash(rng)),
    };
    (0..count).map(|_| step(&mut rng)).collect()
}

/// The shortest story that fails, of those from which a step was taken out.
fn shrink(mut steps: Vec<Step>) -> Vec<Step> {
    let fails = |steps: &[Step]| Run::new().and_then(|run| run.take(steps)).is_err();
    let mut place = 0;
    while place < steps.len() {
        let mut fewer = steps.clone();
        fewer.remove(place);
        match fails(&fewer) {
            true => (steps, place) = (fewer, 0),
            false => place += 1,
        }
    }
    steps
}

/// `HUSTINGS_DISK_SEEDS=0-1000000` tries more seeds.
#[test]
#[expect(clippy::print_stdout, reason = "says how much was tried")]
fn random_failures_lose_nothing_acknowledged() {
    let seeds = crate::tests::seeds("HUSTINGS_DISK_SEEDS", 0..3_000);
    let (mut failures, count) = (0, seeds.end - seeds.start);
    for seed in seeds {
        match Run::new().and_then(|run| run.take(&random_steps(seed))) {
            Ok(run) => failures += run.all_failures,
            Err(error) => panic!("seed {seed}: {error}\n{}", Story(&shrink(random_steps(seed)))),
        }
    }
    println!("{count} seeds, {failures} failed writes");
    assert!(failures as u64 > count / 2, "{failures} failures: the faults are somewhere else");
}
