//! The operator against fake nodes and a fake program.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use hustings_cluster::api::{MemberStatus, RequestError};
use hustings_cluster::member::Role;

use super::*;
use crate::history::{self, Recorder};

/// What fake nodes know and were asked.
#[derive(Default)]
struct State {
    paused: bool,
    /// How many requests fail before one succeeds.
    failures: usize,
    members: Vec<String>,
    requests: Vec<Request>,
}

struct Fixture {
    folder: tempfile::TempDir,
    shared: Arc<Shared>,
    state: Arc<Mutex<State>>,
}

impl Fixture {
    fn new(state: State) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let recorder = Recorder::create(&folder.path().join("history")).expect("a new file");
        let shared = Arc::new(Shared::new(Arc::new(recorder), false));
        let state = Arc::new(Mutex::new(state));
        let listener = UnixListener::bind(folder.path().join("n2")).expect("a new socket");
        let known = Arc::clone(&state);
        // The thread ends with the test's process.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.expect("a connection");
                let lines = BufReader::new(stream.try_clone().expect("a second handle")).lines();
                for line in lines.map_while(Result::ok) {
                    let request = serde_json::from_str(&line).expect("a request");
                    let mut reply = serde_json::to_vec(&answer(request, &known)).expect("a reply");
                    reply.push(b'\n');
                    // The operator may have gone.
                    let _ = stream.write_all(&reply);
                }
            }
        });
        Fixture { folder, shared, state }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Nobody listens on the first socket.
    fn workplace(&self, script: &str) -> Workplace {
        let program = self.path().join("program");
        fs::write(&program, format!("#!/usr/bin/env bash\n{script}\n")).expect("a new file");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("our file");
        let sockets = ["n1", "n2"].map(|name| self.path().join(name)).to_vec();
        Workplace { program, authority: self.path().to_path_buf(), sockets }
    }

    /// Carries tasks out, and returns what was recorded: each request, and whether it was done.
    fn carry_out(&self, script: &str, tasks: &[Task]) -> Vec<(String, bool)> {
        let mut operator = Operator::start(&self.shared, self.workplace(script)).expect("a thread");
        tasks.iter().for_each(|task| operator.add(task.clone()));
        let deadline = Instant::now() + Duration::from_secs(20);
        let mut finished = Vec::new();
        while !operator.is_idle() {
            finished.extend(operator.next_finished());
            assert!(Instant::now() < deadline, "timed out: {finished:?}");
            std::thread::yield_now();
        }
        assert_eq!(finished, tasks);
        operator.join().expect("no panic");
        let recorded = history::read(&self.path().join("history")).expect("readable").into_iter();
        recorded
            .map(|event| match event {
                Event::Operator { request, done, .. } => (request, done),
                other => panic!("{other:?}"),
            })
            .collect()
    }
}

fn answer(request: Request, state: &Mutex<State>) -> Reply {
    let mut state = state.lock().expect("nobody panics with it");
    if request == Request::Status {
        return Reply::Status(Box::new(status(&state)));
    }
    state.requests.push(request.clone());
    if state.failures > 0 {
        state.failures -= 1;
        return Reply::Error(RequestError { code: "no-majority".to_string(), message: String::new() });
    }
    match request {
        Request::Pause => state.paused = true,
        Request::Resume => state.paused = false,
        _ => {}
    }
    Reply::Done
}

fn status(state: &State) -> Status {
    let member = |name: &String| MemberStatus {
        id: 1,
        name: name.clone(),
        address: String::new(),
        role: Role::Elector,
        priority: 0,
        health: 100,
        up: true,
        disk_fails: false,
        joining: false,
        differs_in: Vec::new(),
        certificate_not_after_unix_s: None,
    };
    Status {
        cluster: "c".to_string(),
        node: "n2".to_string(),
        algorithm: "bully".to_string(),
        arbiter: "raft".to_string(),
        arbiter_leader: None,
        term: 1,
        current: true,
        paused: state.paused,
        members: state.members.iter().map(member).collect(),
        offices: Vec::new(),
        counters: Vec::new(),
        certificate: None,
        host: Vec::new(),
        realtime: None,
        next_office: None,
        missing_founders: Vec::new(),
        disk: None,
    }
}

fn request(request: Request) -> Task {
    Task::Request { request, first: 0 }
}

#[test]
fn a_request_goes_to_the_first_node_that_answers_and_may_fail() {
    let fixture = Fixture::new(State { failures: 1, ..State::default() });
    let resign = Request::Resign { office: "x".to_string() };
    let transfer = Request::Transfer { office: "x".to_string(), to: "n2".to_string() };
    let recorded = fixture.carry_out("", &[request(resign.clone()), request(transfer.clone())]);
    assert_eq!(recorded, [("resign".to_string(), false), ("transfer".to_string(), true)]);
    assert_eq!(fixture.state.lock().expect("no panic").requests, [resign, transfer]);
}

#[test]
fn elections_are_resumed_in_the_end() {
    let fixture = Fixture::new(State::default());
    let recorded = fixture.carry_out("", &[request(Request::Pause)]);
    assert_eq!(recorded, [("pause".to_string(), true)]);
    fixture.state.lock().expect("no panic").failures = 2;
    let recorded = fixture.carry_out("", &[Task::Resume]);
    let outcomes: Vec<bool> = recorded[1..].iter().map(|(_, done)| *done).collect();
    assert_eq!(outcomes, [false, false, true]);
    assert!(!fixture.state.lock().expect("no panic").paused);
}

#[test]
fn a_membership_change_is_repeated_until_the_status_confirms_it() {
    let fixture = Fixture::new(State { members: vec!["n1".to_string()], ..State::default() });
    let calls = fixture.path().join("calls");
    let count = || fs::read_to_string(&calls).unwrap_or_default().lines().count();
    // The command reports an error at first, then success although nothing happened, then that there is no such member.
    let script = format!(
        "echo \"$*\" >> {calls}; case $(wc -l < {calls}) in 1) exit 3;; 2) exit 0;; *) echo 'there is no member' >&2; \
         exit 2;; esac",
        calls = calls.display()
    );
    let state = Arc::clone(&fixture.state);
    let watched = calls.clone();
    let watcher = std::thread::spawn(move || {
        while fs::read_to_string(&watched).unwrap_or_default().lines().count() < 4 {
            std::thread::yield_now();
        }
        state.lock().expect("no panic").members.clear();
    });
    fixture.carry_out(&script, &[Task::Remove { name: "n1".to_string() }]);
    watcher.join().expect("no panic");
    assert!(count() >= 4, "{}", count());
    let text = fs::read_to_string(&calls).expect("it ran");
    let [first, second] =
        ["n1", "n2"].map(|name| format!("--socket {} --wait 0s", fixture.path().join(name).display()));
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("members remove n1 --dir ") && lines[0].ends_with(&first), "{text}");
    assert!(lines[1].ends_with(&second), "one node after the other: {text}");
}

#[test]
fn a_member_is_added_when_its_files_are_there_and_the_status_lists_it() {
    let fixture = Fixture::new(State { members: vec!["n3".to_string()], ..State::default() });
    let folder = fixture.path().join("n3");
    // The first node is stale: it still lists the former member of that name, and no files are made.
    let script = format!(
        "if [ -e {mark} ]; then mkdir {folder}; touch {folder}/hustings.toml; else touch {mark}; echo already >&2; exit 2; fi",
        mark = fixture.path().join("mark").display(),
        folder = folder.display()
    );
    let add = Task::Add { name: "n3".to_string(), member: "n3=127.0.0.1:1".to_string() };
    fixture.carry_out(&script, &[add]);
    assert!(folder.join("hustings.toml").exists());
}
