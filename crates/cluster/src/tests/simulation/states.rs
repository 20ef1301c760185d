//! The states of offices under faults: an acknowledged state survives until it is replaced or deleted, a deleted one
//! does not come back, and nobody ever reads a mixture of two.

use std::collections::BTreeMap;

use crate::api::{Base64, MAX_PUT_PART_BYTES, Reply, Request, StatePart};
use crate::core::ClientId;
use crate::tests::cluster::SimCluster;
use crate::tests::faults::{FaultInjector, Options};

const OFFICES: [&str; 2] = ["job", "fast"];
/// Ten pieces and a bit.
const BYTES: usize = 165_000;

/// A state whose every eight bytes name it. Its size depends on its number.
fn content(number: u64) -> Vec<u8> {
    let size = BYTES - (number % 7) as usize * 20_000;
    number.to_le_bytes().iter().copied().cycle().take(size).collect()
}

/// The number of a state that was read, if it is one state as a whole.
fn number_of(part: &StatePart) -> Option<u64> {
    let number = u64::from_le_bytes(*part.data.0.first_chunk::<8>()?);
    (part.data.0 == content(number) && part.bytes == part.data.0.len() as u64).then_some(number)
}

/// A state that a program is storing or deleting.
struct Change {
    office: &'static str,
    token: u64,
    number: u64,
    /// The node, and in which start of its process.
    node: usize,
    process: u64,
    /// How many requests are not acknowledged. All but the last one are at once.
    requests_left: usize,
}

/// The deletion of a state that was not refused.
#[derive(Clone, Copy)]
struct Deletion {
    office: &'static str,
    token: u64,
    number: u64,
    /// Whether nobody knows what became of it. It may still take effect after later changes with the same token.
    is_uncertain: bool,
}

/// Programs that store, delete and read the states of offices.
#[derive(Default)]
pub(super) struct Programs {
    last_number: u64,
    changing: BTreeMap<ClientId, Change>,
    deletions: Vec<Deletion>,
    /// Who is reading, and what was acknowledged when it began.
    reading: BTreeMap<ClientId, (&'static str, (u64, u64))>,
    /// The last change of each office's state that was acknowledged: its token and its number.
    acknowledged: BTreeMap<&'static str, (u64, u64)>,
    stored: usize,
    deleted: usize,
    read: usize,
    /// How many confirmed reads found no state because it was deleted.
    read_deleted: usize,
}

/// Whether the change with this number deletes the state.
fn is_deletion(number: u64) -> bool {
    number % 4 == 3
}

/// Stores the state with this number, or deletes what is there.
fn requests(office: &str, token: u64, number: u64) -> Vec<Request> {
    let office = office.to_string();
    if is_deletion(number) {
        return vec![Request::DeleteState { office, token: Some(token) }];
    }
    let data = content(number);
    let parts = data.chunks(MAX_PUT_PART_BYTES).zip(0..).map(|(part, place)| Request::PutState {
        office: office.clone(),
        token,
        bytes: data.len() as u64,
        offset: place * MAX_PUT_PART_BYTES as u64,
        data: Base64(part.to_vec().into()),
    });
    parts.collect()
}

impl Programs {
    /// Every holder that is not changing its state begins to.
    pub(super) fn change(&mut self, cluster: &mut SimCluster) {
        self.changing.retain(|_, change| cluster.process_of(change.node) == Some(change.process));
        for (node, office) in (0..cluster.size()).flat_map(|node| OFFICES.map(|office| (node, office))) {
            let (Some(token), Some(process)) = (cluster.held_token(node, office), cluster.process_of(node)) else {
                continue;
            };
            if self.changing.values().any(|change| (change.office, change.token) == (office, token)) {
                continue;
            }
            self.last_number += 1;
            let number = self.last_number;
            let requests = requests(office, token, number);
            let requests_left = requests.len();
            if is_deletion(number) {
                self.deletions.push(Deletion { office, token, number, is_uncertain: false });
            }
            let client = cluster.request_state(node, requests);
            self.changing.insert(client, Change { office, token, number, node, process, requests_left });
        }
    }

    /// Programs on all nodes begin to read all states.
    fn read(&mut self, cluster: &mut SimCluster) {
        for (node, office) in (0..cluster.size()).flat_map(|node| OFFICES.map(|office| (node, office))) {
            let floor = self.acknowledged.get(office).copied().unwrap_or_default();
            let request = Request::GetState { office: office.to_string(), offset: 0 };
            let client = cluster.request_state(node, vec![request]);
            self.reading.insert(client, (office, floor));
        }
    }

    /// Whether an office may be without a state although this change was acknowledged.
    fn may_be_deleted(&self, office: &str, floor: (u64, u64)) -> bool {
        let deletions = self.deletions.iter().filter(|deletion| deletion.office == office);
        floor == (0, 0)
            || deletions.into_iter().any(|deletion| {
                (deletion.token, deletion.number) >= floor || (deletion.is_uncertain && deletion.token == floor.0)
            })
    }

    fn check_read(&mut self, office: &str, floor: (u64, u64), state: Option<&StatePart>, seed: u64) {
        let Some(part) = state else {
            assert!(self.may_be_deleted(office, floor), "seed {seed}: {office}: there is no state, but {floor:?} was");
            self.read_deleted += usize::from(floor > (0, 0));
            return;
        };
        let number = number_of(part);
        let number = number.unwrap_or_else(|| panic!("seed {seed}: {office}: not one state as a whole: {part:?}"));
        let found = (part.token, number);
        assert!(found >= floor, "seed {seed}: {office}: {found:?} < {floor:?}");
    }

    pub(super) fn handle_replies(&mut self, cluster: &mut SimCluster) {
        for (client, reply) in cluster.take_state_replies() {
            match reply {
                Reply::State { state } => {
                    let Some((office, floor)) = self.reading.remove(&client) else { continue };
                    self.check_read(office, floor, state.as_ref(), cluster.seed);
                    self.read += 1;
                }
                Reply::Done => {
                    let Some(change) = self.changing.get_mut(&client) else { continue };
                    change.requests_left -= 1;
                    if change.requests_left == 0 {
                        let last = self.acknowledged.entry(change.office).or_default();
                        *last = (*last).max((change.token, change.number));
                        self.stored += usize::from(!is_deletion(change.number));
                        self.deleted += usize::from(is_deletion(change.number));
                        self.changing.remove(&client);
                    }
                }
                Reply::Error(error) => self.handle_error(client, &error.code),
                other => panic!("seed {}: {other:?}", cluster.seed),
            }
        }
    }

    fn handle_error(&mut self, client: ClientId, code: &str) {
        self.reading.remove(&client);
        let Some(change) = self.changing.remove(&client) else { return };
        let is_refused = ["stale-token", "no-state"].contains(&code);
        self.deletions.retain(|deletion| deletion.number != change.number || !is_refused);
        let tried = self.deletions.iter_mut().filter(|deletion| deletion.number == change.number);
        tried.for_each(|deletion| deletion.is_uncertain = true);
    }

    /// Lets time pass in small steps, in which programs change states and read them.
    pub(super) fn run_ms(&mut self, cluster: &mut SimCluster, ms: u64) {
        for _ in 0..ms / 20 {
            self.change(cluster);
            self.read(cluster);
            cluster.run_ms(20);
            self.handle_replies(cluster);
        }
    }

    /// Checks that every node confirms all states, after a time without faults.
    pub(super) fn check_all(&mut self, cluster: &mut SimCluster) {
        self.handle_replies(cluster);
        self.reading.clear();
        self.read(cluster);
        let before = self.read;
        cluster.run_ms(1_000);
        self.handle_replies(cluster);
        assert_eq!(self.read - before, 2 * cluster.size(), "seed {}: every node confirms both states", cluster.seed);
    }
}

/// The counters of all nodes with this name, added up.
fn counted(cluster: &mut SimCluster, name: &str) -> u64 {
    (0..cluster.size()).for_each(|node| cluster.request(node, Request::Status));
    cluster.run_ms(500);
    let replies = cluster.take_operator_replies();
    let counters = replies.iter().flat_map(|reply| match reply {
        Reply::Status(status) => status.counters.as_slice(),
        _ => &[],
    });
    counters.filter(|(counter, _)| counter == name).map(|(_, count)| count).sum()
}

#[test]
fn acknowledged_states_and_deletions_survive_faults_and_states_are_never_mixed() {
    let (mut stored, mut deleted, mut read, mut read_deleted, mut fetched) = (0, 0, 0, 0, 0);
    for seed in 0..24 {
        let mut cluster = SimCluster::new(3, seed, Options { preempt: seed % 2 == 0, ..Options::default() });
        let (mut programs, mut faults) = (Programs::default(), FaultInjector::new(seed));
        cluster.run_ms(1_000);
        for _ in 0..60 {
            faults.run_ms_with_faults(&mut cluster, 1);
            programs.run_ms(&mut cluster, 100);
        }
        cluster.heal();
        cluster.run_ms(8_000);
        cluster.check_converged();
        programs.check_all(&mut cluster);
        fetched += counted(&mut cluster, "blob-pieces-received");
        stored += programs.stored;
        deleted += programs.deleted;
        read += programs.read;
        read_deleted += programs.read_deleted;
    }
    // Otherwise the checks above have seen little.
    assert!(stored > 200 && read > 1_000 && fetched > 4, "{stored} stored, {read} read, {fetched} pieces fetched");
    assert!(deleted > 50 && read_deleted > 100, "{deleted} deleted, {read_deleted} reads found nothing");
}
