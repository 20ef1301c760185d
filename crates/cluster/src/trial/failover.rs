//! From the end of a holder until the next one is told.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use super::processes::{Cluster, PATIENCE};
use super::{Spread, TrialError};
use crate::api::{Reply, Request};
use crate::clock::{Clock, Moment};

/// The office that is fought for.
const OFFICE: &str = "trial";

/// How a holder ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Its process is killed.
    Killed,
    /// Its process is stopped, as if the host hung.
    Frozen,
    /// It is asked to hand the office to another.
    HandsOver,
}

/// What was measured.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Failover {
    /// From just before the end until the next holder is told.
    pub told: Spread,
    /// How often the last deadline of the old one had passed before the next one was told.
    pub stopped_first: usize,
}

/// What a program on a node was told.
struct Word {
    node: usize,
    at: Moment,
    token: u64,
    /// Held or renewed until then; nothing if it is lost.
    until: Option<Moment>,
}

/// A program on each node that wants the office, and what they hear.
struct Crowd {
    words: Receiver<Word>,
    sender: Sender<Word>,
    /// The last deadline and token that each was told.
    last: Vec<(u64, Moment)>,
    holder: Option<usize>,
}

impl Crowd {
    fn new(size: usize) -> Self {
        let (sender, words) = channel();
        Crowd { words, sender, last: vec![(0, Moment::ZERO); size], holder: None }
    }

    /// A program on a node campaigns until its connection ends.
    fn join(&self, cluster: &Cluster, node: usize) -> Result<(), TrialError> {
        let mut client = cluster.client(node)?;
        let words = self.sender.clone();
        thread::spawn(move || {
            let request = Request::Campaign { office: OFFICE.to_string(), mode: None };
            if client.send(&request).is_err() {
                return;
            }
            while let Ok(reply) = client.next(None) {
                let at = Clock::new().now();
                let word = match reply {
                    Reply::Held(holding) => Word { node, at, token: holding.token, until: Some(holding.deadline) },
                    Reply::Renewed(holding) => Word { node, at, token: holding.token, until: Some(holding.deadline) },
                    Reply::Stop { office, token, .. } => {
                        if client.send(&Request::Stopped { office, token }).is_err() {
                            return;
                        }
                        Word { node, at, token, until: None }
                    }
                    Reply::Lost { token, .. } => Word { node, at, token, until: None },
                    _ => continue,
                };
                if words.send(word).is_err() {
                    return;
                }
            }
        });
        Ok(())
    }

    /// Listens until somebody holds the office with a greater token than this. Tells who, when, and until when whoever
    /// held it before may have acted.
    fn next_holder(&mut self, cluster: &Cluster, after: u64) -> Result<(usize, Moment, u64), TrialError> {
        loop {
            let word = self.words.recv_timeout(PATIENCE).map_err(|_| TrialError::Late {
                what: "nobody held the office".to_string(),
                seconds: PATIENCE.as_secs(),
                folder: cluster.folder().display().to_string(),
            })?;
            self.last[word.node] = (word.token, word.until.unwrap_or(word.at));
            if word.until.is_some() && word.token > after {
                self.holder = Some(word.node);
                return Ok((word.node, word.at, word.token));
            }
        }
    }
}

/// Ends the holder so often, and measures each time.
pub fn measure(
    cluster: &mut Cluster,
    end: End,
    times: usize,
    mut progress: impl FnMut(usize),
) -> Result<Failover, TrialError> {
    let mut crowd = Crowd::new(cluster.size());
    (0..cluster.size()).try_for_each(|node| crowd.join(cluster, node))?;
    let (mut holder, _, mut token) = crowd.next_holder(cluster, 0)?;
    let (mut told, mut stopped_first) = (Vec::new(), 0);
    for round in 0..times {
        cluster.wait_until_well()?;
        let mut began = Clock::new().now();
        // Kept until the office has moved: a program that hangs up wants no answer.
        let mut asking = None;
        match end {
            End::Killed => cluster.signal(holder, Signal::KILL)?,
            End::Frozen => cluster.signal(holder, Signal::STOP)?,
            End::HandsOver => {
                let next = (holder + 1) % cluster.size();
                let to = cluster.name(next).to_string();
                asking = Some(cluster.client(next)?);
                began = Clock::new().now();
                let request = Request::Transfer { office: OFFICE.to_string(), to };
                asking.as_mut().expect("it was just made").send(&request)?;
            }
        }
        let (next, at, next_token) = crowd.next_holder(cluster, token)?;
        told.push(at.since(began).as_nanos() as u64);
        stopped_first += usize::from(crowd.last[holder].1 <= at);
        match end {
            End::Killed => {
                cluster.reap(holder);
                cluster.revive(holder)?;
                crowd.join(cluster, holder)?;
            }
            End::Frozen => cluster.signal(holder, Signal::CONT)?,
            End::HandsOver => drop(asking),
        }
        (holder, token) = (next, next_token);
        progress(round + 1);
    }
    let told = Spread::of(told).ok_or_else(|| TrialError::Late {
        what: "nothing was measured".to_string(),
        seconds: 0,
        folder: cluster.folder().display().to_string(),
    })?;
    Ok(Failover { told, stopped_first })
}

/// For how long a trial waits between two measurements of what is idle.
pub(super) const SETTLED: Duration = Duration::from_secs(2);
