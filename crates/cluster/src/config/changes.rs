//! What a reload can apply, and what needs a restart.

use super::{Config, Http, HttpTls, Limits, Log};

/// The same API, with other files.
fn fixed(http: &Http) -> Http {
    let tls = http.tls.as_ref().map(|tls| HttpTls {
        certificate: Default::default(),
        key: Default::default(),
        client_authority: tls.client_authority.as_ref().map(|_| Default::default()),
        client_right: tls.client_right,
    });
    Http { tokens: None, tls, ..http.clone() }
}

impl Config {
    /// The keys that differ in `new` and take effect only after a restart. `[tls]`, `[health]`, the log's
    /// level, the other limits and the files of `[http]` are applied while a node runs.
    pub(crate) fn changes_that_need_a_restart(&self, new: &Config) -> Vec<&'static str> {
        // Named one by one, so that a new key must be decided here.
        let Config {
            cluster,
            node,
            members,
            listen,
            algorithm,
            arbiter,
            timing,
            offices,
            default_policy,
            health: _,
            limits: Limits { connections, campaigns: _, watches: _, state: _, state_total: _ },
            http,
            log: Log { level: _, format },
            data,
            socket,
            socket_group,
            tls: _,
            join,
            scheduling,
        } = self;
        let differs = [
            ("cluster", *cluster != new.cluster),
            ("node", *node != new.node),
            ("listen", *listen != new.listen),
            ("data", *data != new.data),
            ("socket", *socket != new.socket),
            ("socket-group", *socket_group != new.socket_group),
            ("algorithm, params", *algorithm != new.algorithm),
            ("arbiter", *arbiter != new.arbiter),
            ("join", *join != new.join),
            ("scheduling", *scheduling != new.scheduling),
            ("[timing]", *timing != new.timing),
            ("[[member]]", *members != new.members),
            ("[office-default]", *default_policy != new.default_policy),
            ("[[office]]", *offices != new.offices),
            ("limits.connections", *connections != new.limits.connections),
            ("log.format", *format != new.log.format),
            ("[http]", http.as_ref().map(fixed) != new.http.as_ref().map(fixed)),
        ];
        differs.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key).collect()
    }
}
