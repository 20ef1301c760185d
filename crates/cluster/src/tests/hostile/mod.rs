//! What hostile peers can do, tried with valid messages of every kind in many states of a cluster. The promises are in
//! `docs/security.md`; each row there is a test here, against cores, and in [`live`] against whole nodes.
//!
//! `HUSTINGS_HOSTILE_SECONDS` says how long each row is tried, `HUSTINGS_HOSTILE_SEED` where to begin. The seed of a
//! failure, and the messages of its run, are printed.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they say how much was tried, and with what a run failed"
)]

mod frames;
mod live;

use std::fmt;
use std::time::{Duration, Instant};

use hustings_protocol::Id;
use raft::Storage;

use self::frames::{Numbers, message, variants};
use super::cluster::Rng;
use super::guards::harness::{TestCluster, config, disk_with, incarnation, members};
use super::seal;
use crate::api::{Reply, Request};
use crate::core::table::Table;
use crate::member::Role;
use crate::wire::{Heartbeat, Message, Relay};

/// How many messages a run sends at most.
const MESSAGES: u64 = 60;
const OBSERVER: u64 = 4;
const REMOVED: u64 = 6;
const GUEST: u64 = 9;
/// The voter that turns hostile. The others are a majority without it.
const VOTER: u64 = 3;
const CLIENT: u64 = 1;

/// Who sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Row {
    /// Its certificate was issued, and it was never added.
    Guest,
    Observer,
    Removed,
    /// It sends whatever it likes, but does not forge what the model of Raft takes for granted: that a voter appends to
    /// the log what it was elected to append. It gives no orders of an operator, either.
    Voter,
    /// It forges that, too. Nothing panics, and that is all.
    Forger,
}

/// What the cluster does meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Settled,
    Blank,
    Leaderless,
    Restarted,
    /// A membership change does not get through.
    Changing,
    /// It continues with one member after the others were lost.
    Recovered,
}

const STATES: [State; 6] =
    [State::Settled, State::Blank, State::Leaderless, State::Restarted, State::Changing, State::Recovered];

/// Who takes the part of the sender.
fn hostile(row: Row) -> u64 {
    match row {
        Row::Guest => GUEST,
        Row::Observer => OBSERVER,
        Row::Removed => REMOVED,
        Row::Voter | Row::Forger => VOTER,
    }
}

fn roles(row: Row) -> Vec<(u64, Role)> {
    let mut roles = vec![(1, Role::Elector), (2, Role::Elector), (3, Role::Elector), (OBSERVER, Role::Observer)];
    if row == Row::Removed {
        roles.push((REMOVED, Role::Elector));
    }
    roles
}

/// A run: one cluster in one state, and one sender.
struct Run {
    row: Row,
    state: State,
    seed: u64,
    rng: Rng,
    cluster: TestCluster,
    roles: Vec<(u64, Role)>,
    /// The nodes that run.
    running: Vec<u64>,
    /// What the nodes need that start again when the sender is gone.
    stopped: Vec<(crate::config::Config, crate::store::RaftStorage, u64)>,
    /// The office that somebody holds, and who.
    held: Option<(u64, u64)>,
    sent: Vec<(u64, Message)>,
}

/// Says which run failed.
impl Drop for Run {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{self:?}");
        }
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?} in {:?}, seed {}:", self.row, self.state, self.seed)?;
        self.sent.iter().try_for_each(|(to, message)| writeln!(f, "  to {to}: {message:?}"))
    }
}

impl Run {
    fn new(row: Row, seed: u64) -> Run {
        let mut rng = Rng::new(seed);
        let state = match STATES[rng.below(STATES.len() as u64) as usize] {
            // Nobody was removed yet.
            State::Blank if row == Row::Removed => State::Settled,
            state => state,
        };
        let roles = roles(row);
        let (cluster, running) = match state {
            State::Recovered => {
                let mut table = Table::with_members(&members(&roles));
                table.recover(Id(1));
                (TestCluster::with_disks(vec![(config(1, &roles), disk_with(&table, 1 << 20, &[]))]), vec![1])
            }
            State::Blank => (TestCluster::new([1, 2].map(|node| config(node, &roles)).to_vec()), vec![1, 2]),
            _ => {
                let voters = roles.iter().filter(|(_, role)| role.votes()).map(|(id, _)| *id);
                let running: Vec<u64> = voters.collect();
                (TestCluster::new(running.iter().map(|node| config(*node, &roles)).collect()), running)
            }
        };
        let mut run =
            Run { row, state, seed, rng, cluster, roles, running, stopped: Vec::new(), held: None, sent: Vec::new() };
        run.prepare();
        run
    }

    /// Brings the cluster into its state, and connects the sender.
    fn prepare(&mut self) {
        self.cluster.advance_ms(1_000);
        if self.state != State::Blank {
            self.cluster.campaign(1, CLIENT, "job", None);
            self.cluster.advance_ms(500);
            if self.row == Row::Removed && self.state != State::Recovered {
                self.cluster.request(1, 9, Request::RemoveMember { name: format!("n{REMOVED}"), force: true });
                self.cluster.advance_ms(500);
                self.stop(REMOVED);
                self.stopped.clear();
            }
        }
        if matches!(self.row, Row::Voter | Row::Forger) && self.running.contains(&VOTER) {
            self.stop(VOTER);
            self.stopped.clear();
            self.cluster.advance_ms(2_000);
        }
        match self.state {
            State::Leaderless => {
                let others: Vec<u64> = self.running.iter().copied().filter(|node| *node != 1).collect();
                others.into_iter().for_each(|node| self.stop(node));
                self.cluster.advance_ms(500);
            }
            State::Restarted => self.cluster.restart(2),
            State::Changing => {
                self.cluster.lost_entries = true;
                let (name, address) = ("n7".to_string(), "h7:1".to_string());
                self.cluster.request(
                    1,
                    9,
                    Request::AddMember { id: 7, name, address, priority: 0, role: Role::Elector },
                );
            }
            State::Settled | State::Blank | State::Recovered => {}
        }
        let from = hostile(self.row);
        for to in self.running.clone() {
            self.cluster.drive(to, |core, now| core.handle_connected(Id(from), incarnation(from) + 1_000, now));
        }
        self.held = self.running.iter().find_map(|node| Some((*node, self.cluster.token(*node, "job")?)));
    }

    fn stop(&mut self, node: u64) {
        self.running.retain(|running| *running != node);
        let stopped = self.cluster.kill_for_now(node);
        self.stopped.push(stopped);
    }

    fn numbers(&mut self) -> Numbers {
        let node = self.running[self.rng.below(self.running.len() as u64) as usize];
        let sent = &self.cluster.node(node).sent;
        let reads = sent.iter().rev().filter_map(|(_, message)| match message {
            Message::ReadIndexRequest { number } => Some(*number),
            Message::Heartbeat(Heartbeat { leader: Some(leader), .. }) => Some(leader.round),
            _ => None,
        });
        let mut others: Vec<u64> = reads.take(3).collect();
        others.extend((1..=4).flat_map(|id| [id, 70 + id, incarnation(id)]));
        others.extend([hostile(self.row), incarnation(hostile(self.row)) + 1_000]);
        others.extend(self.held.map(|(_, token)| token));
        let (term, last_index) = (self.cluster.node(node).core.arbiter_term(), self.last_index(node));
        Numbers { term, last_index, others, offices: vec!["job".to_string(), "leader".to_string()] }
    }

    fn last_index(&mut self, node: u64) -> u64 {
        self.cluster.node(node).disk.last_index().expect("it is sound")
    }

    /// Sends messages, directly or through an honest voter, and lets time pass.
    fn send(&mut self) {
        let from = hostile(self.row);
        for number in 0..1 + self.rng.below(MESSAGES) {
            let numbers = self.numbers();
            let variant = self.rng.below(variants().len() as u64) as usize;
            let message = message(variant, &numbers, &mut self.rng);
            if self.row == Row::Voter && !is_in_the_promise(&message, self.state) {
                continue;
            }
            let to = self.running[self.rng.below(self.running.len() as u64) as usize];
            self.sent.push((to, message.clone()));
            let via = self.running.iter().copied().find(|via| *via != to).filter(|_| self.rng.below(8) == 0);
            match via {
                Some(via) => {
                    let relay = self.relayed(to, number, &message);
                    self.cluster.deliver(via, to, relay);
                }
                None => self.cluster.deliver(from, to, message),
            }
            if self.rng.below(3) == 0 {
                let ms = self.rng.below(60);
                self.cluster.advance_ms(ms);
            }
            self.check_unchanged();
        }
        self.cluster.advance_ms(1_200);
        self.check_unchanged();
    }

    fn relayed(&mut self, to: u64, number: u64, message: &Message) -> Message {
        let from = hostile(self.row);
        let mut relay = Relay {
            from: Id(from),
            incarnation: incarnation(from) + 1_000,
            to: Id(to),
            to_incarnation: incarnation(to),
            number: number + 1,
            is_bulk: message.is_bulk(),
            bytes: message.encode(),
            seal: None,
        };
        seal(&mut relay);
        Message::Relay(relay)
    }

    /// No node has ended; and unless the sender votes, nobody has lost anything.
    fn check_unchanged(&mut self) {
        if self.row == Row::Forger {
            return;
        }
        for node in self.running.clone() {
            assert_eq!(self.cluster.node(node).exit, None, "node {node}");
        }
        if self.row == Row::Voter {
            return;
        }
        if let Some((holder, token)) = self.held.filter(|(holder, _)| self.running.contains(holder))
            && matches!(self.state, State::Settled | State::Recovered)
        {
            assert_eq!(self.cluster.token(holder, "job"), Some(token), "the office is lost");
        }
        let term = self.cluster.node(1).core.arbiter_term();
        assert!(term < 10, "nobody was elected, but the term is {term}");
    }

    /// The sender is gone, and whoever was stopped is back: the cluster elects and grants.
    fn check_recovers(&mut self) {
        if self.row == Row::Forger {
            return;
        }
        let from = hostile(self.row);
        for to in self.running.clone() {
            self.cluster.drive(to, |core, now| core.handle_disconnected(Id(from), now));
        }
        self.cluster.lost_entries = false;
        for stopped in std::mem::take(&mut self.stopped) {
            self.running.push(stopped.0.node.0);
            self.cluster.start_killed(stopped);
        }
        if self.state == State::Blank {
            // A new cluster begins with all of its voters. If one was hostile, it is another one now.
            for id in self.roles.clone().into_iter().filter(|(id, role)| role.votes() && *id > 2).map(|(id, _)| id) {
                self.cluster.start(config(id, &self.roles));
                self.running.push(id);
            }
        }
        self.cluster.reconnect();
        self.cluster.campaign(2.min(self.running.len() as u64), CLIENT, "after", None);
        for _ in 0..120 {
            self.cluster.advance_ms(500);
            let running = self.running.clone();
            if running.into_iter().any(|node| self.cluster.token(node, "after").is_some()) {
                return self.check_reads();
            }
        }
        let cluster = &mut self.cluster;
        let states: Vec<_> = self
            .running
            .iter()
            .map(|id| {
                let node = cluster.node(*id);
                format!("{id}: {:?}, term {}, {:?}", node.exit, node.core.arbiter_term(), node.core)
            })
            .collect();
        panic!("nothing is granted within a minute after the sender is gone: {}", states.join("\n"));
    }

    fn check_reads(&mut self) {
        for node in self.running.clone().into_iter().filter(|node| *node <= 2) {
            self.cluster.take_replies(node, 77);
            self.cluster.request(node, 77, Request::Leader { office: "after".to_string() });
            self.cluster.advance_ms(1_000);
            let replies = self.cluster.take_replies(node, 77);
            let is_current = |reply: &Reply| matches!(reply, Reply::Office(office) if office.current);
            assert!(replies.iter().any(is_current), "node {node} does not read: {replies:?}");
        }
    }
}

/// Whether the promise is about this. A voter that follows the rules of Raft does not append what it was not elected to
/// append. An operator on its host gives no orders. A node that is blank, or that reaches nobody else, believes what is
/// said of its disk.
fn is_in_the_promise(message: &Message, state: State) -> bool {
    match message {
        Message::ForwardedRequest(_) => false,
        Message::Heartbeat(heartbeat) => heartbeat.leader.is_none_or(|leader| leader.commit == 0),
        Message::Raft(_) => !matches!(message.kind().name(), "raft-append" | "raft-snapshot"),
        Message::UnknownDisk(_) => state != State::Blank,
        Message::OldDisk(_) => state != State::Leaderless,
        _ => true,
    }
}

/// How long a row is tried.
fn budget() -> Duration {
    let seconds = std::env::var("HUSTINGS_HOSTILE_SECONDS").ok();
    let seconds = seconds.map(|text| text.parse().expect("HUSTINGS_HOSTILE_SECONDS is a number"));
    Duration::from_secs(seconds.unwrap_or(2))
}

fn try_row(row: Row) {
    let first: u64 = std::env::var("HUSTINGS_HOSTILE_SEED").map_or(0, |text| text.parse().expect("a number"));
    let (until, mut runs, mut messages) = (Instant::now() + budget(), 0, 0);
    while runs < 20 || Instant::now() < until {
        let mut run = Run::new(row, first + runs);
        run.send();
        run.check_recovers();
        (runs, messages) = (runs + 1, messages + run.sent.len());
    }
    println!("{row:?}: {messages} messages in {runs} runs");
}

#[test]
fn a_guest_changes_nothing() {
    try_row(Row::Guest);
}

#[test]
fn an_observer_changes_nothing() {
    try_row(Row::Observer);
}

#[test]
fn a_removed_member_changes_nothing() {
    try_row(Row::Removed);
}

#[test]
fn a_hostile_voter_ends_nobody() {
    try_row(Row::Voter);
}

#[test]
fn forged_appends_of_a_voter_make_nobody_panic() {
    try_row(Row::Forger);
}
