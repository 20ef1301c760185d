//! Running command lines from tests.

use std::process::{Command, Output, Stdio};

use hustings::cli::{self, Console};

/// What a command line came to.
#[derive(Debug, PartialEq)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    fn of(output: Output) -> Ran {
        Ran {
            code: output.status.code().expect("it ends by itself"),
            out: String::from_utf8(output.stdout).expect("output is UTF-8"),
            err: String::from_utf8(output.stderr).expect("errors are UTF-8"),
        }
    }
}

/// Runs the real binary.
#[allow(dead_code, reason = "each test file uses what it needs")]
pub(crate) fn binary(args: &[&str]) -> Ran {
    Ran::of(Command::new(env!("CARGO_BIN_EXE_hustings")).args(args).output().expect("the binary can be started"))
}

/// Runs the real binary, which prints little. Returns also the most memory that it occupied, in bytes. What the system
/// tells of a process that has ended begins with the memory of the process that started it.
#[cfg(target_os = "linux")]
#[allow(dead_code, reason = "each test file uses what it needs")]
pub(crate) fn binary_with_peak(args: &[&str]) -> (Ran, u64) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hustings"));
    command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary can be started");
    let path = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().expect("it can be waited for").is_none() {
        let status = std::fs::read_to_string(&path).unwrap_or_default();
        let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        peak = most.and_then(|most| most.parse::<u64>().ok()).map_or(peak, |most| peak.max(most * 1024));
        std::thread::yield_now();
    }
    (Ran::of(child.wait_with_output().expect("it has ended")), peak)
}

/// Runs the same inside this process.
#[allow(dead_code, reason = "each test file uses what it needs")]
pub(crate) fn inside<S: AsRef<str>>(args: &[S]) -> Ran {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let args = std::iter::once("hustings").chain(args.iter().map(AsRef::as_ref)).map(Into::into);
    let mut console = Console { out: &mut out, err: &mut err, colour: false, colour_errors: false, progress: false };
    let exit = cli::run(args, &mut console);
    Ran {
        code: i32::from(exit.code()),
        out: String::from_utf8(out).expect("output is UTF-8"),
        err: String::from_utf8(err).expect("errors are UTF-8"),
    }
}

/// Compares a file of the repository with what it should hold; rewrites it if asked to.
#[allow(dead_code, reason = "each test file uses what it needs")]
pub(crate) fn compare_with_file(path: &std::path::Path, wanted: &str) {
    if std::env::var_os("HUSTINGS_REGENERATE").is_some_and(|value| value == "1") {
        std::fs::write(path, wanted).expect("the file can be written");
        return;
    }
    let held = std::fs::read_to_string(path).unwrap_or_default();
    if held != wanted {
        let differs = held.lines().zip(wanted.lines()).position(|(held, wanted)| held != wanted);
        let line = differs.unwrap_or_else(|| held.lines().count().min(wanted.lines().count()));
        panic!(
            "{} differs from line {} on:\n  held:   {:?}\n  wanted: {:?}\nRun the tests with HUSTINGS_REGENERATE=1 to rewrite \
             it; then read the diff, and commit it only if you can explain every line of it.",
            path.display(),
            line + 1,
            held.lines().nth(line),
            wanted.lines().nth(line)
        );
    }
}

/// The top of the repository.
#[allow(dead_code, reason = "each test file uses what it needs")]
pub(crate) fn repository() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("this crate is in crates/").to_path_buf()
}

/// Says that a test is skipped, and why, past the test harness, which hides what a test that passes prints. Where
/// everything must be there (HUSTINGS_REQUIRE_TOOLS=1), as in `.ci/run`, the test fails.
#[allow(dead_code, reason = "each test file uses what it needs")]
pub(crate) fn skip(reason: &str) {
    let is_required = std::env::var_os("HUSTINGS_REQUIRE_TOOLS").is_some_and(|value| value == "1");
    assert!(!is_required, "must not be skipped: {reason}");
    say(&format!("SKIPPED: {reason}"));
}

/// Prints a line past the test harness, which hides what a test that passes prints.
#[allow(dead_code, reason = "each test file uses what it needs")]
pub(crate) fn say(line: &str) {
    use std::io::Write;
    // Without standard error there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Whether an optional program is installed. Where it must be (HUSTINGS_REQUIRE_TOOLS=1), its absence fails the test;
/// elsewhere the test is skipped, which is said.
#[allow(dead_code, reason = "each test file uses what it needs")]
pub(crate) fn tool_is_there(program: &str, how: &str) -> bool {
    let is_there = Command::new(program).arg("--version").output().is_ok();
    if !is_there {
        skip(&format!("{program} is not installed: {how}"));
    }
    is_there
}
