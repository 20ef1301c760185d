//! A cluster of real processes.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use hustings_cluster::api::{Client, Reply, Request, Status};
use hustings_cluster::config::{AlgorithmConfig, Algorithms, ClusterSpec, MemberSpec, Mode, bootstrap};
use rustix::process::{Pid, Signal};

use crate::error::{HarnessError, io_error};
use crate::net::{Links, Proxy};
use crate::ports::free_ports;
use crate::process::{Process, hustings_command};

/// How long the harness waits for anything.
pub const TIMEOUT: Duration = Duration::from_secs(30);

/// What a cluster consists of.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The `hustings` program.
    pub program: PathBuf,
    /// The name of the cluster.
    pub cluster: String,
    /// The name and the priority of each member.
    pub members: Vec<(String, u32)>,
    /// The mode of all offices.
    pub mode: Mode,
    /// The election algorithm.
    pub algorithm: AlgorithmConfig,
    /// The algorithms that the program knows.
    pub algorithms: Algorithms,
    /// Whether the nodes talk through a [`Proxy`], so that they can be isolated.
    pub proxied: bool,
    /// If the nodes serve the HTTP API: more lines of their table `[http]`.
    pub http: Option<String>,
    /// A folder for everything, empty or missing.
    pub folder: PathBuf,
}

impl Layout {
    /// Nodes `n1`, `n2`, … with exclusive offices, the default algorithm and no proxy.
    pub fn new(program: PathBuf, nodes: usize, folder: PathBuf) -> Layout {
        Layout {
            program,
            cluster: "trial".to_string(),
            members: (1..=nodes).map(|node| (format!("n{node}"), node as u32)).collect(),
            mode: Mode::Exclusive,
            algorithm: AlgorithmConfig::default(),
            algorithms: Algorithms::default(),
            proxied: false,
            http: None,
            folder,
        }
    }
}

/// A running cluster. Its processes are killed when it is dropped, and when the thread that started them ends, even if
/// that is because this program is killed.
pub struct Cluster {
    program: PathBuf,
    folder: PathBuf,
    nodes: Vec<Node>,
    proxy: Option<Proxy>,
    isolated: BTreeSet<usize>,
}

struct Node {
    name: String,
    /// The port of its HTTP API.
    http_port: Option<u16>,
    process: Option<Process>,
}

impl Cluster {
    /// Writes the files of a cluster, starts all nodes and waits until they are ready.
    pub fn start(layout: &Layout) -> Result<Cluster, HarnessError> {
        let cluster = Cluster::launch(layout)?;
        cluster.wait_until_ready()?;
        Ok(cluster)
    }

    /// Writes the files of a cluster, starts all nodes and does not wait for them.
    pub fn launch(layout: &Layout) -> Result<Cluster, HarnessError> {
        let nodes = layout.members.len();
        let proxy = layout.proxied.then(|| Proxy::new(nodes)).transpose();
        let proxy = proxy.map_err(io_error("cannot start the proxy"))?;
        let folder = layout.folder.join("cluster");
        write_files(layout, proxy.as_ref(), &folder)?;
        let members = layout.members.iter().zip(append_http(layout, &folder)?);
        let node = |((name, _), http_port): (&(String, u32), _)| Node { name: name.clone(), http_port, process: None };
        let mut cluster = Cluster {
            program: layout.program.clone(),
            folder,
            nodes: members.map(node).collect(),
            proxy,
            isolated: BTreeSet::new(),
        };
        (0..nodes).try_for_each(|node| cluster.start_node(node))?;
        Ok(cluster)
    }

    /// How many nodes there are.
    pub fn size(&self) -> usize {
        self.nodes.len()
    }

    /// The index of the node with this name.
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.name == name)
    }

    /// The name of a node.
    pub fn name(&self, node: usize) -> &str {
        &self.nodes[node].name
    }

    /// The configuration file of a node.
    pub fn config(&self, node: usize) -> PathBuf {
        self.folder.join(&self.nodes[node].name).join("hustings.toml")
    }

    /// The port of a node's HTTP API, if it serves one.
    pub fn http_port(&self, node: usize) -> Option<u16> {
        self.nodes[node].http_port
    }

    /// The `hustings` program.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// The socket of a node.
    pub fn socket(&self, node: usize) -> PathBuf {
        self.folder.join(&self.nodes[node].name).join("hustings.sock")
    }

    /// The folder that holds the cluster's files and logs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The log of a node.
    pub fn log(&self, node: usize) -> PathBuf {
        self.folder.join(format!("{}.log", self.nodes[node].name))
    }

    /// Starts a node unless it is running. It is killed when the calling thread ends.
    pub fn start_node(&mut self, node: usize) -> Result<(), HarnessError> {
        if self.nodes[node].process.is_some() {
            return Ok(());
        }
        let path = self.log(node);
        let log = File::options().create(true).append(true).open(&path);
        let log = log.map_err(io_error(path.display().to_string()))?;
        let mut command = hustings_command(&self.program);
        if let Some(proxy) = &self.proxy {
            command.env("HUSTINGS_LISTEN", proxy.listen_address(node).to_string());
        }
        command.arg("node").arg("--config").arg(self.config(node));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        // Ctrl-C is for the program that runs the cluster.
        command.process_group(0);
        let process = Process::spawn_bound(&mut command);
        let process = process.map_err(io_error(format!("cannot start {}", self.program.display())))?;
        if let Some(proxy) = &self.proxy {
            proxy.set_process(node, process.pid());
        }
        self.nodes[node].process = Some(process);
        Ok(())
    }

    /// The process id of a node, if it is running.
    pub fn pid(&self, node: usize) -> Option<Pid> {
        self.nodes[node].process.as_ref().map(Process::pid)
    }

    /// Sends a signal to a node, if it is running.
    pub fn signal(&self, node: usize, signal: Signal) -> Result<(), HarnessError> {
        match &self.nodes[node].process {
            Some(process) => process.signal(signal).map_err(io_error(format!("cannot signal {}", self.name(node)))),
            None => Ok(()),
        }
    }

    /// Holds back everything that a node sends or receives from now on, without closing its connections.
    pub fn isolate(&mut self, node: usize) -> Result<(), HarnessError> {
        self.isolated.insert(node);
        self.set_links()
    }

    /// Opens the links of a node to all nodes that are not isolated.
    pub fn reconnect(&mut self, node: usize) -> Result<(), HarnessError> {
        self.isolated.remove(&node);
        self.set_links()
    }

    /// Opens all links.
    pub fn heal(&mut self) -> Result<(), HarnessError> {
        self.isolated.clear();
        self.set_links()
    }

    /// Whether a node is isolated.
    pub fn is_isolated(&self, node: usize) -> bool {
        self.isolated.contains(&node)
    }

    fn set_links(&self) -> Result<(), HarnessError> {
        let mut links = Links::open(self.size());
        self.isolated.iter().for_each(|node| links.isolate(*node));
        let not_proxied = || io::Error::other("the nodes do not talk through a proxy");
        let set = self.proxy.as_ref().ok_or_else(not_proxied).and_then(|proxy| proxy.set_links(&links));
        set.map_err(io_error("cannot change the links between nodes"))
    }

    /// The nodes that have ended by themselves since the last call, with their exit status.
    pub fn take_ended(&mut self) -> Vec<(usize, ExitStatus)> {
        let ended = |(index, node): (usize, &mut Node)| {
            let status = node.process.as_mut()?.try_wait().ok().flatten()?;
            node.process = None;
            Some((index, status))
        };
        self.nodes.iter_mut().enumerate().filter_map(ended).collect()
    }

    /// Kills a node, if it is running, and reaps it.
    pub fn kill_node(&mut self, node: usize) {
        drop(self.nodes[node].process.take());
    }

    /// Connects to a node's socket, once the node has opened it.
    pub fn client(&self, node: usize) -> Result<Client, HarnessError> {
        let path = self.socket(node);
        self.wait_for(&format!("{} did not answer", self.nodes[node].name), || {
            Ok(Client::connect(&path, Duration::ZERO).ok())
        })
    }

    /// Asks a node for its status.
    pub fn status(&self, node: usize) -> Result<Status, HarnessError> {
        match self.client(node)?.call(&Request::Status, Some(TIMEOUT))? {
            Reply::Status(status) => Ok(*status),
            other => Err(io_error("unexpected reply")(io::Error::other(format!("{other:?}")))),
        }
    }

    /// Waits until every running node sees all other running nodes and is in touch with a majority.
    pub fn wait_until_ready(&self) -> Result<(), HarnessError> {
        let is_running = |name: &str| self.index_of(name).is_none_or(|node| self.pid(node).is_some());
        self.wait_for("not every node saw all others", || {
            for node in (0..self.size()).filter(|node| self.pid(*node).is_some()) {
                let status = self.status(node)?;
                let sees_all = status.members.iter().all(|member| member.up || !is_running(&member.name));
                if !status.current || !sees_all {
                    return Ok(None);
                }
            }
            Ok(Some(()))
        })
    }

    /// Polls until there is an answer; `failure` describes what happened if there is none in time.
    pub fn wait_for<T>(
        &self,
        failure: &str,
        mut poll: impl FnMut() -> Result<Option<T>, HarnessError>,
    ) -> Result<T, HarnessError> {
        let deadline = Instant::now() + TIMEOUT;
        while Instant::now() < deadline {
            if let Some(answer) = poll()? {
                return Ok(answer);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Err(self.timed_out(failure))
    }

    pub(crate) fn timed_out(&self, what: &str) -> HarnessError {
        let (what, folder) = (what.to_string(), self.folder.display().to_string());
        HarnessError::TimedOut { what, seconds: TIMEOUT.as_secs(), folder }
    }
}

/// Writes the files of a new cluster.
fn write_files(layout: &Layout, proxy: Option<&Proxy>, folder: &Path) -> Result<(), HarnessError> {
    let ports = free_ports(layout.members.len()).map_err(io_error("cannot find a free port"))?;
    let mut members = Vec::new();
    for (node, ((name, priority), port)) in layout.members.iter().zip(ports).enumerate() {
        let address = match proxy {
            Some(proxy) => proxy.public_address(node),
            None => SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        };
        let (name, address) = (name.clone(), address.to_string());
        members.push(MemberSpec { name, address, priority: *priority, role: Default::default() });
    }
    let spec = ClusterSpec {
        algorithm: layout.algorithm.clone(),
        algorithms: layout.algorithms.clone(),
        ..ClusterSpec::new(&layout.cluster, members)
    };
    bootstrap(folder, &spec)?;
    if layout.mode == Mode::Fenced {
        for (name, _) in &layout.members {
            let path = folder.join(name).join("hustings.toml");
            let text = std::fs::read_to_string(&path).map_err(io_error(path.display().to_string()))?;
            let text = text.replace("mode = \"exclusive\"", "mode = \"fenced\"");
            std::fs::write(&path, text).map_err(io_error(path.display().to_string()))?;
        }
    }
    Ok(())
}

/// Adds the table `[http]` to the configurations, if the layout has one. Returns the port of each node.
fn append_http(layout: &Layout, folder: &Path) -> Result<Vec<Option<u16>>, HarnessError> {
    let Some(lines) = &layout.http else { return Ok(vec![None; layout.members.len()]) };
    let ports = free_ports(layout.members.len()).map_err(io_error("cannot find a free port"))?;
    for ((name, _), port) in layout.members.iter().zip(&ports) {
        let path = folder.join(name).join("hustings.toml");
        let text = std::fs::read_to_string(&path).map_err(io_error(path.display().to_string()))?;
        let text = format!("{text}\n[http]\nlisten = \"127.0.0.1:{port}\"\n{lines}\n");
        std::fs::write(&path, text).map_err(io_error(path.display().to_string()))?;
    }
    Ok(ports.into_iter().map(Some).collect())
}
