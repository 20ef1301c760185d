//! How nodes notice that their leader is gone, where they are not simply told to start.
//!
//! The traffic of a notice is not the algorithm's: it goes from node to node directly, takes one tick, is lost only at
//! partitions and at nodes that are down, and is counted apart. It is handled at the end of a tick, after all nodes
//! have acted; a signal that comes of it is given at the beginning of a node's turn, after a planned start signal.
//!
//! - **Poll(K)**: at the end of ticks K, 2K, … every node that names another sends it a `poll`. One tick later the
//!   other, if it is up and leads, answers `alive`. One more tick later a node without an answer that still names it,
//!   without a break, gets its signal.
//! - **Heartbeat(K)**: at the end of ticks K, 2K, … every leader sends a `heartbeat` to all others. A node that has
//!   heard none from the one it names for 2K+1 ticks (counted from when it began to name it, if that is later, or from
//!   its last signal) gets its signal.
//! - **Term(K)**: the term of a leader begins when the first of those that name it (itself included) began to, and ends
//!   K ticks later: the lowest live position that names it gets a signal. If it is still named then, its next term
//!   begins at once.
//!
//! In a trace its messages are [`TraceEvent::Notice`](hustings_protocol::TraceEvent): for each leader and tick one record
//! of the polls sent to it, one of its answers, one of its heartbeats.
//!
//! A notice with period 0 is taken as one with period 1.

use std::collections::{BTreeMap, VecDeque};

use hustings_protocol::NoticeKind;

use super::link_faults::LinkFaults;
use crate::engine::accounting::Accounting;
use crate::scenario::Notice;

/// The failure_detector that the nodes keep on their leaders.
#[derive(Debug)]
pub(crate) enum FailureDetector {
    /// None.
    Oracle,
    Poll(Polls),
    Heartbeat(Heartbeats),
    Term(Terms),
}

impl FailureDetector {
    pub(crate) fn new(notice: Notice, size: u32) -> Self {
        let nodes = size as usize;
        match notice {
            Notice::Oracle => FailureDetector::Oracle,
            Notice::Poll(every) => {
                let every = every.max(1);
                FailureDetector::Poll(Polls {
                    every,
                    next: every,
                    last: 0,
                    rounds: VecDeque::new(),
                    polls: 0,
                    answers: 0,
                })
            }
            Notice::Heartbeat(every) => {
                let every = every.max(1);
                FailureDetector::Heartbeat(Heartbeats {
                    every,
                    next: every,
                    under_way: None,
                    heard: vec![0; nodes],
                    is_waiting: vec![false; nodes],
                    deadlines: BTreeMap::new(),
                    heartbeats: 0,
                })
            }
            Notice::Term(length) => {
                FailureDetector::Term(Terms { length: length.max(1), begun: vec![None; nodes], ends: BTreeMap::new() })
            }
        }
    }

    /// Whether the failure_detector must be told of every change of a role.
    pub(crate) fn needs_changes(&self) -> bool {
        matches!(self, FailureDetector::Heartbeat(_) | FailureDetector::Term(_))
    }

    /// The next tick at which it has something to do.
    pub(crate) fn next(&self) -> Option<u64> {
        match self {
            FailureDetector::Oracle => None,
            FailureDetector::Poll(polls) => Some(polls.next()),
            FailureDetector::Heartbeat(heartbeats) => Some(heartbeats.next()),
            FailureDetector::Term(terms) => terms.ends.keys().next().copied(),
        }
    }

    /// Whether the run is over when only the failure_detector is left: nobody names a node that does not lead. Terms never end.
    pub(crate) fn is_satisfied(&self, accounting: &Accounting) -> bool {
        match self {
            FailureDetector::Oracle => true,
            FailureDetector::Poll(_) | FailureDetector::Heartbeat(_) => !accounting.has_stale_leader(),
            FailureDetector::Term(_) => false,
        }
    }

    /// A tick begins: adds the nodes that have noticed the loss of their leader.
    pub(crate) fn begin_tick(&mut self, tick: u64, accounting: &Accounting, signals: &mut Vec<u32>) {
        match self {
            FailureDetector::Oracle => {}
            FailureDetector::Poll(polls) => polls.begin_tick(tick, accounting, signals),
            FailureDetector::Heartbeat(heartbeats) => heartbeats.begin_tick(tick, accounting, signals),
            FailureDetector::Term(terms) => terms.begin_tick(tick, accounting, signals),
        }
    }

    /// All nodes have acted, the accounting are not closed yet.
    ///
    /// Adds what was sent: the leader that it concerns, what, how many.
    pub(crate) fn end_tick(
        &mut self,
        tick: u64,
        accounting: &Accounting,
        link_faults: &LinkFaults,
        sent: &mut Vec<Sent>,
    ) {
        match self {
            FailureDetector::Oracle => {}
            FailureDetector::Poll(polls) => polls.end_tick(tick, accounting, link_faults, sent),
            FailureDetector::Heartbeat(heartbeats) => heartbeats.end_tick(tick, accounting, link_faults, sent),
            FailureDetector::Term(terms) => terms.end_tick(tick, accounting),
        }
    }

    /// Its messages by kind.
    pub(crate) fn counts(&self) -> Vec<(&'static str, u64)> {
        let count = |kind: NoticeKind| match (self, kind) {
            (FailureDetector::Poll(polls), NoticeKind::Poll) => polls.polls,
            (FailureDetector::Poll(polls), NoticeKind::Alive) => polls.answers,
            (FailureDetector::Heartbeat(heartbeats), NoticeKind::Heartbeat) => heartbeats.heartbeats,
            _ => 0,
        };
        let notice = match self {
            FailureDetector::Oracle => Notice::Oracle,
            FailureDetector::Poll(polls) => Notice::Poll(polls.every),
            FailureDetector::Heartbeat(heartbeats) => Notice::Heartbeat(heartbeats.every),
            FailureDetector::Term(terms) => Notice::Term(terms.length),
        };
        kinds(notice).iter().map(|&kind| (kind.name(), count(kind))).collect()
    }
}

/// Messages of a failure_detector: the leader that they concern, what they say, how many.
pub(crate) type Sent = (u32, NoticeKind, u64);

/// What the messages of a notice say, in the order of reports.
pub(crate) fn kinds(notice: Notice) -> &'static [NoticeKind] {
    match notice {
        Notice::Oracle | Notice::Term(_) => &[],
        Notice::Poll(_) => &[NoticeKind::Poll, NoticeKind::Alive],
        Notice::Heartbeat(_) => &[NoticeKind::Heartbeat],
    }
}

/// Adds polls or answers of a round, by leader.
fn tally<'a>(kind: NoticeKind, polls: impl Iterator<Item = &'a Poll>, sent: &mut Vec<Sent>) {
    let mut by_leader: BTreeMap<u32, u64> = BTreeMap::new();
    polls.for_each(|poll| *by_leader.entry(poll.leader).or_default() += 1);
    sent.extend(by_leader.into_iter().map(|(leader, count)| (leader, kind, count)));
}

/// The other node that a node names.
pub(crate) fn followed(accounting: &Accounting, at: u32) -> Option<u32> {
    accounting.leader_of(at).filter(|&leader| leader != at)
}

#[derive(Debug)]
pub(crate) struct Polls {
    every: u64,
    next: u64,
    /// The last tick that ended.
    last: u64,
    /// Rounds of polls that are not over, with the tick in which they were sent.
    rounds: VecDeque<(u64, Vec<Poll>)>,
    polls: u64,
    answers: u64,
}

#[derive(Debug)]
struct Poll {
    at: u32,
    leader: u32,
    /// Since when the node has named it: if that changes, the answer no longer matters.
    since: u64,
    is_answered: bool,
}

impl Polls {
    fn next(&self) -> u64 {
        // A round is answered one tick after it was sent and judged two ticks after it.
        let judged = self.rounds.front().map(|(sent, _)| sent + 2);
        let answered = self.rounds.back().map(|(sent, _)| sent + 1).filter(|&tick| tick > self.last);
        [judged, answered].into_iter().flatten().fold(self.next, u64::min)
    }

    fn begin_tick(&mut self, tick: u64, accounting: &Accounting, signals: &mut Vec<u32>) {
        while let Some((_, round)) = self.rounds.pop_front_if(|(sent, _)| *sent + 2 <= tick) {
            let lost = round.iter().filter(|poll| {
                let unchanged = accounting.leader_of(poll.at) == Some(poll.leader)
                    && accounting.leader_since(poll.at) == poll.since;
                unchanged && !poll.is_answered
            });
            signals.extend(lost.map(|poll| poll.at));
        }
    }

    fn end_tick(&mut self, tick: u64, accounting: &Accounting, link_faults: &LinkFaults, sent: &mut Vec<Sent>) {
        self.last = tick;
        for (_, round) in self.rounds.iter_mut().filter(|(sent, _)| *sent + 1 == tick) {
            for poll in round.iter_mut() {
                poll.is_answered = accounting.is_leading(poll.leader) && !link_faults.part(poll.at, poll.leader);
                self.answers += u64::from(poll.is_answered);
            }
            tally(NoticeKind::Alive, round.iter().filter(|poll| poll.is_answered), sent);
        }
        if tick == self.next {
            let polls = (0..accounting.size()).filter_map(|at| {
                let leader = followed(accounting, at)?;
                Some(Poll { at, leader, since: accounting.leader_since(at), is_answered: false })
            });
            let round: Vec<Poll> = polls.collect();
            self.polls += round.len() as u64;
            tally(NoticeKind::Poll, round.iter(), sent);
            if !round.is_empty() {
                self.rounds.push_back((tick, round));
            }
            self.next = self.next.saturating_add(self.every);
        }
    }
}

#[derive(Debug)]
pub(crate) struct Heartbeats {
    every: u64,
    next: u64,
    /// When the last heartbeats arrive, and whose they are.
    under_way: Option<(u64, Vec<u32>)>,
    /// When a node last heard the one it names, or got a signal.
    heard: Vec<u64>,
    /// Whether a node has a deadline.
    is_waiting: Vec<bool>,
    /// When to look at which nodes: not later than their patience ends.
    deadlines: BTreeMap<u64, Vec<u32>>,
    heartbeats: u64,
}

impl Heartbeats {
    fn next(&self) -> u64 {
        let arrival = self.under_way.as_ref().map(|(tick, _)| *tick);
        let deadline = self.deadlines.keys().next().copied();
        [arrival, deadline].into_iter().flatten().fold(self.next, u64::min)
    }

    fn patience(&self, at: u32, accounting: &Accounting) -> u64 {
        let begun = self.heard[at as usize].max(accounting.leader_since(at));
        begun.saturating_add(self.every.saturating_mul(2)).saturating_add(1)
    }

    fn begin_tick(&mut self, tick: u64, accounting: &Accounting, signals: &mut Vec<u32>) {
        while let Some(due) = self.deadlines.first_entry().filter(|due| *due.key() <= tick) {
            for at in due.remove() {
                if followed(accounting, at).is_none() {
                    self.is_waiting[at as usize] = false;
                    continue;
                }
                if self.patience(at, accounting) <= tick {
                    signals.push(at);
                    self.heard[at as usize] = tick;
                }
                self.deadlines.entry(self.patience(at, accounting)).or_default().push(at);
            }
        }
    }

    fn end_tick(&mut self, tick: u64, accounting: &Accounting, link_faults: &LinkFaults, sent: &mut Vec<Sent>) {
        if let Some((_, leaders)) = self.under_way.take_if(|(arrival, _)| *arrival == tick) {
            for leader in leaders {
                let hears = |&at: &u32| followed(accounting, at) == Some(leader) && !link_faults.part(at, leader);
                (0..accounting.size()).filter(hears).for_each(|at| self.heard[at as usize] = tick);
            }
        }
        for &at in accounting.changed_roles() {
            if followed(accounting, at).is_some() && !std::mem::replace(&mut self.is_waiting[at as usize], true) {
                self.deadlines.entry(self.patience(at, accounting)).or_default().push(at);
            }
        }
        if tick == self.next {
            let leaders: Vec<u32> = (0..accounting.size()).filter(|&at| accounting.is_leading(at)).collect();
            let others = u64::from(accounting.size() - 1);
            self.heartbeats += leaders.len() as u64 * others;
            sent.extend(leaders.iter().map(|&leader| (leader, NoticeKind::Heartbeat, others)).filter(|_| others > 0));
            if !leaders.is_empty() {
                self.under_way = Some((tick + 1, leaders));
            }
            self.next = self.next.saturating_add(self.every);
        }
    }
}

#[derive(Debug)]
pub(crate) struct Terms {
    length: u64,
    /// When the running term of a position began.
    begun: Vec<Option<u64>>,
    /// Whose terms may end at a tick.
    ends: BTreeMap<u64, Vec<u32>>,
}

impl Terms {
    fn begin(&mut self, leader: u32, tick: u64) {
        self.begun[leader as usize] = Some(tick);
        self.ends.entry(tick.saturating_add(self.length)).or_default().push(leader);
    }

    fn begin_tick(&mut self, tick: u64, accounting: &Accounting, signals: &mut Vec<u32>) {
        while let Some(due) = self.ends.first_entry().filter(|due| *due.key() <= tick) {
            for leader in due.remove() {
                let begun = self.begun[leader as usize].take().unwrap_or(tick);
                let naming = || (0..accounting.size()).filter(|&at| accounting.leader_of(at) == Some(leader));
                let Some(first) = naming().next() else { continue };
                // All that named it may have let go of it and named it again: then its term began later.
                let begun =
                    naming().map(|at| accounting.leader_since(at)).min().map_or(begun, |since| since.max(begun));
                if begun.saturating_add(self.length) <= tick {
                    signals.push(first);
                    self.begin(leader, tick);
                } else {
                    self.begin(leader, begun);
                }
            }
        }
    }

    fn end_tick(&mut self, tick: u64, accounting: &Accounting) {
        for &at in accounting.changed_roles() {
            if let Some(leader) = accounting.leader_of(at).filter(|&leader| self.begun[leader as usize].is_none()) {
                self.begin(leader, tick);
            }
        }
    }
}
