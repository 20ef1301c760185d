//! Runs the fencing example of `examples/fencing` against the program under test.

use crate::common;

use std::process::Command;

/// Whether a Python is there. `.ci/run` requires it, and elsewhere a line says that the test was skipped.
fn has_python() -> bool {
    let found = Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        assert_ne!(std::env::var("HUSTINGS_REQUIRE_TOOLS").as_deref(), Ok("1"), "python3 is required");
        crate::common::skip("the fencing example needs python3 (Debian: apt-get install python3)");
    }
    found
}

#[test]
fn a_store_refuses_the_write_of_a_holder_that_was_frozen() {
    if !has_python() {
        return;
    }
    for mode in ["exclusive", "fenced"] {
        let mut demo = Command::new("python3");
        demo.arg(common::repository().join("examples/fencing/demo.py"));
        demo.args(["--hustings", env!("CARGO_BIN_EXE_hustings"), "--mode", mode]);
        let output = demo.output().expect("run the example");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{mode}: {out}{err}");
        assert!(out.contains("the store refused its write with token"), "{mode}: {out}");
    }
}
