//! The states of offices under faults: an acknowledged state survives, and nobody ever reads a mixture of two.

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

/// A state that a program is storing.
struct Storing {
    office: &'static str,
    token: u64,
    number: u64,
    /// The node, and in which start of its process.
    node: usize,
    process: u64,
    /// How many parts are not acknowledged. All but the last one are at once.
    parts_left: usize,
}

#[derive(Default)]
struct Programs {
    last_number: u64,
    storing: BTreeMap<ClientId, Storing>,
    /// Who is reading, and what was acknowledged when it began.
    reading: BTreeMap<ClientId, (&'static str, (u64, u64))>,
    /// The last state of each office that was acknowledged: its token and its number.
    acknowledged: BTreeMap<&'static str, (u64, u64)>,
    stored: usize,
    read: usize,
}

impl Programs {
    /// Every holder that is not storing a state begins to.
    fn store(&mut self, cluster: &mut SimCluster) {
        self.storing.retain(|_, storing| cluster.process_of(storing.node) == Some(storing.process));
        for (node, office) in (0..cluster.size()).flat_map(|node| OFFICES.map(|office| (node, office))) {
            let (Some(token), Some(process)) = (cluster.held_token(node, office), cluster.process_of(node)) else {
                continue;
            };
            if self.storing.values().any(|storing| (storing.office, storing.token) == (office, token)) {
                continue;
            }
            self.last_number += 1;
            let data = content(self.last_number);
            let parts = data.chunks(MAX_PUT_PART_BYTES).zip(0..).map(|(part, place)| Request::PutState {
                office: office.to_string(),
                token,
                bytes: data.len() as u64,
                offset: place * MAX_PUT_PART_BYTES as u64,
                data: Base64(part.to_vec().into()),
            });
            let parts: Vec<Request> = parts.collect();
            let (number, parts_left) = (self.last_number, parts.len());
            let client = cluster.request_state(node, parts);
            self.storing.insert(client, Storing { office, token, number, node, process, parts_left });
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

    fn handle_replies(&mut self, cluster: &mut SimCluster) {
        for (client, reply) in cluster.take_state_replies() {
            match reply {
                Reply::State { state, current } => {
                    let Some((office, floor)) = self.reading.remove(&client) else { continue };
                    let found = state.map(|part| match number_of(&part) {
                        Some(number) => (part.token, number),
                        None => panic!("seed {}: {office}: not one state as a whole: {part:?}", cluster.seed),
                    });
                    let found = found.unwrap_or_default();
                    assert!(!current || found >= floor, "seed {}: {office}: {found:?} < {floor:?}", cluster.seed);
                    self.read += usize::from(current && found > (0, 0));
                }
                Reply::Done => {
                    let Some(storing) = self.storing.get_mut(&client) else { continue };
                    storing.parts_left -= 1;
                    if storing.parts_left == 0 {
                        let last = self.acknowledged.entry(storing.office).or_default();
                        *last = (*last).max((storing.token, storing.number));
                        self.storing.remove(&client);
                        self.stored += 1;
                    }
                }
                Reply::Error(_) => _ = self.storing.remove(&client),
                other => panic!("seed {}: {other:?}", cluster.seed),
            }
        }
    }

    /// Lets time pass in small steps, in which programs store and read.
    fn run_ms(&mut self, cluster: &mut SimCluster, ms: u64) {
        for _ in 0..ms / 20 {
            self.store(cluster);
            self.read(cluster);
            cluster.run_ms(20);
            self.handle_replies(cluster);
        }
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
fn acknowledged_states_survive_faults_and_are_never_mixed() {
    let (mut stored, mut read, mut fetched) = (0, 0, 0);
    for seed in 0..12 {
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
        programs.handle_replies(&mut cluster);
        programs.reading.clear();
        programs.read(&mut cluster);
        let before = programs.read;
        cluster.run_ms(1_000);
        programs.handle_replies(&mut cluster);
        assert_eq!(programs.read - before, 6, "seed {seed}: every node shows both states");
        fetched += counted(&mut cluster, "blob-pieces-received");
        stored += programs.stored;
        read += programs.read;
    }
    // Otherwise the checks above have seen little.
    assert!(stored > 200 && read > 1_000 && fetched > 20, "{stored} stored, {read} read, {fetched} pieces fetched");
}
