//! Checks what clients are told, in true time: exclusive leases overlap with no others, and tokens only grow.

use std::collections::BTreeMap;

use crate::api::OfficeStatus;

/// The lease of a client, in true time.
#[derive(Clone, Debug)]
struct Lease {
    node: usize,
    token: u64,
    from: u64,
    until: u64,
    exclusive: bool,
}

/// The leases of all clients, and what must hold for them.
#[derive(Default)]
pub(crate) struct LeaseChecker {
    seed: u64,
    leases: BTreeMap<String, Vec<Lease>>,
    max_tokens: BTreeMap<String, (u64, usize)>,
    owners: BTreeMap<(String, u64), usize>,
    /// For each pending read, the highest token that any client had been granted when the read began.
    reads: BTreeMap<u64, u64>,
    pub(crate) acquired: usize,
    /// How many reads were answered as current.
    pub(crate) current_answers: usize,
}

impl LeaseChecker {
    pub(crate) fn new(seed: u64) -> Self {
        LeaseChecker { seed, ..LeaseChecker::default() }
    }

    /// A client was granted an office, until `until`.
    pub(crate) fn acquire(&mut self, office: &str, node: usize, token: u64, (now, until): (u64, u64), exclusive: bool) {
        let seed = self.seed;
        let max = self.max_tokens.entry(office.to_string()).or_default();
        // A lagging node may learn of a fenced grant after a newer one. The token protects against that.
        let is_same = *max == (token, node);
        let is_next = token > max.0 || is_same || !exclusive;
        assert!(is_next, "seed {seed}: {office}: token {token} for {node} after {max:?}");
        *max = (*max).max((token, node));
        let owner = self.owners.entry((office.to_string(), token)).or_insert(node);
        assert_eq!(*owner, node, "seed {seed}: {office}: two nodes have token {token}");
        self.acquired += 1;
        let open = self.leases.entry(office.to_string()).or_default();
        open.retain(|lease| lease.until > now && lease.token != token);
        // A fenced lease may overlap with others of its kind, but not with an exclusive one, when the mode changes.
        let is_allowed = open.iter().all(|other| !exclusive && !other.exclusive);
        assert!(
            is_allowed,
            "seed {seed}: {office} at {:.3} ms: node {node} holds it with token {token}, but also {open:?}",
            now as f64 / 1e6
        );
        open.push(Lease { node, token, from: now, until, exclusive });
    }

    /// The highest token of an office that a client was granted.
    pub(crate) fn highest_token(&self, office: &str) -> u64 {
        self.max_tokens.get(office).map_or(0, |(token, _)| *token)
    }

    /// A client's lease was extended.
    pub(crate) fn renew(&mut self, office: &str, node: usize, token: u64, (now, until): (u64, u64)) {
        let seed = self.seed;
        let open = self.leases.entry(office.to_string()).or_default();
        let lease = open.iter_mut().find(|lease| lease.node == node && lease.token == token);
        let lease =
            lease.unwrap_or_else(|| panic!("seed {seed}: {office}: node {node} renews a lease that it does not hold"));
        assert!(lease.from <= now);
        lease.until = lease.until.max(until);
    }

    /// A client has stopped.
    pub(crate) fn release(&mut self, office: &str, token: u64) {
        self.leases.entry(office.to_string()).or_default().retain(|lease| lease.token != token);
    }

    /// A client begins to read the holder of an office.
    pub(crate) fn begin_read(&mut self, client: u64, office: &str) {
        let token = self.max_tokens.get(office).map_or(0, |(token, _)| *token);
        self.reads.insert(client, token);
    }

    /// A read is answered. A holder that was already replaced when the read began must not be shown as current.
    pub(crate) fn end_read(&mut self, client: u64, status: &OfficeStatus) {
        let Some(token) = self.reads.remove(&client) else { return };
        let seed = self.seed;
        assert!(
            !status.current || status.token >= token,
            "seed {seed}: token {token} had been granted before: {status:?}"
        );
        self.current_answers += usize::from(status.current);
    }
}
