//! The yardstick: plain scalar loops over flat arrays, written by hand for one workload each. They know nothing of
//! protocols, ports or traces, and are what the engine's speed is compared with, in the same process.

use hustings_protocol::Id;

use crate::topology::Graph;

/// Chang–Roberts on a ring where everybody starts, announcement included.
#[derive(Debug)]
pub struct ChangRoberts {
    at: Vec<u32>,
    candidate: Vec<Id>,
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
        let mut buffers = ChangRoberts { at: vec![1; size], candidate: vec![Id(1); size] };
        buffers.at.fill(0);
        buffers.candidate.fill(Id(0));
        buffers
    }

    /// One election; `ids` are all different.
    pub fn run(&mut self, ids: &[Id]) -> Counted {
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
    /// (receiver, sender) of this tick's messages, and of the next one's.
    now: Vec<(u32, u32)>,
    next: Vec<(u32, u32)>,
}

impl Echo {
    /// Buffers for this graph, touched.
    pub fn new(graph: &Graph) -> Self {
        // Every link carries a message each way, all at once at most; the spare place takes what is not kept.
        let (size, most) = (graph.size() as usize, 2 * graph.links() as usize + 1);
        Echo { heard: vec![1; size], parent: vec![1; size], now: vec![(1, 1); most], next: vec![(1, 1); most] }
    }

    /// One wave.
    pub fn run(&mut self, graph: &Graph, initiator: u32) -> Counted {
        const NONE: u32 = u32::MAX;
        let (first, neighbours) = (graph.first(), graph.slots());
        self.heard.fill(0);
        self.parent.fill(NONE);
        self.parent[initiator as usize] = initiator;
        let mut length = 0;
        for &to in graph.neighbours(initiator) {
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
