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
const MAX_WAITING: usize = 20_000;
/// At most so much may wait for one program, in answers about one office each.
const MAX_WAITING_EACH: usize = 2_560;
/// An answer about everything counts for so many.
const EVERYTHING: usize = 512;

/// What waits until it is sure, and what the leader of the arbiter does about it.
pub(super) struct ReadIndex {
    /// The number of the last question to the leader of the arbiter.
    asked: u64,
    /// Who waits, ascending by number.
    waiting: VecDeque<Waiting>,
    /// Questions up to a number are sure when the log has been acted on up to a place; ascending.
    sure: VecDeque<(u64, u64)>,
    /// The question is repeated then: it may be lost, or somebody else may lead.
    again: Moment,
    /// Of the leader: the poll under way, the number of the last one, and who waits for the next with which question.
    poll: Option<Poll>,
    polls: u64,
    next: BTreeMap<Id, u64>,
}

struct Waiting {
    number: u64,
    who: Reader,
    until: Moment,
}

/// Who wants to know.
pub(super) enum Reader {
    /// A program that asked this.
    Program(ClientId, Request),
    /// All programs that watch.
    Watchers,
}

/// The voters are asked who they are with.
struct Poll {
    term: u64,
    /// What was committed when it began.
    committed: u64,
    with: BTreeSet<Id>,
    asked: BTreeMap<Id, u64>,
    again: Moment,
}

impl ReadIndex {
    /// Of a node in this of its incarnations: answers that were meant for another one have other numbers.
    pub(super) fn new(incarnation: u64) -> Self {
        ReadIndex {
            asked: incarnation / 2,
            waiting: VecDeque::new(),
            sure: VecDeque::new(),
            again: Moment::NEVER,
            poll: None,
            polls: 0,
            next: BTreeMap::new(),
        }
    }

    /// When something is due.
    pub(super) fn next(&self) -> Moment {
        let waiting = self.waiting.iter().map(|waiting| waiting.until.min(self.again)).min().unwrap_or(Moment::NEVER);
        self.poll.as_ref().map_or(waiting, |poll| waiting.min(poll.again))
    }

    /// A program is gone, and wants no answer.
    pub(super) fn forget(&mut self, client: ClientId) {
        self.waiting.retain(|waiting| !matches!(waiting.who, Reader::Program(other, _) if other == client));
    }

    /// Whether a program waits for an answer.
    pub(super) fn owes(&self, client: ClientId) -> bool {
        self.waiting.iter().any(|waiting| matches!(waiting.who, Reader::Program(other, _) if other == client))
    }

    /// How much waits for a program.
    fn waits_for(&self, client: ClientId) -> usize {
        let weight = |waiting: &Waiting| match &waiting.who {
            Reader::Program(other, Request::Status | Request::Watch { office: None }) if *other == client => EVERYTHING,
            Reader::Program(other, _) if *other == client => 1,
            _ => 0,
        };
        self.waiting.iter().map(weight).sum()
    }

    /// Whether watchers wait already.
    pub(super) fn has_watchers(&self) -> bool {
        self.waiting.iter().any(|waiting| matches!(waiting.who, Reader::Watchers))
    }
}

impl Core {
    /// Somebody wants to know how things are: it is told when that is sure, or that it is not.
    pub(super) fn read(&mut self, who: Reader) {
        if let Reader::Program(client, _) = who
            && self.read_index.waits_for(client) > MAX_WAITING_EACH
        {
            return self.reply(client, Reply::Refused(requests::too_fast()));
        }
        let has_room = self.read_index.waiting.len() < MAX_WAITING;
        if self.consensus.is_none() || !self.is_in_touch() || self.arbiter_leader().is_none() || !has_room {
            // Without an arbiter there is nothing to be surer of.
            let is_sure = self.consensus.is_none();
            return self.show(who, is_sure);
        }
        self.read_index.asked += 1;
        // Watchers were shown somebody as current, who is not any more: they are not left with that for long.
        let timing = &self.setup.timing;
        let until = self.now + if matches!(who, Reader::Watchers) { timing.heartbeat } else { timing.lease };
        self.read_index.waiting.push_back(Waiting { number: self.read_index.asked, who, until });
        self.ask_how_far();
    }

    fn ask_how_far(&mut self) {
        self.read_index.again = self.now + self.setup.timing.heartbeat;
        let number = self.read_index.asked;
        match self.arbiter_leader() {
            Some(leader) if leader == self.setup.own => self.handle_read(leader, number),
            Some(leader) => self.send(leader, Message::Read { number }),
            None => {}
        }
    }

    /// Somebody asks this leader of the arbiter how far the log has come.
    pub(super) fn handle_read(&mut self, from: Id, number: u64) {
        if !self.leads() {
            return;
        }
        self.read_index.next.insert(from, number);
        if self.read_index.poll.is_none() {
            self.begin_poll();
        }
    }

    fn begin_poll(&mut self) {
        let Some(consensus) = self.consensus.as_ref().filter(|consensus| consensus.is_established()) else { return };
        let (term, committed) = (consensus.term(), consensus.committed());
        let asked = std::mem::take(&mut self.read_index.next);
        if asked.is_empty() {
            return;
        }
        self.read_index.polls += 1;
        self.read_index.poll = Some(Poll { term, committed, with: BTreeSet::new(), asked, again: self.now });
        self.poll_the_rest();
        self.count_poll();
    }

    /// Asks those voters who have not answered.
    fn poll_the_rest(&mut self) {
        let poll = self.read_index.polls;
        let (Some(consensus), Some(open)) = (&self.consensus, &mut self.read_index.poll) else { return };
        open.again = self.now + self.setup.timing.heartbeat;
        let voters = consensus.voters().into_iter();
        let rest: Vec<Id> = voters.filter(|id| *id != self.setup.own && !open.with.contains(id)).collect();
        let term = open.term;
        rest.into_iter().for_each(|id| self.send(id, Message::Poll { term, poll }));
    }

    /// The leader of the arbiter asks whether this voter is still with it.
    pub(super) fn handle_poll(&mut self, from: Id, term: u64, poll: u64) {
        let is_with_it = |consensus: &&super::Consensus| consensus.term() == term && consensus.leader() == Some(from);
        if self.consensus.as_ref().is_some_and(|consensus| is_with_it(&consensus)) {
            self.send(from, Message::With { term, poll });
        }
    }

    /// A voter is still with this leader of the arbiter.
    pub(super) fn handle_with(&mut self, from: Id, term: u64, poll: u64) {
        let number = self.read_index.polls;
        if self.unknown_disks.contains(&from) {
            return;
        }
        if let Some(open) = self.read_index.poll.as_mut().filter(|open| open.term == term && number == poll) {
            open.with.insert(from);
            self.count_poll();
        }
    }

    fn count_poll(&mut self) {
        let own = self.setup.own;
        let (Some(consensus), Some(open)) = (&self.consensus, &self.read_index.poll) else { return };
        if !consensus.is_majority(|id| id == own || open.with.contains(&id)) {
            return;
        }
        let Some(open) = self.read_index.poll.take() else { return };
        for (id, number) in open.asked {
            if id == own {
                self.handle_sure(number, open.committed);
            } else {
                self.send(id, Message::Sure { number, committed: open.committed });
            }
        }
        self.begin_poll();
    }

    /// The log had come so far after this node had asked.
    pub(super) fn handle_sure(&mut self, number: u64, committed: u64) {
        let is_wanted = self.read_index.waiting.front().is_some_and(|first| first.number <= number);
        let is_news = self.read_index.sure.back().is_none_or(|last| last.0 < number);
        if is_wanted && is_news && number <= self.read_index.asked {
            self.read_index.sure.push_back((number, committed));
        }
    }

    /// Answers what has become sure or too late, and repeats what may be lost.
    pub(super) fn answer_readers(&mut self) {
        let Some(consensus) = &self.consensus else { return };
        let (applied, term, leads) = (consensus.applied(), consensus.term(), consensus.is_leader());
        if self.read_index.poll.as_ref().is_some_and(|poll| !leads || poll.term != term) || !leads {
            self.read_index.poll = None;
            self.read_index.next.clear();
        } else if self.read_index.poll.as_ref().is_some_and(|poll| poll.again <= self.now) {
            self.poll_the_rest();
        }
        while let Some((number, _)) = self.read_index.sure.pop_front_if(|(_, committed)| *committed <= applied) {
            while let Some(waiting) = self.read_index.waiting.pop_front_if(|one| one.number <= number) {
                self.show(waiting.who, true);
            }
        }
        let now = self.now;
        if self.read_index.waiting.iter().any(|one| one.until <= now) {
            let all = std::mem::take(&mut self.read_index.waiting);
            let (late, rest): (VecDeque<Waiting>, VecDeque<Waiting>) =
                all.into_iter().partition(|one| one.until <= now);
            self.read_index.waiting = rest;
            late.into_iter().for_each(|waiting| self.show(waiting.who, false));
        }
        if self.read_index.waiting.is_empty() {
            self.read_index.sure.clear();
        }
        if !self.read_index.waiting.is_empty() && self.read_index.again <= self.now {
            self.ask_how_far();
        }
    }
}
