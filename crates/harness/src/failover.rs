//! From the end of a holder until the next one is told.

use rustix::process::Signal;

use super::crowd::{Crowd, Held, OFFICE};
use super::processes::Cluster;
use super::{Spread, TrialError};
use hustings_cluster::api::{Client, Request};
use hustings_cluster::clock::{Clock, Moment};

/// How a holder ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Its process is killed; its host ends its connections.
    Killed,
    /// It is asked to hand the office to another.
    HandsOver,
    /// Its process is stopped, as if it or its host hung.
    Frozen,
    /// Its host is cut off from all others. The programs on it still hear their node.
    CutOff,
    /// Its host is dead: it is cut off, and then killed, so that nobody sees its connections end.
    HostDead,
}

impl End {
    /// Whether links have to be cut for it, which needs a cluster that is [proxied](super::Layout::proxied).
    pub fn needs_proxy(self) -> bool {
        matches!(self, End::CutOff | End::HostDead)
    }
}

/// What was measured.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Failover {
    /// From just before the end until the next holder is told.
    pub told: Spread,
    /// How often the old one had stopped for certain before the next one was told: the last deadline that its program
    /// was told had passed; or it had said that it had stopped, if it handed the office over.
    pub stopped_first: usize,
    /// How often the old one's node led the arbiter as well, which then had to be elected anew before.
    pub led_arbiter: usize,
    /// How often the office had moved before its holder was ended. Those were not counted, and tried again.
    pub moved_by_itself: usize,
}

/// Ends the holder so often, and measures each time.
pub fn measure(
    cluster: &mut Cluster,
    end: End,
    times: usize,
    mut progress: impl FnMut(usize),
) -> Result<Failover, TrialError> {
    let mut crowd = Crowd::new(cluster)?;
    let (mut told, mut stopped_first, mut led_arbiter, mut moved_by_itself) = (Vec::new(), 0, 0, 0);
    let nothing = |what: &str| TrialError::Late {
        what: what.to_string(),
        seconds: 0,
        folder: cluster.folder().display().to_string(),
    };
    let (nothing_measured, too_restless) = (nothing("nothing was measured"), nothing("the office moved by itself"));
    while told.len() < times {
        cluster.wait_until_well()?;
        let old = crowd.holder(cluster)?;
        let leads = cluster.status(old.node)?.arbiter_leader.as_deref() == Some(cluster.name(old.node));
        let (began, asking) = begin(cluster, end, old)?;
        let next = crowd.next_holder(cluster, old.token)?;
        if end == End::Frozen {
            // It hears nothing, and so says nothing, before it goes on.
            cluster.signal(old.node, Signal::CONT)?;
        }
        let acts_until = crowd.end_of(cluster, old)?;
        drop(asking);
        match end {
            End::HandsOver | End::Frozen => {}
            End::CutOff => cluster.mend()?,
            End::Killed | End::HostDead => {
                cluster.reap(old.node);
                if end == End::HostDead {
                    cluster.mend()?;
                }
                cluster.revive(old.node)?;
                crowd.join(cluster, old.node)?;
            }
        }
        if next.at < began {
            moved_by_itself += 1;
            if moved_by_itself > times {
                return Err(too_restless);
            }
            continue;
        }
        told.push(next.at.since(began).as_nanos() as u64);
        stopped_first += usize::from(acts_until <= next.at);
        led_arbiter += usize::from(leads);
        progress(told.len());
    }
    let told = Spread::of(told).ok_or(nothing_measured)?;
    Ok(Failover { told, stopped_first, led_arbiter, moved_by_itself })
}

/// Ends the holder; the moment just before. Whoever asked it to hand over must be kept until it has: a program that
/// hangs up wants no answer.
fn begin(cluster: &Cluster, end: End, old: Held) -> Result<(Moment, Option<Client>), TrialError> {
    let next = (old.node + 1) % cluster.size();
    let mut asking = (end == End::HandsOver).then(|| cluster.client(next)).transpose()?;
    let began = Clock::new().now();
    match end {
        End::Killed => cluster.signal(old.node, Signal::KILL)?,
        End::Frozen => cluster.signal(old.node, Signal::STOP)?,
        End::CutOff => cluster.cut_off(old.node)?,
        End::HostDead => {
            cluster.cut_off(old.node)?;
            cluster.signal(old.node, Signal::KILL)?;
        }
        End::HandsOver => {
            let request = Request::Transfer { office: OFFICE.to_string(), to: cluster.name(next).to_string() };
            asking.as_mut().map_or(Ok(()), |asking| asking.send(&request))?;
        }
    }
    Ok((began, asking))
}
