//! Every exit code, and who it comes from.

use serde_json::Value;

use super::{Signal, cluster, start, start_with};
use crate::processes::hustings;

/// Runs that end by themselves on a cluster of one: options, script, code, and whether the code is the command's.
const ENDS: &[(&str, &[&str], &str, u8, &str)] = &[
    ("success", &[], "exit 0", 0, "command"),
    ("failure", &[], "exit 3", 3, "command"),
    ("the highest code", &[], "exit 255", 255, "command"),
    ("a signal that it sends itself", &[], "kill -TERM $$", 143, "command"),
    ("killed", &[], "kill -KILL $$", 137, "command"),
    ("our codes from the command are the command's", &[], "exit 75", 75, "command"),
    ("a hook that fails", &["--on-acquire", "exit 9"], "exit 0", 9, "command"),
    ("a hook that fails afterwards", &["--on-lose", "exit 9"], "exit 4", 4, "command"),
    ("an unhealthy command", &["--health", "false", "--health-every", "20ms"], "exec sleep 1000", 75, "run"),
    ("success with restarts on failure", &["--restart", "on-failure:2"], "exit 0", 0, "command"),
    ("the environment", &[], "test \"$HUSTINGS_OFFICE $HUSTINGS_NODE $HUSTINGS_CLUSTER\" = 'job a test'", 0, "command"),
    ("a token", &[], "test \"$HUSTINGS_TOKEN\" -gt 0", 0, "command"),
    ("a process namespace of its own", &["--require", "pid-namespace"], "test $$ -lt 10", 0, "command"),
    ("the notification socket is not inherited", &[], "test -z \"$NOTIFY_SOCKET\"", 0, "command"),
];

#[test]
fn an_end_has_the_code_that_the_table_says() {
    let cluster = cluster(&["a"]);
    let status = cluster.folder().join("status.json");
    for (name, options, script, code, from) in ENDS {
        let status_option = status.to_str().expect("the folder's name is plain");
        let options = [*options, &["--status-file", status_option]].concat();
        let ended = start(&cluster, "a", &options, script).end();
        assert_eq!(ended.code, i32::from(*code), "{name}: {:#?}", ended.log);
        let status = std::fs::read_to_string(&status).expect("it was written");
        let status: Value = serde_json::from_str(&status).expect("it is JSON");
        assert_eq!(status["exit"]["code"], *code, "{name}: {status}");
        assert_eq!(status["exit"]["from"], *from, "{name}: {status}");
        assert_eq!((&status["state"], &status["token"]), (&"finished".into(), &Value::Null), "{name}: {status}");
    }
}

#[test]
fn a_second_run_waits_and_gives_up_in_time() {
    let cluster = cluster(&["a"]);
    let mut first = start(&cluster, "a", &[], "exec sleep 1000");
    first.wait_for("started the command");
    let second = start(&cluster, "a", &["--wait", "200ms"], "exit 0").end();
    assert_eq!(second.code, 69, "{:#?}", second.log);
    // Signals end a run that waits, with the code that a shell would give.
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
        let mut waiting = start(&cluster, "a", &[], "exit 0");
        waiting.wait_for("waiting for the office");
        waiting.signal(signal);
        assert_eq!(waiting.end().code, code);
    }
    // Of a run that runs, the command decides.
    first.signal(Signal::TERM);
    assert_eq!(first.end().code, 143);
}

#[test]
fn a_signal_reaches_the_command_which_decides() {
    let cluster = cluster(&["a"]);
    let script = "trap 'kill $!; exit 7' USR1 TERM; sleep 1000 & echo ready >&2; wait";
    for signal in [Signal::USR1, Signal::TERM] {
        // Also with restarts: a command that was asked to end is not started again. SIGUSR1 asks for nothing.
        let options: &[&str] = if signal == Signal::TERM { &["--restart", "always"] } else { &[] };
        let mut running = start(&cluster, "a", options, script);
        running.wait_for("ready");
        running.signal(signal);
        assert_eq!(running.end().code, 7);
    }
}

#[test]
fn leadership_that_is_lost_has_its_own_code() {
    let mut cluster = cluster(&["a", "b"]);
    let mut first = start(&cluster, "a", &[], "exec sleep 1000");
    first.wait_for("started the command");
    let mut second = start(&cluster, "b", &[], "trap 'exit 0' TERM; sleep 1000 & wait");
    second.wait_for("waiting for the office");
    assert_eq!(cluster.run("a", &["transfer", "job", "--to", "b"]).code, 0);
    let ended = first.end();
    assert_eq!(ended.code, 75, "{:#?}", ended.log);
    assert!(
        ended.log.iter().any(|line| line.contains("lost leadership: the office is transferred")),
        "{:#?}",
        ended.log
    );
    // A command that ends well when it is told to stop has still lost leadership.
    second.wait_for("started the command");
    cluster.kill("b");
    assert_eq!(second.end().code, 75);
}

#[test]
fn wrong_use_is_told_before_anything_runs() {
    let cluster = cluster(&["a"]);
    let socket = super::socket(&cluster, "a");
    let socket = socket.to_str().expect("the folder's name is plain");
    let cases: &[(&[&str], i32, &str)] = &[
        (&["--socket", socket, "job", "--", "no-such-command"], 2, "cannot find the command `no-such-command` in PATH"),
        (&["--socket", socket, "job", "--", "/no/such"], 2, "cannot find the command `/no/such`"),
        (&["--socket", socket, "job", "--grace", "5s", "--", "true"], 2, "5s + 30ms (to kill what is left) = 5s 30ms"),
        (&["--socket", socket, "no office", "--", "true"], 2, "office"),
        (&["--socket", socket, "job", "--restart", "on-failure:0", "--", "true"], 2, "from 1"),
        (&["--socket", socket, "job", "--restart", "often", "--", "true"], 2, "never, always"),
        (&["--socket", socket, "job"], 2, "CMD"),
        (&["--socket", socket, "job", "--on-acquire", "true", "--", "/no/such"], 3, "cannot start `/no/such`"),
        (&["--config", "/no/such.toml", "job", "--", "true"], 2, "/no/such.toml"),
    ];
    for (args, code, part) in cases {
        let mut run = hustings();
        run.arg("run").args(*args);
        let ended = start_with(run).end();
        assert_eq!(ended.code, *code, "{args:?}: {:#?}", ended.log);
        assert!(ended.log.iter().any(|line| line.contains(part)), "{args:?}: {:#?}", ended.log);
    }
}
