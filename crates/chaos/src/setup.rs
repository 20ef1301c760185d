//! A cluster that is ready to be started, and what is known about it beforehand.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use hustings_cluster::config::{ArbiterKind, Mode};
use hustings_cluster::timing::{Loss, Timing};
use hustings_testkit::switches::{self, Rule};

use crate::disk::Disks;
use crate::history::{Facts, NodeFacts, OfficeFacts};
use crate::net::{Namespaces, Net, Proxy};
use crate::nodes::{Launcher, Nodes, Spec};
use crate::options::{Network, Run};
use crate::rng::Rng;
use crate::schedule::{Kind, Plan};

/// What starting processes, shaking hands and catching up may take, on a machine that does other things as well.
const RECOVERY: Duration = Duration::from_secs(2);
/// How long somebody better must have been up to take over. Short, because one who came and went often must wait up to
/// [`DAMPING`] times that, and here everybody comes and goes.
const SETTLE: Duration = Duration::from_millis(20);
const DAMPING: u32 = 64;
/// For how long a calm is judged.
const JUDGED: Duration = Duration::from_secs(2);

/// A cluster that is ready to be started.
pub(crate) struct Cluster {
    /// What the judge must know.
    pub(crate) facts: Facts,
    /// What the schedule is made for.
    pub(crate) plan: Plan,
    /// The processes; none runs yet. First, so that they are gone before their network and disks are.
    pub(crate) nodes: Nodes,
    /// The network between them.
    pub(crate) net: Net,
    /// Their disks.
    pub(crate) disks: Disks,
    /// The sockets for clients, one a node.
    pub(crate) sockets: Vec<PathBuf>,
    /// The `hustings` program.
    pub(crate) program: PathBuf,
    /// The folder of the cluster's authority.
    pub(crate) authority: PathBuf,
    /// Whether clients resign and leave all the time, so that tokens are given all the time.
    pub(crate) restless: bool,
}

impl Cluster {
    /// Makes one in a folder.
    pub(crate) fn new(run: &Run, folder: &Path) -> io::Result<Self> {
        let program = program(run)?;
        let timing = timing(run.target());
        let facts = facts(run, &timing);
        let net = network(run.network, facts.nodes.len())?;
        let names: Vec<String> = facts.nodes.iter().map(|node| node.name.clone()).collect();
        let disks = Disks::new(&folder.join("disks"), &names)?;
        let authority = folder.join("cluster");
        init(&program, &authority, &facts, &net)?;
        require_switches(&program, &authority.join(&names[0]).join("hustings.toml"))?;
        let logs = folder.join("logs");
        fs::create_dir_all(&logs)?;
        let mut specs = Vec::new();
        for (index, node) in facts.nodes.iter().enumerate() {
            let config = authority.join(&node.name).join("hustings.toml");
            add_offices(&config, &facts.offices)?;
            specs.push(Spec {
                name: node.name.clone(),
                arguments: arguments(&config, node.ppm, run.breaks),
                environment: environment(&timing, &facts, &net, &disks, index),
                namespace: net.namespace(index),
                log: logs.join(format!("{}.log", node.name)),
            });
        }
        let launcher = Launcher { program: program.clone(), harness: Some(std::env::current_exe()?) };
        let sockets = names.iter().map(|name| authority.join(name).join("hustings.sock")).collect();
        let plan = plan(run, &facts, &timing);
        let restless = run.target() == Some(Rule::DurableBeforeSend);
        Ok(Cluster {
            restless,
            plan,
            nodes: Nodes::new(launcher, specs),
            net,
            disks,
            sockets,
            program,
            authority,
            facts,
        })
    }
}

/// The program to test.
fn program(run: &Run) -> io::Result<PathBuf> {
    let path = match &run.hustings {
        Some(path) => path.clone(),
        None => std::env::current_exe()?.with_file_name("hustings"),
    };
    fs::canonicalize(&path).map_err(|error| {
        let what = format!("{}: {error}; build it, or name another with --hustings", path.display());
        io::Error::new(error.kind(), what)
    })
}

fn network(network: Network, nodes: usize) -> io::Result<Net> {
    let proxy = || Proxy::new(nodes).map(Net::Proxy);
    match network {
        Network::Proxy => proxy(),
        Network::Namespaces => Namespaces::new(nodes).map(Net::Namespaces),
        Network::Auto => Namespaces::new(nodes).map(Net::Namespaces).or_else(|_| proxy()),
    }
}

/// The usual times; long leases where it is about what clocks lose during one. That must be more than what a holder
/// gives away all the same: two heartbeats until its renewal is confirmed, and the time to stop.
fn timing(target: Option<Rule>) -> Timing {
    let usual = Timing { settle: SETTLE, ..Timing::default() };
    match target {
        Some(Rule::DriftMargin) => Timing { lease: Duration::from_secs(10), ..usual },
        _ => usual,
    }
}

fn facts(run: &Run, timing: &Timing) -> Facts {
    let mut rng = Rng::of(run.seed, 2);
    let count = usize::from(run.nodes);
    let mut priorities: Vec<u32> = (1..=u32::from(run.nodes)).collect();
    rng.shuffle(&mut priorities);
    // Every clock is as wrong as it may be, and a little less.
    let most = (timing.drift_ppm / 10 * 9).cast_signed();
    let wrong = |index: usize, rng: &mut Rng| match run.target() {
        Some(Rule::DriftMargin) if priorities[index] == u32::from(run.nodes) => -most,
        Some(Rule::DriftMargin) => most,
        _ => rng.from(0, 2 * u64::from(most.unsigned_abs())) as i32 - most,
    };
    let nodes = (0..count)
        .map(|index| NodeFacts {
            name: format!("n{}", index + 1),
            priority: priorities[index],
            ppm: wrong(index, &mut rng),
        })
        .collect();
    let office = |name: &str, exclusive, better| OfficeFacts { name: name.to_string(), exclusive, better };
    let arbiter = run.target() != Some(Rule::StaleRuns);
    Facts {
        seed: run.seed,
        nodes,
        offices: vec![office("leader", true, true), office("vault", true, false), office("ledger", false, true)],
        arbiter,
        lease: nanoseconds(timing.lease),
        drift_ppm: timing.drift_ppm,
        bound: nanoseconds(bound(timing, count, arbiter)),
    }
}

/// How long after the last fault the right one must lead: the worst failover, then the best one has been up for long
/// enough and takes over in good order.
fn bound(timing: &Timing, nodes: usize, arbiter: bool) -> Duration {
    let kind = if arbiter { ArbiterKind::Raft } else { ArbiterKind::None };
    let ways = timing.explain(Mode::Exclusive, nodes, kind).ways;
    let worst = |loss| ways.iter().find(|way| way.loss == loss).map(|way| way.worst()).unwrap_or_default();
    // Without an arbiter nothing is handed over: whoever is elected leads.
    let better = timing.settle * DAMPING + timing.hand_over + worst(Loss::Graceful);
    worst(Loss::Silent) + RECOVERY + if arbiter { better } else { Duration::ZERO }
}

fn plan(run: &Run, facts: &Facts, timing: &Timing) -> Plan {
    // Of two, none can be removed when it is down.
    let possible = |kind: &Kind| *kind != Kind::Wipe || facts.nodes.len() > 2;
    let kinds = match run.target() {
        _ if run.faults.is_some() => run.faults.clone().unwrap_or_default(),
        None => Kind::ALL.into_iter().filter(possible).collect(),
        Some(Rule::DriftMargin) => vec![Kind::CutSilent],
        Some(Rule::DurableBeforeSend) => vec![Kind::KillAll, Kind::Blackout],
        Some(Rule::StaleRuns) => vec![Kind::Kill, Kind::Slow],
    };
    let milliseconds = |length: u64| length / 1_000_000;
    Plan {
        seed: run.seed,
        nodes: facts.nodes.len(),
        offices: facts.offices.len(),
        length: (run.minutes * 60_000.0) as u64,
        calm: milliseconds(facts.bound + nanoseconds(JUDGED)),
        lease: milliseconds(nanoseconds(timing.lease)),
        kinds,
        aimed: run.target() == Some(Rule::DriftMargin),
        late_mail: run.target() == Some(Rule::StaleRuns) && run.faults.is_none(),
    }
}

fn init(program: &Path, folder: &Path, facts: &Facts, net: &Net) -> io::Result<()> {
    let mut command = Command::new(program);
    command.arg("init").arg(folder).args(["--cluster", "chaos"]);
    for (index, node) in facts.nodes.iter().enumerate() {
        command.arg("--node").arg(format!("{}={},priority={}", node.name, net.address(index), node.priority));
    }
    finished(&mut command)
}

/// Runs a program to its end; what it said if it failed.
pub(crate) fn finished(command: &mut Command) -> io::Result<()> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("{command:?} failed with {}: {}", output.status, said.trim())))
}

/// Fails if the program was built without the options that inject faults.
fn require_switches(program: &Path, config: &Path) -> io::Result<()> {
    let mut command = Command::new(program);
    command.args(["node", "--explain-timing", &format!("{}=0", switches::CLOCK_PPM), "--config"]).arg(config);
    match command.output()?.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!(
            "{} does not know {}: build it with `--features hustings/fault-injection`",
            program.display(),
            switches::CLOCK_PPM
        ))),
    }
}

/// What holds for the offices, at the end of a configuration.
pub(crate) fn add_offices(config: &Path, offices: &[OfficeFacts]) -> io::Result<()> {
    let mut text = fs::read_to_string(config)?;
    for office in offices {
        let mode = if office.exclusive { "exclusive" } else { "fenced" };
        let preempt = if office.better { "better" } else { "never" };
        text += &format!("\n[[office]]\nname = \"{}\"\nmode = \"{mode}\"\npreempt = \"{preempt}\"\n", office.name);
    }
    fs::write(config, text)
}

fn arguments(config: &Path, ppm: i32, breaks: Option<Rule>) -> Vec<String> {
    let mut arguments = vec!["node".to_string(), "--config".to_string(), config.display().to_string()];
    // With an equals sign, because the number may be below zero.
    arguments.push(format!("{}={ppm}", switches::CLOCK_PPM));
    if let Some(rule) = breaks {
        arguments.extend([switches::BREAK.to_string(), rule.name().to_string()]);
    }
    arguments
}

fn environment(timing: &Timing, facts: &Facts, net: &Net, disks: &Disks, index: usize) -> Vec<(String, String)> {
    let milliseconds = |length: Duration| format!("{}ms", length.as_millis());
    let variables = [
        ("HUSTINGS_LISTEN", net.listen(index).to_string()),
        ("HUSTINGS_DATA", disks.data(index).display().to_string()),
        ("HUSTINGS_ARBITER", if facts.arbiter { "raft" } else { "none" }.to_string()),
        ("HUSTINGS_TIMING_LEASE", milliseconds(timing.lease)),
        ("HUSTINGS_TIMING_SETTLE", milliseconds(timing.settle)),
        ("RUST_BACKTRACE", "1".to_string()),
    ];
    // Bully gets over an old message by itself; an old word that went round a ring is believed.
    let ring = (!facts.arbiter).then(|| ("HUSTINGS_ALGORITHM", "chang-roberts".to_string()));
    variables.into_iter().chain(ring).map(|(name, value)| (name.to_string(), value)).collect()
}

fn nanoseconds(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}
