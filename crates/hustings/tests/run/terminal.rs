//! Job control under a terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use super::{Cluster, cluster, socket, wait_for_processes};
use crate::processes::TIMEOUT;

/// An interactive shell under a terminal of its own.
struct Shell {
    child: Child,
    terminal: File,
    output: Receiver<String>,
    seen: String,
}

impl Shell {
    fn start(cluster: &Cluster) -> Shell {
        let pair = nix::pty::openpty(None, None).expect("there are terminals");
        let slave = File::from(pair.slave);
        let mut shell = Command::new("setsid");
        shell.args(["--ctty", "--wait", "bash", "--norc", "--noprofile", "-i"]);
        shell.env("PS1", "ready> ").env("HUSTINGS", env!("CARGO_BIN_EXE_hustings"));
        shell.env("HUSTINGS_SOCKET", socket(cluster, "a"));
        let copy = || Stdio::from(slave.try_clone().expect("there are descriptors"));
        let child = shell.stdin(copy()).stdout(copy()).stderr(copy()).spawn().expect("there is a shell");
        let terminal = File::from(pair.master);
        let mut reader = terminal.try_clone().expect("there are descriptors");
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut chunk = [0; 1024];
            while let Ok(count @ 1..) = reader.read(&mut chunk) {
                if sender.send(String::from_utf8_lossy(&chunk[..count]).into_owned()).is_err() {
                    return;
                }
            }
        });
        Shell { child, terminal, output, seen: String::new() }
    }

    fn write(&mut self, text: &str) {
        self.terminal.write_all(text.as_bytes()).expect("the terminal is open");
    }

    /// Waits until the output contains this text, and forgets everything up to it.
    fn wait_for(&mut self, text: &str) {
        let since = Instant::now();
        loop {
            if let Some(at) = self.seen.find(text) {
                self.seen.drain(..at + text.len());
                return;
            }
            match self.output.recv_timeout(TIMEOUT.saturating_sub(since.elapsed())) {
                Ok(more) => self.seen += &more,
                Err(error) => panic!("no {text:?}: {error}; {}", self.seen),
            }
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn keys_reach_the_command_once_and_the_office_is_kept_while_it_is_stopped() {
    let cluster = cluster(&["a"]);
    let mut shell = Shell::start(&cluster);
    shell.wait_for("ready> ");
    let count = cluster.folder().join("count");
    let script = cluster.folder().join("command");
    let text = format!(
        "trap 'echo got >> {}' INT\nstty -echo\necho beg''un\nwhile [ ! -s {0} ]; do sleep 95555 & wait; kill $!; done\n\
         sleep 0.3\nexit 5\n",
        count.display()
    );
    std::fs::write(&script, text).expect("the folder is ours");
    shell.write(&format!("$HUSTINGS run job -q -- bash {}\n", script.display()));
    shell.wait_for("begun");
    wait_for_processes("sleep 95555", 1);

    // Ctrl-Z: the shell has the terminal, the command is stopped, the office is kept and renewed.
    shell.write("\u{1a}");
    shell.wait_for("Stopped");
    shell.wait_for("ready> ");
    let token = || cluster.run("a", &["leader", "job", "--format", "json"]).out;
    let (before, since) = (token(), Instant::now());
    assert!(before.contains("\"holder\":\"a\""), "{before}");
    while since.elapsed() < Duration::from_millis(2_500) {
        assert_eq!(token(), before, "more than a lease passes");
    }
    shell.write("fg\n");
    shell.wait_for("run job -q");
    // Ctrl-C reaches the command, and only once.
    shell.write("\u{3}");
    shell.wait_for("ready> ");
    shell.write("echo code=$?; stty -a | tr ' ;' '\\n\\n' | grep -x -e echo -e -echo\n");
    shell.wait_for("code=5");
    // The command switched the echo off. Its settings are undone.
    shell.wait_for("\r\necho\r\n");
    assert_eq!(std::fs::read_to_string(&count).expect("it got the signal").lines().count(), 1);

    // Without a command: Ctrl-C ends the run that waits.
    let mut holder = super::start(&cluster, "a", &[], "exec sleep 1000");
    holder.wait_for("started the command");
    shell.write("$HUSTINGS run job -- true\n");
    shell.wait_for("waiting for the office");
    shell.write("\u{3}");
    shell.wait_for("ready> ");
    shell.write("echo code=$?\n");
    shell.wait_for("code=130");
}
