//! Programs that campaign on every node and count in the states of the offices that they hold.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hustings::cluster::api::{Client, ClientError, Reply, Request};
use hustings::cluster::clock::{Clock, Timestamp};

use crate::processes::TIMEOUT;

/// How long a program waits for something new before it looks whether it should end.
const POLL: Duration = Duration::from_millis(20);

/// What the programs of all nodes were told.
pub(super) struct Programs {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    offices: Vec<String>,
    record: Mutex<Record>,
    changed: Condvar,
    is_over: AtomicBool,
}

/// One office in the hands of one program.
#[derive(Debug)]
struct Tenure {
    node: usize,
    token: u64,
    from: Timestamp,
    /// Until when the program may act; it stops earlier if it is told to.
    deadline: Timestamp,
    /// When it stopped by itself.
    stopped: Option<Timestamp>,
}

impl Tenure {
    fn end(&self) -> Timestamp {
        self.stopped.map_or(self.deadline, |stopped| stopped.min(self.deadline))
    }
}

#[derive(Debug, Default)]
pub(super) struct Record {
    tenures: BTreeMap<String, Vec<Tenure>>,
    /// Writes that were confirmed, and those whose outcome is not known.
    writes: BTreeMap<String, (u64, u64)>,
    reconnections: usize,
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenures: usize = self.tenures.values().map(Vec::len).sum();
        let writes: u64 = self.writes.values().map(|(done, _)| done).sum();
        write!(
            f,
            "{tenures} tenures of {} offices, {writes} writes, {} reconnections",
            self.tenures.len(),
            self.reconnections
        )
    }
}

impl Record {
    /// Tokens that do not grow, and holders that overlap.
    pub(super) fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for (office, tenures) in &self.tenures {
            for pair in tenures.windows(2) {
                if pair[1].token <= pair[0].token || pair[1].from < pair[0].end() {
                    problems.push(format!("{office}: {pair:?}"));
                }
            }
        }
        problems
    }

    pub(super) fn writes(&self, office: &str) -> (u64, u64) {
        self.writes.get(office).copied().unwrap_or_default()
    }

    /// The longest time that an office had no holder between two that it had.
    pub(super) fn longest_gap(&self) -> Duration {
        let gap = |pair: &[Tenure]| pair[1].from.since(pair[0].end());
        self.tenures.values().flat_map(|tenures| tenures.windows(2).map(gap)).max().unwrap_or_default()
    }

    fn open(&mut self, office: &str, node: usize) -> Option<&mut Tenure> {
        let last = self.tenures.get_mut(office)?.last_mut()?;
        (last.node == node && last.stopped.is_none()).then_some(last)
    }

    fn stop(&mut self, office: &str, node: usize, at: Timestamp) {
        if let Some(tenure) = self.open(office, node) {
            tenure.stopped = Some(at);
        }
    }
}

/// The number in a state.
pub(super) fn count(data: &[u8]) -> u64 {
    std::str::from_utf8(data).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

impl Programs {
    /// On each node, one that campaigns for all offices, and one that counts while the first one holds them.
    pub(super) fn start(sockets: &[PathBuf], offices: &[&str]) -> Programs {
        let shared = Arc::new(Shared {
            offices: offices.iter().map(ToString::to_string).collect(),
            record: Mutex::default(),
            changed: Condvar::new(),
            is_over: AtomicBool::new(false),
        });
        let mut threads = Vec::new();
        for (node, socket) in sockets.iter().enumerate() {
            let (shared_with, socket_of) = (Arc::clone(&shared), socket.clone());
            threads.push(std::thread::spawn(move || shared_with.campaign(node, &socket_of)));
            let (shared_with, socket_of) = (Arc::clone(&shared), socket.clone());
            threads.push(std::thread::spawn(move || shared_with.write(node, &socket_of)));
        }
        Programs { shared, threads }
    }

    fn wait_until(&self, what: &str, mut is_so: impl FnMut(&Record) -> bool) {
        let since = Instant::now();
        let mut record = self.shared.record();
        while !is_so(&record) {
            assert!(since.elapsed() < TIMEOUT, "{what}: not in {TIMEOUT:?}; {record:#?}");
            record = self.shared.changed.wait_timeout(record, POLL).expect("no program panics").0;
        }
    }

    pub(super) fn wait_until_all_are_held(&self) {
        self.wait_until("every office has a holder", |record| {
            let now = Clock::new().now();
            let is_held = |office: &String| {
                let last = record.tenures.get(office).and_then(|tenures| tenures.last());
                last.is_some_and(|tenure| tenure.stopped.is_none() && tenure.deadline > now)
            };
            self.shared.offices.iter().all(is_held)
        });
    }

    /// Waits until the holder of each office has written again.
    pub(super) fn wait_for_writes(&self) {
        let before: Vec<u64> = self.shared.offices.iter().map(|office| self.shared.record().writes(office).0).collect();
        self.wait_until("every holder writes", |record| {
            let mut pairs = self.shared.offices.iter().zip(&before);
            pairs.all(|(office, before)| record.writes(office).0 > *before)
        });
    }

    /// Ends all programs. Returns what they were told.
    pub(super) fn stop(self) -> Record {
        self.shared.is_over.store(true, Ordering::SeqCst);
        self.threads.into_iter().for_each(|thread| thread.join().expect("no program panics"));
        std::mem::take(&mut *self.shared.record())
    }
}

impl Shared {
    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().expect("no program panics")
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    /// Campaigns for all offices, again and again: a node that is replaced closes the connection.
    fn campaign(&self, node: usize, socket: &Path) {
        while !self.is_over() {
            let Ok(mut client) = Client::connect(socket, POLL) else { continue };
            let sent = self.offices.iter().try_for_each(|office| {
                client.send(&Request::Campaign { office: office.clone(), mode: None, guard: None })
            });
            if sent.is_ok() {
                self.follow(node, &mut client);
            }
            let mut record = self.record();
            record.reconnections += 1;
            let now = Clock::new().now();
            self.offices.iter().for_each(|office| record.stop(office, node, now));
        }
    }

    /// Does what the node says, until the connection ends.
    fn follow(&self, node: usize, client: &mut Client) {
        let mut leases = BTreeMap::new();
        while !self.is_over() {
            let reply = match client.recv(Some(POLL)) {
                Ok(reply) => reply,
                Err(ClientError::Timeout { .. }) => continue,
                Err(_) => return,
            };
            let now = Clock::new().now();
            let mut record = self.record();
            match reply {
                Reply::Held(lease) => {
                    leases.insert(lease.office.clone(), lease.lease);
                    let (token, deadline) = (lease.token, lease.deadline);
                    let tenure = Tenure { node, token, from: now, deadline, stopped: None };
                    record.tenures.entry(lease.office).or_default().push(tenure);
                }
                Reply::Renewed { from } => {
                    for (office, lease) in &leases {
                        if let Some(tenure) = record.open(office, node) {
                            tenure.deadline = tenure.deadline.max(from + *lease);
                        }
                    }
                }
                Reply::Stop { office, token, .. } => {
                    leases.remove(&office);
                    record.stop(&office, node, now);
                    drop(record);
                    if client.send(&Request::Stopped { office, token }).is_err() {
                        return;
                    }
                }
                Reply::Lost { office, .. } => {
                    leases.remove(&office);
                    record.stop(&office, node, now);
                }
                _ => {}
            }
            self.changed.notify_all();
        }
    }

    /// Adds one to the state of each office that this node's program holds.
    fn write(&self, node: usize, socket: &Path) {
        while !self.is_over() {
            let Ok(mut client) = Client::connect(socket, POLL) else { continue };
            while !self.is_over() && self.write_all(node, &mut client).is_ok() {}
        }
    }

    fn write_all(&self, node: usize, client: &mut Client) -> Result<(), ClientError> {
        let held: Vec<(String, u64)> = {
            let mut record = self.record();
            let token = |office: &String| Some((office.clone(), record.open(office, node)?.token));
            self.offices.iter().filter_map(token).collect()
        };
        if held.is_empty() {
            // Wakes up when something changes.
            drop(self.changed.wait_timeout(self.record(), POLL));
        }
        for (office, token) in held {
            let state = match client.get_state(&office, TIMEOUT) {
                Ok(state) => state,
                Err(ClientError::Rejected(_)) => continue,
                Err(error) => return Err(error),
            };
            // Whoever holds the office now writes; one that was told to stop must not.
            let next = count(&state.map_or(Vec::new(), |state| state.data)) + 1;
            let written = client.put_state(&office, token, next.to_string().as_bytes(), TIMEOUT);
            let mut record = self.record();
            let writes = record.writes.entry(office).or_default();
            match written {
                Ok(()) => writes.0 += 1,
                Err(ClientError::Rejected(error)) if matches!(error.code.as_str(), "stale-token" | "not-held") => {}
                Err(error) => {
                    writes.1 += 1;
                    if !matches!(error, ClientError::Rejected(_)) {
                        return Err(error);
                    }
                }
            }
            self.changed.notify_all();
        }
        Ok(())
    }
}
