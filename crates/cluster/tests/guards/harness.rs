//! Machines that a test drives by hand: nothing takes time but what the test lets pass, and there are no rng.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use hustings_cluster::api::{Reply, Request};
use hustings_cluster::clock::Moment;
use hustings_cluster::config::{ArbiterKind, Choice, Config, Mode, Policy, Tls};
use hustings_cluster::core::{Broken, ClientId, Core, Exit, Output, Setup};
use hustings_cluster::member::{Member, Role};
use hustings_cluster::store::Mirror;
use hustings_cluster::timing::Timing;
use hustings_cluster::wire::{Heartbeat, LeaderHeartbeat, Message};
use hustings_protocol::Id;

/// So much happens at once only if it never ends.
const MAX_STEPS: usize = 2_000;

/// Members with these ids and roles.
pub(crate) fn members(roles: &[(u64, Role)]) -> Vec<Member> {
    let member = |&(id, role): &(u64, Role)| Member {
        id: Id(id),
        name: format!("n{id}"),
        address: format!("h{id}:1"),
        priority: 0,
        role,
    };
    roles.iter().map(member).collect()
}

/// What a node is told that is one of these members.
pub(crate) fn config(node: u64, roles: &[(u64, Role)]) -> Config {
    Config {
        cluster: "test".to_string(),
        node: Id(node),
        members: members(roles),
        listen: String::new(),
        algorithm: Choice::named("bully", Some(vec!["highest=announce".to_string()])),
        arbiter: ArbiterKind::Raft,
        timing: Timing { lease: Duration::from_millis(300), settle: Duration::from_millis(50), ..Timing::default() },
        offices: Vec::new(),
        default_policy: Policy { mode: Mode::Exclusive, ..Policy::default() },
        health: None,
        data: Default::default(),
        socket: Default::default(),
        tls: Tls { authority: Default::default(), certificate: Default::default(), key: Default::default() },
        join: false,
    }
}

/// A core, and what it said so far.
pub(crate) struct Node {
    pub(crate) core: Core,
    pub(crate) replies: Vec<(ClientId, Reply)>,
    pub(crate) sent: Vec<(Id, Message)>,
    pub(crate) exit: Option<Exit>,
    /// The disk takes what it is given, and does not say that it is durable.
    pub(crate) is_disk_stuck: bool,
    /// What it has not said to be durable.
    pub(crate) unwritten: Vec<u64>,
}

/// Some cores. Other members are played by the test.
pub(crate) struct TestCluster {
    pub(crate) now: Moment,
    nodes: BTreeMap<u64, Node>,
}

/// Which start of a node this is: there is only one of each.
pub(crate) fn incarnation(node: u64) -> u64 {
    1_000 + node
}

impl TestCluster {
    /// Machines that start now, each with a blank disk, connected with each other.
    pub(crate) fn new(configs: Vec<Config>) -> Self {
        let blank = |config| (config, Mirror::empty());
        TestCluster::with_disks(configs.into_iter().map(blank).collect())
    }

    /// Machines that start now with what is on their disks, connected with each other.
    pub(crate) fn with_disks(nodes: Vec<(Config, Mirror)>) -> Self {
        let now = Moment(1_000_000_000);
        let mut cluster = TestCluster { now, nodes: BTreeMap::new() };
        for (config, mirror) in nodes {
            let node = config.node.0;
            let (incarnation, store_id, broken) = (incarnation(node), 70 + node, Broken::default());
            let setup = Setup { config, incarnation, store_id, mirror, seed: node, broken };
            let core = Core::new(setup, now).expect("the disk is in order");
            let (replies, sent, unwritten) = (Vec::new(), Vec::new(), Vec::new());
            cluster.nodes.insert(node, Node { core, replies, sent, exit: None, is_disk_stuck: false, unwritten });
        }
        let ids: Vec<u64> = cluster.nodes.keys().copied().collect();
        for &one in &ids {
            for &other in ids.iter().filter(|other| **other != one) {
                cluster.drive(one, |core, now| core.handle_connected(Id(other), incarnation(other), now));
            }
        }
        cluster
    }

    pub(crate) fn node(&mut self, node: u64) -> &mut Node {
        self.nodes.get_mut(&node).expect("this node is a core of the town")
    }

    /// Something happens to a core, and all that follows from it.
    pub(crate) fn drive(&mut self, node: u64, event: impl FnOnce(&mut Core, Moment)) {
        let now = self.now;
        event(&mut self.node(node).core, now);
        let mut messages = VecDeque::new();
        self.collect(node, &mut messages);
        let mut count = 0;
        while let Some((from, to, message)) = messages.pop_front() {
            count += 1;
            assert!(count < MAX_STEPS, "it does not come to rest");
            if let Some(receiver) = self.nodes.get_mut(&to) {
                receiver.core.handle_message(Id(from), message, now);
                self.collect(to, &mut messages);
            }
        }
    }

    /// Does what a core wants done.
    fn collect(&mut self, node: u64, messages: &mut VecDeque<(u64, u64, Message)>) {
        let now = self.now;
        let known: Vec<u64> = self.nodes.keys().copied().collect();
        let node_state = self.node(node);
        for _ in 0..MAX_STEPS {
            let outputs = node_state.core.take_outputs();
            if outputs.is_empty() {
                return;
            }
            for output in outputs {
                match output {
                    Output::Send(to, message) => {
                        if known.contains(&to.0) {
                            let decoded = Message::decode(&message.encode()).expect("it was just encoded");
                            messages.push_back((node, to.0, decoded));
                        }
                        node_state.sent.push((to, message));
                    }
                    Output::Write(write) if node_state.is_disk_stuck => node_state.unwritten.push(write.number),
                    Output::Write(write) => node_state.core.handle_persisted(write.number, now),
                    Output::Reply(client, reply) => node_state.replies.push((client, reply)),
                    Output::Exit(why) => node_state.exit = node_state.exit.or(Some(why)),
                    Output::Disconnect(_) | Output::Members(_) => {}
                }
            }
        }
        panic!("node {node} does not come to rest");
    }

    /// Time passes.
    pub(crate) fn advance_ms(&mut self, ms: u64) {
        for _ in 0..ms {
            self.now = self.now + Duration::from_millis(1);
            let ids: Vec<u64> = self.nodes.keys().copied().collect();
            for node in ids {
                if self.node(node).core.poll_timeout() <= self.now {
                    self.drive(node, |core, now| core.handle_timeout(now));
                }
            }
        }
    }

    /// A program of a node asks.
    pub(crate) fn request(&mut self, node: u64, client: u64, request: Request) {
        self.drive(node, |core, now| core.handle_request(ClientId(client), request, now));
    }

    pub(crate) fn campaign(&mut self, node: u64, client: u64, office: &str, mode: Option<Mode>) {
        self.request(node, client, Request::Campaign { office: office.to_string(), mode });
    }

    /// A member that the test plays says something.
    pub(crate) fn deliver(&mut self, from: u64, to: u64, message: Message) {
        self.drive(to, |core, now| core.handle_message(Id(from), message, now));
    }

    /// A core ends, and everybody sees it.
    pub(crate) fn kill(&mut self, node: u64) {
        self.nodes.remove(&node);
        let ids: Vec<u64> = self.nodes.keys().copied().collect();
        ids.into_iter().for_each(|other| self.drive(other, |core, now| core.handle_disconnected(Id(node), now)));
    }

    /// The disk of a node says what is durable.
    pub(crate) fn complete_writes(&mut self, node: u64) {
        self.node(node).is_disk_stuck = false;
        let unwritten = std::mem::take(&mut self.node(node).unwritten);
        unwritten.into_iter().for_each(|number| self.drive(node, |core, now| core.handle_persisted(number, now)));
    }

    /// What a program of a node was told since this was last asked.
    pub(crate) fn take_replies(&mut self, node: u64, client: u64) -> Vec<Reply> {
        let replies = self.node(node).replies.extract_if(.., |(to, _)| *to == ClientId(client));
        replies.map(|(_, reply)| reply).collect()
    }

    /// The code of the refusal that a program of a node was last told, if that is the last that it was told.
    pub(crate) fn take_refusal_code(&mut self, node: u64, client: u64) -> Option<String> {
        match self.take_replies(node, client).pop() {
            Some(Reply::Refused(refusal)) => Some(refusal.code),
            _ => None,
        }
    }

    /// The token with which a node holds an office.
    pub(crate) fn token(&mut self, node: u64, office: &str) -> Option<u64> {
        self.node(node).core.held_offices().find(|(name, _)| *name == office).map(|(_, token)| token)
    }

    /// The last round of the arbiter's leader that a member was sent.
    pub(crate) fn last_leader_heartbeat(&mut self, node: u64, to: u64) -> LeaderHeartbeat {
        let mut heartbeats = self.node(node).sent.iter().filter_map(|(receiver, message)| match message {
            Message::Heartbeat(Heartbeat { leader: Some(leader), .. }) if *receiver == Id(to) => Some(*leader),
            _ => None,
        });
        heartbeats.next_back().expect("the leader has sent rounds")
    }
}
