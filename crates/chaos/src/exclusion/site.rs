//! The hosts of the experiment: their files, network and processes.

use std::fs;
use std::io;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};

use super::options::{Containment, ExclusionOptions};
use crate::disk::Disks;
use crate::net::Net;
use crate::nodes::{Launcher, NodeSpec, Nodes};
use crate::options::DiskKind;
use crate::rng::Rng;
use crate::setup::{LEASE_VARIABLE, Member, find_program, init, network};

/// The length of leases.
const LEASE: &str = "300ms";
/// The user of packaged nodes, who is `nobody`.
const NOBODY: u32 = 65_534;
/// Becomes that user, with the one privilege that the package's unit gives to the node. The node still ends with
/// whoever launched it.
const PACKAGED: [&str; 9] = [
    "setpriv",
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
    "--inh-caps=-all,+kill",
    "--ambient-caps=+kill",
    "--bounding-set=-all,+kill",
    "--no-new-privs",
    "--pdeathsig=KILL",
];
/// How long a better host must be up before it takes over.
const SETTLE: &str = "20ms";

/// The hosts. Their processes are killed when this is dropped, and their network and disks removed.
pub(crate) struct Site {
    /// The names of the hosts.
    pub(crate) names: Vec<String>,
    /// The `hustings run` processes, one on each host; none is running yet. Before the nodes, so that they are killed
    /// first.
    pub(crate) runs: Nodes,
    /// The nodes, one on each host; none is running yet.
    pub(crate) nodes: Nodes,
    /// The network between the hosts.
    pub(crate) net: Net,
    /// The sockets of the nodes.
    pub(crate) sockets: Vec<PathBuf>,
    /// The folder of what the recorders write.
    pub(crate) recordings: PathBuf,
    /// Only so that they are unmounted at last.
    _disks: Disks,
}

impl Site {
    /// Prepares hosts in a folder.
    pub(crate) fn new(options: &ExclusionOptions, folder: &Path) -> io::Result<Site> {
        let program = find_program(options.hustings.as_deref())?;
        let own_program = std::env::current_exe()?;
        let members = members(options);
        let names: Vec<String> = members.iter().map(|member| member.name.clone()).collect();
        let net = network(options.network, names.len())?;
        let disks = Disks::new(&folder.join("disks"), &names, DiskKind::Memory)?;
        let authority = folder.join("cluster");
        init(&program, &authority, &members, &net)?;
        let (logs, recordings) = (folder.join("logs"), folder.join("recordings"));
        fs::create_dir_all(&logs)?;
        fs::create_dir_all(&recordings)?;
        let sockets: Vec<PathBuf> = names.iter().map(|name| authority.join(name).join("hustings.sock")).collect();
        let (mut nodes, mut runs) = (Vec::new(), Vec::new());
        for (host, name) in names.iter().enumerate() {
            let config = authority.join(name).join("hustings.toml");
            nodes.push(NodeSpec {
                name: name.clone(),
                arguments: vec!["node".to_string(), "--config".to_string(), config.display().to_string()],
                environment: environment(&net, &disks, host),
                namespace: net.namespace(host),
                log: logs.join(format!("{name}.node.log")),
            });
            runs.push(NodeSpec {
                name: name.clone(),
                arguments: run_arguments(
                    &sockets[host],
                    &own_program,
                    &recordings.join(format!("{name}.recording")),
                    host,
                    options.containment,
                ),
                environment: vec![("RUST_BACKTRACE".to_string(), "1".to_string())],
                namespace: net.namespace(host),
                log: logs.join(format!("{name}.run.log")),
            });
        }
        let launcher = Launcher { program, launcher: Some(own_program), wrapper: Vec::new() };
        let runs = Nodes::new(launcher.clone(), runs);
        let wrapper = if options.packaged {
            give_to_nobody(&authority)?;
            give_to_nobody(&folder.join("disks"))?;
            PACKAGED.map(str::to_string).to_vec()
        } else {
            Vec::new()
        };
        let nodes = Nodes::new(Launcher { wrapper, ..launcher }, nodes);
        Ok(Site { names, runs, nodes, net, sockets, recordings, _disks: disks })
    }
}

/// Gives a folder and everything in it to the user of packaged nodes.
fn give_to_nobody(path: &Path) -> io::Result<()> {
    chown(path, Some(NOBODY), Some(NOBODY))?;
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            give_to_nobody(&entry?.path())?;
        }
    }
    Ok(())
}

fn members(options: &ExclusionOptions) -> Vec<Member> {
    let mut priorities: Vec<u32> = (1..=u32::from(options.nodes)).collect();
    Rng::for_purpose(options.seed, 78).shuffle(&mut priorities);
    let member = |(index, priority)| Member { name: format!("n{}", index + 1), priority };
    priorities.into_iter().enumerate().map(member).collect()
}

fn environment(net: &Net, disks: &Disks, host: usize) -> Vec<(String, String)> {
    let variables = [
        ("HUSTINGS_LISTEN", net.listen(host).to_string()),
        ("HUSTINGS_DATA", disks.data(host).display().to_string()),
        (LEASE_VARIABLE, LEASE.to_string()),
        ("HUSTINGS_TIMING_SETTLE", SETTLE.to_string()),
        ("RUST_BACKTRACE", "1".to_string()),
    ];
    variables.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

/// The arguments of `hustings run`. Every other host has a command that ignores SIGTERM, so that it lives until it is
/// killed.
fn run_arguments(
    socket: &Path,
    recorder: &Path,
    recording: &Path,
    host: usize,
    containment: Containment,
) -> Vec<String> {
    let mut words: Vec<String> = vec!["run".to_string(), "--socket".to_string(), socket.display().to_string()];
    words.extend(["--restart", "always", "--log-format", "json", "--containment"].map(str::to_string));
    words.push(containment.name());
    words.extend(["job".to_string(), "--".to_string(), recorder.display().to_string(), "recorder".to_string()]);
    words.extend([recording.display().to_string(), "--parent".to_string()]);
    words.extend(host.is_multiple_of(2).then(|| "--stubborn".to_string()));
    words
}
