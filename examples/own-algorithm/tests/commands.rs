//! The program with one more algorithm: every command knows it, and a real cluster elects with it.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The program, without settings from the environment.
fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_own-algorithm"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("HUSTINGS_")) {
        command.env_remove(name);
    }
    command
}

/// Runs a command that must succeed, and returns what it prints.
fn run(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().expect("the program can be started");
    assert!(status.success(), "{command:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).expect("output is UTF-8")
}

fn json(line: &str) -> Value {
    let printed = run(program().args(line.split(' ')).args(["--format", "json"]));
    serde_json::from_str(&printed).expect("one JSON object")
}

#[test]
fn list_shows_it_beside_the_built_in_ones() {
    let listed = json("list");
    let listed = listed["algorithms"].as_array().expect("a list");
    let names: Vec<&str> = listed.iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!((names.first(), names.last()), (Some(&"chang-roberts"), Some(&"three-laps")));
    assert_eq!(json("list three-laps")["kinds"], serde_json::json!(["ask", "find", "tell"]));
}

#[test]
fn sim_counts_what_the_formula_gives_and_replays_its_traces() {
    let outcome = json("sim three-laps -n 16 --ids random");
    assert_eq!((&outcome["agreement"], &outcome["messages"]["total"]), (&true.into(), &48.into()));
    let folder = tempfile::tempdir().expect("a folder for the trace");
    let trace = folder.path().join("trace.jsonl").display().to_string();
    run(program().args(["sim", "three-laps", "--trace", "jsonl", "--trace-to", &trace]));
    run(program().args(["sim", "three-laps", "--replay", &trace]));
}

#[test]
fn check_explores_all_executions() {
    for line in ["check three-laps", "check three-laps --ids all --initiators every-subset"] {
        assert_eq!(json(line)["verdict"], "holds", "{line}");
    }
}

#[test]
fn sweep_and_plot_take_it() {
    let folder = tempfile::tempdir().expect("a folder for the results");
    let file = folder.path().join("laps.toml");
    let text = "version = 1\nname = \"laps\"\nrepetitions = 3\n[vary]\nalgorithm = [\"three-laps\", \"token-ring\"]\n\
                nodes = [4, 8]\nids = \"random\"\n[[plot]]\nname = \"messages\"\nx = \"nodes\"\ny = \"messages\"\n\
                by = [\"algorithm\"]\n";
    fs::write(&file, text).expect("the folder is ours");
    run(program().arg("sweep").arg(&file).arg("--out").arg(folder.path()));
    let results = folder.path().join("laps.csv");
    let rows = fs::read_to_string(&results).expect("the sweep wrote it");
    assert_eq!(rows.lines().filter(|row| row.contains("three-laps")).count(), 6, "{rows}");
    run(program()
        .arg("plot")
        .arg(&results)
        .arg("--experiment")
        .arg(&file)
        .arg("--out")
        .arg(folder.path().join("charts")));
}

/// A node that is killed when the test is over.
struct Node(Child);

impl Drop for Node {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn three_real_nodes_elect_the_best_and_again_after_its_end() {
    let folder = tempfile::tempdir().expect("a folder for the cluster");
    let cluster = folder.path().join("laps");
    // Bound at the same time, so that they differ.
    let free: Vec<TcpListener> =
        (0..3).map(|_| TcpListener::bind("127.0.0.1:0").expect("there is a free port")).collect();
    let mut init = program();
    init.arg("init").arg(&cluster).args(["--algorithm", "three-laps"]);
    for ((name, priority), socket) in [("a", 2), ("b", 3), ("c", 1)].into_iter().zip(&free) {
        let address = socket.local_addr().expect("it is bound");
        init.arg("--node").arg(format!("{name}={address},priority={priority}"));
    }
    drop(free);
    run(&mut init);
    let config = |name: &str| cluster.join(name).join("hustings.toml");
    let start = |name: &str| {
        let text = fs::read_to_string(config(name)).expect("it was written");
        assert!(text.contains("algorithm = \"three-laps\""), "{text}");
        // Then nobody waits until the lease of a lost leader is over.
        fs::write(config(name), text.replace("mode = \"exclusive\"", "mode = \"fenced\"")).expect("the folder is ours");
        let mut node = program();
        node.arg("node").arg("--config").arg(config(name)).stdout(Stdio::null()).stderr(Stdio::null());
        Node(node.spawn().expect("the program can be started"))
    };
    let (a, b, c) = (start("a"), start("b"), start("c"));
    await_leader(&config("c"), "b");
    drop(b);
    await_leader(&config("c"), "a");
    drop((a, c));
}

/// Asks the node with this configuration until it names the leader.
fn await_leader(config: &Path, expected: &str) {
    let begun = Instant::now();
    loop {
        let asked = program().arg("leader").arg("--config").arg(config).output().expect("the program can be started");
        let [told, error] = [&asked.stdout, &asked.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
        if told.trim() == expected {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{expected} does not lead: {told} {error}");
        std::thread::yield_now();
    }
}

/// The manifest depends on nothing that only this workspace has: a copy elsewhere resolves too.
#[test]
fn the_package_works_outside_of_the_workspace() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.join("../..");
    let copy = tempfile::tempdir().expect("a folder for the copy");
    let manifest = fs::read_to_string(here.join("Cargo.toml")).expect("it is this package");
    let paths = manifest.replace("\"../../crates", &format!("\"{}/crates", root.display()));
    assert_ne!(manifest, paths);
    fs::write(copy.path().join("Cargo.toml"), paths).expect("the folder is ours");
    // The same versions, so that nothing has to be downloaded.
    fs::copy(root.join("Cargo.lock"), copy.path().join("Cargo.lock")).expect("the folder is ours");
    fs::create_dir(copy.path().join("src")).expect("the folder is ours");
    for file in ["lib.rs", "main.rs"] {
        fs::copy(here.join("src").join(file), copy.path().join("src").join(file)).expect("the folder is ours");
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // Packages that only other platforms need are not there.
    let version = run(Command::new("rustc").arg("-vV"));
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("it names the host");
    let resolved = run(Command::new(cargo)
        .args(["metadata", "--offline", "--format-version", "1", "--filter-platform", host])
        .current_dir(copy.path())
        .env_remove("CARGO_TARGET_DIR"));
    let resolved: Value = serde_json::from_str(&resolved).expect("one JSON object");
    let members = resolved["workspace_members"].as_array().expect("a list");
    assert_eq!(members.len(), 1, "{members:?}");
}
