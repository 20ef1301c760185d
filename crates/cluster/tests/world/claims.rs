//! What programs were told, in true time, and whether that is as it should be.

use std::collections::BTreeMap;

use hustings_cluster::api::OfficeStatus;

/// A program holds an office.
#[derive(Clone, Debug)]
struct Claim {
    node: usize,
    token: u64,
    from: u64,
    until: u64,
}

/// All claims of all programs.
#[derive(Default)]
pub(crate) struct Claims {
    seed: u64,
    open: BTreeMap<String, Vec<Claim>>,
    greatest: BTreeMap<String, (u64, usize)>,
    owners: BTreeMap<(String, u64), usize>,
    /// The greatest token that anybody had been told when a program asked who holds the office.
    asked: BTreeMap<u64, u64>,
    pub(crate) count: usize,
    /// So many answers were current.
    pub(crate) current: usize,
}

impl Claims {
    pub(crate) fn new(seed: u64) -> Self {
        Claims { seed, ..Claims::default() }
    }

    /// A program was told that it holds an office, until then.
    pub(crate) fn held(&mut self, office: &str, node: usize, token: u64, (now, until): (u64, u64), exclusive: bool) {
        let seed = self.seed;
        let greatest = self.greatest.entry(office.to_string()).or_default();
        // Who lags may hear of a fenced office after it was granted again: that is what the token is for.
        let is_same = *greatest == (token, node);
        let is_next = token > greatest.0 || is_same || !exclusive;
        assert!(is_next, "seed {seed}: {office}: token {token} for {node} after {greatest:?}");
        *greatest = (*greatest).max((token, node));
        let owner = self.owners.entry((office.to_string(), token)).or_insert(node);
        assert_eq!(*owner, node, "seed {seed}: {office}: two have token {token}");
        self.count += 1;
        let open = self.open.entry(office.to_string()).or_default();
        open.retain(|claim| claim.until > now && claim.node != node);
        if exclusive {
            assert!(
                open.is_empty(),
                "seed {seed}: {office} at {:.3} ms: node {node} holds it with {token}, but also {open:?}",
                now as f64 / 1e6
            );
        }
        open.push(Claim { node, token, from: now, until });
    }

    /// A program may go on.
    pub(crate) fn renewed(&mut self, office: &str, node: usize, token: u64, (now, until): (u64, u64)) {
        let seed = self.seed;
        let open = self.open.entry(office.to_string()).or_default();
        let claim = open.iter_mut().find(|claim| claim.node == node && claim.token == token);
        let claim = claim.unwrap_or_else(|| panic!("seed {seed}: {office}: node {node} is renewed what it has not"));
        assert!(claim.from <= now);
        claim.until = claim.until.max(until);
    }

    /// A program has stopped.
    pub(crate) fn ended(&mut self, office: &str, node: usize) {
        self.open.entry(office.to_string()).or_default().retain(|claim| claim.node != node);
    }

    /// A program asks who holds an office.
    pub(crate) fn asked(&mut self, client: u64, office: &str) {
        let told = self.greatest.get(office).map_or(0, |(token, _)| *token);
        self.asked.insert(client, told);
    }

    /// It is answered: nobody is current who had been followed by somebody else before it asked.
    pub(crate) fn shown(&mut self, client: u64, status: &OfficeStatus) {
        let Some(told) = self.asked.remove(&client) else { return };
        let seed = self.seed;
        assert!(!status.current || status.token >= told, "seed {seed}: token {told} had been told before: {status:?}");
        self.current += usize::from(status.current);
    }
}
