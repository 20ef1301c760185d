// The files of a cluster on this host, in a folder that goes away with it. No inner comment: an example includes this.

use std::net::TcpListener;
use std::path::PathBuf;

use hustings::cluster::config::{self, Config, Newcomer, Plan};

/// A cluster that is not running yet.
#[allow(dead_code, reason = "each test file uses what it needs")]
#[derive(Debug)]
pub(crate) struct Loopback {
    folder: tempfile::TempDir,
    members: Vec<PathBuf>,
}

#[allow(dead_code, reason = "each test file uses what it needs")]
/// Founds one with so many members: `a`, `b`, …
pub(crate) fn found(members: usize) -> Loopback {
    let folder = tempfile::tempdir().expect("a folder for the cluster");
    let newcomers: Vec<Newcomer> = free_ports(members)
        .iter()
        .zip('a'..)
        .map(|(port, name)| format!("{name}=127.0.0.1:{port}").parse().expect("a good one"))
        .collect();
    let founded = config::found(&folder.path().join("c"), &Plan::new("test", newcomers)).expect("it can be founded");
    Loopback { folder, members: founded.members.into_iter().map(|(_, place)| place).collect() }
}

#[allow(dead_code, reason = "each test file uses what it needs")]
impl Loopback {
    /// What each member is told.
    pub(crate) fn configs(&self) -> impl Iterator<Item = Config> + '_ {
        assert!(self.folder.path().exists(), "the folder is ours");
        self.members.iter().map(|place| {
            Config::read_with(&place.join("hustings.toml"), &|_| None).expect("what was written can be read")
        })
    }
}

/// Ports that nobody listens on: asked for together, so that they differ.
pub(crate) fn free_ports(count: usize) -> Vec<u16> {
    let bound: Vec<TcpListener> =
        (0..count).map(|_| TcpListener::bind("127.0.0.1:0").expect("there are free ports")).collect();
    bound.iter().map(|listener| listener.local_addr().expect("it is bound").port()).collect()
}
