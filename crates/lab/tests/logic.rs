//! The page's logic that needs no browser, with Node's own test runner. Without Node the test says `SKIPPED`.

#![allow(clippy::print_stderr, reason = "what is skipped is printed")]

use std::path::Path;
use std::process::Command;

#[test]
fn the_logic_of_the_page() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("page/test/logic.test.mjs");
    let Ok(ran) = Command::new("node").arg("--test").arg(tests).output() else {
        let required = std::env::var_os("HUSTINGS_REQUIRE_TOOLS").is_some();
        assert!(!required, "Node is required, and `node` cannot be started");
        eprintln!("SKIPPED: the page's logic is not tested; `apt-get install nodejs` gives what it takes");
        return;
    };
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{out}\n{err}");
}
