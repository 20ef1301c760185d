//! Membership changes: a node that loses its disk is removed from the cluster and added as a new member.

use std::fs;
use std::io;
use std::process::Command;
use std::time::{Duration, Instant};

use hustings_testkit::switches::WALL_SECONDS;

use crate::setup::{Cluster, add_offices, run_command};

/// How long a change of membership may take.
const TIMEOUT: Duration = Duration::from_secs(10);

impl Cluster {
    /// Removes a killed node from the cluster and deletes its data.
    pub(crate) fn remove_member(&mut self, node: usize) -> io::Result<()> {
        let name = self.scenario.nodes[node].name.clone();
        let mut command = Command::new(&self.program);
        command.args(["members", "remove", &name]).arg("--dir").arg(&self.authority);
        command.arg("--socket").arg(self.other_socket(node));
        retry(&mut command)?;
        self.disks.wipe(node)?;
        let folder = self.authority.join(&name);
        fs::remove_dir_all(&folder)
    }

    /// Adds the node as a new member, with a new id, key and certificate.
    pub(crate) fn add_member(&mut self, node: usize) -> io::Result<()> {
        let scenario = &self.scenario.nodes[node];
        let new_member = format!("{}={},priority={}", scenario.name, self.net.address(node), scenario.priority);
        let mut command = Command::new(&self.program);
        command.args(["members", "add", &new_member]).arg("--dir").arg(&self.authority);
        command.arg("--socket").arg(self.other_socket(node));
        retry(&mut command)?;
        add_offices(&self.authority.join(&scenario.name).join("hustings.toml"), &self.scenario.offices)
    }

    /// Makes a node's time of day wrong by this many seconds from its next start on.
    pub(crate) fn shift_wall_clock(&mut self, node: usize, seconds: i64) {
        let arguments = &mut self.nodes.spec(node).arguments;
        arguments.retain(|argument| !argument.starts_with(WALL_SECONDS));
        arguments.push(format!("{WALL_SECONDS}={seconds}"));
    }

    fn other_socket(&self, node: usize) -> &std::path::Path {
        &self.sockets[(node + 1) % self.sockets.len()]
    }
}

/// Runs a command until it succeeds: the arbiter may have to elect a leader first.
fn retry(command: &mut Command) -> io::Result<()> {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        match run_command(command) {
            Err(_) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(50)),
            result => return result,
        }
    }
}
