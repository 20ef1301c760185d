//! Changes to a node before its next start: it becomes a new member, or its clock or leases change.

use std::fs;
use std::io;
use std::time::Duration;

use hustings_testkit::switches::WALL_SECONDS;

use crate::operator::Workplace;
use crate::setup::{Cluster, LEASE_VARIABLE, add_api, milliseconds};

impl Cluster {
    /// Where an operator works.
    pub(crate) fn workplace(&self) -> Workplace {
        Workplace { program: self.program.clone(), authority: self.authority.clone(), sockets: self.sockets.clone() }
    }

    /// Deletes the data and the files of a node that was removed from the cluster.
    pub(crate) fn delete_node_files(&mut self, node: usize) -> io::Result<()> {
        self.disks.wipe(node)?;
        self.delete_member_files(&self.scenario.nodes[node].name)
    }

    /// Deletes the files of a member that was removed from the cluster.
    pub(crate) fn delete_member_files(&self, name: &str) -> io::Result<()> {
        let deleted = fs::remove_dir_all(self.authority.join(name));
        deleted.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
    }

    /// A node as `hustings members add` takes it.
    pub(crate) fn member_spec(&self, node: usize) -> String {
        let scenario = &self.scenario.nodes[node];
        format!("{}={},priority={}", scenario.name, self.net.address(node), scenario.priority)
    }

    /// Completes the configuration of a node that was added as a new member. It has the offices of the cluster.
    pub(crate) fn complete_config(&self, node: usize) -> io::Result<()> {
        let config = self.authority.join(&self.scenario.nodes[node].name).join("hustings.toml");
        add_api(&config, self.apis[node])
    }

    /// Makes a node's time of day wrong by this many seconds from its next start on.
    pub(crate) fn shift_wall_clock(&mut self, node: usize, seconds: i64) {
        let arguments = &mut self.nodes.spec(node).arguments;
        arguments.retain(|argument| !argument.starts_with(WALL_SECONDS));
        arguments.push(format!("{WALL_SECONDS}={seconds}"));
    }

    /// Changes the length of a node's leases from its next start on.
    pub(crate) fn set_lease(&mut self, node: usize, lease: Duration) {
        self.nodes.set_variable(node, LEASE_VARIABLE, milliseconds(lease));
    }
}
