//! Prepares a cluster: files, network, disks, and the scenario that the checker is given.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use hustings_cluster::config::{ArbiterKind, Mode};
use hustings_cluster::timing::{HolderLoss, Timing};
use hustings_testkit::switches::{self, Rule};

use crate::disk::Disks;
use crate::history::{Scenario, ScenarioNode, ScenarioOffice};
use crate::net::{Namespaces, Net, Proxy};
use crate::nodes::{Launcher, NodeSpec, Nodes};
use crate::options::{DiskKind, Network, Run};
use crate::rng::Rng;
use crate::schedule::{FaultKind, Plan};

/// How long starting processes, connecting and catching up may take, on a machine that does other work as well.
const RESTART_TIME: Duration = Duration::from_secs(2);
/// How long a better candidate must be up before it takes over. Short, because a candidate that restarts often waits up
/// to [`DAMPING`] times as long, and here all of them restart often.
const SETTLE: Duration = Duration::from_millis(20);
const DAMPING: u32 = 64;
/// How long the cluster is checked after it must have recovered.
const CHECKED: Duration = Duration::from_secs(2);
/// How long a fenced office may have no holder, and a node may be unsure, after all faults are healed.
const MAX_VACANCY: Duration = Duration::from_secs(2);
const MAX_UNCERTAINTY: Duration = Duration::from_secs(5);
/// The length of leases after a rolling change: much longer than by default.
const OTHER_LEASE: Duration = Duration::from_secs(2);
/// How long sessions of the HTTP API live without a renewal, in milliseconds. Shorter than some leases, so that a
/// session may expire while its client still acts.
const SESSION_TTL: (u64, u64) = (400, 1_000);
/// The same to test that such a session is kept: the shortest that is allowed.
const SHORT_SESSION_TTL: (u64, u64) = (100, 100);
/// The variable that sets the length of leases.
pub(crate) const LEASE_VARIABLE: &str = "HUSTINGS_TIMING_LEASE";

/// A cluster that is ready to be started.
pub(crate) struct Cluster {
    /// What the checker has to know.
    pub(crate) scenario: Scenario,
    /// What the schedule is drawn from.
    pub(crate) plan: Plan,
    /// The processes; none is running yet. The first field, so that they are killed before network and disks go.
    pub(crate) nodes: Nodes,
    /// The network between the nodes.
    pub(crate) net: Net,
    /// The nodes' disks.
    pub(crate) disks: Disks,
    /// The sockets for clients, one for each node.
    pub(crate) sockets: Vec<PathBuf>,
    /// The addresses of the HTTP API, one for each node.
    pub(crate) apis: Vec<SocketAddr>,
    /// The shortest and the longest time to live of its sessions, in milliseconds.
    pub(crate) session_ttl: (u64, u64),
    /// The `hustings` program.
    pub(crate) program: PathBuf,
    /// The folder of the cluster's authority.
    pub(crate) authority: PathBuf,
    /// The folder of the run.
    pub(crate) folder: PathBuf,
    /// Whether clients withdraw and disconnect often, so that many tokens are granted.
    pub(crate) has_churn: bool,
}

impl Cluster {
    /// Prepares a cluster in a folder.
    pub(crate) fn new(run: &Run, folder: &Path) -> io::Result<Self> {
        let program = find_program(run.hustings.as_deref())?;
        if run.disks != DiskKind::Device && run.faults.iter().flatten().any(|kind| *kind == FaultKind::DiskError) {
            return Err(io::Error::other("disk-error needs devices that can fail: --disks device"));
        }
        let timing = timing(run.target());
        let kinds = kinds(run);
        let longest = if kinds.contains(&FaultKind::Retime) { timing.lease.max(OTHER_LEASE) } else { timing.lease };
        let scenario = scenario(run, &Timing { lease: longest, ..timing });
        let net = network(run.network, scenario.nodes.len())?;
        let names: Vec<String> = scenario.nodes.iter().map(|node| node.name.clone()).collect();
        let disks = Disks::new(&folder.join("disks"), &names, run.disks)?;
        let authority = folder.join("cluster");
        let member = |node: &ScenarioNode| Member { name: node.name.clone(), priority: node.priority };
        init(&program, &authority, &scenario.nodes.iter().map(member).collect::<Vec<_>>(), &net)?;
        require_switches(&program, &authority.join(&names[0]).join("hustings.toml"))?;
        let apis = net.api_addresses(names.len())?;
        let logs = folder.join("logs");
        fs::create_dir_all(&logs)?;
        let mut specs = Vec::new();
        for (index, node) in scenario.nodes.iter().enumerate() {
            let config = authority.join(&node.name).join("hustings.toml");
            add_offices(&config, &scenario.offices)?;
            add_api(&config, apis[index])?;
            specs.push(NodeSpec {
                name: node.name.clone(),
                arguments: arguments(&config, node.ppm, run.breaks),
                environment: environment(&timing, &scenario, &net, &disks, index),
                namespace: net.namespace(index),
                log: logs.join(format!("{}.log", node.name)),
            });
        }
        let launcher =
            Launcher { program: program.clone(), launcher: Some(std::env::current_exe()?), wrapper: Vec::new() };
        let sockets = names.iter().map(|name| authority.join(name).join("hustings.sock")).collect();
        let plan = plan(run, &scenario, &timing, kinds);
        let has_churn = matches!(run.target(), Some(Rule::DurableBeforeSend | Rule::SessionPromise));
        let session_ttl = if run.target() == Some(Rule::SessionPromise) { SHORT_SESSION_TTL } else { SESSION_TTL };
        Ok(Cluster {
            has_churn,
            plan,
            nodes: Nodes::new(launcher, specs),
            net,
            disks,
            sockets,
            apis,
            session_ttl,
            program,
            authority,
            folder: folder.to_path_buf(),
            scenario,
        })
    }
}

/// The program to test: the one that the user named, or the one next to this program.
pub(crate) fn find_program(named: Option<&Path>) -> io::Result<PathBuf> {
    let path = match named {
        Some(path) => path.to_path_buf(),
        None => std::env::current_exe()?.with_file_name("hustings"),
    };
    fs::canonicalize(&path).map_err(|error| {
        let what = format!("{}: {error}; build it, or name another with --hustings", path.display());
        io::Error::new(error.kind(), what)
    })
}

/// Makes the network between this many nodes.
pub(crate) fn network(network: Network, nodes: usize) -> io::Result<Net> {
    let proxy = || Proxy::new(nodes).map(Net::Proxy);
    match network {
        Network::Proxy => proxy(),
        Network::Namespaces => Namespaces::new(nodes).map(Net::Namespaces),
        Network::Auto => Namespaces::new(nodes).map(Net::Namespaces).or_else(|_| proxy()),
    }
}

/// The default timing. To test the drift margin, leases are long: clocks must diverge during one lease by more than the
/// time that a holder leaves unused anyway, which is two heartbeats until its renewal is confirmed and the time to
/// stop.
fn timing(target: Option<Rule>) -> Timing {
    let default = Timing { settle: SETTLE, ..Timing::default() };
    match target {
        Some(Rule::DriftMargin) => Timing { lease: Duration::from_secs(10), ..default },
        _ => default,
    }
}

fn scenario(run: &Run, timing: &Timing) -> Scenario {
    let mut rng = Rng::for_purpose(run.seed, 2);
    let count = usize::from(run.nodes);
    let mut priorities: Vec<u32> = (1..=u32::from(run.nodes)).collect();
    rng.shuffle(&mut priorities);
    // Clocks drift by nearly as much as the configuration allows.
    let max = (timing.drift_ppm / 10 * 9).cast_signed();
    let drift = |index: usize, rng: &mut Rng| match run.target() {
        Some(Rule::DriftMargin) if priorities[index] == u32::from(run.nodes) => -max,
        Some(Rule::DriftMargin) => max,
        _ => rng.range(0, 2 * u64::from(max.unsigned_abs())) as i32 - max,
    };
    let nodes = (0..count)
        .map(|index| ScenarioNode {
            name: format!("n{}", index + 1),
            priority: priorities[index],
            ppm: drift(index, &mut rng),
        })
        .collect();
    let office = |name: &str, exclusive, preempts| ScenarioOffice { name: name.to_string(), exclusive, preempts };
    let arbiter = run.target() != Some(Rule::StaleRuns);
    Scenario {
        seed: run.seed,
        nodes,
        offices: vec![office("leader", true, true), office("vault", true, false), office("ledger", false, true)],
        arbiter,
        lease: nanoseconds(timing.lease),
        drift_ppm: timing.drift_ppm,
        bound: nanoseconds(bound(timing, count, arbiter)),
        restart: nanoseconds(RESTART_TIME),
        max_vacancy: nanoseconds(MAX_VACANCY),
        max_uncertainty: nanoseconds(MAX_UNCERTAINTY),
    }
}

/// How long after the last fault the right candidate must lead: the worst failover, then the time until the best
/// candidate may take over, and an orderly hand-over to it.
fn bound(timing: &Timing, nodes: usize, arbiter: bool) -> Duration {
    let kind = if arbiter { ArbiterKind::Raft } else { ArbiterKind::None };
    let paths = timing.explain(Mode::Exclusive, nodes, kind).paths;
    let worst = |loss| paths.iter().find(|path| path.loss == loss).map(|path| path.worst).unwrap_or_default();
    // Without an arbiter there is no hand-over: the elected node leads.
    let takeover = timing.settle * DAMPING + timing.hand_over + worst(HolderLoss::Graceful);
    worst(HolderLoss::Silent) + RESTART_TIME + if arbiter { takeover } else { Duration::ZERO }
}

/// The kinds of faults to inject.
fn kinds(run: &Run) -> Vec<FaultKind> {
    // Of two nodes, none can be removed while it is down.
    let possible = |kind: &FaultKind| {
        let has_device = *kind != FaultKind::DiskError || run.disks == DiskKind::Device;
        (!kind.loses_disk() || run.nodes > 2) && has_device
    };
    match run.target() {
        _ if run.faults.is_some() => run.faults.clone().unwrap_or_default(),
        None => FaultKind::ALL.into_iter().filter(possible).collect(),
        Some(Rule::DriftMargin) => vec![FaultKind::CutSilent],
        Some(Rule::DurableBeforeSend) => vec![FaultKind::KillAll, FaultKind::Blackout],
        Some(Rule::StaleRuns) => vec![FaultKind::Kill, FaultKind::Slow],
        // The clients themselves are the fault: they hang.
        Some(Rule::SessionPromise) => vec![FaultKind::Transfer, FaultKind::Resign],
    }
}

fn plan(run: &Run, scenario: &Scenario, timing: &Timing, kinds: Vec<FaultKind>) -> Plan {
    let in_milliseconds = |length: u64| length / 1_000_000;
    Plan {
        seed: run.seed,
        nodes: scenario.nodes.len(),
        offices: scenario.offices.len(),
        length: (run.minutes * 60_000.0) as u64,
        recovery: in_milliseconds(scenario.bound + nanoseconds(CHECKED)),
        lease: in_milliseconds(nanoseconds(timing.lease)),
        other_lease: in_milliseconds(nanoseconds(OTHER_LEASE)),
        kinds,
        aimed: run.target() == Some(Rule::DriftMargin),
        delayed_messages: run.target() == Some(Rule::StaleRuns) && run.faults.is_none(),
    }
}

/// A member of the cluster at the beginning.
pub(crate) struct Member {
    /// Its name.
    pub(crate) name: String,
    /// Its priority.
    pub(crate) priority: u32,
}

/// Creates the files of a cluster.
pub(crate) fn init(program: &Path, folder: &Path, members: &[Member], net: &Net) -> io::Result<()> {
    let mut command = Command::new(program);
    command.arg("init").arg(folder).args(["--cluster", "chaos"]);
    for (index, member) in members.iter().enumerate() {
        command.arg("--node").arg(format!("{}={},priority={}", member.name, net.address(index), member.priority));
    }
    run_command(&mut command)
}

/// Runs a command to its end; an error with its output if it fails.
pub(crate) fn run_command(command: &mut Command) -> io::Result<()> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("{command:?} failed with {}: {}", output.status, errors.trim())))
}

/// Fails if the program was built without the options that inject faults.
fn require_switches(program: &Path, config: &Path) -> io::Result<()> {
    let mut command = Command::new(program);
    command.args(["node", "--explain-timing", &format!("{}=0", switches::CLOCK_PPM), "--config"]).arg(config);
    match command.output()?.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!(
            "{} does not know {}: build it with `--features fault-injection`",
            program.display(),
            switches::CLOCK_PPM
        ))),
    }
}

/// Appends the offices to a configuration.
fn add_offices(config: &Path, offices: &[ScenarioOffice]) -> io::Result<()> {
    let mut text = fs::read_to_string(config)?;
    for office in offices {
        let mode = if office.exclusive { "exclusive" } else { "fenced" };
        let preempt = if office.preempts { "better" } else { "never" };
        text += &format!("\n[[office]]\nname = \"{}\"\nmode = \"{mode}\"\npreempt = \"{preempt}\"\n", office.name);
    }
    fs::write(config, text)
}

/// Appends the HTTP API to a configuration. Clients on the host may campaign there without a token.
pub(crate) fn add_api(config: &Path, address: SocketAddr) -> io::Result<()> {
    let text = fs::read_to_string(config)?;
    // No client is to wait because others ask often.
    let limits = "[http.limits]\nrequests-per-second = 10000";
    fs::write(config, format!("{text}\n[http]\nlisten = \"{address}\"\n\n{limits}\n"))
}

fn arguments(config: &Path, ppm: i32, breaks: Option<Rule>) -> Vec<String> {
    let mut arguments = vec!["node".to_string(), "--config".to_string(), config.display().to_string()];
    // With an equals sign, because the number may be negative.
    arguments.push(format!("{}={ppm}", switches::CLOCK_PPM));
    if let Some(rule) = breaks {
        arguments.extend([switches::BREAK.to_string(), rule.to_string()]);
    }
    arguments
}

fn environment(timing: &Timing, scenario: &Scenario, net: &Net, disks: &Disks, index: usize) -> Vec<(String, String)> {
    let variables = [
        ("HUSTINGS_LISTEN", net.listen(index).to_string()),
        ("HUSTINGS_DATA", disks.data(index).display().to_string()),
        ("HUSTINGS_ARBITER", if scenario.arbiter { "raft" } else { "none" }.to_string()),
        (LEASE_VARIABLE, milliseconds(timing.lease)),
        ("HUSTINGS_TIMING_SETTLE", milliseconds(timing.settle)),
        ("RUST_BACKTRACE", "1".to_string()),
    ];
    // Bully recovers from a stale message by itself; a ring algorithm believes one that went round.
    let ring = (!scenario.arbiter).then(|| ("HUSTINGS_ALGORITHM", "chang-roberts".to_string()));
    variables.into_iter().chain(ring).map(|(name, value)| (name.to_string(), value)).collect()
}

/// A duration as the configuration has it.
pub(crate) fn milliseconds(length: Duration) -> String {
    format!("{}ms", length.as_millis())
}

fn nanoseconds(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}
