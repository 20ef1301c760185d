//! Who may do what: real users at the socket of a real node.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use hustings_cluster::api::{Client, Request};

use crate::common::{Ran, skip};
use crate::loopback::free_ports;
use crate::processes::{Cluster, TIMEOUT, hustings};

/// A user other than the node's.
const NOBODY: u32 = 65_534;
/// The group of the socket. It needs no name.
const GROUP: u32 = 54_321;

/// Runs a program as `NOBODY`, with these supplementary groups.
fn as_nobody(groups: &str, program: &str, args: &[&str]) -> Ran {
    as_user(NOBODY, groups, program, args)
}

fn as_user(user: u32, groups: &str, program: &str, args: &[&str]) -> Ran {
    let mut command = Command::new("setpriv");
    command.args([format!("--reuid={user}"), format!("--regid={user}")]);
    command.args(if groups.is_empty() { ["--clear-groups".to_string()] } else { [format!("--groups={groups}")] });
    // Variables such as HUSTINGS_SOCKET must not decide what is tested.
    let output = command.arg(program).args(args).env_clear().env("PATH", "/usr/bin:/bin").output();
    let output = output.expect("setpriv is part of every Debian");
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn hustings_as_nobody(groups: &str, socket: &Path, args: &[&str]) -> Ran {
    let (command, rest) = args.split_first().expect("there is a command");
    let socket = socket.to_str().expect("the path is UTF-8");
    let all: Vec<&str> = [*command, "--socket", socket].into_iter().chain(rest.iter().copied()).collect();
    as_nobody(groups, env!("CARGO_BIN_EXE_hustings"), &all)
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("root may");
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

/// A cluster of one whose socket has a group and a folder of its own.
fn cluster() -> (Cluster, PathBuf) {
    let mut cluster = Cluster::new(&["a"], &[]);
    let socket = cluster.root().join("run/hustings.sock");
    let configured = format!("socket = \"{}\"\nsocket-group = \"{GROUP}\"", socket.display());
    cluster.edit(&["a"], "socket = \"hustings.sock\"", &configured);
    set_mode(&cluster.root(), 0o711);
    cluster.start(&["a"]);
    (cluster, socket)
}

#[test]
fn the_group_may_campaign_and_nothing_else() {
    if !rustix::process::geteuid().is_root() {
        return skip("rights with real users: needs root to become another user");
    }
    let (cluster, socket) = cluster();
    let group = GROUP.to_string();
    assert_eq!((mode(&socket), mode(socket.parent().expect("it has a folder"))), (0o660, 0o710));

    let campaign = ["run", "job", "--containment", "process-tree", "--", "sh", "-c", "echo token=$HUSTINGS_TOKEN"];
    let ran = hustings_as_nobody(&group, &socket, &campaign);
    assert!(ran.code == 0 && ran.out.starts_with("token="), "{}: {}{}", ran.code, ran.out, ran.err);
    assert_eq!(hustings_as_nobody(&group, &socket, &["leader"]).out, "a\n");

    for request in [&["transfer", "leader", "--to", "a"][..], &["resign", "leader"], &["pause"]] {
        let refused = hustings_as_nobody(&group, &socket, request);
        assert_eq!((refused.code, refused.out.as_str()), (3, ""), "{request:?}: {}", refused.err);
        let expected = "this needs the right `operate`, which only root and the node's user (uid 0) have";
        assert!(refused.err.contains(expected), "{request:?}: {}", refused.err);
    }
    let path = socket.to_str().expect("the path is UTF-8");
    let deletion = ["state", "delete", "job", "--socket", path];
    let refused = as_nobody(&group, env!("CARGO_BIN_EXE_hustings"), &deletion);
    assert!(refused.code == 3 && refused.err.contains("needs the right `operate`"), "{}", refused.err);
    let stale = as_nobody(&group, env!("CARGO_BIN_EXE_hustings"), &[&deletion[..], &["--token", "1"]].concat());
    assert!(stale.code == 1 && stale.err.contains("not held with this token"), "{}", stale.err);
    assert_eq!(cluster.run("a", &["pause"]).code, 0);
    assert_eq!(cluster.run("a", &["resume"]).code, 0);

    let log = fs::read_to_string(cluster.root().join("a.log")).expect("the node has a log");
    let has_line = |parts: &[&str]| log.lines().any(|line| parts.iter().all(|part| line.contains(part)));
    let nobody = format!("audit: uid={NOBODY} user=nobody pid=");
    assert!(has_line(&[&nobody, "request={\"type\":\"transfer\"", "result=not-permitted"]), "{log}");
    assert!(has_line(&[&nobody, "request={\"type\":\"campaign\",\"office\":\"job\""]), "{log}");
    assert!(has_line(&["audit: uid=0 user=root pid=", "request={\"type\":\"pause\"}", "result=done"]), "{log}");
}

/// The socket and the token with which this program, started again as another user, completes something.
const COMPLETION: [&str; 2] = ["HUSTINGS_TEST_COMPLETION_SOCKET", "HUSTINGS_TEST_COMPLETION_TOKEN"];

/// A user records a completion for the office `job`. Returns the reply. No command does that for the holder of another
/// command, so this program does it.
fn complete_as(user: u32, socket: &str, token: &str) -> String {
    let program = std::env::current_exe().expect("the path of this test program");
    let given = [format!("{}={socket}", COMPLETION[0]), format!("{}={token}", COMPLETION[1])];
    let program = program.to_str().expect("the path is UTF-8");
    let test = "rights::completes_something_if_it_is_told_to";
    let ran =
        as_user(user, &GROUP.to_string(), "env", &[&given[0], &given[1], program, test, "--exact", "--nocapture"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    ran.out
}

#[test]
fn completes_something_if_it_is_told_to() {
    let [Ok(socket), Ok(token)] = COMPLETION.map(std::env::var) else { return };
    let mut client = Client::connect(socket, TIMEOUT).expect("the node runs");
    let (token, key) = (token.parse().expect("it is a number"), "yesterday".to_string());
    let request = Request::Complete { office: "job".to_string(), token, key };
    let reply = client.call(&request, Some(TIMEOUT));
    writeln!(std::io::stdout(), "{reply:?}").expect("somebody reads");
}

/// Everybody who may read sees the token of an office. It must not be enough to write for its holder.
#[test]
fn a_program_does_not_write_for_a_holder_of_another_user() {
    if !rustix::process::geteuid().is_root() {
        return skip("rights with real users: needs root to become another user");
    }
    let (cluster, socket) = cluster();
    let path = socket.to_str().expect("the path is UTF-8");
    let state = cluster.root().join("state");
    fs::write(&state, "theirs").expect("the folder is ours");
    set_mode(&state, 0o644);
    let held = cluster.root().join("held");
    fs::create_dir(&held).expect("the folder is ours");
    set_mode(&held, 0o777);
    // The command stores its own state, says which token it has, and works until it is told that this is enough.
    let binary = env!("CARGO_BIN_EXE_hustings");
    let script = format!(
        "echo mine | {binary} state put job --socket {path} && echo $HUSTINGS_TOKEN > {held}/new && mv {held}/new \
         {held}/token && until [ -e {held}/enough ]; do sleep 0.1; done",
        held = held.display()
    );
    let (group, at) = (GROUP.to_string(), socket.clone());
    let holder = std::thread::spawn(move || {
        let command = ["run", "job", "--containment", "process-tree", "--", "sh", "-c", &script];
        hustings_as_nobody(&group, &at, &command)
    });
    let token = cluster.wait_until("the command has stored its state", || {
        fs::read_to_string(held.join("token")).ok().map(|text| text.trim().to_string())
    });
    let file = state.to_str().expect("the path is UTF-8");
    let put = ["state", "put", "job", file, "--token", &token, "--socket", path];
    let delete = ["state", "delete", "job", "--token", &token, "--socket", path];
    for request in [&put[..], &delete] {
        let refused = as_user(NOBODY - 1, &GROUP.to_string(), binary, request);
        assert_eq!(refused.code, 1, "{request:?}: {}", refused.err);
        assert!(refused.err.contains("a program of another user holds the office `job`"), "{}", refused.err);
    }
    let refused = complete_as(NOBODY - 1, path, &token);
    assert!(refused.contains("held-by-another"), "{refused}");
    let done = complete_as(NOBODY, path, &token);
    assert!(done.contains("Ok(Done)"), "it is the holder's user: {done}");
    let stored = || cluster.run("a", &["state", "get", "job"]).out;
    assert_eq!(stored(), "mine\n");
    assert_eq!(cluster.run("a", &put[..6]).code, 0, "an operator may");
    assert_eq!(as_nobody(&GROUP.to_string(), binary, &delete).code, 0, "it is the holder's user");
    fs::write(held.join("enough"), "").expect("the folder is ours");
    let ran = holder.join().expect("it does not panic");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let late = as_nobody(&GROUP.to_string(), binary, &put);
    assert!(late.code == 1 && late.err.contains("not held with this token"), "{}", late.err);
    let log = cluster.log("a");
    let refusals = log.lines().filter(|line| line.contains("uid=65533 ") && line.contains("result=held-by-another"));
    assert!(refusals.count() == 3 && !log.contains("dGhlaXJz"), "all are logged, without what was to be stored: {log}");
}

/// A sidecar, a container and the host: the kernel has no number for a process of a namespace that is not below.
#[test]
fn clients_of_other_pid_namespaces_are_served() {
    if !rustix::process::geteuid().is_root() {
        return skip("PID namespaces: needs root to make them");
    }
    const ELSEWHERE: [&str; 4] = ["unshare", "--pid", "--fork", "--kill-child"];
    let mut cluster = Cluster::new(&["a"], &[]);
    cluster.run_nodes_with(&ELSEWHERE);
    // It waits until the node has answered this process.
    cluster.start(&["a"]);
    cluster.wait_for_agreement(&["a"], |_| true);
    assert_eq!((cluster.run("a", &["pause"]).code, cluster.run("a", &["resume"]).code), (0, 0));
    let config = cluster.config("a");
    let mut sibling = Command::new(ELSEWHERE[0]);
    sibling.args(&ELSEWHERE[1..]).arg(env!("CARGO_BIN_EXE_hustings")).arg("status").arg("--config").arg(&config);
    let sibling = sibling.output().expect("unshare is part of every Debian");
    assert!(sibling.status.success(), "{}", String::from_utf8_lossy(&sibling.stderr));
    assert!(
        cluster.log("a").contains("audit: uid=0 user=root pid=? request={\"type\":\"pause\"}"),
        "{}",
        cluster.log("a")
    );
    // A guard is for a process that the node can kill.
    let mut guarded = hustings();
    guarded.args(["run", "job", "--containment", "process-tree", "--wait", "5s", "--config"]).arg(&config);
    let refused = guarded.args(["--", "true"]).output().expect("the binary can be started");
    let error = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && error.contains("in a PID namespace that the node does not see"), "{error}");

    let (cluster, socket) = self::cluster();
    let mut below = Command::new(ELSEWHERE[0]);
    // With a `/proc` of its own, as in a container: `run` looks for its descendants there.
    below.args(&ELSEWHERE[1..]).arg("--mount-proc");
    below.args([env!("CARGO_BIN_EXE_hustings"), "run", "job", "--socket"]).arg(&socket);
    let below = below.args(["--containment", "process-tree", "--", "true"]).output().expect("unshare is there");
    assert!(below.status.success(), "{}", String::from_utf8_lossy(&below.stderr));
    // Without, numbers mean other processes.
    let mut confused = Command::new("timeout");
    confused.arg("60").args(ELSEWHERE).args([env!("CARGO_BIN_EXE_hustings"), "run", "job", "--socket"]).arg(&socket);
    let confused = confused.args(["--", "true"]).output().expect("unshare is there");
    let error = String::from_utf8_lossy(&confused.stderr);
    assert!(confused.status.code() == Some(3) && error.contains("of another PID namespace"), "{error}");
    drop(cluster);
}

#[test]
fn a_node_reads_the_secrets_that_root_shares_with_its_group() {
    if !rustix::process::geteuid().is_root() {
        return skip("rights with real users: needs root to become another user");
    }
    let mut cluster = Cluster::new(&["a"], &[]);
    let folder = cluster.folder().join("a");
    let file = |name: &str| folder.join(name);
    let port = free_ports(1)[0];
    let http = format!("[http]\nlisten = \"127.0.0.1:{port}\"\ntokens = \"tokens.toml\"\n[http.tls]\n");
    let config = fs::read_to_string(cluster.config("a")).expect("it was written");
    let config = format!("{config}\n{http}certificate = \"node.crt\"\nkey = \"http.key\"\n");
    fs::write(cluster.config("a"), config).expect("it is ours");
    fs::copy(file("node.key"), file("http.key")).expect("it is ours");
    let tokens = file("tokens.toml");
    let add_token = |name: &str| {
        let mut token = hustings();
        let output = token.args(["token", name, "--right", "read", "--file"]).arg(&tokens).output();
        output.expect("the binary can be started")
    };
    assert!(add_token("one").status.success());

    // As a Kubernetes secret with `fsGroup`: files of root, which the node's group may read.
    for path in [cluster.root(), cluster.folder(), file("")] {
        set_mode(&path, 0o755);
    }
    for (name, mode) in [("node.key", 0o440), ("http.key", 0o440), ("tokens.toml", 0o640)] {
        chown(file(name), None, Some(NOBODY)).expect("root may");
        set_mode(&file(name), mode);
    }
    let run = cluster.root().join("run");
    fs::create_dir(&run).expect("the folder is ours");
    chown(&run, Some(NOBODY), Some(NOBODY)).expect("root may");
    for (name, path) in [("data", "data"), ("socket", "hustings.sock")] {
        let there = format!("{name} = \"{}\"", run.join(path).display());
        cluster.edit(&["a"], &format!("{name} = \"{path}\""), &there);
    }
    let more = add_token("two");
    assert!(more.status.success(), "root adds to the file of a service: {}", String::from_utf8_lossy(&more.stderr));
    assert_eq!(mode(&tokens), 0o640);

    cluster.run_nodes_as(NOBODY);
    for name in ["node.key", "http.key", "tokens.toml"] {
        let before = mode(&file(name));
        set_mode(&file(name), 0o444);
        let refused = cluster.start_and_wait_for_exit("a");
        assert!(refused.contains(name) && refused.contains("(mode 444)"), "{refused}");
        set_mode(&file(name), before);
    }
    cluster.start(&["a"]);
    cluster.wait_for_agreement(&["a"], |_| true);
    assert!(cluster.log("a").contains("the API listens on https://"), "{}", cluster.log("a"));
}

#[test]
fn nobody_else_can_connect_or_read_the_key() {
    if !rustix::process::geteuid().is_root() {
        return skip("rights with real users: needs root to become another user");
    }
    let (cluster, socket) = cluster();
    let refused = hustings_as_nobody("", &socket, &["status", "--wait", "0s"]);
    assert_eq!(refused.code, 3, "{}", refused.err);
    assert!(refused.err.contains("Permission denied") && refused.err.contains("`socket-group`"), "{}", refused.err);

    // The node decides by itself, whatever happens to the modes.
    set_mode(socket.parent().expect("it has a folder"), 0o755);
    set_mode(&socket, 0o666);
    let refused = hustings_as_nobody("", &socket, &["status", "--wait", "0s"]);
    let expected = "this needs either of the rights `campaign` and `operate`";
    assert!(refused.code == 3 && refused.err.contains(expected), "{}: {}", refused.code, refused.err);
    assert!(refused.err.contains(&format!("members of the group `{GROUP}`")), "{}", refused.err);
    assert_eq!(hustings_as_nobody(&GROUP.to_string(), &socket, &["status"]).code, 0);

    // The key is protected by its own mode, not only by its folder's.
    let folder = cluster.folder();
    for path in [folder.as_path(), &folder.join("a"), &folder.join("a/data")] {
        set_mode(path, 0o755);
    }
    for (file, is_readable) in
        [("node.crt", true), ("node.key", false), ("data/log", false), ("../authority.key", false)]
    {
        let path = folder.join("a").join(file);
        let read = as_nobody(&GROUP.to_string(), "cat", &[path.to_str().expect("the path is UTF-8")]);
        assert_eq!(read.code == 0, is_readable, "{file}: {}", read.err);
    }
}
