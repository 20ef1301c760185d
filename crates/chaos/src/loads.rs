//! Processes that burden the nodes or their host while a fault lasts. Each is killed when its fault ends, and when this
//! program ends, however it ends.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hustings_harness::flood::{self, Targets};
use hustings_harness::process::Process;

use crate::launch;

/// How many strangers connect to a node, and how many slow clients its HTTP API has. A process may usually have 1,024
/// open files.
const CONNECTIONS: usize = 500;
const HTTP_CLIENTS: usize = 100;

/// Floods until the process is killed. What it says of itself goes nowhere.
pub(crate) fn flood(targets: &str) -> io::Result<()> {
    flood::run_client(&serde_json::from_str(targets)?, &mut io::stdout())
}

/// The processes, by the index of the episode that they belong to.
#[derive(Default)]
pub(crate) struct Loads(BTreeMap<usize, Process>);

/// What a flood reaches of a node.
pub(crate) struct Flooded<'a> {
    /// The address on which it listens for its peers.
    pub(crate) listen: SocketAddr,
    /// The address of its HTTP API.
    pub(crate) api: SocketAddr,
    /// Its socket for programs.
    pub(crate) socket: &'a Path,
    /// The network namespace that it runs in.
    pub(crate) namespace: Option<String>,
}

impl Loads {
    /// Keeps the host busy. The files are written to this folder.
    pub(crate) fn start_hogs(&mut self, episode: usize, folder: &Path) -> io::Result<()> {
        self.start(episode, None, ["hogs".into(), folder.to_path_buf()])
    }

    /// Floods a node: strangers that say nothing or begin a handshake, slow HTTP clients, and programs on its host that
    /// send requests without waiting for answers.
    pub(crate) fn start_flood(&mut self, episode: usize, node: Flooded<'_>) -> io::Result<()> {
        let targets = Targets {
            peers: vec![node.listen],
            http: vec![node.api],
            pipelined: node.socket.to_path_buf(),
            history: node.socket.to_path_buf(),
            connections: CONNECTIONS,
            http_clients: HTTP_CLIENTS,
        };
        let targets = serde_json::to_string(&targets)?;
        self.start(episode, node.namespace.as_deref(), ["flood".into(), targets.into()])
    }

    /// Starts this program with these arguments.
    fn start(&mut self, episode: usize, namespace: Option<&str>, arguments: [PathBuf; 2]) -> io::Result<()> {
        let own = std::env::current_exe()?;
        let mut command = Command::new(&own);
        command.args(launch::arguments(namespace)).arg(own).args(arguments);
        // A process group of its own, so that Ctrl-C interrupts only this process.
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null());
        self.0.insert(episode, Process::spawn(&mut command)?);
        Ok(())
    }

    /// Ends what belongs to an episode. Fails if it has ended before: then it was no burden.
    pub(crate) fn end(&mut self, episode: usize) -> io::Result<()> {
        let Some(mut process) = self.0.remove(&episode) else { return Ok(()) };
        match process.try_wait()? {
            None => process.kill(),
            Some(status) => Err(io::Error::other(format!("a process that burdens the host ended by itself: {status}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burden_that_ended_by_itself_is_an_error() {
        let mut loads = Loads::default();
        loads.0.insert(3, Process::spawn(&mut Command::new("false")).expect("it starts"));
        let _ = loads.0.get_mut(&3).map(|process| process.wait_timeout(std::time::Duration::from_secs(20)));
        assert!(loads.end(3).expect_err("it was none").to_string().contains("ended by itself"));
        loads.end(3).expect("nothing is left of it");
    }
}
