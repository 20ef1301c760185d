//! `hustings sweep`: the same bytes however often it was stopped, and words for everything that is wrong.

use crate::common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use common::{binary, inside};
use serde_json::Value;

const SMALL: &str = "version = 1\nname = 'small'\ntitle = 'Two algorithms'\nseed = 3\nrepetitions = 4\n[vary]\n\
                     algorithm = ['chang-roberts', 'franklin']\nnodes = [5, 9]\nids = 'random'\n";

/// A folder with an experiment in it.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new(name: &str, text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        fs::write(folder.path().join(name), text).expect("the folder can be written to");
        Place { folder }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }
}

fn results(folder: &str, name: &str) -> (Vec<u8>, Vec<u8>) {
    let read = |ending: &str| fs::read(Path::new(folder).join(format!("{name}.{ending}"))).expect("it was written");
    (read("csv"), read("parquet"))
}

#[test]
fn one_and_two_threads_write_the_same_bytes() {
    let place = Place::new("small.toml", SMALL);
    let (file, one, two) = (place.path("small.toml"), place.path("one"), place.path("two"));
    let ran = inside(&["sweep", &file, "--out", &one, "--threads", "1"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_eq!(
        ran.out,
        format!("small: Two algorithms\n4 points, 4 times each: 16 runs\n{one}/small.csv\n{one}/small.parquet\n")
    );
    let ran = inside(&["sweep", &file, "--out", &two, "--threads", "2", "--keep-log", "--format", "json"]);
    let told: Value = serde_json::from_str(&ran.out).expect("one object");
    assert_eq!((&told["runs"], &told["disagreed"], &told["hung"]), (&16.into(), &0.into(), &0.into()));
    assert_eq!(results(&one, "small"), results(&two, "small"));
    assert!(!Path::new(&one).join("small.log").exists() && Path::new(&two).join("small.log").exists());
    // The seed of a row is enough to repeat its election.
    let csv = String::from_utf8(results(&one, "small").0).expect("text");
    let column = |name: &str| csv.lines().next().and_then(|head| head.split(',').position(|known| known == name));
    let cell = |line: &str, name: &str| line.split(',').nth(column(name).expect("it is there")).map(str::to_string);
    let row = csv.lines().nth(7).expect("there are 16 rows");
    let seed = cell(row, "seed").expect("it is there");
    let again = inside(&["sim", "cr", "-n", "9", "--ids", "random", "--seed", &seed, "--format", "json"]);
    let told: Value = serde_json::from_str(&again.out).expect("one object");
    assert_eq!(Some(told["messages"]["total"].to_string()), cell(row, "messages"));
}

/// Long enough that it is surely not over when its log begins to grow.
const LONG: &str = "version = 1\nname = 'long'\nrepetitions = 3000\n[vary]\nalgorithm = ['chang-roberts', 'aefa']\n\
                    nodes = [100, 200]\nids = 'random'\n";

fn start(file: &str, out: &str, more: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hustings"));
    command.args(["sweep", file, "--out", out]).args(more).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().expect("the binary can be started")
}

/// Waits until a log has grown.
fn wait_for(log: &Path, child: &mut Child, least: u64) {
    while fs::metadata(log).map_or(0, |file| file.len()) < least {
        assert!(child.try_wait().expect("it can be asked").is_none(), "it was over too soon");
        std::thread::yield_now();
    }
}

#[test]
fn a_killed_and_resumed_sweep_writes_the_same_bytes() {
    let place = Place::new("long.toml", LONG);
    let (file, killed, whole) = (place.path("long.toml"), place.path("killed"), place.path("whole"));
    let log = PathBuf::from(&killed).join("long.log");
    let mut child = start(&file, &killed, &[]);
    wait_for(&log, &mut child, 20_000);
    child.kill().expect("it can be killed");
    child.wait().expect("it can be waited for");
    let kept = fs::metadata(&log).expect("the log stays").len();
    assert!(!Path::new(&killed).join("long.csv").exists());

    // Ctrl-C, too, loses nothing.
    #[cfg(unix)]
    {
        let mut child = start(&file, &killed, &["--resume"]);
        wait_for(&log, &mut child, kept + 20_000);
        let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("there is a kill");
        assert!(sent.success());
        let over = child.wait_with_output().expect("it ends");
        assert_eq!(over.status.code(), Some(130));
        let told = String::from_utf8(over.stderr).expect("text");
        assert!(told.contains(&format!("continue with: hustings sweep {file} --out {killed} --resume")), "{told}");
    }
    #[cfg(not(unix))]
    let _ = kept;

    let ran = binary(&["sweep", &file, "--out", &killed, "--resume", "--format", "json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let told: Value = serde_json::from_str(&ran.out).expect("one object");
    let resumed = told["resumed"].as_u64().expect("a number");
    assert!((1..12_000).contains(&resumed), "{resumed}");
    assert_eq!(binary(&["sweep", &file, "--out", &whole, "--threads", "1"]).code, 0);
    assert!(results(&killed, "long") == results(&whole, "long"));
    assert!(!log.exists());
}

#[test]
fn a_dry_run_estimates_and_writes_nothing() {
    let place = Place::new("small.toml", SMALL);
    let (file, out) = (place.path("small.toml"), place.path("out"));
    let ran = inside(&["sweep", &file, "--out", &out, "--dry-run", "--format", "json", "--threads", "2"]);
    let told: Value = serde_json::from_str(&ran.out).expect("one object");
    assert_eq!((&told["points"], &told["runs"], &told["threads"]), (&4.into(), &16.into(), &2.into()));
    assert!(told["seconds"].as_f64().expect("a number") > 0.0);
    let ran = inside(&["sweep", &file, "--out", &out, "--dry-run", "--threads", "2"]);
    assert!(ran.out.contains("4 points, 4 times each: 16 runs\nabout a second on 2 threads"), "{}", ran.out);
    assert!(!Path::new(&out).exists());
}

#[test]
fn errors_name_the_problem() {
    let place = Place::new("small.toml", SMALL);
    let (file, out) = (place.path("small.toml"), place.path("out"));
    fs::write(place.path("wrong.toml"), SMALL.replace("[5, 9]", "[5, 0]")).expect("the folder can be written to");
    fs::write(place.path("misfit.toml"), format!("{SMALL}topology = 'star'\n")).expect("the folder can be written to");
    let wrong = place.path("wrong.toml");
    let misfit = place.path("misfit.toml");
    assert_eq!(inside(&["sweep", &file, "--out", &out]).code, 0);
    fs::write(place.path("out2"), "a file").expect("the folder can be written to");
    let taken = place.path("out2");
    for (args, code, message) in [
        (vec!["sweep", "/nonexistent.toml"], 3, "error: cannot read `/nonexistent.toml`: No such file".to_string()),
        (
            vec!["sweep", &wrong],
            2,
            format!(
                "error: {wrong}, line 8: vary.nodes = 0: `0` is less than 1; allowed: a whole number from 1 \
                 to 100000000\nhelp: the nearest is `1`"
            ),
        ),
        (
            vec!["sweep", &misfit],
            2,
            format!(
                "error: {misfit}, line 10: vary.topology = star: where algorithm = chang-roberts, nodes = 5: \
                 chang-roberts runs on a ring"
            ),
        ),
        (
            vec!["sweep", &file, "--out", &out],
            2,
            format!("error: `{out}/small.csv` already exists\nhelp: --out DIR writes elsewhere, --force replaces it"),
        ),
        (vec!["sweep", &file, "--out", &taken], 3, format!("error: `{taken}")),
        (
            vec!["sweep", &file, "--resume", "--force"],
            2,
            "error: the argument '--resume' cannot be used with '--force'".to_string(),
        ),
        (vec!["sweep", &file, "--threads", "0"], 2, "error: --threads 0: `0` is less than 1".to_string()),
    ] {
        let ran = inside(&args);
        assert_eq!(ran.code, code, "{args:?}: {}", ran.err);
        assert!(ran.err.starts_with(&message), "{args:?}\n{}\n{message}", ran.err);
    }
    let again = inside(&["sweep", &file, "--out", &out, "--resume"]);
    assert_eq!((again.code, again.err.as_str()), (0, ""));
    assert!(again.out.contains("16 of them were done before"), "{}", again.out);
    assert_eq!(inside(&["sweep", &file, "--out", &out, "--force"]).code, 0);
}
