//! Every command block of the pages is run, or is in a counted list of exceptions.
//!
//! `blocks.toml` says of each block which test runs it, or how it is run here, or why it is not. A block here runs as a
//! script in namespaces of its own (`sandbox.sh`): it has the hosts 10.0.0.1 to 10.0.0.9, and may write to `/etc`,
//! `/run` and `/var` as the pages do.

mod blocks;
mod recipe;

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use hustings_harness::process::{Process, hustings_command};

use self::blocks::{Block, blocks_of};
use self::recipe::{How, Recipe, Recipes};
use crate::common;
use crate::readme::pattern;

/// How long a block may take, even on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(240);
/// Blocks that wait for their nodes leave the processor to others.
const AT_ONCE: usize = 3;
/// Namespaces of its own. Everything in them ends with the first process.
const UNSHARE: [&str; 6] = ["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"];

/// All blocks of all pages, with their recipes.
fn accounted<'a>(blocks: &'a [Block], recipes: &'a Recipes) -> Vec<(&'a Block, &'a Recipe)> {
    let mut problems = Vec::new();
    let mut pairs = Vec::new();
    for block in blocks.iter().filter(|block| !block.is_run_line_by_line()) {
        match recipes.list.iter().filter(|recipe| recipe.is_for(block)).collect::<Vec<_>>()[..] {
            [recipe] => pairs.push((block, recipe)),
            [] => problems.push(format!("{block} is neither run nor excepted")),
            _ => problems.push(format!("{block} is in the list more than once")),
        }
    }
    for recipe in &recipes.list {
        if !blocks.iter().any(|block| recipe.is_for(block)) {
            problems.push(format!("there is no block {recipe}: remove it, or correct its first line"));
        }
    }
    assert!(problems.is_empty(), "in crates/hustings/tests/pages/blocks.toml:\n{}", problems.join("\n"));
    pairs
}

#[test]
fn every_block_is_run_or_is_an_exception() {
    let (blocks, recipes) = (blocks_of(&common::repository()), Recipes::read());
    let pairs = accounted(&blocks, &recipes);
    let sources = recipe::test_names(&common::repository());
    for (block, recipe) in &pairs {
        if let How::Test(name) = &recipe.how {
            assert!(sources.contains(name), "{block}: there is no test {name}");
        }
    }
    let count = |is: fn(&How) -> bool| pairs.iter().filter(|(_, recipe)| is(&recipe.how)).count();
    let mut exceptions = Vec::new();
    for (block, recipe) in &pairs {
        if let How::Exception(reason) = &recipe.how {
            exceptions.push(format!("{block}: {reason}"));
        }
        exceptions.extend(recipe.left_out.iter().map(|(line, reason)| format!("{block}: only `{line}`: {reason}")));
    }
    let (all, tests, scripts) =
        (blocks.len(), count(|how| matches!(how, How::Test(_))), count(|how| matches!(how, How::Script(_))));
    let by_line = all - pairs.len();
    common::say(&format!(
        "the pages have {all} blocks: {by_line} run line by line, {tests} by tests of their own, {scripts} as scripts; \
         not run:\n  {}",
        exceptions.join("\n  ")
    ));
    let problem = "the number of exceptions changed: if it must grow, change it in blocks.toml, too";
    assert_eq!(exceptions.len(), recipes.exceptions, "{problem}");
}

/// A block that is not in the list, and one of the list that no page has, are both noticed.
#[test]
fn a_block_that_nobody_runs_is_noticed() {
    let block = |text: &str| blocks::parse("docs/x.md", text);
    let recipes = |text: &str| Recipes::parse(&format!("exceptions = 0\n{text}"));
    let page = block("# A page\n\n```console\n$ hustings status\nup\n```\n");
    assert_eq!((page.len(), page[0].commands().as_str(), page[0].output()), (1, "hustings status\n", vec!["up"]));
    let known = recipes("[[block]]\npage = \"docs/x.md\"\nfirst = \"$ hustings status\"\ntest = \"some_test\"\n");
    assert_eq!(accounted(&page, &known).len(), 1);
    for (page, recipes) in [(&page, &recipes("")), (&block(""), &known)] {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| accounted(page, recipes).len()));
        assert!(outcome.is_err());
    }
    assert!(block("```console\n$ hustings check bully\n```\n")[0].is_run_line_by_line());
    assert!(!block("```console\n$ hustings check bully\n$ hustings up\n```\n")[0].is_run_line_by_line());
    assert!(block("```text\nonly output\n```\n").is_empty());
}

/// The namespaces, or why there are none.
fn sandbox() -> Result<Command, String> {
    let is_root = rustix::process::geteuid().is_root();
    let new = || {
        let mut unshare = hustings_command("unshare");
        unshare.args(UNSHARE).args((!is_root).then_some("--map-root-user"));
        unshare
    };
    let script = "ip link set lo up && mount -t tmpfs tmpfs /mnt && cd /mnt && mkdir l u w m && \
                  mount -t overlay overlay -o lowerdir=l,upperdir=u,workdir=w m";
    let tried = new().args(["bash", "-c", script]).output().map_err(|error| format!("unshare: {error}"))?;
    match tried.status.success() {
        true => Ok(new()),
        false => Err(String::from_utf8_lossy(&tried.stderr).trim().to_string()),
    }
}

#[test]
fn the_blocks_do_what_the_pages_say() {
    if let Err(problem) = sandbox() {
        let is_required = std::env::var_os("HUSTINGS_REQUIRE_TOOLS").is_some_and(|value| value == "1");
        assert!(!is_required, "the blocks of the pages cannot run in namespaces: {problem}");
        return common::skip(&format!("the blocks of the pages, which need mount and network namespaces: {problem}"));
    }
    let (blocks, recipes) = (blocks_of(&common::repository()), Recipes::read());
    let only = std::env::var("HUSTINGS_PAGE_BLOCK").ok();
    let mut queue = accounted(&blocks, &recipes);
    queue.retain(|(block, recipe)| {
        let is_wanted = only.as_ref().is_none_or(|only| block.first().contains(only.as_str()));
        is_wanted && matches!(recipe.how, How::Script(_)) && recipe.tools.iter().all(|(tool, how)| has_tool(tool, how))
    });
    // Those that take longest begin first.
    queue.sort_by_key(|(block, _)| block.page != "docs/performance.md");
    let (queue, problems) = (Mutex::new(queue.into_iter()), Mutex::new(Vec::new()));
    let work = || {
        while let Some((block, recipe)) = next(&queue) {
            if let Err(problem) = run(block, recipe) {
                problems.lock().expect("no thread panics").push(format!("{block}: {problem}"));
            }
        }
    };
    std::thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(work))));
    let problems = problems.into_inner().expect("no thread panics");
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}

fn next<T>(queue: &Mutex<impl Iterator<Item = T>>) -> Option<T> {
    queue.lock().expect("no thread panics").next()
}

fn has_tool(tool: &str, how: &str) -> bool {
    let found = Command::new("sh").args(["-c", "command -v \"$0\"", tool]).stdout(Stdio::null()).status();
    let is_there = found.is_ok_and(|status| status.success());
    is_there || common::tool_is_there(tool, how)
}

/// Runs a block as its recipe says.
fn run(block: &Block, recipe: &Recipe) -> Result<(), String> {
    let How::Script(script) = &recipe.how else { return Ok(()) };
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let text = recipe.script(block, script)?;
    let path = folder.path().join("script");
    fs::write(&path, text).map_err(|error| error.to_string())?;
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages/sandbox.sh");
    let out = folder.path().join("out");
    let (log, err) = (File::create(&out), File::create(folder.path().join("err")));
    let (log, err) = (log.map_err(|error| error.to_string())?, err.map_err(|error| error.to_string())?);
    // Everything that the block writes is in a file system in memory below this folder.
    fs::create_dir(folder.path().join("memory")).map_err(|error| error.to_string())?;
    let mut command = sandbox()?;
    command.arg("bash").arg(here).arg(folder.path().join("memory")).arg(&path);
    command.env("PROGRAM", env!("CARGO_BIN_EXE_hustings")).env("REPOSITORY", common::repository());
    command.env("CODES", recipe.codes.as_str());
    command.stdin(Stdio::null()).stdout(log).stderr(err).process_group(0);
    let mut process = Process::spawn(&mut command).map_err(|error| error.to_string())?;
    let status = process.wait_timeout(TIMEOUT).map_err(|error| error.to_string())?;
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap_or_default();
    let (printed, complaints) = (read("out"), read("err"));
    let told = || format!("{}--- standard output\n{printed}--- standard error\n{complaints}", script.describe());
    match status {
        None => return Err(format!("not done in {TIMEOUT:?}\n{}", told())),
        Some(status) if !status.success() => return Err(format!("{status}\n{}", told())),
        Some(_) => {}
    }
    let lines: Vec<String> = printed.lines().map(pattern).collect();
    let expected: Vec<String> = block.output().into_iter().map(pattern).collect();
    match recipe.is_printed && lines != expected {
        true => Err(format!("it prints something else; expected:\n{}\n{}", expected.join("\n"), told())),
        false => Ok(()),
    }
}
