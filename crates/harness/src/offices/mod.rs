//! What many offices cost: grants, an idle cluster that holds them, and the loss of a node that held a third of them.
//!
//! Programs campaign over the nodes' sockets, with many offices on few connections. Every wait is bounded: what is not
//! reached in time is reported as such.

mod campaigns;
mod tally;

use std::time::{Duration, Instant};

use hustings_cluster::clock::Clock;

use crate::cluster::{Cluster, Layout};
use crate::error::HarnessError;
use crate::idle::{Usage, cpu_time_of_all, usage_of_all};
use crate::percentiles::Percentiles;
use campaigns::Campaigns;

/// How long a cluster is left alone before its idle cost is measured.
const WARM_UP: Duration = Duration::from_secs(2);
/// How often it is checked whether all offices are granted.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The cost of granting a number of offices in a new cluster.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Grants {
    /// How many offices programs campaigned for.
    pub offices: usize,
    /// How many of them were held at the end.
    pub granted: usize,
    /// How long it took until all were held at the same time; `None` if that was not reached in time.
    pub seconds: Option<f64>,
    /// The CPU time of all nodes for each office that was held at the end, in milliseconds.
    pub cpu_ms_per_grant: Option<f64>,
    /// How often a program lost an office that nobody took from it.
    pub lapsed: usize,
}

/// What a cluster costs while nothing happens.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct IdleCost {
    /// How many offices were held.
    pub held: usize,
    /// The CPU time of all nodes together, as a share of one core, in per cent.
    pub cpu_percent: f64,
    /// What all nodes together send, with the headers of IP and TCP, in bytes a second.
    pub bytes_a_second: f64,
    /// How often a program lost an office that nobody took from it, since all were granted.
    pub lapsed: usize,
}

/// The loss of a node that held a third of the offices.
#[derive(Clone, PartialEq, Debug)]
pub struct Takeover {
    /// How many offices the node held.
    pub lost: usize,
    /// How many of them had another holder in time.
    pub taken_over: usize,
    /// The time from just before the node was killed until the next holder was told, for those that had one.
    pub latency: Option<Percentiles>,
    /// Whether the node led the arbiter as well.
    pub led_arbiter: bool,
    /// How often a program on another node lost an office that nobody took from it, and any program just before.
    pub lapsed: usize,
}

/// A cluster with programs that campaign for many offices.
pub struct ManyOffices {
    cluster: Cluster,
    campaigns: Campaigns,
    offices: usize,
    /// Whether programs on all nodes campaign for every office from the start.
    contested: bool,
    /// How long each step may take.
    patience: Duration,
}

impl ManyOffices {
    /// Starts a cluster. If `contested`, programs on all nodes campaign for every office from the start; otherwise each
    /// office has one candidate at first, and the candidates are spread over all nodes. Each step of the measurement
    /// may take as long as `patience`.
    pub fn start(layout: &Layout, contested: bool, patience: Duration) -> Result<Self, HarnessError> {
        let cluster = Cluster::start(layout)?;
        Ok(ManyOffices { campaigns: Campaigns::new(cluster.size()), cluster, offices: 0, contested, patience })
    }

    /// Campaigns for this many offices at once. Calls `progress` with the number of offices held.
    pub fn grant(&mut self, offices: usize, mut progress: impl FnMut(usize)) -> Result<Grants, HarnessError> {
        self.offices = offices;
        let (before, began) = (cpu_time_of_all(&self.cluster)?, Instant::now());
        let deadline = began + self.patience;
        for node in 0..self.cluster.size() {
            let first = if self.contested { (0..offices).collect() } else { self.offices_of(node) };
            self.campaigns.add(&self.cluster, node, &first)?;
        }
        let seconds = self.wait_until_held(deadline, offices, &mut progress).then(|| began.elapsed().as_secs_f64());
        let cpu = cpu_time_of_all(&self.cluster)?.saturating_sub(before);
        let tally = self.campaigns.tally();
        let granted = tally.held();
        Ok(Grants {
            offices,
            granted,
            seconds,
            cpu_ms_per_grant: (granted > 0).then(|| cpu.as_secs_f64() * 1000.0 / granted as f64),
            lapsed: tally.take_lapsed(),
        })
    }

    /// The offices for which a node's programs campaign alone at first, unless they are contested.
    fn offices_of(&self, node: usize) -> Vec<usize> {
        (node..self.offices).step_by(self.cluster.size()).collect()
    }

    /// Waits until this many offices are held. Returns false if that is not reached in time.
    fn wait_until_held(&mut self, deadline: Instant, count: usize, progress: &mut impl FnMut(usize)) -> bool {
        loop {
            self.campaigns.process_notices(POLL_INTERVAL);
            let held = self.campaigns.tally().held();
            progress(held);
            if held >= count {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
        }
    }

    /// Measures the cluster while nothing happens. `None` if a node does not answer.
    pub fn idle(&mut self, duration: Duration) -> Option<IdleCost> {
        self.rest(WARM_UP);
        let (began, before) = (Instant::now(), usage_of_all(&self.cluster).ok()?);
        self.rest(duration);
        let after = usage_of_all(&self.cluster).ok()?;
        let seconds = began.elapsed().as_secs_f64();
        let sum = |of: fn(&Usage) -> u64| {
            let total = |all: &[Usage]| all.iter().map(of).sum::<u64>();
            total(&after).saturating_sub(total(&before)) as f64
        };
        let tally = self.campaigns.tally();
        Some(IdleCost {
            held: tally.held(),
            cpu_percent: 100.0 * sum(|usage| usage.cpu_ticks) / ticks_a_second() / seconds,
            bytes_a_second: sum(|usage| usage.wire_bytes) / seconds,
            lapsed: tally.take_lapsed(),
        })
    }

    /// Handles notices for a while.
    fn rest(&mut self, duration: Duration) {
        let until = Instant::now() + duration;
        while Instant::now() < until {
            self.campaigns.process_notices(POLL_INTERVAL.min(until.saturating_duration_since(Instant::now())));
        }
    }

    /// Makes the programs of every node campaign for all offices, so that each office has a successor, and kills a
    /// node: usually one that does not lead the arbiter. Calls `progress` with the number of offices taken over.
    pub fn kill_node(&mut self, mut progress: impl FnMut(usize)) -> Result<Takeover, HarnessError> {
        let deadline = Instant::now() + self.patience;
        for node in (0..self.cluster.size()).filter(|_| !self.contested) {
            let own = self.offices_of(node);
            let others: Vec<usize> = (0..self.offices).filter(|office| own.binary_search(office).is_err()).collect();
            self.campaigns.add(&self.cluster, node, &others)?;
        }
        self.campaigns.wait_until_accepted(deadline);
        self.rest(WARM_UP);
        let leader = self.cluster.status(0).ok().and_then(|status| status.arbiter_leader);
        let leader = leader.and_then(|name| self.cluster.index_of(&name));
        self.campaigns.process_notices(Duration::ZERO);
        let victim = self.campaigns.tally().node_to_kill(self.cluster.size(), leader);
        let began = Clock::new().now();
        self.cluster.kill_node(victim);
        let lost = self.campaigns.tally().lose_node(victim, began);
        let deadline = Instant::now() + self.patience;
        while self.campaigns.tally().taken_over() < lost && Instant::now() < deadline {
            self.campaigns.process_notices(POLL_INTERVAL);
            progress(self.campaigns.tally().taken_over());
        }
        let tally = self.campaigns.tally();
        Ok(Takeover {
            lost,
            taken_over: tally.taken_over(),
            latency: Percentiles::of(tally.takeover_times()),
            led_arbiter: Some(victim) == leader,
            lapsed: tally.take_lapsed(),
        })
    }
}

fn ticks_a_second() -> f64 {
    rustix::param::clock_ticks_per_second() as f64
}
