//! Runs an election and keeps what the page can show of it.
//!
//! The first [`MAX_EVENTS`] records are kept whole. What comes after them, and a network too large to draw node by
//! node, is kept as a density: arrivals by sector of the positions and by time.

use std::time::Instant;

use hustings_elections::Catalogue;
use hustings_protocol::{Effect, Event, Message, Record, TraceEvent};
use hustings_sim::erased::DynMessage;
use hustings_sim::outcome::Outcome;
use hustings_sim::trace::Observer;
use serde::Serialize;

use crate::error::LabError;
use crate::request::{self, Bounds, Request};
use crate::timeline::Timeline;

/// The number of records that the page can step through.
pub const MAX_EVENTS: usize = 20_000;
/// Above this number of nodes the page shows a density.
pub(crate) const MAX_DRAWN: u32 = 1_500;

/// A run, with everything that was kept of it.
#[derive(Debug)]
pub struct Finished {
    /// What was run.
    pub request: Request,
    /// The first records.
    pub records: Vec<Record<DynMessage>>,
    /// The number of all records.
    pub total: u64,
    /// The density, if the records are not all, or the network is large.
    pub density: Option<Density>,
    /// Why the run was stopped before its end.
    pub stopped: Option<String>,
    /// The result.
    pub outcome: Outcome,
}

/// Runs the election of a request's text.
pub fn run(text: &str, catalogue: &Catalogue, bounds: &Bounds) -> Result<Finished, LabError> {
    let request = request::parse(text, catalogue, bounds)?;
    let scenario = &request.built.scenario;
    let mut keeper = Keeper::new(scenario.network.size(), bounds);
    let outcome = request.election.observed(scenario, &mut keeper);
    if let Some(refusal) = outcome.refused.first() {
        return Err(request::refused(refusal));
    }
    let is_whole = keeper.total as usize == keeper.records.len();
    let density = (!is_whole || scenario.network.size() > MAX_DRAWN).then_some(keeper.density);
    let (records, total, stopped) = (keeper.records, keeper.total, keeper.stopped);
    Ok(Finished { records, total, density, stopped, outcome, request })
}

impl Finished {
    /// What the page shows.
    pub fn timeline(&self) -> Result<Timeline, LabError> {
        let Request { election, built } = &self.request;
        let mut timeline = Timeline::new(&**election, &built.scenario, &self.records)?;
        timeline.set_outcome(&**election, &built.scenario, &self.outcome);
        timeline.total = self.total;
        timeline.stopped.clone_from(&self.stopped);
        timeline.density.clone_from(&self.density);
        timeline.warnings = built.warnings.iter().map(ToString::to_string).collect();
        Ok(timeline)
    }
}

/// Keeps the first records, and the density of all.
struct Keeper {
    records: Vec<Record<DynMessage>>,
    total: u64,
    density: Density,
    max: u64,
    deadline: Instant,
    time: std::time::Duration,
    stopped: Option<String>,
}

impl Keeper {
    fn new(size: u32, bounds: &Bounds) -> Self {
        Keeper {
            records: Vec::new(),
            total: 0,
            density: Density::new(size),
            max: bounds.records,
            deadline: Instant::now() + bounds.time,
            time: bounds.time,
            stopped: None,
        }
    }
}

/// The clock is read once in so many records.
const RECORDS_PER_LOOK: u64 = 1024;

impl Observer<DynMessage> for Keeper {
    fn record(&mut self, record: &Record<DynMessage>) {
        self.total += 1;
        self.density.add(record);
        if self.records.len() < MAX_EVENTS {
            self.records.push(record.clone());
        }
        if self.total >= self.max {
            self.stopped = Some(format!("it was stopped after {} events", self.max));
        } else if self.total.is_multiple_of(RECORDS_PER_LOOK) && Instant::now() > self.deadline {
            self.stopped = Some(format!("it was stopped after {} s", self.time.as_secs()));
        }
    }

    fn is_satisfied(&self) -> bool {
        self.stopped.is_some()
    }
}

/// Arrivals by time and by sector of the positions.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Density {
    /// The number of positions.
    nodes: u32,
    /// The number of sectors, each of as many positions as the others but the last.
    sectors: u32,
    /// The number of ticks in a bin.
    ticks: u64,
    /// The arrivals in each bin, by sector.
    bins: Vec<Vec<u32>>,
    /// The arrivals in each bin, by kind.
    kinds: Vec<Vec<u32>>,
    /// When nodes began to lead: tick and position, the first [`MAX_LEADS`] of them.
    leads: Vec<(u64, u32)>,
    /// When nodes went down.
    crashes: Vec<(u64, u32)>,
}

const MAX_SECTORS: u32 = 120;
const MAX_BINS: usize = 240;
const MAX_LEADS: usize = 200;
const MAX_KINDS: usize = 16;

impl Density {
    fn new(nodes: u32) -> Self {
        Density {
            nodes,
            sectors: nodes.clamp(1, MAX_SECTORS),
            ticks: 1,
            bins: Vec::new(),
            kinds: Vec::new(),
            leads: Vec::new(),
            crashes: Vec::new(),
        }
    }

    fn add(&mut self, record: &Record<DynMessage>) {
        while record.tick / self.ticks >= MAX_BINS as u64 {
            self.halve();
        }
        let bin = (record.tick / self.ticks) as usize;
        if bin >= self.bins.len() {
            self.bins.resize(bin + 1, vec![0; self.sectors as usize]);
            self.kinds.resize(bin + 1, vec![0; MAX_KINDS]);
        }
        match &record.what {
            TraceEvent::Handled { event, effects, .. } => {
                if let Event::Message { message, .. } | Event::Direct { message, .. } = event {
                    let sector = u64::from(record.node) * u64::from(self.sectors) / u64::from(self.nodes.max(1));
                    let sector = (sector as usize).min(self.sectors as usize - 1);
                    self.bins[bin][sector] = self.bins[bin][sector].saturating_add(1);
                    let kind = message.kind().min(MAX_KINDS - 1);
                    self.kinds[bin][kind] = self.kinds[bin][kind].saturating_add(1);
                }
                if effects.contains(&Effect::Lead) && self.leads.len() < MAX_LEADS {
                    self.leads.push((record.tick, record.node));
                }
            }
            TraceEvent::Crashed | TraceEvent::Retired if self.crashes.len() < MAX_LEADS => {
                self.crashes.push((record.tick, record.node));
            }
            _ => {}
        }
    }

    /// Makes bins twice as long.
    fn halve(&mut self) {
        self.ticks *= 2;
        for rows in [&mut self.bins, &mut self.kinds] {
            let pairs = rows.chunks(2).map(|pair| {
                let second = pair.get(1);
                (0..pair[0].len()).map(|at| pair[0][at].saturating_add(second.map_or(0, |row| row[at]))).collect()
            });
            *rows = pairs.collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_run_is_kept_whole() {
        let finished = run("a=bully&n=5", &Catalogue::default(), &Bounds::OWN).expect("it runs");
        assert_eq!(finished.total as usize, finished.records.len());
        assert!(finished.density.is_none() && finished.stopped.is_none());
    }

    #[test]
    fn a_large_run_is_a_density_and_is_bounded() {
        let bounds = Bounds { records: 30_000, ..Bounds::OWN };
        let finished = run("a=chang-roberts&n=3000&ids=random", &Catalogue::default(), &bounds).expect("it runs");
        assert_eq!(finished.records.len(), MAX_EVENTS);
        assert!(finished.stopped.as_deref().is_some_and(|why| why.contains("30000")), "{:?}", finished.stopped);
        let density = finished.density.expect("it is large");
        let arrivals: u32 = density.bins.iter().flatten().sum();
        let kinds: u32 = density.kinds.iter().flatten().sum();
        assert_eq!(arrivals, kinds);
        assert!(arrivals > 20_000 && density.bins.len() <= MAX_BINS && density.bins[0].len() == 120);
    }

    #[test]
    fn refused_interventions_are_errors() {
        let refused = |text: &str| run(text, &Catalogue::default(), &Bounds::OWN).expect_err(text);
        let error = refused("a=bully&n=5&do=0:crash:2;1:crash:2");
        assert_eq!(error.field.as_deref(), Some("do"));
        assert!(error.message.starts_with("intervention 2 cannot be done: node 2 is down"), "{error}");
        assert!(refused("a=bully&n=5&do=100000:crash:2").message.contains("the run ends after"));
        assert!(refused("a=bully&n=5&do=3:drop:0.99").message.contains("not in flight"));
    }
}
