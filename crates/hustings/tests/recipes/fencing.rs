//! Runs the fencing example of `examples/fencing` against the program under test.

use super::has_tool;
use crate::common;

use std::process::Command;

#[test]
fn a_store_refuses_the_write_of_a_holder_that_was_frozen() {
    if !has_tool("python3", "--version", "python3") {
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
