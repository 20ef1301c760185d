// The files of a cluster on this host, in a temporary folder. A doc example includes this file: no inner comments.

use std::path::PathBuf;

use hustings::cluster::config::{self, ClusterSpec, Config, MemberSpec};

/// The files of a cluster.
#[allow(dead_code, reason = "each test file uses what it needs")]
#[derive(Debug)]
pub(crate) struct Loopback {
    folder: tempfile::TempDir,
    members: Vec<PathBuf>,
}

#[allow(dead_code, reason = "each test file uses what it needs")]
/// Creates the files of a cluster with members `a`, `b`, …
pub(crate) fn bootstrap(members: usize) -> Loopback {
    let folder = tempfile::tempdir().expect("a folder for the cluster");
    let members: Vec<MemberSpec> = free_ports(members)
        .iter()
        .zip('a'..)
        .map(|(port, name)| format!("{name}=127.0.0.1:{port}").parse().expect("a valid member"))
        .collect();
    let bootstrapped = config::bootstrap(&folder.path().join("c"), &ClusterSpec::new("test", members))
        .expect("it can be bootstrapped");
    Loopback { folder, members: bootstrapped.into_iter().map(|member| member.folder).collect() }
}

#[allow(dead_code, reason = "each test file uses what it needs")]
impl Loopback {
    /// The configuration of each member.
    pub(crate) fn configs(&self) -> impl Iterator<Item = Config> + '_ {
        assert!(self.folder.path().exists(), "the folder is ours");
        self.members.iter().map(|place| Config::read(&place.join("hustings.toml")).expect("read a configuration"))
    }
}

/// Free ports, which stay free while a node that had one is not running.
pub(crate) fn free_ports(count: usize) -> Vec<u16> {
    hustings_harness::free_ports(count).expect("there are free ports")
}
