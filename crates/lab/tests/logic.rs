//! The page's logic that needs no browser, with Node's own test runner. Without Node the tests say `SKIPPED`.

#![allow(clippy::print_stderr, reason = "what is skipped is printed")]

use std::io::Write;
use std::path::Path;
use std::process::Command;

use hustings_elections::Catalogue;
use hustings_lab::request::Bounds;
use serde_json::json;

/// Runs a file of tests; `timelines` is what it reads.
fn node(test: &str, timelines: Option<&Path>) {
    let test = Path::new(env!("CARGO_MANIFEST_DIR")).join("page/test").join(test);
    let mut command = Command::new("node");
    command.arg("--test").arg(test).envs(timelines.map(|file| ("TIMELINES", file)));
    let Ok(ran) = command.output() else {
        let required = std::env::var_os("HUSTINGS_REQUIRE_TOOLS").is_some();
        assert!(!required, "Node is required, and `node` cannot be started");
        eprintln!("SKIPPED: the page's logic is not tested; `apt-get install nodejs` gives what it takes");
        return;
    };
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{out}\n{err}");
}

#[test]
fn the_logic_of_the_page() {
    node("logic.test.mjs", None);
}

/// Every algorithm is cut off at several ticks. Whether more would have happened is known from the whole run.
#[test]
fn what_the_page_says_of_a_run_is_true() {
    let catalogue = Catalogue::default();
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    for known in catalogue.all() {
        for what in ["n=16&initiators=0@1", "n=16&crash=15@3"] {
            let text = format!("a={}&{what}", known.about().name);
            let total = |text: &str| hustings_lab::run::run(text, &catalogue, &Bounds::OWN).map(|run| run.total);
            let whole = total(&format!("{text}&until=800")).unwrap_or_else(|error| panic!("{text}: {error}"));
            for until in [2, 3, 5, 9, 400] {
                let cut = format!("{text}&until={until}");
                // A crash or a start after the end is refused.
                let Ok(run) = hustings_lab::run::run(&cut, &catalogue, &Bounds::OWN) else { continue };
                let timeline = run.timeline().expect("it is a run");
                let line = json!({"text": cut, "more_happens": whole > run.total, "timeline": timeline});
                writeln!(file, "{line}").expect("it is written");
            }
        }
    }
    node("sentences.test.mjs", Some(file.path()));
}
