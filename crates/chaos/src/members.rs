//! What happens to a node that loses its disk: it is removed from the cluster, and comes back as somebody new.

use std::fs;
use std::io;
use std::process::Command;
use std::time::{Duration, Instant};

use hustings_testkit::switches::WALL_SECONDS;

use crate::setup::{Cluster, add_offices, finished};

/// How long the cluster has to change its members.
const PATIENCE: Duration = Duration::from_secs(10);

impl Cluster {
    /// A killed node is removed from the cluster, and everything it kept is gone.
    pub(crate) fn forget(&mut self, node: usize) -> io::Result<()> {
        let name = self.facts.nodes[node].name.clone();
        let mut command = Command::new(&self.program);
        command.args(["members", "remove", &name]).arg("--dir").arg(&self.authority);
        command.arg("--socket").arg(self.other_socket(node));
        insist(&mut command)?;
        self.disks.wipe(node)?;
        let folder = self.authority.join(&name);
        fs::remove_dir_all(&folder)
    }

    /// It is added as a new member, with a new number, key and certificate.
    pub(crate) fn admit(&mut self, node: usize) -> io::Result<()> {
        let facts = &self.facts.nodes[node];
        let newcomer = format!("{}={},priority={}", facts.name, self.net.address(node), facts.priority);
        let mut command = Command::new(&self.program);
        command.args(["members", "add", &newcomer]).arg("--dir").arg(&self.authority);
        command.arg("--socket").arg(self.other_socket(node));
        insist(&mut command)?;
        add_offices(&self.authority.join(&facts.name).join("hustings.toml"), &self.facts.offices)
    }

    /// From its next start on, a node's time of day is wrong by so many seconds.
    pub(crate) fn shift_wall_clock(&mut self, node: usize, seconds: i64) {
        let arguments = &mut self.nodes.spec(node).arguments;
        arguments.retain(|argument| !argument.starts_with(WALL_SECONDS));
        arguments.push(format!("{WALL_SECONDS}={seconds}"));
    }

    fn other_socket(&self, node: usize) -> &std::path::Path {
        &self.sockets[(node + 1) % self.sockets.len()]
    }
}

/// Runs a command until it succeeds: without its leader, the arbiter needs a moment to find another.
fn insist(command: &mut Command) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match finished(command) {
            Err(_) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(50)),
            result => return result,
        }
    }
}
