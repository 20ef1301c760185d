//! The processes of a cluster.

use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::TrialError;
use super::net::{Links, Proxy};
use hustings_cluster::api::{Client, Reply, Request, Status};
use hustings_cluster::config::{Choice, Mode, Newcomer, Plan, found};

/// How long anything may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// What a trial's cluster is made of.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The program.
    pub program: PathBuf,
    /// How many nodes there are.
    pub nodes: usize,
    /// What kind all offices are.
    pub mode: Mode,
    /// The algorithm; the default one without.
    pub algorithm: Option<Choice>,
    /// Whether nodes can be cut off from each other: then all they say goes through a proxy.
    pub proxied: bool,
    /// An empty or missing folder for everything.
    pub folder: PathBuf,
}

/// A running cluster. Its processes end with it.
pub struct Cluster {
    program: PathBuf,
    folder: PathBuf,
    nodes: Vec<Node>,
    proxy: Option<Proxy>,
}

struct Node {
    name: String,
    child: Option<Child>,
}

pub(super) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> TrialError {
    let what = what.into();
    move |error| TrialError::Io { what, error }
}

impl Cluster {
    /// Sets a cluster up and starts it.
    pub fn start(layout: &Layout) -> Result<Cluster, TrialError> {
        let proxy = layout.proxied.then(|| Proxy::new(layout.nodes)).transpose().map_err(io("cannot make a proxy"))?;
        // All are open at once, so that no port is given twice.
        let listeners: Vec<TcpListener> = (0..layout.nodes)
            .map(|_| TcpListener::bind("127.0.0.1:0").map_err(io("cannot find a port")))
            .collect::<Result<_, _>>()?;
        let mut members = Vec::new();
        for (node, listener) in listeners.iter().enumerate() {
            let own = || listener.local_addr().map_err(io("cannot find a port"));
            members.push(Newcomer {
                name: format!("n{}", node + 1),
                address: proxy.as_ref().map_or_else(own, |proxy| Ok(proxy.listener(node)))?.to_string(),
                priority: node as u32 + 1,
                role: Default::default(),
            });
        }
        let names: Vec<String> = members.iter().map(|member| member.name.clone()).collect();
        let mut plan = Plan::new("trial", members);
        if let Some(choice) = &layout.algorithm {
            plan.algorithm = choice.clone();
        }
        let folder = layout.folder.join("cluster");
        found(&folder, &plan)?;
        if layout.mode == Mode::Fenced {
            for name in &names {
                let path = folder.join(name).join("hustings.toml");
                let text = std::fs::read_to_string(&path).map_err(io(path.display().to_string()))?;
                let text = text.replace("mode = \"exclusive\"", "mode = \"fenced\"");
                std::fs::write(&path, text).map_err(io(path.display().to_string()))?;
            }
        }
        drop(listeners);
        let nodes = names.into_iter().map(|name| Node { name, child: None }).collect();
        let mut cluster = Cluster { program: layout.program.clone(), folder, nodes, proxy };
        (0..layout.nodes).try_for_each(|node| cluster.revive(node))?;
        cluster.wait_until_well()?;
        Ok(cluster)
    }

    /// How many nodes there are.
    pub fn size(&self) -> usize {
        self.nodes.len()
    }

    /// The place of the node with this name.
    pub fn named(&self, name: &str) -> Option<usize> {
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

    /// The folder of everything.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts a node that does not run.
    pub fn revive(&mut self, node: usize) -> Result<(), TrialError> {
        if self.nodes[node].child.is_some() {
            return Ok(());
        }
        let path = self.folder.join(format!("{}.journal", self.nodes[node].name));
        let journal = File::options().create(true).append(true).open(&path).map_err(io(path.display().to_string()))?;
        let mut command = Command::new(&self.program);
        // What the user's environment says is about other nodes.
        let others = std::env::vars_os().map(|(name, _)| name);
        others.filter(|name| name.as_encoded_bytes().starts_with(b"HUSTINGS_")).for_each(|name| {
            command.env_remove(name);
        });
        if let Some(proxy) = &self.proxy {
            command.env("HUSTINGS_LISTEN", proxy.back(node).to_string());
        }
        command.arg("node").arg("--config").arg(self.config(node));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(journal);
        let child = command.spawn().map_err(io(format!("cannot start {}", self.program.display())))?;
        if let Some(proxy) = &self.proxy {
            proxy.started(node, child.id());
        }
        self.nodes[node].child = Some(child);
        Ok(())
    }

    /// The process of a node that runs.
    pub fn process(&self, node: usize) -> Option<u32> {
        self.nodes[node].child.as_ref().map(Child::id)
    }

    /// Sends a signal to a node that runs.
    pub fn signal(&self, node: usize, signal: Signal) -> Result<(), TrialError> {
        let pid = self.process(node).and_then(|id| Pid::from_raw(id as i32));
        let Some(pid) = pid else { return Ok(()) };
        kill_process(pid, signal).map_err(|error| io(format!("cannot signal process {pid}"))(error.into()))
    }

    /// From now on nothing reaches a node or leaves it, and no connection ends. Mends what was cut before.
    pub fn cut_off(&self, node: usize) -> Result<(), TrialError> {
        let mut links = Links::open(self.size());
        links.unplug(node);
        self.set(&links)
    }

    /// Everybody reaches everybody again.
    pub fn mend(&self) -> Result<(), TrialError> {
        self.set(&Links::open(self.size()))
    }

    fn set(&self, links: &Links) -> Result<(), TrialError> {
        let not_proxied = || std::io::Error::other("the nodes do not talk through a proxy");
        let set = self.proxy.as_ref().ok_or_else(not_proxied).and_then(|proxy| proxy.set(links));
        set.map_err(io("cannot cut or mend links"))
    }

    /// Waits for a node that was told to end.
    pub fn reap(&mut self, node: usize) {
        if let Some(mut child) = self.nodes[node].child.take() {
            // It is gone either way.
            let _ = child.wait();
        }
    }

    /// A connection to a node's socket.
    pub fn client(&self, node: usize) -> Result<Client, TrialError> {
        let path = self.folder.join(&self.nodes[node].name).join("hustings.sock");
        self.until(&format!("{} answered", self.nodes[node].name), || Ok(Client::connect(&path).ok()))
    }

    /// What a node knows.
    pub fn status(&self, node: usize) -> Result<Status, TrialError> {
        match self.client(node)?.ask(&Request::Status, Some(PATIENCE))? {
            Reply::Status(status) => Ok(*status),
            other => Err(io("an answer that does not fit")(std::io::Error::other(format!("{other:?}")))),
        }
    }

    /// Waits until everybody sees everybody, and is in touch with a majority.
    pub fn wait_until_well(&self) -> Result<(), TrialError> {
        self.until("everybody saw everybody", || {
            for node in (0..self.size()).filter(|node| self.process(*node).is_some()) {
                let status = self.status(node)?;
                let is_well = status.current
                    && status.members.iter().all(|member| {
                        member.up || self.named(&member.name).is_none_or(|place| self.process(place).is_none())
                    });
                if !is_well {
                    return Ok(None);
                }
            }
            Ok(Some(()))
        })
    }

    /// Asks again and again until there is an answer.
    pub fn until<T>(
        &self,
        what: &str,
        mut ask: impl FnMut() -> Result<Option<T>, TrialError>,
    ) -> Result<T, TrialError> {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            if let Some(answer) = ask()? {
                return Ok(answer);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let (what, folder) = (format!("not: {what}"), self.folder.display().to_string());
        Err(TrialError::Late { what, seconds: PATIENCE.as_secs(), folder })
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for node in &mut self.nodes {
            if let Some(mut child) = node.child.take() {
                // It may be gone already.
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}
