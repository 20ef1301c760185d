//! The audit log: who asked for a change, and what became of it.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::time::Duration;

use super::Node;
use super::peer_credentials::PeerCredentials;
use crate::api::{Base64, Request, RequestError, Right};
use crate::clock::Timestamp;
use crate::core::ClientId;

/// The longest description of a request in a line.
const MAX_REQUEST_CHARS: usize = 300;
/// How much of `/etc/passwd` is read.
const MAX_PASSWD_BYTES: u64 = 1 << 20;
/// Refusals are cheap to provoke. After this many lines in this time, they are only counted.
const MAX_REFUSALS: u32 = 20;
const REFUSAL_PERIOD: Duration = Duration::from_secs(10);

/// How many refusals are logged: each can be provoked at no cost.
#[derive(Debug, Default)]
pub struct RefusalLimit {
    began: Timestamp,
    count: u32,
    suppressed: u32,
}

impl RefusalLimit {
    /// Adds to the line of a refusal how many were not logged since the last one; `None` if this one must not be.
    pub fn admit(&mut self, line: impl fmt::Display, now: Timestamp) -> Option<String> {
        if now >= self.began + REFUSAL_PERIOD || self.count == 0 {
            (self.began, self.count) = (now, 0);
        }
        self.count += 1;
        if self.count > MAX_REFUSALS {
            self.suppressed += 1;
            return None;
        }
        Some(match std::mem::take(&mut self.suppressed) {
            0 => line.to_string(),
            count => format!("{line} ({count} earlier refusals are not logged)"),
        })
    }
}

/// Who asked for what, while the outcome is open.
pub(super) struct Audit {
    /// The names of this host's users when the node started. Asking for one later may take seconds, where users are
    /// kept on the network.
    users: BTreeMap<u32, String>,
    /// The clients that wait for the outcome of a request, and of how many. They may be gone before it is known.
    waiting: BTreeMap<ClientId, (PeerCredentials, usize)>,
    refusals: RefusalLimit,
}

impl Audit {
    pub(super) fn new() -> Audit {
        Audit { users: local_users(), waiting: BTreeMap::new(), refusals: RefusalLimit::default() }
    }

    /// A client asked for something whose outcome the core will report.
    fn expect_outcome(&mut self, client: ClientId, peer: PeerCredentials) {
        self.waiting.entry(client).or_insert((peer, 0)).1 += 1;
    }

    /// Takes who asked for something that is decided now.
    fn take_waiting(&mut self, client: ClientId) -> Option<PeerCredentials> {
        let (peer, count) = self.waiting.get_mut(&client)?;
        let peer = *peer;
        *count -= 1;
        if *count == 0 {
            self.waiting.remove(&client);
        }
        Some(peer)
    }

    fn line(&self, peer: PeerCredentials, request: &Request, result: &str) -> String {
        let uid = peer.uid.as_raw();
        let user = self.users.get(&uid).map(|name| format!(" user={name}")).unwrap_or_default();
        let mut shown = request.clone();
        if let Request::PutState { data, .. } = &mut shown {
            // What a program stores is not for the log.
            *data = Base64::default();
        }
        let text = serde_json::to_string(&shown).expect("a request is plain data");
        let text: String = text.chars().take(MAX_REQUEST_CHARS).collect();
        let pid = peer.pid.map_or_else(|| "?".to_string(), |pid| pid.to_string());
        format!("audit: uid={uid}{user} pid={pid} request={text} result={result}")
    }
}

/// Whether each request of this kind gets a line. The others only read, or are as frequent as leases.
fn is_audited(request: &Request) -> bool {
    match request {
        Request::Complete { .. } | Request::DeleteState { .. } => true,
        // The last part stands for all.
        Request::PutState { bytes, offset, data, .. } => {
            data.0.is_empty() || offset.saturating_add(data.0.len() as u64) == *bytes
        }
        request => request.right() == Some(Right::Operate),
    }
}

impl Node {
    /// Notes a request that the client may send. The HTTP API of this process notes itself for whom it asks.
    pub(super) fn audit_request(&mut self, client: ClientId, request: &Request) {
        if self.clients.is_own(client) {
            return;
        }
        if is_audited(request) {
            if let Some(peer) = self.clients.peer(client) {
                self.audit.expect_outcome(client, peer);
            }
        } else if matches!(request, Request::Campaign { .. })
            && let Some(peer) = self.clients.begin_campaigning(client)
        {
            let line = self.audit.line(peer, request, "first-campaign-of-this-connection");
            self.logger.audit(format_args!("{line}"));
        }
    }

    /// Logs a request that the client may not send.
    pub(super) fn audit_refusal(&mut self, client: ClientId, request: &Request, result: &str) {
        let Some(peer) = self.clients.peer(client) else { return };
        let line = self.audit.line(peer, request, result);
        if let Some(line) = self.audit.refusals.admit(line, self.clock.now()) {
            self.logger.audit(format_args!("{line}"));
        }
    }

    /// Logs what became of a request.
    pub(super) fn audit_outcome(&mut self, client: ClientId, request: &Request, result: &Result<(), RequestError>) {
        if !is_audited(request) {
            return;
        }
        if let Some(peer) = self.audit.take_waiting(client) {
            let result = result.as_ref().map_or_else(|error| error.code.as_str(), |()| "done");
            let line = self.audit.line(peer, request, result);
            self.logger.audit(format_args!("{line}"));
        }
    }
}

/// The users in `/etc/passwd`, by number. Empty if it cannot be read.
fn local_users() -> BTreeMap<u32, String> {
    let mut text = String::new();
    let read = File::open("/etc/passwd").and_then(|file| file.take(MAX_PASSWD_BYTES).read_to_string(&mut text));
    if read.is_err() {
        return BTreeMap::new();
    }
    parse_passwd(&text)
}

fn parse_passwd(text: &str) -> BTreeMap<u32, String> {
    let users = text.lines().rev().filter_map(|line| {
        let mut fields = line.split(':');
        let (name, number) = (fields.next()?, fields.nth(1)?);
        let is_plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic());
        Some((number.parse().ok()?, name.to_string())).filter(|_| is_plain)
    });
    // The first of several with one number wins, as in the C library.
    users.collect()
}

#[cfg(test)]
mod tests {
    use rustix::process::{Pid, Uid};

    use super::*;
    use crate::api::Rights;

    fn audit() -> Audit {
        let users = parse_passwd("root:x:0:0::/:/bin/sh\nbroken\napp:x:1000:1::/:\nlater:x:1000:1::/:\n");
        Audit { users, ..Audit::new() }
    }

    fn peer(uid: u32) -> PeerCredentials {
        PeerCredentials { uid: Uid::from_raw(uid), pid: Pid::from_raw(77), rights: Rights::ALL }
    }

    #[test]
    fn a_line_names_who_what_and_the_result() {
        let pause = Request::Pause;
        assert_eq!(
            audit().line(peer(1000), &pause, "done"),
            "audit: uid=1000 user=app pid=77 request={\"type\":\"pause\"} result=done"
        );
        let elsewhere = PeerCredentials { pid: None, ..peer(1000) };
        assert!(audit().line(elsewhere, &pause, "done").contains(" pid=? "), "it is in another PID namespace");
        let evil = Request::Resign { office: format!("\n{}", "x".repeat(5000)) };
        let line = audit().line(peer(5), &evil, "bad-request");
        assert!(line.starts_with("audit: uid=5 pid=77 request=") && line.len() < 400, "{line}");
        assert!(!line.contains('\n'), "{line}");
    }

    #[test]
    fn outcomes_are_attributed_to_who_asked_even_after_the_connection_ended() {
        let mut audit = audit();
        audit.expect_outcome(ClientId(1), peer(1));
        audit.expect_outcome(ClientId(1), peer(1));
        assert_eq!(audit.take_waiting(ClientId(1)), Some(peer(1)));
        assert_eq!(audit.take_waiting(ClientId(1)), Some(peer(1)));
        assert_eq!(audit.take_waiting(ClientId(1)), None);
        assert!(audit.waiting.is_empty());
    }

    #[test]
    fn refusals_are_limited_and_counted() {
        let mut limit = RefusalLimit::default();
        let now = Timestamp(1);
        assert!((0..MAX_REFUSALS).all(|_| limit.admit("x", now).as_deref() == Some("x")));
        assert_eq!([limit.admit("x", now), limit.admit("x", now)], [None, None]);
        let next = limit.admit("x", now + REFUSAL_PERIOD);
        assert_eq!(next.as_deref(), Some("x (2 earlier refusals are not logged)"));
    }
}
