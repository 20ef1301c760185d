//! How nodes notice that their leader is gone, unless the scenario has all start signals.
//!
//! The messages of a failure detector do not belong to the algorithm. They go directly from node to node, take one
//! tick, are lost only at partitions and at nodes that are down, and are counted separately. They are handled at the
//! end of a tick, after all nodes have acted. A signal that follows from them comes at the beginning of a node's turn,
//! after a start signal of the scenario.
//!
//! - **Poll(K)**: at the end of ticks K, 2K, … every node that names another sends it a `poll`. One tick later the
//!   other answers `alive` if it is up and leads. One more tick later a node without an answer gets its signal, if it
//!   has named the same leader all the time.
//! - **Heartbeat(K)**: at the end of ticks K, 2K, … every leader sends a `heartbeat` to all others. A node that has not
//!   heard its leader for 2K+1 ticks gets its signal. The time counts from when it began to name the leader or from its
//!   last signal, if that is later.
//! - **Term(K)**: the term of a leader begins when the first node (itself included) begins to name it, and ends K ticks
//!   later. Then the lowest live position that names it gets a signal. If it is still named, its next term begins at
//!   once.
//!
//! In a trace the messages are [`TraceEvent::Notice`](hustings_protocol::TraceEvent): for each leader and tick one
//! record of the polls sent to it, one of its answers, and one of its heartbeats.
//!
//! A period of 0 means 1.

use std::collections::{BTreeMap, VecDeque};

use hustings_protocol::NoticeKind;

use super::link_faults::LinkFaults;
use crate::engine::accounting::Accounting;
use crate::scenario::Notice;

/// The failure detector of all nodes.
#[derive(Debug)]
pub(crate) enum FailureDetector {
    /// No failure detector: start signals are part of the scenario.
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
                    arriving: None,
                    heard: vec![0; nodes],
                    is_waiting: vec![false; nodes],
                    deadlines: BTreeMap::new(),
                    heartbeats: 0,
                })
            }
            Notice::Term(length) => {
                FailureDetector::Term(Terms { length: length.max(1), began: vec![None; nodes], ends: BTreeMap::new() })
            }
        }
    }

    /// Whether the accounting must track changes of roles.
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

    /// Whether the run ends if only the failure detector is left: every named leader leads. Terms never end.
    pub(crate) fn is_satisfied(&self, accounting: &Accounting) -> bool {
        match self {
            FailureDetector::Oracle => true,
            FailureDetector::Poll(_) | FailureDetector::Heartbeat(_) => !accounting.has_stale_leader(),
            FailureDetector::Term(_) => false,
        }
    }

    /// Begins a tick: adds the nodes that have noticed the loss of their leader.
    pub(crate) fn begin_tick(&mut self, tick: u64, accounting: &Accounting, signals: &mut Vec<u32>) {
        match self {
            FailureDetector::Oracle => {}
            FailureDetector::Poll(polls) => polls.begin_tick(tick, accounting, signals),
            FailureDetector::Heartbeat(heartbeats) => heartbeats.begin_tick(tick, accounting, signals),
            FailureDetector::Term(terms) => terms.begin_tick(tick, accounting, signals),
        }
    }

    /// Ends a tick, after all nodes have acted and before the accounting closes the tick.
    ///
    /// Adds the messages sent: the leader concerned, their kind, and their number.
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

/// Messages of a failure detector: the leader concerned, their kind, and their number.
pub(crate) type Sent = (u32, NoticeKind, u64);

/// The kinds of messages of a failure detector, in the order of reports.
pub(crate) fn kinds(notice: Notice) -> &'static [NoticeKind] {
    match notice {
        Notice::Oracle | Notice::Term(_) => &[],
        Notice::Poll(_) => &[NoticeKind::Poll, NoticeKind::Alive],
        Notice::Heartbeat(_) => &[NoticeKind::Heartbeat],
    }
}

/// Adds the polls or answers of a round, by leader.
fn tally<'a>(kind: NoticeKind, polls: impl Iterator<Item = &'a Poll>, sent: &mut Vec<Sent>) {
    let mut by_leader: BTreeMap<u32, u64> = BTreeMap::new();
    polls.for_each(|poll| *by_leader.entry(poll.leader).or_default() += 1);
    sent.extend(by_leader.into_iter().map(|(leader, count)| (leader, kind, count)));
}

/// The other node that a node names as leader.
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
    /// Since when the node names the leader. If that changes, the answer no longer matters.
    since: u64,
    is_answered: bool,
}

impl Polls {
    fn next(&self) -> u64 {
        // A round is answered one tick after it was sent, and evaluated two ticks after it.
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
                poll.is_answered = accounting.is_leading(poll.leader) && !link_faults.separates(poll.at, poll.leader);
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
    /// When the last heartbeats arrive, and their senders.
    arriving: Option<(u64, Vec<u32>)>,
    /// When a node last heard its leader, or got a signal.
    heard: Vec<u64>,
    /// Whether a node has a deadline.
    is_waiting: Vec<bool>,
    /// When to check which nodes: not later than their timeout.
    deadlines: BTreeMap<u64, Vec<u32>>,
    heartbeats: u64,
}

impl Heartbeats {
    fn next(&self) -> u64 {
        let arrival = self.arriving.as_ref().map(|(tick, _)| *tick);
        let deadline = self.deadlines.keys().next().copied();
        [arrival, deadline].into_iter().flatten().fold(self.next, u64::min)
    }

    fn timeout(&self, at: u32, accounting: &Accounting) -> u64 {
        let began = self.heard[at as usize].max(accounting.leader_since(at));
        began.saturating_add(self.every.saturating_mul(2)).saturating_add(1)
    }

    fn begin_tick(&mut self, tick: u64, accounting: &Accounting, signals: &mut Vec<u32>) {
        while let Some(due) = self.deadlines.first_entry().filter(|due| *due.key() <= tick) {
            for at in due.remove() {
                if followed(accounting, at).is_none() {
                    self.is_waiting[at as usize] = false;
                    continue;
                }
                if self.timeout(at, accounting) <= tick {
                    signals.push(at);
                    self.heard[at as usize] = tick;
                }
                self.deadlines.entry(self.timeout(at, accounting)).or_default().push(at);
            }
        }
    }

    fn end_tick(&mut self, tick: u64, accounting: &Accounting, link_faults: &LinkFaults, sent: &mut Vec<Sent>) {
        if let Some((_, leaders)) = self.arriving.take_if(|(arrival, _)| *arrival == tick) {
            for leader in leaders {
                let hears = |&at: &u32| followed(accounting, at) == Some(leader) && !link_faults.separates(at, leader);
                (0..accounting.size()).filter(hears).for_each(|at| self.heard[at as usize] = tick);
            }
        }
        for &at in accounting.changed_roles() {
            if followed(accounting, at).is_some() && !std::mem::replace(&mut self.is_waiting[at as usize], true) {
                self.deadlines.entry(self.timeout(at, accounting)).or_default().push(at);
            }
        }
        if tick == self.next {
            let leaders: Vec<u32> = (0..accounting.size()).filter(|&at| accounting.is_leading(at)).collect();
            let others = u64::from(accounting.size() - 1);
            self.heartbeats += leaders.len() as u64 * others;
            sent.extend(leaders.iter().map(|&leader| (leader, NoticeKind::Heartbeat, others)).filter(|_| others > 0));
            if !leaders.is_empty() {
                self.arriving = Some((tick + 1, leaders));
            }
            self.next = self.next.saturating_add(self.every);
        }
    }
}

#[derive(Debug)]
pub(crate) struct Terms {
    length: u64,
    /// When the current term of a position began.
    began: Vec<Option<u64>>,
    /// The positions whose terms may end at a tick.
    ends: BTreeMap<u64, Vec<u32>>,
}

impl Terms {
    fn begin(&mut self, leader: u32, tick: u64) {
        self.began[leader as usize] = Some(tick);
        self.ends.entry(tick.saturating_add(self.length)).or_default().push(leader);
    }

    fn begin_tick(&mut self, tick: u64, accounting: &Accounting, signals: &mut Vec<u32>) {
        while let Some(due) = self.ends.first_entry().filter(|due| *due.key() <= tick) {
            for leader in due.remove() {
                let began = self.began[leader as usize].take().unwrap_or(tick);
                let followers = || (0..accounting.size()).filter(|&at| accounting.leader_of(at) == Some(leader));
                let Some(first) = followers().next() else { continue };
                // If all nodes that named it stopped and named it again, its term began later.
                let began =
                    followers().map(|at| accounting.leader_since(at)).min().map_or(began, |since| since.max(began));
                if began.saturating_add(self.length) <= tick {
                    signals.push(first);
                    self.begin(leader, tick);
                } else {
                    self.begin(leader, began);
                }
            }
        }
    }

    fn end_tick(&mut self, tick: u64, accounting: &Accounting) {
        for &at in accounting.changed_roles() {
            if let Some(leader) = accounting.leader_of(at).filter(|&leader| self.began[leader as usize].is_none()) {
                self.begin(leader, tick);
            }
        }
    }
}
