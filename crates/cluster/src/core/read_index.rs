//! Linearizable reads, by Raft's ReadIndex protocol: what a node shows as current is current.
//!
//! A node's table may lag behind, and somebody else may hold the office by now. So the node asks the arbiter's leader
//! for the commit index. The leader may have been replaced without noticing, and therefore *polls* the voters: each
//! voter that still follows it says so. If a quorum does, no other leader was elected before the poll began, so the
//! leader's commit index at that time covers everything that was committed anywhere. When the node has applied the log
//! up to that index, it answers the client. If it cannot confirm the read within the duration of a lease, it answers
//! with its own state, marked as not current. The argument uses no clock, and no lease depends on it.
//!
//! There is one poll at a time. Requests that arrive during a poll share the next one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hustings_protocol::Id;

use super::{ClientId, Core, requests};
use crate::api::{Reply, Request};
use crate::clock::Timestamp;
use crate::wire::Message;

/// How many reads may be pending. Further ones are answered at once, as not current.
const MAX_PENDING: usize = 20_000;
/// How much may be pending for one client, counted in reads of one office.
const MAX_PENDING_PER_CLIENT: usize = 2_560;
/// The weight of a read of all offices.
const FULL_READ_WEIGHT: usize = 512;

/// The pending reads of this node, and the polls of the arbiter's leader.
pub(super) struct ReadIndex {
    /// The number of the last request to the arbiter's leader.
    last_number: u64,
    /// Reads that wait for confirmation, in ascending order of their numbers.
    pending: VecDeque<PendingRead>,
    /// Confirmations, ascending: reads up to a number may be answered when the log is applied up to an index.
    confirmed: VecDeque<(u64, u64)>,
    /// When the request is repeated, because it may be lost or the leader may have changed.
    retry_at: Timestamp,
    /// On the leader: the current poll, the number of the last poll, and the nodes that wait for the next one, each
    /// with the number of its request.
    poll: Option<Poll>,
    last_poll: u64,
    next_readers: BTreeMap<Id, u64>,
}

struct PendingRead {
    number: u64,
    reader: Reader,
    deadline: Timestamp,
}

/// Who wants to read.
pub(super) enum Reader {
    /// A client, with its request.
    Client(ClientId, Request),
    /// All clients that watch.
    Watchers,
}

/// A poll of the voters: who still follows this leader?
struct Poll {
    term: u64,
    /// The commit index when the poll began.
    committed: u64,
    supporters: BTreeSet<Id>,
    readers: BTreeMap<Id, u64>,
    retry_at: Timestamp,
}

impl ReadIndex {
    /// The reads of a node in this incarnation. Request numbers start at a value derived from it, so that a response to
    /// an earlier incarnation does not match.
    pub(super) fn new(incarnation: u64) -> Self {
        ReadIndex {
            last_number: incarnation / 2,
            pending: VecDeque::new(),
            confirmed: VecDeque::new(),
            retry_at: Timestamp::NEVER,
            poll: None,
            last_poll: 0,
            next_readers: BTreeMap::new(),
        }
    }

    /// When the next retry or deadline is due.
    pub(super) fn next_timeout(&self) -> Timestamp {
        let waiting =
            self.pending.iter().map(|pending| pending.deadline.min(self.retry_at)).min().unwrap_or(Timestamp::NEVER);
        self.poll.as_ref().map_or(waiting, |poll| waiting.min(poll.retry_at))
    }

    /// Drops the reads of a client whose connection has ended.
    pub(super) fn remove_client(&mut self, client: ClientId) {
        self.pending.retain(|pending| !matches!(pending.reader, Reader::Client(other, _) if other == client));
    }

    /// Whether a client waits for a read.
    pub(super) fn has_pending(&self, client: ClientId) -> bool {
        self.pending.iter().any(|pending| matches!(pending.reader, Reader::Client(other, _) if other == client))
    }

    /// How much is pending for a client.
    fn pending_weight(&self, client: ClientId) -> usize {
        let weight = |pending: &PendingRead| match &pending.reader {
            Reader::Client(other, Request::Status | Request::Watch { office: None }) if *other == client => {
                FULL_READ_WEIGHT
            }
            Reader::Client(other, _) if *other == client => 1,
            _ => 0,
        };
        self.pending.iter().map(weight).sum()
    }

    /// Whether a read for watchers is pending.
    pub(super) fn has_pending_watchers(&self) -> bool {
        self.pending.iter().any(|pending| matches!(pending.reader, Reader::Watchers))
    }
}

impl Core {
    /// Begins a read. It is answered when it is confirmed, or as not current when it cannot be.
    pub(super) fn begin_read(&mut self, reader: Reader) {
        if let Reader::Client(client, _) = reader
            && self.read_index.pending_weight(client) > MAX_PENDING_PER_CLIENT
        {
            return self.reply(client, Reply::Error(requests::too_many_requests()));
        }
        let has_room = self.read_index.pending.len() < MAX_PENDING;
        if self.consensus.is_none() || !self.has_recent_quorum() || self.arbiter_leader().is_none() || !has_room {
            // Without an arbiter there is nothing to confirm.
            let is_confirmed = self.consensus.is_none();
            return self.answer_read(reader, is_confirmed);
        }
        self.read_index.last_number += 1;
        // Watchers may have been shown a holder that is no longer current, so they wait only for a heartbeat interval.
        let timing = &self.settings.timing;
        let deadline = self.now + if matches!(reader, Reader::Watchers) { timing.heartbeat } else { timing.lease };
        self.read_index.pending.push_back(PendingRead { number: self.read_index.last_number, reader, deadline });
        self.send_read_index_request();
    }

    fn send_read_index_request(&mut self) {
        self.read_index.retry_at = self.now + self.settings.timing.heartbeat;
        let number = self.read_index.last_number;
        match self.arbiter_leader() {
            Some(leader) if leader == self.settings.own => self.handle_read_index_request(leader, number),
            Some(leader) => self.send(leader, Message::ReadIndexRequest { number }),
            None => {}
        }
    }

    /// A node asked this leader for the commit index.
    pub(super) fn handle_read_index_request(&mut self, from: Id, number: u64) {
        if !self.is_arbiter_leader() {
            return;
        }
        self.read_index.next_readers.insert(from, number);
        if self.read_index.poll.is_none() {
            self.start_poll();
        }
    }

    fn start_poll(&mut self) {
        let Some(consensus) = self.consensus.as_ref().filter(|consensus| consensus.is_established()) else { return };
        let (term, committed) = (consensus.term(), consensus.committed());
        let readers = std::mem::take(&mut self.read_index.next_readers);
        if readers.is_empty() {
            return;
        }
        self.read_index.last_poll += 1;
        self.read_index.poll = Some(Poll { term, committed, supporters: BTreeSet::new(), readers, retry_at: self.now });
        self.send_poll_requests();
        self.finish_poll_if_quorum();
    }

    /// Sends the poll to the voters that have not responded yet.
    fn send_poll_requests(&mut self) {
        let number = self.read_index.last_poll;
        let (Some(consensus), Some(poll)) = (&self.consensus, &mut self.read_index.poll) else { return };
        poll.retry_at = self.now + self.settings.timing.heartbeat;
        let voters = consensus.voters().into_iter();
        let rest: Vec<Id> = voters.filter(|id| *id != self.settings.own && !poll.supporters.contains(id)).collect();
        let term = poll.term;
        rest.into_iter().for_each(|id| self.send(id, Message::PollRequest { term, poll: number }));
    }

    /// The arbiter's leader asks whether this voter still follows it.
    pub(super) fn handle_poll_request(&mut self, from: Id, term: u64, poll: u64) {
        let follows = |consensus: &&super::Consensus| consensus.term() == term && consensus.leader() == Some(from);
        if self.consensus.as_ref().is_some_and(|consensus| follows(&consensus)) {
            self.send(from, Message::PollResponse { term, poll });
        }
    }

    /// A voter still follows this leader.
    pub(super) fn handle_poll_response(&mut self, from: Id, term: u64, number: u64) {
        let current = self.read_index.last_poll;
        if self.unknown_disks.contains(&from) {
            return;
        }
        if let Some(poll) = self.read_index.poll.as_mut().filter(|poll| poll.term == term && number == current) {
            poll.supporters.insert(from);
            self.finish_poll_if_quorum();
        }
    }

    fn finish_poll_if_quorum(&mut self) {
        let own = self.settings.own;
        let (Some(consensus), Some(poll)) = (&self.consensus, &self.read_index.poll) else { return };
        if !consensus.has_quorum(|id| id == own || poll.supporters.contains(&id)) {
            return;
        }
        let Some(poll) = self.read_index.poll.take() else { return };
        for (id, number) in poll.readers {
            if id == own {
                self.handle_read_index_response(number, poll.committed);
            } else {
                self.send(id, Message::ReadIndexResponse { number, committed: poll.committed });
            }
        }
        self.start_poll();
    }

    /// The leader's commit index arrived, as of some time after the request.
    pub(super) fn handle_read_index_response(&mut self, number: u64, committed: u64) {
        let is_pending = self.read_index.pending.front().is_some_and(|first| first.number <= number);
        let is_new = self.read_index.confirmed.back().is_none_or(|last| last.0 < number);
        if is_pending && is_new && number <= self.read_index.last_number {
            self.read_index.confirmed.push_back((number, committed));
        }
    }

    /// Answers reads that are confirmed or expired, and repeats requests that may be lost.
    pub(super) fn process_reads(&mut self) {
        let Some(consensus) = &self.consensus else { return };
        let (applied, term, leads) = (consensus.applied(), consensus.term(), consensus.is_leader());
        if self.read_index.poll.as_ref().is_some_and(|poll| !leads || poll.term != term) || !leads {
            self.read_index.poll = None;
            self.read_index.next_readers.clear();
        } else if self.read_index.poll.as_ref().is_some_and(|poll| poll.retry_at <= self.now) {
            self.send_poll_requests();
        }
        while let Some((number, _)) = self.read_index.confirmed.pop_front_if(|(_, committed)| *committed <= applied) {
            while let Some(pending) = self.read_index.pending.pop_front_if(|pending| pending.number <= number) {
                self.answer_read(pending.reader, true);
            }
        }
        let now = self.now;
        if self.read_index.pending.iter().any(|pending| pending.deadline <= now) {
            let all = std::mem::take(&mut self.read_index.pending);
            let (expired, rest): (VecDeque<PendingRead>, VecDeque<PendingRead>) =
                all.into_iter().partition(|pending| pending.deadline <= now);
            self.read_index.pending = rest;
            expired.into_iter().for_each(|pending| self.answer_read(pending.reader, false));
        }
        if self.read_index.pending.is_empty() {
            self.read_index.confirmed.clear();
        }
        if !self.read_index.pending.is_empty() && self.read_index.retry_at <= self.now {
            self.send_read_index_request();
        }
    }
}
