//! `hustings debug bundle`: what is in the archive, and what must not be.

use crate::common::{Ran, tool_is_there};
use crate::http::{append, write_tokens};
use crate::loopback::free_ports;
use crate::processes::{Cluster, hustings};

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

const ALL: [&str; 3] = ["a", "b", "c"];
/// In the health check's command.
const PASSWORD: &str = "correct-horse";

fn bundle(file: &Path, args: &[&str]) -> Ran {
    let output = hustings().args(["debug", "bundle"]).arg(file).args(args).output().expect("the binary can be started");
    let text = |bytes| String::from_utf8(bytes).expect("it is text");
    Ran { code: output.status.code().expect("it ends"), out: text(output.stdout), err: text(output.stderr) }
}

/// The files of an archive.
fn unpack(file: &Path) -> BTreeMap<String, String> {
    let mut archive = tar::Archive::new(File::open(file).expect("it was written"));
    let entries = archive.entries().expect("it is a tar file");
    let read = |entry: std::io::Result<tar::Entry<'_, File>>| {
        let mut entry = entry.expect("it is whole");
        let mut text = String::new();
        entry.read_to_string(&mut text).expect("it is text");
        let path = entry.path().expect("it has one").display().to_string();
        (path.strip_prefix("hustings-bundle/").expect("one folder").to_string(), text)
    };
    entries.map(read).collect()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn manifest(files: &BTreeMap<String, String>) -> Value {
    json(&files["manifest.json"])
}

/// A cluster with an API and secrets of every kind. Returns the ports of the APIs and a token.
fn start() -> (Cluster, Vec<u16>, String) {
    start_with(|_| {})
}

/// The same after something was prepared.
fn start_with(prepare: impl FnOnce(&Cluster)) -> (Cluster, Vec<u16>, String) {
    let mut cluster = Cluster::new(&ALL, &[]);
    let ports = free_ports(ALL.len());
    let mut token = String::new();
    for (name, port) in ALL.iter().zip(&ports) {
        let tokens = cluster.folder().join(name).join("tokens.toml");
        match token.is_empty() {
            true => token = write_tokens(&tokens).0,
            false => drop(fs::copy(cluster.folder().join("a/tokens.toml"), tokens).expect("the folder is ours")),
        }
        let health = format!("[health]\ncommand = [\"true\", \"--password\", \"{PASSWORD}\"]\n");
        let tls = "[http.tls]\ncertificate = \"node.crt\"\nkey = \"node.key\"\n";
        let http = format!("[http]\nlisten = \"127.0.0.1:{port}\"\ntokens = \"tokens.toml\"\n{tls}");
        append(&cluster.config(name), &format!("\n# {PASSWORD} in a comment\n{health}{http}"));
    }
    prepare(&cluster);
    cluster.start(&ALL);
    cluster.wait_for_agreement(&ALL, |_| true);
    (cluster, ports, token)
}

#[test]
fn a_bundle_has_everything_of_the_nodes_that_answer_and_no_secret() {
    let (mut cluster, _, token) = start();
    let log = cluster.root().join("service.log");
    let key = fs::read_to_string(cluster.folder().join("a/node.key")).expect("a key");
    let authority = fs::read_to_string(cluster.folder().join("authority.key")).expect("a key");
    fs::write(&log, format!("first\nAuthorization: Bearer {token}\n{key}GET http://app:{PASSWORD}@db/\nlast\n"))
        .expect("the folder is ours");
    cluster.kill("c");
    cluster.wait_until("the others notice", || {
        let status = cluster.run("a", &["status", "--format", "json"]);
        (status.code == 0 && json(&status.out)["members"][2]["up"] == false).then_some(())
    });
    let file = cluster.root().join("case.tar");
    let (folder, log) = (cluster.folder().display().to_string(), log.display().to_string());
    let ran = bundle(&file, &["--dir", &folder, "--log", &log, "--wait", "20s"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("warning: c: cannot connect to"), "{}", ran.err);
    assert_eq!(fs::metadata(&file).expect("it was written").permissions().mode() & 0o777, 0o600);

    let files = unpack(&file);
    for name in ["a", "b"] {
        assert!(json(&files[&format!("{name}/status.json")])["members"].is_array());
        assert!(json(&files[&format!("{name}/history.json")])["changes"].is_array());
        assert!(json(&files[&format!("{name}/trace.json")])["records"].is_array());
        assert!(files[&format!("{name}/metrics.txt")].contains("hustings_build_info"));
    }
    assert!(files["host/1-service.log"].starts_with("first\n") && files["host/1-service.log"].ends_with("last\n"));
    let configuration = &files["c/configuration.json"];
    assert!(configuration.contains("timing.lease") && configuration.contains("true [redacted]"), "{configuration}");
    let told = manifest(&files);
    for (index, (name, is_reached)) in [("a", true), ("b", true), ("c", false)].into_iter().enumerate() {
        let node = &told["nodes"][index];
        assert_eq!((node["name"].as_str(), node["reached"].as_bool()), (Some(name), Some(is_reached)), "{told:#}");
        assert_eq!(node["version"].as_str(), is_reached.then_some(env!("CARGO_PKG_VERSION")), "{told:#}");
    }

    let lines = |text: &str| text.lines().filter(|line| !line.contains("-----")).map(str::to_string).collect();
    let mut secrets: Vec<String> = [key, authority].iter().flat_map(|text| -> Vec<String> { lines(text) }).collect();
    secrets.extend([token, PASSWORD.to_string()]);
    let bytes = String::from_utf8_lossy(&fs::read(&file).expect("it was written")).into_owned();
    for secret in secrets {
        assert!(secret.len() > 4 && !bytes.contains(&secret), "the archive has {secret}");
    }
    let lost = bundle(&cluster.root().join("lost.tar"), &["--dir", "no-such-folder"]);
    assert!(lost.code == 3 && lost.err.contains("no-such-folder: No such file"), "{}", lost.err);
    // An archive that somebody still needs is not replaced.
    let again = bundle(&file, &["--dir", &folder]);
    assert!(again.code == 2 && again.err.contains("it exists already"), "{}", again.err);
}

#[test]
fn nodes_elsewhere_are_asked_over_https_and_the_rest_is_named() {
    if !tool_is_there("openssl", "apt-get install openssl") {
        return;
    }
    let (cluster, ports, token) = start_with(issue_for_localhost);
    let file_of = |name: &str| cluster.root().join(name);
    fs::write(file_of("token"), &token).expect("the folder is ours");
    let path = |path: &Path| path.display().to_string();
    let run = |name: &str, authority: Option<&Path>| {
        let mut args =
            vec!["--config".to_string(), path(&cluster.config("a")), "--wait".to_string(), "20s".to_string()];
        args.extend(["--api".to_string(), format!("https://localhost:{}", ports[1])]);
        args.extend(["--token-file".to_string(), path(&file_of("token"))]);
        args.extend(authority.into_iter().flat_map(|authority| ["--authority".to_string(), path(authority)]));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let ran = bundle(&file_of(name), &args);
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(!ran.out.contains(&token) && !ran.err.contains(&token));
        (unpack(&file_of(name)), ran)
    };
    let problems = |files: &BTreeMap<String, String>| manifest(files)["nodes"][1]["problems"].to_string();
    // Whom the caller does not trust gets no token.
    let (files, ran) = run("stranger.tar", Some(&cluster.folder().join("a/authority.crt")));
    assert!(ran.err.contains("not asked: b, c;"), "{}", ran.err);
    assert!(problems(&files).contains("certificate"), "{}", problems(&files));
    let (files, _) = run("no-authority.tar", None);
    assert!(problems(&files).contains("https needs --authority"), "{}", problems(&files));

    let certificate = cluster.folder().join("b/http.crt");
    let (files, _) = run("b.tar", Some(&certificate));
    let told = manifest(&files);
    assert_eq!((&told["nodes"][1]["name"], &told["nodes"][1]["reached"]), (&"b".into(), &true.into()), "{told:#}");
    assert_eq!(told["nodes"][1]["version"], env!("CARGO_PKG_VERSION"), "{told:#}");
    assert_eq!(told["not_asked"][0]["name"], "c", "{told:#}");
    assert!(json(&files["b/trace.json"])["records"].is_array() && json(&files["b/offices.json"])["offices"].is_array());

    // Without the right token, the API says so, and the rest of the bundle is written.
    fs::write(file_of("token"), "hst_wrong").expect("the folder is ours");
    let (files, _) = run("wrong.tar", Some(&certificate));
    assert!(problems(&files).contains("answers with 401"), "{}", problems(&files));
}

/// Gives the API of b a certificate for `localhost`.
fn issue_for_localhost(cluster: &Cluster) {
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]);
    openssl.args(["-keyout", "http.key", "-out", "http.crt", "-subj", "/CN=localhost"]);
    openssl.args(["-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE"]);
    let output = openssl.current_dir(cluster.folder().join("b")).output().expect("it is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tls = |name: &str| format!("[http.tls]\ncertificate = \"{name}.crt\"\nkey = \"{name}.key\"");
    cluster.edit(&["b"], &tls("node"), &tls("http"));
}

#[test]
fn a_node_that_is_frozen_costs_no_more_than_the_wait() {
    let (mut cluster, _, _) = start();
    cluster.signal("b", Signal::STOP);
    let file = cluster.root().join("case.tar");
    let ran = bundle(&file, &["--dir", &cluster.folder().display().to_string(), "--wait", "1s"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let told = manifest(&unpack(&file));
    assert_eq!(told["nodes"][1]["reached"], false, "{told:#}");
    assert!(told["nodes"][1]["problems"].to_string().contains("metrics.txt"), "{told:#}");
    assert_eq!(told["nodes"][0]["reached"], true, "{told:#}");
    cluster.signal("b", Signal::CONT);
    for name in ALL {
        cluster.kill(name);
    }
    let ran = bundle(&cluster.root().join("dead.tar"), &["--dir", &cluster.folder().display().to_string()]);
    assert_eq!(ran.code, 1, "nobody answers: {}", ran.err);
    assert!(unpack(&cluster.root().join("dead.tar")).contains_key("b/configuration.json"));
}
