//! What is shown as current is current: a node that is asked who holds an office makes sure first.
//!
//! Its own table may lag behind: somebody else may hold the office by now. So it asks the leader of the arbiter how far
//! the log had come. The leader does not trust itself either, and *polls* the voters: whoever is still with it says so.
//! If a majority is, nobody else can have been elected before the poll began, and what was committed then is all there
//! was. When the node has acted on all of that, it answers. What cannot be made sure of within a lease is shown as how
//! things were. Nobody's clock matters here, and no lease depends on it.
//!
//! One poll at a time: questions that come in meanwhile share the next.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hustings_protocol::Id;

use super::{ClientId, Core, requests};
use crate::api::{Reply, Request};
use crate::clock::Moment;
use crate::wire::Message;

/// At most so many questions wait; more are answered by how things were.
const MAX_PENDING: usize = 20_000;
/// At most so much may wait for one program, in answers about one office each.
const MAX_PENDING_PER_CLIENT: usize = 2_560;
/// An answer about everything counts for so many.
const FULL_READ_WEIGHT: usize = 512;

/// What waits until it is sure, and what the leader of the arbiter does about it.
pub(super) struct ReadIndex {
    /// The number of the last question to the leader of the arbiter.
    last_number: u64,
    /// Who waits, ascending by number.
    pending: VecDeque<PendingRead>,
    /// Questions up to a number are sure when the log has been acted on up to a place; ascending.
    confirmed: VecDeque<(u64, u64)>,
    /// The question is repeated then: it may be lost, or somebody else may lead.
    retry_at: Moment,
    /// Of the leader: the poll under way, the number of the last one, and who waits for the next with which question.
    poll: Option<Poll>,
    last_poll: u64,
    next_readers: BTreeMap<Id, u64>,
}

struct PendingRead {
    number: u64,
    reader: Reader,
    deadline: Moment,
}

/// Who wants to know.
pub(super) enum Reader {
    /// A program that asked this.
    Client(ClientId, Request),
    /// All programs that watch.
    Watchers,
}

/// The voters are asked who they are with.
struct Poll {
    term: u64,
    /// What was committed when it began.
    committed: u64,
    supporters: BTreeSet<Id>,
    readers: BTreeMap<Id, u64>,
    retry_at: Moment,
}

impl ReadIndex {
    /// Of a node in this of its incarnations: answers that were meant for another one have other numbers.
    pub(super) fn new(incarnation: u64) -> Self {
        ReadIndex {
            last_number: incarnation / 2,
            pending: VecDeque::new(),
            confirmed: VecDeque::new(),
            retry_at: Moment::NEVER,
            poll: None,
            last_poll: 0,
            next_readers: BTreeMap::new(),
        }
    }

    /// When something is due.
    pub(super) fn next_timeout(&self) -> Moment {
        let waiting =
            self.pending.iter().map(|pending| pending.deadline.min(self.retry_at)).min().unwrap_or(Moment::NEVER);
        self.poll.as_ref().map_or(waiting, |poll| waiting.min(poll.retry_at))
    }

    /// A program is gone, and wants no answer.
    pub(super) fn remove_client(&mut self, client: ClientId) {
        self.pending.retain(|pending| !matches!(pending.reader, Reader::Client(other, _) if other == client));
    }

    /// Whether a program waits for an answer.
    pub(super) fn has_pending(&self, client: ClientId) -> bool {
        self.pending.iter().any(|pending| matches!(pending.reader, Reader::Client(other, _) if other == client))
    }

    /// How much waits for a program.
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

    /// Whether watchers wait already.
    pub(super) fn has_pending_watchers(&self) -> bool {
        self.pending.iter().any(|pending| matches!(pending.reader, Reader::Watchers))
    }
}

impl Core {
    /// Somebody wants to know how things are: it is told when that is sure, or that it is not.
    pub(super) fn begin_read(&mut self, reader: Reader) {
        if let Reader::Client(client, _) = reader
            && self.read_index.pending_weight(client) > MAX_PENDING_PER_CLIENT
        {
            return self.reply(client, Reply::Refused(requests::too_many_requests()));
        }
        let has_room = self.read_index.pending.len() < MAX_PENDING;
        if self.consensus.is_none() || !self.has_recent_quorum() || self.arbiter_leader().is_none() || !has_room {
            // Without an arbiter there is nothing to be surer of.
            let is_confirmed = self.consensus.is_none();
            return self.answer_read(reader, is_confirmed);
        }
        self.read_index.last_number += 1;
        // Watchers were shown somebody as current, who is not any more: they are not left with that for long.
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

    /// Somebody asks this leader of the arbiter how far the log has come.
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

    /// Asks those voters who have not answered.
    fn send_poll_requests(&mut self) {
        let number = self.read_index.last_poll;
        let (Some(consensus), Some(poll)) = (&self.consensus, &mut self.read_index.poll) else { return };
        poll.retry_at = self.now + self.settings.timing.heartbeat;
        let voters = consensus.voters().into_iter();
        let rest: Vec<Id> = voters.filter(|id| *id != self.settings.own && !poll.supporters.contains(id)).collect();
        let term = poll.term;
        rest.into_iter().for_each(|id| self.send(id, Message::PollRequest { term, poll: number }));
    }

    /// The leader of the arbiter asks whether this voter is still with it.
    pub(super) fn handle_poll_request(&mut self, from: Id, term: u64, poll: u64) {
        let follows = |consensus: &&super::Consensus| consensus.term() == term && consensus.leader() == Some(from);
        if self.consensus.as_ref().is_some_and(|consensus| follows(&consensus)) {
            self.send(from, Message::PollResponse { term, poll });
        }
    }

    /// A voter is still with this leader of the arbiter.
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

    /// The log had come so far after this node had asked.
    pub(super) fn handle_read_index_response(&mut self, number: u64, committed: u64) {
        let is_pending = self.read_index.pending.front().is_some_and(|first| first.number <= number);
        let is_new = self.read_index.confirmed.back().is_none_or(|last| last.0 < number);
        if is_pending && is_new && number <= self.read_index.last_number {
            self.read_index.confirmed.push_back((number, committed));
        }
    }

    /// Answers what has become sure or too late, and repeats what may be lost.
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
