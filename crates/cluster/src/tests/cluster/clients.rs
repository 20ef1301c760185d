//! The programs and operators of the hosts: what they ask for, and what they are told.

use super::events::EventKind;
use super::{MS, SimCluster};
use crate::api::{Reply, Request};
use crate::config::Mode;
use crate::core::ClientId;

const OPERATOR: ClientId = ClientId(2);
/// Programs that read and store states have ids from here on.
const FIRST_STATE_CLIENT: u64 = 1 << 50;

impl SimCluster {
    /// A client on a host receives a reply.
    pub(super) fn handle_reply(&mut self, node: usize, client: ClientId, reply: Reply) {
        let now = self.now;
        match reply {
            reply if client == OPERATOR => self.operator_replies.push(reply),
            reply if client.0 >= FIRST_STATE_CLIENT => self.state_replies.push((client, reply)),
            Reply::Office(status) => {
                self.leases.end_read(client.0, &status);
                self.answers.insert(client, status);
            }
            // The reply is for a client that is gone.
            _ if self.hosts[node].client != Some(client) => {}
            // Without an arbiter, leases may overlap and tokens of different nodes are unrelated.
            _ if self.options.without_arbiter => {}
            Reply::Held(holding) => {
                let until = self.true_time(node, holding.deadline);
                self.hosts[node].held.insert(holding.office.clone(), (holding.token, holding.lease));
                let exclusive = self.is_held_exclusively(node, &holding.office);
                self.leases.acquire(&holding.office, node, holding.token, (now, until), exclusive);
            }
            Reply::Renewed { from } => {
                for (office, (token, lease)) in self.hosts[node].held.clone() {
                    let until = self.true_time(node, from + lease);
                    self.leases.renew(&office, node, token, (now, until));
                }
            }
            Reply::Stop { office, token, .. } => {
                self.hosts[node].held.remove(&office);
                let (delay, incarnation) = (self.rng.below(5 * MS), self.hosts[node].incarnation);
                self.schedule(delay, EventKind::Stopped { at: node, incarnation, client, office, token });
            }
            Reply::Lost { office, token, .. } => {
                self.hosts[node].held.remove(&office);
                self.leases.release(&office, token);
            }
            _ => {}
        }
    }

    /// Whether the lease of an office that a host holds is exclusive. One that it has lost by now, before its client
    /// heard of it, counts as fenced.
    pub(crate) fn is_held_exclusively(&self, node: usize, office: &str) -> bool {
        let core = self.hosts[node].core.as_ref();
        core.and_then(|core| core.held_mode(office)) == Some(Mode::Exclusive)
    }

    /// A client on a host reads the holder of an office. The answer is checked when it arrives.
    pub(crate) fn read_leader(&mut self, node: usize, office: &str) -> ClientId {
        self.serial += 1;
        let (client, incarnation) = (ClientId(1_000 + self.serial), self.hosts[node].incarnation);
        self.leases.begin_read(client.0, office);
        self.handle_event(EventKind::Read { at: node, incarnation, client, office: office.to_string() });
        client
    }

    /// An operator on a host requests a transfer of an office to another node.
    pub(crate) fn transfer(&mut self, node: usize, office: &str, to: usize) {
        self.request(node, Request::Transfer { office: office.to_string(), to: format!("n{}", to + 1) });
    }

    /// An operator on a host requests something.
    pub(crate) fn request(&mut self, node: usize, request: Request) {
        self.drive(node, |core, now| core.handle_request(OPERATOR, request, now));
    }

    /// The client on a host no longer campaigns for an office.
    pub(crate) fn withdraw(&mut self, node: usize, office: &str) {
        let Some(client) = self.hosts[node].client else { return };
        if let Some((token, _)) = self.hosts[node].held.remove(office) {
            self.leases.release(office, token);
        }
        let request = Request::Withdraw { office: office.to_string() };
        self.drive(node, |core, now| core.handle_request(client, request, now));
    }

    /// A program on a host sends a request about a state. Returns whom the answer is for.
    pub(crate) fn request_state(&mut self, node: usize, requests: Vec<Request>) -> ClientId {
        self.serial += 1;
        let client = ClientId(FIRST_STATE_CLIENT + self.serial);
        for request in requests {
            self.drive(node, |core, now| core.handle_request(client, request, now));
        }
        client
    }

    /// Takes the answers to requests about states.
    pub(crate) fn take_state_replies(&mut self) -> Vec<(ClientId, Reply)> {
        std::mem::take(&mut self.state_replies)
    }

    /// The token with which the program on a host holds an office, unless it was told to stop.
    pub(crate) fn held_token(&self, node: usize, office: &str) -> Option<u64> {
        self.hosts[node].held.get(office).map(|(token, _)| *token)
    }

    /// Takes what operators were told.
    pub(crate) fn take_operator_replies(&mut self) -> Vec<Reply> {
        std::mem::take(&mut self.operator_replies)
    }

    /// The hosts whose clients hold an office and were not told to stop.
    pub(crate) fn holders(&self, office: &str) -> Vec<usize> {
        (0..self.size()).filter(|node| self.hosts[*node].held.contains_key(office)).collect()
    }

    /// How many offices the client on a host holds.
    pub(crate) fn held_count(&self, node: usize) -> usize {
        self.hosts[node].held.len()
    }

    /// The current holder of an office according to each running host. Advances time until all of them have answered.
    pub(crate) fn leaders(&mut self, office: &str) -> Vec<Option<String>> {
        let clients: Vec<ClientId> = (0..self.size()).map(|node| self.read_leader(node, office)).collect();
        let is_open = |cluster: &SimCluster, node: usize| {
            cluster.hosts[node].core.is_some() && !cluster.answers.contains_key(&clients[node])
        };
        let latest = self.now + 1_000 * MS;
        while (0..self.size()).any(|node| is_open(self, node)) && self.now < latest {
            self.run_ms(1);
        }
        let answers = clients.iter().map(|client| self.answers.remove(client));
        answers.map(|status| status.filter(|status| status.current).and_then(|status| status.holder)).collect()
    }
}
