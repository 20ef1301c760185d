//! All offices, followed with one watch.

use std::collections::BTreeMap;
use std::sync::Weak;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hustings_cluster::api::{Change, Client, ClientError, OfficeStatus, Reply, Request};
use hustings_cluster::clock::{Clock, Timestamp};
use serde_json::{Value, json};

use super::Monitor;

/// The office that every member campaigns for.
const LEADER: &str = "leader";
/// How many offices a page has.
const PAGE: usize = 50;
/// How long a watch waits for a change before it checks whether its node is still the right one to ask.
const PATIENCE: Duration = Duration::from_millis(250);
/// How long nothing may come from a node before it is asked something.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);
const REPLY_TIMEOUT: Duration = Duration::from_secs(2);

/// All offices, by name.
#[derive(Default)]
pub(super) struct Offices(BTreeMap<String, OfficeStatus>);

impl Offices {
    pub(super) fn leader(&self) -> Option<&OfficeStatus> {
        self.0.get(LEADER)
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    pub(super) fn held(&self) -> usize {
        self.0.values().filter(|office| office.holder.is_some()).count()
    }

    /// One page of those whose name or holder contains a text. A page beyond the last one is the last one.
    pub(super) fn page(&self, search: &str, page: usize) -> Value {
        let search = search.to_lowercase();
        let is_match = |office: &&OfficeStatus| {
            office.office.contains(&search) || office.holder.as_deref().is_some_and(|holder| holder.contains(&search))
        };
        let matches: Vec<&OfficeStatus> = self.0.values().filter(is_match).collect();
        let pages = matches.len().div_ceil(PAGE).max(1);
        let page = page.min(pages - 1);
        let shown: Vec<Value> = matches.iter().skip(page * PAGE).take(PAGE).map(|office| describe(office)).collect();
        json!({ "total": self.0.len(), "matches": matches.len(), "page": page, "pages": pages, "offices": shown })
    }
}

/// An office as the page shows it.
pub(super) fn describe(office: &OfficeStatus) -> Value {
    let mut value = json!(office);
    value["why"] = office.reason.to_string().into();
    value
}

/// Follows all offices, at whichever node is in touch with a majority, until the monitor is gone. While nobody looks,
/// the nodes are not asked which one that is; then they are tried one after the other.
pub(super) fn follow(monitor: &Weak<Monitor>) {
    let mut last = None;
    while let Some(strong) = monitor.upgrade() {
        let next = last.map_or(0, |last| last + 1) % strong.nodes.len().max(1);
        let node = strong.preferred().unwrap_or(next);
        let client = strong.nodes.get(node).map(|node| Client::connect(&node.socket, Duration::ZERO));
        drop(strong);
        if let Some(Ok(mut client)) = client
            && client.send(&Request::Watch { office: None }).is_ok()
        {
            watch(monitor, node, &mut client);
        }
        last = Some(node);
        thread::sleep(PATIENCE);
    }
}

/// Follows one node until it is no longer the right one.
fn watch(monitor: &Weak<Monitor>, node: usize, client: &mut Client) {
    let mut is_first = true;
    let (mut checked, mut heard, mut is_probed) = (Instant::now(), Instant::now(), false);
    loop {
        let reply = client.recv(Some(PATIENCE));
        let Some(monitor) = monitor.upgrade() else { return };
        match reply {
            Ok(Reply::Office(status)) => {
                if std::mem::take(&mut is_first) {
                    // What the former node said about offices that are gone must not stay.
                    monitor.known().offices.0.retain(|name, _| name == LEADER);
                }
                let is_cut_off = is_probed && !status.current && monitor.nodes.len() > 1;
                (heard, is_probed) = (Instant::now(), false);
                handle(&monitor, node, status);
                if is_cut_off {
                    return;
                }
            }
            Ok(_) | Err(ClientError::Timeout { .. }) => {}
            Err(_) => return,
        }
        // A watch reports changes only, so a node that is frozen looks like one where nothing happens.
        if heard.elapsed() >= PROBE_INTERVAL + REPLY_TIMEOUT {
            return;
        }
        if !is_probed && heard.elapsed() >= PROBE_INTERVAL {
            is_probed = true;
            if client.send(&Request::Leader { office: LEADER.to_string() }).is_err() {
                return;
            }
        }
        if checked.elapsed() >= PATIENCE {
            checked = Instant::now();
            if monitor.preferred().is_some_and(|preferred| preferred != node) && !is_answering(&monitor, node) {
                return;
            }
        }
    }
}

/// Whether a node answers and is in touch with a majority.
fn is_answering(monitor: &Monitor, node: usize) -> bool {
    monitor.known().answers[node].as_ref().is_some_and(|status| status.current)
}

fn handle(monitor: &Monitor, node: usize, status: OfficeStatus) {
    let is_leader = status.office == LEADER;
    let former = {
        let mut known = monitor.known();
        known.offices.0.insert(status.office.clone(), status.clone())
    };
    if is_leader && status.current {
        let is_new =
            former.as_ref().is_none_or(|former| former.token != status.token || former.holder != status.holder);
        let is_missing = is_new || monitor.known().history.is_empty();
        let noticed = noticed(&status, former.is_some());
        if is_missing && let Some(history) = history(monitor, node) {
            let mut known = monitor.known();
            known.history = history;
            known.leader_noticed = Some(noticed);
        }
    }
    monitor.notify();
}

/// When the leader changed, on the clock of this host: now, or, if it led when this program began to watch, at the time
/// that the arbiter's wall clock showed.
fn noticed(status: &OfficeStatus, is_watched: bool) -> Timestamp {
    let clock = Clock::new();
    let wall_time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let ago = wall_time.saturating_sub(Duration::from_millis(status.since_unix_ms));
    if is_watched { clock.now() } else { clock.now() - ago }
}

fn history(monitor: &Monitor, node: usize) -> Option<Vec<Change>> {
    let mut client = Client::connect(&monitor.nodes.get(node)?.socket, Duration::ZERO).ok()?;
    match client.call(&Request::History { office: Some(LEADER.to_string()) }, Some(REPLY_TIMEOUT)).ok()? {
        Reply::History { changes } => Some(changes),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use hustings_cluster::api::ChangeReason;
    use hustings_cluster::config::Mode;

    use super::*;

    fn office(name: String, holder: &str) -> OfficeStatus {
        OfficeStatus {
            office: name,
            mode: Mode::Exclusive,
            holder: Some(holder.to_string()),
            address: None,
            token: 7,
            since_unix_ms: 0,
            reason: ChangeReason::Vacant,
            current: true,
        }
    }

    #[test]
    fn ten_thousand_offices_are_searched_and_paged() {
        let all = (0..10_000).map(|n| office(format!("job-{n:05}"), if n % 4 == 0 { "anna" } else { "bert" }));
        let offices = Offices(all.map(|office| (office.office.clone(), office)).collect());
        let first = offices.page("", 0);
        assert_eq!((&first["total"], &first["pages"]), (&10_000.into(), &200.into()));
        assert_eq!(first["offices"].as_array().map(Vec::len), Some(50));
        assert_eq!(first["offices"][0]["office"], "job-00000");
        let one = offices.page("00042", 9);
        assert_eq!(
            (&one["matches"], &one["page"], &one["offices"][0]["office"]),
            (&1.into(), &0.into(), &"job-00042".into())
        );
        let by_holder = offices.page("ANNA", 1);
        assert_eq!((&by_holder["matches"], &by_holder["pages"]), (&2500.into(), &50.into()));
        assert_eq!(by_holder["offices"][0]["office"], "job-00200");
        assert_eq!(offices.page("nothing", 3)["pages"], 1);
    }
}
