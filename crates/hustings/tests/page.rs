//! `hustings lab` and `--open`: the address that is printed works, and a signal ends the program.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::common;

/// The program, killed if a test fails.
struct Served {
    child: Child,
    first_line: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(args: &[&str]) -> Served {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hustings"));
    serve_with(command.args(args).env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY"))
}

fn serve_with(command: &mut Command) -> Served {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the binary can be started");
    let mut out = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut first_line = String::new();
    // A check prints its report first.
    while !first_line.contains("http://") {
        first_line.clear();
        assert!(out.read_line(&mut first_line).expect("it prints") > 0, "it ended without an address");
    }
    Served { child, first_line }
}

/// Opens the address as a browser does, and returns what the path has.
fn get(url: &str, path: &str) -> String {
    let rest = url.strip_prefix("http://").expect("an address");
    let (host, query) = rest.split_once("/?token=").expect("a token");
    let token = query.split('#').next().expect("a token");
    let port = host.rsplit(':').next().expect("a port");
    let mut stream = TcpStream::connect(host).expect("it listens");
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: hustings-lab-{port}={token}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).expect("it takes requests");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}

fn end(mut served: Served) -> Option<i32> {
    let pid = Pid::from_child(&served.child);
    kill_process(pid, Signal::TERM).expect("it runs");
    served.child.wait().expect("it ends").code()
}

#[test]
fn the_page_is_served_until_a_signal() {
    let served = serve(&["lab", "--format", "json", "--run", "a=franklin&n=5"]);
    let printed: Value = serde_json::from_str(&served.first_line).expect("it is an object");
    let url = printed["url"].as_str().expect("an address");
    assert!(url.starts_with("http://127.0.0.1:") && url.ends_with("#a=franklin&n=5"), "{url}");
    assert!(get(url, "/").contains("<title>Hustings"));
    assert!(get(url, "/api/catalogue").contains("chang-roberts"));
    assert_eq!(end(served), Some(0));
}

/// Every user of the host sees the arguments of a program.
#[test]
fn the_browser_is_led_to_the_page_by_a_private_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let browser = folder.path().join("xdg-open");
    // It writes down what it was given, and what it can read there.
    let script = "#!/bin/sh\ncp \"$1\" \"$0.page\"\necho \"$# $(stat -c %a \"$1\") $1\" > \"$0.new\"\nmv \"$0.new\" \"$0.given\"\n";
    std::fs::write(&browser, script).expect("the folder is ours");
    std::fs::set_permissions(&browser, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it is ours");
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new(env!("CARGO_BIN_EXE_hustings"));
    command.args(["lab", "--format", "json", "--run", "a=bully&n=5"]).env("DISPLAY", ":0").env("PATH", path);
    let served = serve_with(command.env("TMPDIR", folder.path()));
    let printed: Value = serde_json::from_str(&served.first_line).expect("it is an object");
    let url = printed["url"].as_str().expect("an address");
    let since = std::time::Instant::now();
    let given = loop {
        if let Ok(given) = std::fs::read_to_string(folder.path().join("xdg-open.given")) {
            break given;
        }
        assert!(since.elapsed() < std::time::Duration::from_secs(30), "no browser was started");
        std::thread::yield_now();
    };
    let token = url.split(['=', '#']).nth(1).expect("it has a token");
    let file = given.trim().strip_prefix("1 600 ").unwrap_or_else(|| panic!("one private file: {given}")).to_string();
    assert!(token.len() == 32 && !given.contains(token), "{given}");
    let page = std::fs::read_to_string(folder.path().join("xdg-open.page")).expect("it was copied");
    assert!(page.contains(&format!("0;url={}\"", url.replace('&', "&amp;"))), "{page}");
    assert!(get(url, "/").contains("<title>Hustings"));
    assert_eq!(end(served), Some(0));
    assert!(!std::path::Path::new(&file).exists(), "it is removed in the end");
}

#[test]
fn a_counterexample_is_shown() {
    let served = serve(&["check", "bully", "-n", "3", "--timing", "bounded:2", "--open"]);
    let url = served.first_line.trim().rsplit(' ').next().expect("an address").to_string();
    assert!(url.ends_with("#opened=0"), "{url}");
    let shown = get(&url, "/api/opened/0");
    assert!(shown.contains(r#""violation":{"property":"#), "{}", &shown[..shown.len().min(400)]);
    assert_eq!(end(served), Some(1), "the check's own exit code");
}

#[test]
fn a_run_that_is_opened_is_in_the_address() {
    let served = serve(&["sim", "bully", "-n", "5", "--crash", "4@0", "--open"]);
    assert!(served.first_line.trim().ends_with("#a=bully&n=5&crash=4%400"), "{}", served.first_line);
    assert_eq!(end(served), Some(0));
}

#[test]
fn wrong_use_is_explained() {
    let ran = |args: &[&str]| {
        let ran = common::inside(args);
        (ran.code, ran.err)
    };
    for (args, part) in [
        (&["lab", "--listen", "0.0.0.0:0"][..], "without --class the page listens on loopback only"),
        (&["lab", "--run", "a=buly"], "there is no algorithm `buly`"),
        (&["lab", "--lessons", "nowhere"], "cannot read `nowhere`"),
        (&["lab", "nowhere.jsonl"], "cannot read `nowhere.jsonl`"),
        (&["sim", "bully", "--intervene", "4:crush:2"], "is not known here"),
        (&["sim", "bully", "--intervene", "400:crash:2"], "the run ends after"),
        (&["sim", "chang-roberts", "-n", "200000", "--open"], "at most 100000 are allowed"),
    ] {
        let (code, error) = ran(args);
        assert!((2..=3).contains(&code) && error.contains(part), "{args:?}: {code} {error}");
    }
}
