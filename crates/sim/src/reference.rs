//! The yardstick: plain scalar loops over flat arrays, written by hand for one workload each. They know nothing of protocols,
//! ports or traces, and are what the engine's speed is compared with, in the same process.

use crate::topology::Graph;

/// Chang–Roberts on a ring where everybody starts, announcement included.
#[derive(Debug)]
pub struct ChangRoberts {
    at: Vec<u32>,
    candidate: Vec<u64>,
}

/// What a reference loop counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counted {
    /// Messages.
    pub messages: u64,
    /// The last tick with a delivery.
    pub quiescent: u64,
}

impl ChangRoberts {
    /// Buffers for a ring of this size, touched.
    pub fn new(size: usize) -> Self {
        let mut buffers = ChangRoberts { at: vec![1; size], candidate: vec![1; size] };
        buffers.at.fill(0);
        buffers.candidate.fill(0);
        buffers
    }

    /// One election; `ids` are all different.
    pub fn run(&mut self, ids: &[u64]) -> Counted {
        let size = ids.len() as u32;
        for (place, &id) in ids.iter().enumerate() {
            self.at[place] = place as u32;
            self.candidate[place] = id;
        }
        let (mut left, mut messages, mut tick) = (ids.len(), 0u64, 0u64);
        let winner = 'race: loop {
            tick += 1;
            messages += left as u64;
            let mut kept = 0;
            for place in 0..left {
                let next = self.at[place] + 1;
                let at = if next == size { 0 } else { next };
                let (candidate, id) = (self.candidate[place], ids[at as usize]);
                if candidate >= id {
                    if candidate == id {
                        break 'race at;
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

/// The echo wave from one position.
#[derive(Debug)]
pub struct Echo {
    heard: Vec<u32>,
    parent: Vec<u32>,
    now: Vec<(u32, u32)>,
    next: Vec<(u32, u32)>,
}

impl Echo {
    /// Buffers for this graph, touched.
    pub fn new(graph: &Graph) -> Self {
        let size = graph.size() as usize;
        let mail = || {
            let mut mail = vec![(1, 1); 2 * graph.links() as usize];
            mail.clear();
            mail
        };
        Echo { heard: vec![1; size], parent: vec![1; size], now: mail(), next: mail() }
    }

    /// One wave.
    pub fn run(&mut self, graph: &Graph, initiator: u32) -> Counted {
        const NONE: u32 = u32::MAX;
        self.heard.fill(0);
        self.parent.fill(NONE);
        self.parent[initiator as usize] = initiator;
        self.now.clear();
        self.now.extend(graph.neighbours(initiator).iter().map(|&to| (to, initiator)));
        let (mut messages, mut tick) = (0u64, 0u64);
        while !self.now.is_empty() {
            tick += 1;
            messages += self.now.len() as u64;
            self.next.clear();
            for &(at, from) in &self.now {
                let neighbours = graph.neighbours(at);
                self.heard[at as usize] += 1;
                if self.parent[at as usize] == NONE {
                    self.parent[at as usize] = from;
                    self.next.extend(neighbours.iter().filter(|&&to| to != from).map(|&to| (to, at)));
                }
                if self.heard[at as usize] as usize == neighbours.len() && at != initiator {
                    self.next.push((self.parent[at as usize], at));
                }
            }
            std::mem::swap(&mut self.now, &mut self.next);
        }
        Counted { messages, quiescent: tick }
    }
}
