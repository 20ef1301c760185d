//! A cluster that somebody watches and disturbs: `hustings up`.
//!
//! [`Live`] starts the processes, carries out orders such as `kill leader`, and turns what it did and what the nodes
//! report into a [story](Event): who leads, with which token and why, and how long a failover took.

mod event;
mod order;
mod story;
mod watchers;

use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

use hustings_cluster::clock::Clock;
use rustix::process::Signal;

pub use event::{Event, EventKind, Failover};
pub use order::{Action, Order, OrderError, ParseOrderError, Target};
pub use story::{Condition, Story};
pub use watchers::{Observation, ObservationKind};

use crate::cluster::{Cluster, Layout};
use crate::error::HarnessError;

/// A running cluster and its story.
pub struct Live {
    cluster: Cluster,
    story: Story,
}

impl Live {
    /// Starts a cluster. What its nodes report from now on is given to `observe`, from other threads, until that
    /// returns false; pass it on to [`Live::handle`].
    pub fn start(
        layout: &Layout,
        observe: impl Fn(Observation) -> bool + Clone + Send + 'static,
    ) -> Result<Live, HarnessError> {
        let began = Clock::new().now();
        let cluster = Cluster::launch(layout)?;
        for node in 0..cluster.size() {
            watchers::watch(node, cluster.socket(node), observe.clone());
        }
        let names = (0..cluster.size()).map(|node| cluster.name(node).to_string()).collect();
        let mut story = Story::new(names, began);
        story.handle_started(&(0..cluster.size()).map(|node| pid(&cluster, node)).collect::<Vec<_>>());
        Ok(Live { cluster, story })
    }

    /// The cluster.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The story so far.
    pub fn story(&self) -> &Story {
        &self.story
    }

    /// What happened since the last call.
    pub fn take_events(&mut self) -> Vec<Event> {
        self.story.take_events()
    }

    /// Handles what a node reported.
    pub fn handle(&mut self, observation: &Observation) {
        match &observation.kind {
            ObservationKind::Office(status) => self.story.handle_office(observation.node, status, observation.at),
            ObservationKind::Disconnected => self.story.handle_disconnected(observation.node, observation.at),
        }
    }

    /// Notices nodes that have ended by themselves.
    pub fn check_processes(&mut self) {
        for (node, status) in self.cluster.take_ended() {
            let why = match last_line(&self.cluster.log(node)) {
                Some(line) => format!("{}; its log ends with: {line}", describe(status)),
                None => describe(status),
            };
            self.story.handle_ended(node, why, Clock::new().now());
        }
    }

    /// Carries out an order. Call it from the thread that started the cluster: nodes end with the thread that started
    /// them.
    pub fn act(&mut self, order: &Order) -> Result<(), OrderError> {
        for node in self.story.targets(order)? {
            let at = Clock::new().now();
            match order.action {
                Action::Kill => self.cluster.signal(node, Signal::KILL)?,
                Action::Freeze => self.cluster.signal(node, Signal::STOP)?,
                Action::Cut => self.cluster.isolate(node)?,
                Action::Revive => self.revive(node)?,
            }
            self.story.handle_action(node, order.action, pid(&self.cluster, node), at);
            if order.action == Action::Kill {
                // It has its signal already; this waits for its end.
                self.cluster.kill_node(node);
            }
        }
        Ok(())
    }

    /// Undoes whatever was done to a node.
    fn revive(&mut self, node: usize) -> Result<(), HarnessError> {
        if self.cluster.is_isolated(node) {
            self.cluster.reconnect(node)?;
        }
        match self.cluster.pid(node) {
            Some(_) => self.cluster.signal(node, Signal::CONT),
            None => self.cluster.start_node(node),
        }
    }
}

fn pid(cluster: &Cluster, node: usize) -> i32 {
    cluster.pid(node).map_or(0, |pid| pid.as_raw_nonzero().get())
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("with exit code {code}"),
        (None, Some(signal)) => format!("by signal {signal}"),
        (None, None) => "in an unknown way".to_string(),
    }
}

/// The last line of a file that is not empty, if it is among the last 4 KiB.
fn last_line(path: &Path) -> Option<String> {
    let mut file = std::fs::File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(4096))).ok()?;
    let mut end = Vec::new();
    file.take(4096).read_to_end(&mut end).ok()?;
    let text = String::from_utf8_lossy(&end);
    text.lines().rev().find(|line| !line.trim().is_empty()).map(|line| line.trim().to_string())
}
