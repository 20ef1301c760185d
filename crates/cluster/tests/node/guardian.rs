//! A guardian in a process of its own: this test program, started once more.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the guardian speaks, and skipped tests say why")]

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use std::{env, fs, io, thread};

use hustings_cluster::api::{Client, ClientError, Guard, Reply, Request};
use hustings_cluster::clock::{Clock, Timestamp};
use rustix::process::{Pid, Signal, kill_process};

use crate::test_cluster::TIMEOUT;

/// Set in the guardian's process: the socket, and the guard as JSON.
const SOCKET: &str = "HUSTINGS_TEST_GUARDIAN_SOCKET";
const GUARD: &str = "HUSTINGS_TEST_GUARDIAN_GUARD";
/// Set if it must not be silent for longer than this, in milliseconds.
const TTL: &str = "HUSTINGS_TEST_GUARDIAN_TTL";

/// The office that guardians campaign for.
pub(crate) const OFFICE: &str = "job";

/// A guardian with a descendant that is not its child.
pub(crate) struct Guardian {
    child: Child,
    replies: Receiver<Reply>,
    /// When the guardian and all its descendants were gone.
    gone: Receiver<Timestamp>,
}

/// Runs the guardian, if this is its process. Every test that starts a guardian must begin with this.
pub(crate) fn run_if_guardian() -> bool {
    let Some(socket) = env::var_os(SOCKET) else { return false };
    let guard = env::var(GUARD).ok().and_then(|guard| serde_json::from_str(&guard).ok());
    // What its descendants leave behind stays in its tree.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).expect("Linux has subreapers");
    // The shell ends at once. Its child inherits the standard output, so that ends only with it.
    let daemon = Command::new("sh").args(["-c", "sleep 60 2>/dev/null & exit 0"]).status();
    assert!(daemon.expect("there is a shell").success());
    let mut client = Client::connect(socket, TIMEOUT).expect("the node runs");
    let ttl = env::var(TTL).ok().and_then(|ttl| ttl.parse().ok());
    // If the node has closed the connection, there may be something left to read.
    let keep_alive = |client: &mut Client| ttl.map(|ttl_ms| client.send(&Request::KeepAlive { ttl_ms }).is_ok());
    keep_alive(&mut client);
    client.send(&Request::Campaign { office: OFFICE.to_string(), mode: None, guard }).expect("the node runs");
    let patience = ttl.map(|ttl_ms| Duration::from_millis(ttl_ms / 4));
    // It ends with the node.
    loop {
        match client.recv(patience) {
            Ok(reply) => println!("{}", serde_json::to_string(&reply).expect("a reply is plain data")),
            Err(ClientError::Timeout { .. }) => {}
            Err(_) => return true,
        }
        keep_alive(&mut client);
    }
}

/// Says that a test is skipped. Where everything must be there (HUSTINGS_REQUIRE_TOOLS=1), as in `.ci/run`, it fails.
fn skip(reason: &str) {
    let is_required = env::var_os("HUSTINGS_REQUIRE_TOOLS").is_some_and(|value| value == "1");
    assert!(!is_required, "must not be skipped: {reason}");
    eprintln!("SKIPPED: {reason}");
}

impl Guardian {
    /// Starts a guardian that runs `test`, which must call [`run_if_guardian`]. `None`, with the reason on standard
    /// error, if this host does not permit what the guard needs.
    pub(crate) fn start(socket: &std::path::Path, test: &str, guard: Option<&Guard>) -> Option<Guardian> {
        Guardian::start_with(socket, test, guard, None)
    }

    /// The same for a guardian that must not be silent for longer than this.
    pub(crate) fn start_with(
        socket: &std::path::Path,
        test: &str,
        guard: Option<&Guard>,
        ttl: Option<Duration>,
    ) -> Option<Guardian> {
        let program = env::current_exe().expect("the path of this test program");
        let mut command = Command::new(program);
        command.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(SOCKET, socket).stdout(Stdio::piped());
        if let Some(ttl) = ttl {
            command.env(TTL, ttl.as_millis().to_string());
        }
        if let Some(guard) = guard {
            command.env(GUARD, serde_json::to_string(guard).expect("a guard is plain data"));
        }
        let spawned = match guard {
            Some(Guard::PidNamespace) => spawn_in_namespace(command),
            Some(Guard::Cgroup { path }) => spawn_in_cgroup(command, path),
            _ => command.spawn(),
        };
        let mut child = match spawned {
            Ok(child) => child,
            Err(error) if guard.is_some() => {
                skip(&format!("this host does not permit a guardian with {guard:?}: {error}"));
                return None;
            }
            Err(error) => panic!("cannot start this test program: {error}"),
        };
        let (replies, gone) = read(child.stdout.take().expect("it is piped"));
        Some(Guardian { child, replies, gone })
    }

    /// Waits until the guardian holds its office. Returns the deadline.
    pub(crate) fn wait_until_held(&self) -> Timestamp {
        loop {
            match self.replies.recv_timeout(TIMEOUT).expect("the guardian gets the office") {
                Reply::Held(held) => return held.deadline,
                Reply::Done | Reply::Renewed { .. } => {}
                other => panic!("not held, but {other:?}"),
            }
        }
    }

    /// Waits until the node refuses something. Returns why.
    pub(crate) fn wait_for_error(&self) -> String {
        loop {
            if let Reply::Error(error) = self.replies.recv_timeout(TIMEOUT).expect("the guardian is told") {
                return error.message;
            }
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("it is our child");
    }

    /// The descendants of the guardian, all of which are orphans or its children.
    pub(crate) fn descendants(&self) -> Vec<u32> {
        let path = format!("/proc/{0}/task/{0}/children", self.child.id());
        let children = fs::read_to_string(path).expect("the guardian runs");
        children.split_whitespace().map(|pid| pid.parse().expect("a number")).collect()
    }

    /// Waits until the guardian and all its descendants are gone. Returns when that was.
    pub(crate) fn wait_until_gone(mut self) -> Timestamp {
        let gone = self.gone.recv_timeout(TIMEOUT).expect("the guardian and its descendants end");
        self.child.wait().expect("it is our child");
        gone
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        // Its descendants first, if they are its children.
        let path = format!("/proc/{0}/task/{0}/children", self.child.id());
        for pid in fs::read_to_string(path).unwrap_or_default().split_whitespace() {
            if let Some(pid) = pid.parse().ok().and_then(Pid::from_raw) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads what a guardian prints: its replies, and when its standard output ends.
fn read(output: ChildStdout) -> (Receiver<Reply>, Receiver<Timestamp>) {
    let ((reply, replies), (end, gone)) = (channel(), channel());
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if let Ok(parsed) = serde_json::from_str(&line) {
                // The test may have read all it wants.
                let _ = reply.send(parsed);
            }
        }
        let _ = end.send(Clock::new().now());
    });
    (replies, gone)
}

/// Starts a process as the init of a PID namespace. The namespace is for the children of one thread, which then ends.
fn spawn_in_namespace(mut command: Command) -> io::Result<Child> {
    let spawn = move || {
        // SAFETY: it changes only for which namespace the children of this thread are started.
        if unsafe { libc::unshare(libc::CLONE_NEWPID) } != 0 {
            return Err(io::Error::last_os_error());
        }
        command.spawn()
    };
    thread::spawn(spawn).join().expect("it does not panic")
}

/// Starts a process in a cgroup.
fn spawn_in_cgroup(mut command: Command, path: &std::path::Path) -> io::Result<Child> {
    let procs = fs::OpenOptions::new().write(true).open(path.join("cgroup.procs"))?;
    let enter = move || {
        // A zero stands for the process that writes it.
        rustix::io::write(&procs, b"0").map(drop).map_err(io::Error::from)
    };
    // SAFETY: between fork and exec, it calls only write, which is async-signal-safe, and allocates nothing.
    unsafe { std::os::unix::process::CommandExt::pre_exec(&mut command, enter) };
    command.spawn()
}

/// A cgroup that is removed when it is dropped. `None`, with the reason on standard error, if there cannot be one.
pub(crate) struct TestCgroup(pub(crate) std::path::PathBuf);

impl TestCgroup {
    pub(crate) fn new() -> Option<TestCgroup> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").expect("there is /proc");
        let mount = mounts.lines().find(|line| line.contains(" - cgroup2 ")).and_then(|line| line.split(' ').nth(4));
        let Some(mount) = mount else {
            skip("no cgroup v2 hierarchy is mounted");
            return None;
        };
        let path = std::path::Path::new(mount).join(format!("hustings-test-{}", std::process::id()));
        if let Err(error) = fs::create_dir(&path) {
            skip(&format!("cannot create {}: {error}", path.display()));
            return None;
        }
        Some(TestCgroup(path))
    }
}

impl Drop for TestCgroup {
    fn drop(&mut self) {
        let _ = fs::write(self.0.join("cgroup.kill"), "1");
        // The kernel removes the processes a moment after they are dead.
        let end = std::time::Instant::now() + Duration::from_secs(5);
        while fs::remove_dir(&self.0).is_err() && std::time::Instant::now() < end {
            thread::yield_now();
        }
    }
}
