//! The documented example and the example clients, against a cluster of three nodes.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use hustings_harness::process::Process;
use rustix::process::Signal;
use serde_json::json;

use super::{ABC, HttpCluster, append};
use crate::common::{repository, tool_is_there};
use crate::processes::TIMEOUT;

/// The example of the manual: everything between the mark and the end of the code block.
fn documented_example() -> String {
    let manual = std::fs::read_to_string(repository().join("docs/api.md")).expect("the manual is there");
    let block = manual.split("<!-- run -->\n```sh\n").nth(1).and_then(|rest| rest.split("```").next());
    block.expect("the manual has an example").to_string()
}

#[test]
fn curl_alone_campaigns_holds_renews_loses_and_resigns() {
    if !tool_is_there("curl", "apt-get install curl") {
        return;
    }
    let http = HttpCluster::start(&ABC, "anonymous = \"operate\"");
    let [a, b, _] = &http.apis[..] else { panic!("there are three") };
    let script = documented_example();
    // The comments say what is printed.
    let expected: Vec<&str> = script.lines().filter_map(|line| line.split("  # ").nth(1)).collect();
    let expected: Vec<&str> = expected.iter().filter_map(|said| said.split(':').next()).collect();
    assert_eq!(expected, ["held", "held", "true", "stop", "lost", "resigned"]);

    // Somebody else to hand the office to: it waits at another node, after the example holds the office.
    let mut script_run = Command::new("sh")
        .args(["-eu", "-c", &script])
        .env("API", format!("http://127.0.0.1:{}", a.port))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a shell can be started");
    let mut lines = BufReader::new(script_run.stdout.take().expect("it is piped")).lines();
    let mut line = || lines.next().map(|line| line.expect("it is text")).unwrap_or_default();
    let mut printed = vec![line()];
    let other = b.post("/v1/offices/backup/campaign", &json!({ "ttl_ms": 60_000 }));
    assert_eq!(other.status, 201, "{other:?}");
    printed.extend((1..expected.len()).map(|_| line()));
    let ran = script_run.wait_with_output().expect("it is our child");
    assert_eq!(printed, expected, "{}", String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

/// A running example, and what it prints.
struct Example {
    process: Process,
    lines: Receiver<String>,
}

impl Example {
    fn start(command: &mut Command) -> Example {
        let mut process = Process::spawn(command.stdout(Stdio::piped())).expect("it can be started");
        let lines = BufReader::new(process.take_stdout().expect("it is piped")).lines();
        let (sender, received) = channel();
        // The thread ends with the process.
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Example { process, lines: received }
    }

    /// Waits for a line that begins with a word, and returns its number.
    fn wait_for(&self, word: &str) -> u64 {
        let mut seen = Vec::new();
        loop {
            let line = self.lines.recv_timeout(TIMEOUT).unwrap_or_else(|error| panic!("no {word}: {error}; {seen:?}"));
            if let Some(rest) = line.strip_prefix(word) {
                return rest.trim().parse().unwrap_or_default();
            }
            seen.push(line);
        }
    }

    fn terminate(mut self) -> bool {
        self.process.signal(Signal::TERM).expect("it is our child");
        let status = self.process.wait_timeout(TIMEOUT).expect("it is our child");
        status.is_some_and(|status| status.success())
    }
}

/// One after the other holds the office: after a kill, and after a resignation, with growing tokens.
fn take_turns(http: &HttpCluster, start: impl Fn(u16) -> Command, office: &str) {
    let [a, b, c] = &http.apis[..] else { panic!("there are three") };
    let first = Example::start(&mut start(a.port));
    let token = first.wait_for("held");
    assert_eq!(http.apis[0].get(&format!("/v1/offices/{office}/leader")).status, 200);
    let second = Example::start(&mut start(b.port));
    drop(first); // SIGKILL: it can say nothing
    let next = second.wait_for("held");
    assert!(next > token, "{next} {token}");
    let third = Example::start(&mut start(c.port));
    assert!(second.terminate(), "it resigns and ends well");
    let last = third.wait_for("held");
    assert!(last > next, "{last} {next}");
    assert!(third.terminate());
}

fn with_long_lease() -> HttpCluster {
    HttpCluster::prepare(&ABC, "", |cluster| {
        for name in ABC {
            append(&cluster.config(name), "\n[[office]]\nname = \"backup\"\nlease = \"3s\"\nstop = \"300ms\"\n");
        }
    })
}

#[test]
fn the_shell_example_runs_a_command_while_it_holds_the_office() {
    if !tool_is_there("curl", "apt-get install curl") {
        return;
    }
    let script = repository().join("examples/http/campaign.sh");
    let start = |port: u16| {
        let mut command = Command::new("sh");
        command.arg(&script).arg(format!("http://127.0.0.1:{port}")).args(["backup", "sleep", "60"]);
        command
    };
    take_turns(&with_long_lease(), start, "backup");
}

#[test]
fn the_python_example_campaigns() {
    if !tool_is_there("python3", "apt-get install python3") {
        return;
    }
    let program = repository().join("examples/http/hustings_http.py");
    let start = |port: u16| {
        let mut command = Command::new("python3");
        command.arg(&program).arg(format!("http://127.0.0.1:{port}")).arg("backup");
        command
    };
    take_turns(&with_long_lease(), start, "backup");
}

/// Runs lines of Python that use the module of the example.
fn python(http: &HttpCluster, lines: &str) -> Command {
    let mut command = Command::new("python3");
    let start = "import sys\nimport hustings_http as h\nurl = sys.argv[1]\n";
    command.env("PYTHONPATH", repository().join("examples/http")).env("PYTHONDONTWRITEBYTECODE", "1");
    command.args(["-c", &format!("{start}{lines}"), &format!("http://127.0.0.1:{}", http.apis[0].port)]);
    command.stdin(Stdio::piped());
    command
}

/// The node stops answering while its client holds an office. The client says that the office is lost while it still
/// has its time to stop, although a request may take longer than the lease.
#[test]
fn the_python_client_reports_a_loss_before_its_lease_ends() {
    if !tool_is_there("python3", "apt-get install python3") {
        return;
    }
    let http = HttpCluster::prepare(&["a"], "", |cluster| {
        append(&cluster.config("a"), "\n[[office]]\nname = \"backup\"\nlease = \"4s\"\nstop = \"2s\"\n");
    });
    let lines = "
session = h.Session(url, 'backup')
while session.renew(wait_ms=1000) != 'held': pass
ends = h.now() + 4
print('held', flush=True)
sys.stdin.read()
while session.renew() == 'held': pass
print('in-time' if session.state == 'lost' and h.now() < ends else 'late', flush=True)
print(session.resign(), flush=True)
";
    let mut example = Example::start(&mut python(&http, lines));
    example.wait_for("held");
    http.cluster.signal("a", Signal::STOP);
    drop(example.process.take_stdin());
    let seen: Vec<String> = (0..2).filter_map(|_| example.lines.recv_timeout(TIMEOUT).ok()).collect();
    http.cluster.signal("a", Signal::CONT);
    assert_eq!(seen, ["in-time", "lost"]);
}

#[test]
fn the_python_client_waits_as_long_as_it_is_told_and_resigns_twice() {
    if !tool_is_there("python3", "apt-get install python3") {
        return;
    }
    let http = with_long_lease();
    let lines = "
import threading
holder, second = h.Session(url, 'backup', ttl_ms=60000), h.Session(url, 'backup', ttl_ms=60000)
while holder.renew(wait_ms=1000) != 'held': pass
def hold():
    while holder.state == 'held': holder.renew(wait_ms=500)
threading.Thread(target=hold, daemon=True).start()
second.renew()
connection = second._connection
print(second.renew(wait_ms=6000), second._connection is connection, flush=True)
copy = h.Session(url, 'backup')
copy._session = second._session
print(copy.resign(), second.resign(), second.resign(), flush=True)
";
    let output = python(&http, lines).stderr(Stdio::piped()).output().expect("it can be started");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(printed, "waiting True\nresigned resigned resigned\n", "{}", String::from_utf8_lossy(&output.stderr));
}
