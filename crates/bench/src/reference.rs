//! Hand-written reference loops over flat arrays, one for each workload of the benchmark. They know nothing of
//! protocols, ports or traces. The benchmark compares the engine's speed with theirs, in the same process.

use hustings_protocol::Id;
use hustings_sim::topology::Graph;

/// Chang–Roberts on a ring where all nodes start, including the announcement.
#[derive(Debug)]
pub struct ChangRoberts {
    at: Vec<u32>,
    candidate: Vec<Id>,
}

/// What a reference loop counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counted {
    /// The number of messages.
    pub messages: u64,
    /// The last tick with a delivery.
    pub quiescent: u64,
}

impl ChangRoberts {
    /// Buffers for a ring of this size, touched.
    pub fn new(size: usize) -> Self {
        let mut buffers = ChangRoberts { at: vec![1; size], candidate: vec![Id(1); size] };
        buffers.at.fill(0);
        buffers.candidate.fill(Id(0));
        buffers
    }

    /// Runs one election. All `ids` are different.
    pub fn run(&mut self, ids: &[Id]) -> Counted {
        let size = ids.len() as u32;
        for (place, &id) in ids.iter().enumerate() {
            self.at[place] = place as u32;
            self.candidate[place] = id;
        }
        let (mut left, mut messages, mut tick) = (ids.len(), 0u64, 0u64);
        let winner = 'election: loop {
            tick += 1;
            messages += left as u64;
            let mut kept = 0;
            for place in 0..left {
                let next = self.at[place] + 1;
                let at = if next == size { 0 } else { next };
                let (candidate, id) = (self.candidate[place], ids[at as usize]);
                if candidate >= id {
                    if candidate == id {
                        break 'election at;
                    }
                    self.at[kept] = at;
                    self.candidate[kept] = candidate;
                    kept += 1;
                }
            }
            left = kept;
        };
        let mut at = winner;
        loop {
            tick += 1;
            messages += 1;
            at = if at + 1 == size { 0 } else { at + 1 };
            if at == winner {
                return Counted { messages, quiescent: tick };
            }
        }
    }
}

/// The neighbours of a position.
fn links(graph: &Graph, at: u32) -> &[u32] {
    &graph.slots()[graph.first()[at as usize] as usize..graph.first()[at as usize + 1] as usize]
}

/// The echo wave from one position.
#[derive(Debug)]
pub struct Echo {
    heard: Vec<u32>,
    parent: Vec<u32>,
    /// Receiver and sender of the messages of this tick, and of the next one.
    now: Vec<(u32, u32)>,
    next: Vec<(u32, u32)>,
}

impl Echo {
    /// Buffers for this graph, touched.
    pub fn new(graph: &Graph) -> Self {
        // Every link carries one message in each direction, at most all at once. The spare slot takes values that are
        // not kept.
        let (size, most) = (graph.first().len() - 1, graph.slots().len() + 1);
        Echo { heard: vec![1; size], parent: vec![1; size], now: vec![(1, 1); most], next: vec![(1, 1); most] }
    }

    /// Runs one wave.
    pub fn run(&mut self, graph: &Graph, initiator: u32) -> Counted {
        const NONE: u32 = u32::MAX;
        let (first, neighbours) = (graph.first(), graph.slots());
        self.heard.fill(0);
        self.parent.fill(NONE);
        self.parent[initiator as usize] = initiator;
        let mut length = 0;
        for &to in links(graph, initiator) {
            self.now[length] = (to, initiator);
            length += 1;
        }
        let (mut messages, mut tick) = (0u64, 0u64);
        while length > 0 {
            tick += 1;
            messages += length as u64;
            let mut kept = 0;
            for &(at, from) in &self.now[..length] {
                let (begin, end) = (first[at as usize], first[at as usize + 1]);
                let heard = self.heard[at as usize] + 1;
                self.heard[at as usize] = heard;
                if self.parent[at as usize] == NONE {
                    self.parent[at as usize] = from;
                    for &to in &neighbours[begin as usize..end as usize] {
                        self.next[kept] = (to, at);
                        kept += usize::from(to != from);
                    }
                }
                if heard == end - begin && at != initiator {
                    self.next[kept] = (self.parent[at as usize], at);
                    kept += 1;
                }
            }
            length = kept;
            std::mem::swap(&mut self.now, &mut self.next);
        }
        Counted { messages, quiescent: tick }
    }
}

/// AEFA from one source: a wave that collects the greatest id, and one from the winner.
#[derive(Debug)]
pub struct Aefa {
    parent: Vec<u32>,
    awaited: Vec<u32>,
    greatest: Vec<Id>,
    /// Receiver, sender (marked if it answers) and the result of an answer: of this tick, and of the next one.
    now: Vec<(u32, u32, Id)>,
    next: Vec<(u32, u32, Id)>,
}

/// Marks the sender of an answer.
const ANSWERS: u32 = 1 << 31;

impl Aefa {
    /// Buffers for this graph, touched.
    pub fn new(graph: &Graph) -> Self {
        let (size, most) = (graph.first().len() - 1, graph.slots().len() + 1);
        let buffer = vec![(1, 1, Id(1)); most];
        Aefa {
            parent: vec![1; size],
            awaited: vec![1; size],
            greatest: vec![Id(1); size],
            now: buffer.clone(),
            next: buffer,
        }
    }

    /// Runs one election. `ids[at]` is the id of a position, and `at(id)` the position of an id.
    pub fn run(&mut self, graph: &Graph, ids: &[Id], source: u32, at: impl Fn(Id) -> u32) -> Counted {
        let election = self.wave(graph, ids, source);
        let winner = at(self.greatest[source as usize]);
        let notify = u64::from(winner != source);
        let announcement = self.wave(graph, ids, winner);
        Counted {
            messages: election.messages + notify + announcement.messages,
            quiescent: election.quiescent + notify + announcement.quiescent,
        }
    }

    fn wave(&mut self, graph: &Graph, ids: &[Id], source: u32) -> Counted {
        const NONE: u32 = u32::MAX;
        let (first, neighbours) = (graph.first(), graph.slots());
        self.parent.fill(NONE);
        self.greatest.copy_from_slice(ids);
        self.parent[source as usize] = source;
        self.awaited[source as usize] = links(graph, source).len() as u32;
        let mut length = 0;
        for &to in links(graph, source) {
            self.now[length] = (to, source, Id(0));
            length += 1;
        }
        let (mut messages, mut tick) = (0u64, 0u64);
        while length > 0 {
            tick += 1;
            messages += length as u64;
            let mut kept = 0;
            for &(at, from, gathered) in &self.now[..length] {
                let here = at as usize;
                if from & ANSWERS == 0 {
                    if self.parent[here] != NONE {
                        self.next[kept] = (from, at | ANSWERS, ids[here]);
                        kept += 1;
                        continue;
                    }
                    let (begin, end) = (first[here], first[here + 1]);
                    self.parent[here] = from;
                    self.awaited[here] = end - begin - 1;
                    for &to in &neighbours[begin as usize..end as usize] {
                        self.next[kept] = (to, at, Id(0));
                        kept += usize::from(to != from);
                    }
                } else {
                    self.awaited[here] -= 1;
                    self.greatest[here] = self.greatest[here].max(gathered);
                }
                if self.awaited[here] == 0 && at != source {
                    self.next[kept] = (self.parent[here], at | ANSWERS, self.greatest[here]);
                    kept += 1;
                }
            }
            length = kept;
            std::mem::swap(&mut self.now, &mut self.next);
        }
        Counted { messages, quiescent: tick }
    }
}

/// Bully with one node down. A node waits two ticks for an answer.
#[derive(Debug)]
pub struct Bully {
    asks: Vec<bool>,
    hears: Vec<bool>,
    /// Receiver, message and sender: of this tick, and of the next one.
    now: Vec<(u32, Said)>,
    next: Vec<(u32, Said)>,
}

#[derive(Clone, Copy, Debug)]
enum Said {
    Election(u32),
    Ok,
    Coordinator,
}

impl Bully {
    /// Buffers for `size` nodes, touched.
    pub fn new(size: usize) -> Self {
        let buffer = vec![(1, Said::Ok); size * size / 2 + 2 * size];
        Bully { asks: vec![true; size], hears: vec![true; size], now: buffer.clone(), next: buffer }
    }

    /// Runs one election: `down` is down, and `detector` detects it.
    pub fn run(&mut self, ids: &[Id], down: u32, detector: u32) -> Counted {
        self.asks.fill(false);
        self.hears.fill(false);
        let (mut messages, mut length, mut tick, mut quiescent) = (0, 0, 0, 0);
        // The nodes that began to ask in the last three ticks.
        let mut asked = [vec![detector], Vec::new(), Vec::new()];
        self.asks[detector as usize] = true;
        ask(ids, down, detector, &mut self.now, &mut length, &mut messages);
        while length > 0 || asked.iter().any(|list| !list.is_empty()) {
            tick += 1;
            quiescent = if length > 0 { tick } else { quiescent };
            asked.rotate_right(1);
            asked[0].clear();
            let mut kept = 0;
            for &(at, said) in &self.now[..length] {
                match said {
                    Said::Election(from) => {
                        self.next[kept] = (from, Said::Ok);
                        kept += 1;
                        messages += 1;
                        if !std::mem::replace(&mut self.asks[at as usize], true) {
                            asked[0].push(at);
                            ask(ids, down, at, &mut self.next, &mut kept, &mut messages);
                        }
                    }
                    Said::Ok => self.hears[at as usize] = true,
                    Said::Coordinator => self.asks[at as usize] = false,
                }
            }
            for &at in &asked[2] {
                if !self.hears[at as usize] {
                    quiescent = tick;
                    messages += ids.len() as u64 - 1;
                    for to in (0..ids.len() as u32).filter(|&to| to != at && to != down) {
                        self.next[kept] = (to, Said::Coordinator);
                        kept += 1;
                    }
                }
            }
            length = kept;
            std::mem::swap(&mut self.now, &mut self.next);
        }
        Counted { messages, quiescent }
    }
}

/// Sends `election` to every higher id.
fn ask(ids: &[Id], down: u32, from: u32, buffer: &mut [(u32, Said)], length: &mut usize, messages: &mut u64) {
    for (to, &id) in (0..).zip(ids) {
        if id > ids[from as usize] {
            *messages += 1;
            if to != down {
                buffer[*length] = (to, Said::Election(from));
                *length += 1;
            }
        }
    }
}
