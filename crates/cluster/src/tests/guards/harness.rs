//! Cores that a test drives step by step. Time advances only when the test says so, and nothing is random.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use hustings_protocol::Id;
use raft::eraftpb::{HardState, MessageType, Snapshot};

use crate::api::{Reply, Request};
use crate::clock::Timestamp;
use crate::config::{AlgorithmConfig, Config, Mode, Policy};
use crate::core::table::Table;
use crate::core::{ClientId, Core, Exit, Output, Setup};
use crate::faults::DisabledRules;
use crate::format::Formats;
use crate::member::{Member, Role};
use crate::store::{DiskPosition, DiskState, RaftStorage};
use crate::tests::{is_authentic, seal};
use crate::timing::Timing;
use crate::wire::{Candidacy, Heartbeat, LeaderHeartbeat, Message};

/// More outputs than this in response to one event indicate an endless loop.
const MAX_STEPS: usize = 2_000;

/// Members with these ids and roles.
pub(crate) fn members(roles: &[(u64, Role)]) -> Vec<Member> {
    roles.iter().map(|&(id, role)| crate::tests::member(id, role)).collect()
}

/// The configuration of one of these members.
pub(crate) fn config(node: u64, roles: &[(u64, Role)]) -> Config {
    Config {
        algorithm: AlgorithmConfig::named("bully", Some(vec!["highest=announce".to_string()])),
        timing: Timing { lease: Duration::from_millis(300), settle: Duration::from_millis(50), ..Timing::default() },
        default_policy: Policy { mode: Mode::Exclusive, ..Policy::default() },
        ..crate::tests::config(node, members(roles))
    }
}

/// A core, and everything that it has sent.
pub(crate) struct Node {
    pub(crate) core: Core,
    config: Config,
    /// What it has written.
    pub(crate) disk: RaftStorage,
    incarnation: u64,
    pub(crate) replies: Vec<(ClientId, Reply)>,
    pub(crate) sent: Vec<(Id, Message)>,
    pub(crate) exit: Option<Exit>,
    /// Where members differ from this node, as last reported.
    pub(crate) differences: BTreeMap<Id, Vec<&'static str>>,
    /// The members that a new cluster waits for, as last reported.
    pub(crate) missing_founders: Vec<Id>,
    /// The members, as last reported to the transport.
    pub(crate) members: Vec<Member>,
    /// The disk accepts writes, but does not report them as durable.
    pub(crate) is_disk_stuck: bool,
    /// The numbers of the writes that are not durable.
    pub(crate) unwritten: Vec<u64>,
}

/// A set of cores. The test simulates the other members.
pub(crate) struct TestCluster {
    pub(crate) now: Timestamp,
    nodes: BTreeMap<u64, Node>,
    isolated: BTreeSet<u64>,
    /// Pairs of nodes: what the first one's log sends to the second is lost, but not its heartbeats.
    pub(crate) lost: BTreeSet<(u64, u64)>,
    /// Whether answers to reads are lost.
    pub(crate) lost_reads: bool,
    /// Whether answers to pieces of states are lost.
    pub(crate) lost_piece_answers: bool,
    /// Whether snapshots of the log are lost.
    pub(crate) lost_snapshots: bool,
    /// Whether entries of the log are lost on their way to other nodes.
    pub(crate) lost_entries: bool,
    /// How many pieces of states are damaged on their way.
    pub(crate) damaged_pieces: usize,
    /// Nodes that have stopped, and whose connections the others know to have ended.
    stopped: BTreeSet<u64>,
    /// What nodes know of versions from their next start on, if it is not what this program knows.
    pub(crate) formats: BTreeMap<u64, Formats>,
}

/// Whether a message is of this kind of the log.
fn is_raft(message: &Message, kind: MessageType) -> bool {
    let Message::Raft(raft) = message else { return false };
    raft.to_raft(1, 2).is_some_and(|raft| raft.get_msg_type() == kind)
}

/// The disk of a cluster with one voter, whose log was compacted at `index`: this is the table of the snapshot.
pub(crate) fn disk_with(table: &Table, index: u64, learners: &[u64]) -> RaftStorage {
    let mut snapshot = Snapshot { data: table.encode().into(), ..Snapshot::default() };
    let meta = snapshot.mut_metadata();
    (meta.index, meta.term) = (index, 1);
    meta.mut_conf_state().voters = vec![1];
    meta.mut_conf_state().learners = learners.to_vec();
    let storage = RaftStorage::empty();
    storage.install(snapshot).expect("an empty disk accepts a snapshot");
    storage.set_hard_state(HardState { term: 1, commit: index, ..HardState::default() });
    storage
}

/// The incarnation of a node until it is restarted.
pub(crate) fn incarnation(node: u64) -> u64 {
    1_000 + node
}

/// What a member announces that is a candidate for nothing, with this disk, on which its log ends here.
pub(crate) fn candidacy(incarnation: u64, store_id: u64, disk: DiskPosition) -> Message {
    candidacy_with(incarnation, store_id, DiskState { now: disk, started_at: disk, refused_as: None })
}

/// The same, with all that it says of its disk.
pub(crate) fn candidacy_with(incarnation: u64, store_id: u64, disk: DiskState) -> Message {
    Message::Candidacy(Candidacy {
        incarnation,
        store_id,
        disk,
        health: 100,
        disk_fails: false,
        digest: Default::default(),
        reads: 1,
        version: 1,
        base: None,
        added: Vec::new(),
        removed: Vec::new(),
    })
}

impl TestCluster {
    /// Starts nodes with empty disks, connected with each other.
    pub(crate) fn new(configs: Vec<Config>) -> Self {
        let blank = |config| (config, RaftStorage::empty());
        TestCluster::with_disks(configs.into_iter().map(blank).collect())
    }

    /// Starts nodes with these disks, connected with each other.
    pub(crate) fn with_disks(nodes: Vec<(Config, RaftStorage)>) -> Self {
        let now = Timestamp(1_000_000_000);
        let (nodes_by_id, isolated, lost, stopped) = Default::default();
        let (lost_reads, lost_piece_answers, lost_snapshots, lost_entries) = Default::default();
        let mut cluster = TestCluster {
            now,
            nodes: nodes_by_id,
            isolated,
            lost,
            lost_reads,
            lost_piece_answers,
            lost_snapshots,
            lost_entries,
            damaged_pieces: 0,
            stopped,
            formats: BTreeMap::new(),
        };
        for (config, storage) in nodes {
            let incarnation = incarnation(config.node.0);
            cluster.insert(config, storage, incarnation, None);
        }
        cluster.reconnect();
        cluster
    }

    /// Creates a core.
    fn insert(&mut self, config: Config, disk: RaftStorage, incarnation: u64, store_id: Option<u64>) {
        let node = config.node.0;
        let store_id = store_id.unwrap_or(70 + node);
        self.stopped.remove(&node);
        let (disabled_rules, storage) = (DisabledRules::default(), disk.clone());
        let formats = self.formats.get(&node).copied().unwrap_or_default();
        let setup =
            Setup { config: config.clone(), incarnation, store_id, storage, seed: node, disabled_rules, formats };
        let core = Core::new(setup, self.now).expect("the disk is valid");
        let (replies, sent, unwritten) = (Vec::new(), Vec::new(), Vec::new());
        self.nodes.insert(
            node,
            Node {
                core,
                config,
                disk,
                incarnation,
                replies,
                sent,
                exit: None,
                differences: BTreeMap::new(),
                missing_founders: Vec::new(),
                members: Vec::new(),
                is_disk_stuck: false,
                unwritten,
            },
        );
    }

    /// Starts one more node with an empty disk, connected with all others.
    pub(crate) fn start(&mut self, config: Config) {
        let node = config.node.0;
        self.insert(config, RaftStorage::empty(), incarnation(node), None);
        self.connect(node);
    }

    /// Starts one more node with an empty disk, connected with these.
    pub(crate) fn start_beside(&mut self, config: Config, others: &[u64]) {
        let node = config.node.0;
        self.insert(config, RaftStorage::empty(), incarnation(node), None);
        others.iter().for_each(|other| self.connect_pair(*other, node));
    }

    /// Changes the configuration of a node, from its next start on.
    pub(crate) fn change_config(&mut self, node: u64, change: impl FnOnce(&mut Config)) {
        change(&mut self.node(node).config);
    }

    /// Starts one more node with this disk, connected with all others.
    pub(crate) fn start_with(&mut self, config: Config, disk: RaftStorage, incarnation: u64, store_id: u64) {
        let node = config.node.0;
        self.insert(config, disk, incarnation, Some(store_id));
        self.connect(node);
    }

    /// Starts a node again that was killed, with this disk: all that it had written.
    pub(crate) fn start_killed(&mut self, (config, disk, incarnation): (Config, RaftStorage, u64)) {
        let node = config.node.0;
        self.insert(config, disk, incarnation + 100, None);
        self.connect(node);
    }

    /// Kills a node. Returns what it needs to start again.
    pub(crate) fn kill_for_now(&mut self, node: u64) -> (Config, RaftStorage, u64) {
        let this = self.node(node);
        let kept = (this.config.clone(), this.disk.clone(), this.incarnation);
        self.kill(node);
        kept
    }

    /// Kills a node, and starts it again with another content of its disk.
    pub(crate) fn restart_with(&mut self, node: u64, disk: RaftStorage) {
        self.node(node).disk = disk;
        self.restart(node);
    }

    /// Kills a node, and starts it again with its disk. Everything that it had written is durable.
    pub(crate) fn restart(&mut self, node: u64) {
        let killed = self.kill_for_now(node);
        self.start_killed(killed);
    }

    /// Connects a node with all others that run.
    fn connect(&mut self, node: u64) {
        let others: Vec<u64> =
            self.nodes.iter().filter(|(id, other)| **id != node && other.exit.is_none()).map(|(id, _)| *id).collect();
        others.into_iter().for_each(|other| self.connect_pair(other, node));
    }

    /// Connects all nodes again, as they do by themselves after they have given a connection up.
    pub(crate) fn reconnect(&mut self) {
        let ids: Vec<u64> = self.nodes.iter().filter(|(_, node)| node.exit.is_none()).map(|(id, _)| *id).collect();
        for (place, one) in ids.iter().enumerate() {
            ids[place + 1..].iter().for_each(|other| self.connect_pair(*one, *other));
        }
    }

    /// Connects two nodes. Both know of the connection before anything arrives on it.
    fn connect_pair(&mut self, one: u64, other: u64) {
        let (now, incarnations) = (self.now, [one, other].map(|node| self.nodes[&node].incarnation));
        self.node(one).core.handle_connected(Id(other), incarnations[1], now);
        self.drive(other, |core, now| core.handle_connected(Id(one), incarnations[0], now));
    }

    pub(crate) fn node(&mut self, node: u64) -> &mut Node {
        self.nodes.get_mut(&node).expect("the cluster runs this node")
    }

    /// Passes an event to a core, and delivers all messages that result from it.
    pub(crate) fn drive(&mut self, node: u64, event: impl FnOnce(&mut Core, Timestamp)) {
        let now = self.now;
        event(&mut self.node(node).core, now);
        let mut messages = VecDeque::new();
        self.process_outputs(node, &mut messages);
        let mut count = 0;
        while let Some((from, to, mut message)) = messages.pop_front() {
            if let Message::BlobPiece { data: Some(data), .. } = &mut message
                && self.damaged_pieces > 0
            {
                self.damaged_pieces -= 1;
                *data = data.iter().map(|byte| byte ^ 1).collect();
            }
            count += 1;
            assert!(count < MAX_STEPS, "the cores exchange messages endlessly");
            let is_lost = matches!(message, Message::Raft(_)) && self.lost.contains(&(from, to))
                || matches!(message, Message::ReadIndexResponse { .. }) && self.lost_reads
                || matches!(message, Message::StatePieceResponse { .. }) && self.lost_piece_answers
                || is_raft(&message, MessageType::MsgSnapshot) && self.lost_snapshots
                || is_raft(&message, MessageType::MsgAppend) && self.lost_entries;
            let is_cut = self.isolated.contains(&from) || self.isolated.contains(&to);
            if is_lost || is_cut || !is_authentic(to, &message) {
                continue;
            }
            if let Some(receiver) = self.nodes.get_mut(&to).filter(|node| node.exit.is_none()) {
                receiver.core.handle_message(Id(from), message, now);
                self.process_outputs(to, &mut messages);
            }
        }
    }

    /// The connections of nodes that have stopped end.
    fn end_stopped(&mut self) {
        let has_stopped =
            |(id, node): (&u64, &Node)| (node.exit.is_some() && !self.stopped.contains(id)).then_some(*id);
        let ended: Vec<u64> = self.nodes.iter().filter_map(has_stopped).collect();
        self.stopped.extend(&ended);
        let running: Vec<u64> = self.nodes.keys().copied().filter(|id| !self.stopped.contains(id)).collect();
        for (other, ended) in running.iter().flat_map(|other| ended.iter().map(move |ended| (*other, *ended))) {
            self.drive(other, |core, now| core.handle_disconnected(Id(ended), now));
        }
    }

    /// Carries out the outputs of a core.
    fn process_outputs(&mut self, node: u64, messages: &mut VecDeque<(u64, u64, Message)>) {
        let now = self.now;
        let known: Vec<u64> = self.nodes.keys().copied().collect();
        let this = self.node(node);
        for _ in 0..MAX_STEPS {
            let outputs = this.core.take_outputs();
            if outputs.is_empty() {
                return;
            }
            for output in outputs {
                match output {
                    Output::Send(to, mut message) => {
                        if let Message::Relay(relay) = &mut message
                            && relay.from == Id(node)
                        {
                            seal(relay);
                        }
                        if known.contains(&to.0) {
                            let decoded = Message::decode(&message.encode()).expect("the message was just encoded");
                            messages.push_back((node, to.0, decoded));
                        }
                        this.sent.push((to, message));
                    }
                    Output::Write(write) if this.is_disk_stuck => this.unwritten.push(write.number),
                    Output::Write(write) => this.core.handle_persisted(write.number, now),
                    Output::Reply(client, reply) => this.replies.push((client, reply)),
                    Output::Exit(why) => this.exit = this.exit.or(Some(why)),
                    Output::Members { members, .. } => this.members = members,
                    Output::MissingFounders(missing) => this.missing_founders = missing,
                    Output::ConfigDiffers { member, parts } => _ = this.differences.insert(member, parts),
                    Output::Disconnect(_) | Output::Outcome { .. } => {}
                }
            }
        }
        panic!("node {node} produces outputs endlessly");
    }

    /// Lets time pass.
    pub(crate) fn advance_ms(&mut self, ms: u64) {
        for _ in 0..ms {
            self.now = self.now + Duration::from_millis(1);
            let ids: Vec<u64> = self.nodes.keys().copied().collect();
            for node in ids {
                if self.node(node).exit.is_none() && self.node(node).core.poll_timeout() <= self.now {
                    self.drive(node, |core, now| core.handle_timeout(now));
                }
            }
            self.end_stopped();
        }
    }

    /// A client of a node sends a request.
    pub(crate) fn request(&mut self, node: u64, client: u64, request: Request) {
        self.drive(node, |core, now| core.handle_request(ClientId(client), request, now));
    }

    /// The connection of a client ends.
    pub(crate) fn disconnect(&mut self, node: u64, client: u64) {
        self.drive(node, |core, now| core.handle_client_gone(ClientId(client), now));
    }

    pub(crate) fn campaign(&mut self, node: u64, client: u64, office: &str, mode: Option<Mode>) {
        self.request(node, client, Request::Campaign { office: office.to_string(), mode, guard: None });
    }

    /// Delivers a message from a member that the test simulates.
    pub(crate) fn deliver(&mut self, from: u64, to: u64, message: Message) {
        if is_authentic(to, &message) {
            self.drive(to, |core, now| core.handle_message(Id(from), message, now));
        }
    }

    /// A member that the test simulates connects to a node, and has a blank disk.
    pub(crate) fn introduce_blank(&mut self, member: u64, to: u64) {
        self.drive(to, |core, now| core.handle_connected(Id(member), incarnation(member), now));
        self.deliver(member, to, candidacy(incarnation(member), 70 + member, DiskPosition::default()));
    }

    /// Cuts a node off: nothing reaches it or leaves it any more, and nobody notices that at once.
    pub(crate) fn isolate(&mut self, node: u64) {
        self.isolated.insert(node);
    }

    /// A node that was cut off is reached again, by new connections.
    pub(crate) fn rejoin(&mut self, node: u64) {
        self.isolated.remove(&node);
        self.connect(node);
    }

    /// The member that leads the arbiter, as known to a node.
    pub(crate) fn arbiter_leader(&mut self, node: u64) -> Option<u64> {
        self.node(node).core.arbiter_leader().map(|id| id.0)
    }

    /// Removes a core. The others notice it.
    pub(crate) fn kill(&mut self, node: u64) {
        self.nodes.remove(&node);
        let ids: Vec<u64> = self.nodes.keys().copied().collect();
        ids.into_iter().for_each(|other| self.drive(other, |core, now| core.handle_disconnected(Id(node), now)));
    }

    /// The disk of a node works again, and reports all writes as durable.
    pub(crate) fn complete_writes(&mut self, node: u64) {
        self.node(node).is_disk_stuck = false;
        let unwritten = std::mem::take(&mut self.node(node).unwritten);
        unwritten.into_iter().for_each(|number| self.drive(node, |core, now| core.handle_persisted(number, now)));
    }

    /// Takes the replies to a client of a node.
    pub(crate) fn take_replies(&mut self, node: u64, client: u64) -> Vec<Reply> {
        let replies = self.node(node).replies.extract_if(.., |(to, _)| *to == ClientId(client));
        replies.map(|(_, reply)| reply).collect()
    }

    /// Takes the replies to a client of a node. Returns the code of the last one, if it is a refusal.
    pub(crate) fn take_refusal_code(&mut self, node: u64, client: u64) -> Option<String> {
        match self.take_replies(node, client).pop() {
            Some(Reply::Error(refusal)) => Some(refusal.code),
            _ => None,
        }
    }

    /// The token with which a node holds an office.
    pub(crate) fn token(&mut self, node: u64, office: &str) -> Option<u64> {
        self.node(node).core.held_offices().find(|(name, _)| *name == office).map(|(_, token)| token)
    }

    /// What the arbiter's leader added to its last heartbeat for a member.
    pub(crate) fn last_leader_heartbeat(&mut self, node: u64, to: u64) -> LeaderHeartbeat {
        let mut heartbeats = self.node(node).sent.iter().filter_map(|(receiver, message)| match message {
            Message::Heartbeat(Heartbeat { leader: Some(leader), .. }) if *receiver == Id(to) => Some(*leader),
            _ => None,
        });
        heartbeats.next_back().expect("the leader has sent rounds")
    }
}
