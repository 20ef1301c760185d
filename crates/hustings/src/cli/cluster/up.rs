//! `hustings up`: a cluster of real nodes on this host, to watch it and to break it.

mod folder;
mod input;
mod page;
mod script;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use clap::Args;
use hustings_cluster::config::AlgorithmConfig;
use hustings_harness::Layout;
use hustings_harness::live::{Event, EventKind, Live, Observation, Order};
use serde_json::json;

use super::super::args::Format;
use super::super::console::{Console, Exit, Paint};
use super::super::failure::{Failure, warn};
use super::super::program::Algorithms;
use super::super::{lab, signals};
use super::bench::own_program;
use folder::Folder;
use page::Page;
use script::{Script, Step};

/// The largest cluster: every node is a process of this host.
const MAX_NODES: u32 = 15;
/// The smallest cluster that survives the loss of its leader.
const MIN_NODES_FOR_SCRIPT: u32 = 3;
/// How often processes and signals are checked.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  hustings up                                  five nodes and a page, until Ctrl-C; commands from the keyboard
  hustings up --script kill-leader --exit      one failover, with its time
  hustings up -n 3 --script cut-leader,revive --exit --format json
  hustings up --algorithm chang-roberts --dir trial

The nodes are real processes: this program as `hustings node`, on loopback addresses, with TLS and disks. Commands are
lines of standard input: `kill leader`, `freeze b`, `cut c`, `revive b`, `revive` (all), `quit`. The nodes end with this
command, even if it is killed; then only its folder in the temporary directory is left, and the next `hustings up` removes
it. Exit codes: 0 it was stopped, or --exit and every step of the script happened; 1 a step did not happen; 2 wrong use;
3 the nodes could not be started; 130 stopped before the script was over.")]
pub(crate) struct UpArgs {
    /// How many nodes.
    #[arg(short, long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_NODES)))]
    nodes: u32,
    /// The election algorithm; `hustings list` lists them.
    #[arg(long, value_name = "NAME", default_value = AlgorithmConfig::DEFAULT_NAME)]
    algorithm: String,
    /// A new or empty folder for the cluster, which is kept [default: a temporary one, which is removed].
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Does this, one step after the other, once the first leader leads.
    #[arg(long, value_name = "STEP,STEP", value_enum, value_delimiter = ',')]
    script: Vec<Step>,
    /// Exits after the script.
    #[arg(long, requires = "script")]
    exit: bool,
    /// Address at which the page is served; port 0 is a free one. Loopback only.
    #[arg(long, value_name = "ADDRESS", default_value_t = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0))]
    listen: SocketAddr,
    /// Opens the page in a browser.
    #[arg(long)]
    open: bool,
    /// Serves no page. With --exit there is none either.
    #[arg(long, conflicts_with_all = ["open", "listen"])]
    no_page: bool,
    /// Text, or one JSON object a line for every event.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What the main loop waits for.
enum Input {
    /// A node reported something.
    Observation(Observation),
    /// A line of standard input.
    Line(String),
    /// An order of the page, and where its outcome is awaited.
    Order(Order, Sender<Result<(), String>>),
    /// The end of standard input, if that is a terminal.
    End,
}

pub(crate) fn run(args: &UpArgs, known: &Algorithms, console: &mut Console<'_>) -> Result<Exit, Failure> {
    if !args.script.is_empty() && args.nodes < MIN_NODES_FOR_SCRIPT {
        let problem = format!("--script: {} nodes have no majority without their leader", args.nodes);
        return Err(Failure::Conflict { problem, help: format!("say --nodes {MIN_NODES_FOR_SCRIPT} or more") });
    }
    if !args.listen.ip().is_loopback() {
        let problem = format!("--listen {}: the page controls processes, so it listens on loopback only", args.listen);
        return Err(Failure::Conflict { problem, help: "say --listen 127.0.0.1:8080".to_string() });
    }
    let stop = signals::stop_flag().map_err(Failure::Signals)?;
    let folder = Folder::new(args.dir.as_deref())?;
    let (sender, inputs) = channel();
    let observer = sender.clone();
    let live = Live::start(&layout(args, known, &folder)?, move |observation| {
        observer.send(Input::Observation(observation)).is_ok()
    })?;
    let has_page = !args.no_page && !args.exit;
    let page = has_page.then(|| Page::serve(args.listen, &known.simulated, &live, sender.clone())).transpose()?;
    input::read_lines(sender);
    let mut session = Session { live, page, script: Script::new(&args.script, args.exit), format: args.format };
    session.introduce(&folder, console)?;
    let _file = session.page.as_ref().filter(|_| args.open).map(|page| lab::open_browser(&page.url));
    let ended = session.run(&inputs, &stop, console);
    // The nodes first: they write to the folder.
    drop(session);
    let kept = folder.close().map_err(Failure::Output)?;
    let exit = ended?;
    if args.format == Format::Text {
        let folder = kept.map_or_else(
            || "and removed their folder".to_string(),
            |folder| format!("and kept their folder {}", folder.display()),
        );
        writeln!(console.out, "stopped all nodes {folder}")?;
    }
    Ok(exit)
}

fn layout(args: &UpArgs, known: &Algorithms, folder: &Folder) -> Result<Layout, Failure> {
    let names = (b'a'..).take(args.nodes as usize).map(|letter| char::from(letter).to_string());
    let layout = Layout::new(own_program()?, args.nodes as usize, folder.path().to_path_buf());
    Ok(Layout {
        cluster: "up".to_string(),
        // The first is preferred.
        members: names.zip((1..=args.nodes).rev()).collect(),
        algorithm: known.clustered.choose(&args.algorithm, None),
        algorithms: known.clustered.clone(),
        proxied: true,
        ..layout
    })
}

/// A running cluster and whoever talks to it.
struct Session {
    live: Live,
    page: Option<Page>,
    script: Script,
    format: Format,
}

impl Session {
    fn introduce(&self, folder: &Folder, console: &mut Console<'_>) -> io::Result<()> {
        let cluster = self.live.cluster();
        let config = cluster.config(0);
        match self.format {
            Format::Json => {
                let folder = folder.path().to_string_lossy();
                writeln!(console.out, "{}", json!({ "event": "folder", "at_ms": 0.0, "folder": folder }))?;
                if let Some(Page { url, .. }) = &self.page {
                    writeln!(console.out, "{}", json!({ "event": "page", "at_ms": 0.0, "url": url }))?;
                }
            }
            Format::Text => {
                if let Some(page) = &self.page {
                    writeln!(console.out, "The page is at {}", Paint::Strong.on(&page.url, console.colour))?;
                }
                let hint = "`kill leader`, `freeze b`, `cut c`, `revive b`, `quit`";
                writeln!(console.out, "Type {hint}; Ctrl-C stops everything. From another terminal:")?;
                writeln!(console.out, "  hustings status --config {}\n", config.display())?;
            }
        }
        console.out.flush()
    }

    /// Tells the story until somebody stops it.
    fn run(&mut self, inputs: &Receiver<Input>, stop: &AtomicBool, console: &mut Console<'_>) -> Result<Exit, Failure> {
        loop {
            self.live.check_processes();
            if let Some(order) = self.script.next_order(self.live.story()) {
                self.obey(&order, console);
            }
            let events = self.live.take_events();
            if let Some(page) = self.page.as_mut().filter(|_| !events.is_empty()) {
                page.update(&events, &self.live);
            }
            for event in &events {
                self.script.handle(event);
                self.tell(event, console)?;
            }
            console.out.flush()?;
            if let Some(exit) = self.end(stop, console) {
                return Ok(exit);
            }
            match inputs.recv_timeout(POLL_INTERVAL) {
                Ok(Input::Observation(observation)) => self.live.handle(&observation),
                Ok(Input::Line(line)) if matches!(line.trim(), "quit" | "exit") => return Ok(Exit::Done),
                Ok(Input::Line(line)) => self.obey_line(line.trim(), console),
                Ok(Input::Order(order, reply)) => {
                    // A page that no longer waits is gone.
                    let _ = reply.send(self.live.act(&order).map_err(|error| error.to_string()));
                }
                Ok(Input::End) => return Ok(Exit::Done),
                // The watchers have a sender as long as the cluster lives.
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }

    /// Whether it is over, and how.
    fn end(&self, stop: &AtomicBool, console: &mut Console<'_>) -> Option<Exit> {
        if stop.load(Ordering::Relaxed) {
            return Some(if self.script.is_over() { Exit::Done } else { Exit::Stopped });
        }
        if self.live.story().is_over() {
            warn(console, &"every node has ended");
            return Some(Exit::CouldNot);
        }
        self.script.exit(console)
    }

    fn obey_line(&mut self, line: &str, console: &mut Console<'_>) {
        match line.parse::<Order>() {
            _ if line.is_empty() => {}
            Ok(order) => self.obey(&order, console),
            Err(error) => warn(console, &error),
        }
    }

    fn obey(&mut self, order: &Order, console: &mut Console<'_>) {
        if let Err(error) = self.live.act(order) {
            warn(console, &error);
        }
    }

    fn tell(&self, event: &Event, console: &mut Console<'_>) -> io::Result<()> {
        if self.format == Format::Json {
            return writeln!(console.out, "{}", event.to_json());
        }
        let text = event.kind.to_string();
        let text = match &event.kind {
            EventKind::Leads { .. } => Paint::Good.on(&format!("★ {text}"), console.colour),
            EventKind::Ended { .. } | EventKind::NoMajority { .. } => Paint::Bad.on(&text, console.colour),
            EventKind::Acted { .. } => Paint::Strong.on(&text, console.colour),
            _ => text,
        };
        writeln!(console.out, "{:>9.3} s  {text}", event.at.as_secs_f64())
    }
}
