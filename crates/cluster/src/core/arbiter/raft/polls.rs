//! Linearizable reads, by Raft's ReadIndex protocol: what a node shows as current is current.
//!
//! A node's table may lag behind, and somebody else may hold the office by now. So the node asks the leader for the
//! commit index. The leader may have been replaced without noticing, and therefore *polls* the voters: each voter that
//! still follows it says so. If a quorum does, no other leader was elected before the poll began, so the leader's
//! commit index at that time covers everything that was committed anywhere. When the node has applied the log up to
//! that index, its reads are confirmed. The argument uses no clock, and no lease depends on it.
//!
//! There is one poll at a time. Requests that arrive during a poll share the next one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hustings_protocol::Id;

use super::consensus::Consensus;
use crate::clock::Timestamp;
use crate::core::context::Context;
use crate::wire::Message;

/// How many confirmations may wait for the log to be applied.
const MAX_CONFIRMED: usize = 1_024;

/// The polls of the leader, and the confirmations that wait for this node's log.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Polls {
    poll: Option<Poll>,
    last_poll: u64,
    /// The nodes that wait for the next poll, each with the number of its last read.
    next_readers: BTreeMap<Id, u64>,
    /// Confirmations, ascending: reads up to a number may be answered when the log is applied up to an index.
    confirmed: VecDeque<(u64, u64)>,
}

/// A poll of the voters: who still follows this leader?
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Poll {
    term: u64,
    /// The commit index when the poll began.
    committed: u64,
    supporters: BTreeSet<Id>,
    readers: BTreeMap<Id, u64>,
    retry_at: Timestamp,
}

impl Polls {
    /// A node asked this leader for the commit index.
    pub(super) fn handle_request(&mut self, from: Id, number: u64, consensus: &Consensus, context: &mut Context<'_>) {
        if consensus.is_leader() {
            self.next_readers.insert(from, number);
            if self.poll.is_none() {
                self.start(consensus, context);
            }
        }
    }

    fn start(&mut self, consensus: &Consensus, context: &mut Context<'_>) {
        if !consensus.is_established() || self.next_readers.is_empty() {
            return;
        }
        let (term, committed) = (consensus.term(), consensus.committed());
        let readers = std::mem::take(&mut self.next_readers);
        self.last_poll += 1;
        self.poll = Some(Poll { term, committed, supporters: BTreeSet::new(), readers, retry_at: context.now });
        self.send_requests(consensus, context);
        self.finish_if_quorum(consensus, context);
    }

    /// Sends the poll to the voters that have not responded yet.
    fn send_requests(&mut self, consensus: &Consensus, context: &mut Context<'_>) {
        let number = self.last_poll;
        let Some(poll) = &mut self.poll else { return };
        poll.retry_at = context.now + context.settings.timing.heartbeat;
        let own = context.own();
        for id in consensus.voters().into_iter().filter(|id| *id != own && !poll.supporters.contains(id)) {
            context.send(id, Message::PollRequest { term: poll.term, poll: number });
        }
    }

    /// A voter still follows this leader.
    pub(super) fn handle_response(
        &mut self,
        from: Id,
        term: u64,
        number: u64,
        consensus: &Consensus,
        context: &mut Context<'_>,
    ) {
        let current = self.last_poll;
        if let Some(poll) = self.poll.as_mut().filter(|poll| poll.term == term && number == current) {
            poll.supporters.insert(from);
            self.finish_if_quorum(consensus, context);
        }
    }

    fn finish_if_quorum(&mut self, consensus: &Consensus, context: &mut Context<'_>) {
        let own = context.own();
        let Some(poll) = &self.poll else { return };
        if !consensus.has_quorum(|id| id == own || poll.supporters.contains(&id)) {
            return;
        }
        let Some(poll) = self.poll.take() else { return };
        for (id, number) in poll.readers {
            context.send(id, Message::ReadIndexResponse { number, committed: poll.committed });
        }
        self.start(consensus, context);
    }

    /// The leader's commit index arrived, as of some time after the request.
    pub(super) fn handle_read_index(&mut self, number: u64, committed: u64) {
        // A later index at an earlier time is no index that the log had: the later answer holds for both.
        while self.confirmed.pop_back_if(|last| last.0 <= number && last.1 >= committed).is_some() {}
        let is_new = self.confirmed.back().is_none_or(|last| last.0 < number);
        if is_new && self.confirmed.len() < MAX_CONFIRMED {
            self.confirmed.push_back((number, committed));
        }
    }

    /// Forgets everything when this node no longer leads, and repeats requests that may be lost.
    pub(super) fn process(&mut self, consensus: &Consensus, context: &mut Context<'_>) {
        if !consensus.is_leader() {
            (self.poll, self.next_readers) = (None, BTreeMap::new());
            return;
        }
        match &self.poll {
            Some(poll) if poll.retry_at <= context.now => self.send_requests(consensus, context),
            Some(_) => {}
            None => self.start(consensus, context),
        }
    }

    /// The highest number of the reads that may be answered now.
    pub(super) fn take_confirmed(&mut self, applied: u64) -> Option<u64> {
        let mut last = None;
        while let Some((number, _)) = self.confirmed.pop_front_if(|(_, committed)| *committed <= applied) {
            last = Some(number);
        }
        last
    }

    pub(super) fn next_timeout(&self) -> Timestamp {
        self.poll.as_ref().map_or(Timestamp::NEVER, |poll| poll.retry_at)
    }
}
