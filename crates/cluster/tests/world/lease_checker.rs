//! What programs were told, in true time, and whether that is as it should be.

use std::collections::BTreeMap;

use hustings_cluster::api::OfficeStatus;

/// A program holds an office.
#[derive(Clone, Debug)]
struct Lease {
    node: usize,
    token: u64,
    from: u64,
    until: u64,
}

/// All claims of all programs.
#[derive(Default)]
pub(crate) struct LeaseChecker {
    seed: u64,
    open: BTreeMap<String, Vec<Lease>>,
    max_tokens: BTreeMap<String, (u64, usize)>,
    owners: BTreeMap<(String, u64), usize>,
    /// The greatest token that anybody had been told when a program asked who holds the office.
    reads: BTreeMap<u64, u64>,
    pub(crate) acquired: usize,
    /// So many answers were current.
    pub(crate) current_answers: usize,
}

impl LeaseChecker {
    pub(crate) fn new(seed: u64) -> Self {
        LeaseChecker { seed, ..LeaseChecker::default() }
    }

    /// A program was told that it holds an office, until then.
    pub(crate) fn acquire(&mut self, office: &str, node: usize, token: u64, (now, until): (u64, u64), exclusive: bool) {
        let seed = self.seed;
        let max = self.max_tokens.entry(office.to_string()).or_default();
        // Who lags may hear of a fenced office after it was granted again: that is what the token is for.
        let is_same = *max == (token, node);
        let is_next = token > max.0 || is_same || !exclusive;
        assert!(is_next, "seed {seed}: {office}: token {token} for {node} after {max:?}");
        *max = (*max).max((token, node));
        let owner = self.owners.entry((office.to_string(), token)).or_insert(node);
        assert_eq!(*owner, node, "seed {seed}: {office}: two have token {token}");
        self.acquired += 1;
        let open = self.open.entry(office.to_string()).or_default();
        open.retain(|lease| lease.until > now && lease.node != node);
        if exclusive {
            assert!(
                open.is_empty(),
                "seed {seed}: {office} at {:.3} ms: node {node} holds it with {token}, but also {open:?}",
                now as f64 / 1e6
            );
        }
        open.push(Lease { node, token, from: now, until });
    }

    /// A program may go on.
    pub(crate) fn renew(&mut self, office: &str, node: usize, token: u64, (now, until): (u64, u64)) {
        let seed = self.seed;
        let open = self.open.entry(office.to_string()).or_default();
        let lease = open.iter_mut().find(|lease| lease.node == node && lease.token == token);
        let lease = lease.unwrap_or_else(|| panic!("seed {seed}: {office}: node {node} is renewed what it has not"));
        assert!(lease.from <= now);
        lease.until = lease.until.max(until);
    }

    /// A program has stopped.
    pub(crate) fn release(&mut self, office: &str, node: usize) {
        self.open.entry(office.to_string()).or_default().retain(|lease| lease.node != node);
    }

    /// A program asks who holds an office.
    pub(crate) fn begin_read(&mut self, client: u64, office: &str) {
        let token = self.max_tokens.get(office).map_or(0, |(token, _)| *token);
        self.reads.insert(client, token);
    }

    /// It is answered: nobody is current who had been followed by somebody else before it asked.
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
