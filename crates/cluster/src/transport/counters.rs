//! Counters, and the reasons why connections close.

use std::fmt;

/// Why a connection was closed or rejected.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum CloseReason {
    /// The peer closed the connection.
    Closed,
    /// The connection ended without a TLS close: most likely the peer's process died.
    Lost,
    /// The connection was reset.
    Reset,
    /// Another error of the network or the host.
    NetworkError,
    /// The peer rejected this node's certificate.
    CertificateRejected,
    /// No certificate, or one of another authority.
    NotAuthenticated,
    /// The certificate has expired, by this host's clock.
    Expired,
    /// The certificate is not valid yet, by this host's clock, which may be slow.
    NotYetValid,
    /// The peer belongs to another cluster.
    WrongCluster,
    /// The peer is not the member that it claims to be, or that was dialled.
    WrongId,
    /// The peer's id does not belong to a member.
    UnknownMember,
    /// The peer uses another version of the protocol.
    VersionMismatch,
    /// The peer did not authenticate in time.
    HandshakeTimeout,
    /// Too many connections had not authenticated yet.
    TooManyPending,
    /// The peer sent something other than TLS or valid frames.
    Malformed,
    /// The peer sent a frame that is too large.
    FrameTooLarge,
    /// The peer does not read what is sent to it.
    SlowReader,
    /// The peer exceeded its rate of frames for too long, or closed while it was throttled.
    RateLimitExceeded,
    /// Another connection to the same member replaces it.
    Replaced,
    /// This node closed the connection.
    Dropped,
    /// The peer is no longer a member.
    Removed,
}

impl CloseReason {
    /// All reasons, in order.
    pub(crate) const ALL: [CloseReason; 21] = [
        CloseReason::Closed,
        CloseReason::Lost,
        CloseReason::Reset,
        CloseReason::NetworkError,
        CloseReason::CertificateRejected,
        CloseReason::NotAuthenticated,
        CloseReason::Expired,
        CloseReason::NotYetValid,
        CloseReason::WrongCluster,
        CloseReason::WrongId,
        CloseReason::UnknownMember,
        CloseReason::VersionMismatch,
        CloseReason::HandshakeTimeout,
        CloseReason::TooManyPending,
        CloseReason::Malformed,
        CloseReason::FrameTooLarge,
        CloseReason::SlowReader,
        CloseReason::RateLimitExceeded,
        CloseReason::Replaced,
        CloseReason::Dropped,
        CloseReason::Removed,
    ];

    /// The name of the reason, for counters and logs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            CloseReason::Closed => "closed",
            CloseReason::Lost => "lost",
            CloseReason::Reset => "reset",
            CloseReason::NetworkError => "network-error",
            CloseReason::CertificateRejected => "certificate-rejected",
            CloseReason::NotAuthenticated => "not-authenticated",
            CloseReason::Expired => "expired",
            CloseReason::NotYetValid => "not-yet-valid",
            CloseReason::WrongCluster => "wrong-cluster",
            CloseReason::WrongId => "wrong-id",
            CloseReason::UnknownMember => "unknown-member",
            CloseReason::VersionMismatch => "version-mismatch",
            CloseReason::HandshakeTimeout => "handshake-timeout",
            CloseReason::TooManyPending => "too-many-pending",
            CloseReason::Malformed => "malformed",
            CloseReason::FrameTooLarge => "frame-too-large",
            CloseReason::SlowReader => "slow-reader",
            CloseReason::RateLimitExceeded => "rate-limit-exceeded",
            CloseReason::Replaced => "replaced",
            CloseReason::Dropped => "dropped",
            CloseReason::Removed => "removed",
        }
    }
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Counters since the start.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counters {
    /// Accepted connections.
    pub accepted: u64,
    /// Failed calls of `accept`, for example without free file descriptors.
    pub accept_failures: u64,
    /// Connections that this node dialled.
    pub dialled: u64,
    /// Dialled connections that failed.
    pub dial_failures: u64,
    /// Connections on which both sides sent their Hello.
    pub established: u64,
    /// Frames received.
    pub frames_in: u64,
    /// Frames queued for sending.
    pub frames_out: u64,
    /// TLS bytes received.
    pub bytes_in: u64,
    /// TLS bytes sent.
    pub bytes_out: u64,
    /// How often a peer was throttled.
    pub throttled: u64,
    rejected: [u64; CloseReason::ALL.len()],
    closed: [u64; CloseReason::ALL.len()],
}

impl Counters {
    /// Connections that were rejected for this reason.
    pub(crate) fn rejected(&self, reason: CloseReason) -> u64 {
        self.rejected[reason as usize]
    }

    /// Established connections that were closed for this reason.
    pub(crate) fn closed(&self, reason: CloseReason) -> u64 {
        self.closed[reason as usize]
    }

    pub(super) fn count_rejected(&mut self, reason: CloseReason) {
        self.rejected[reason as usize] += 1;
    }

    pub(super) fn count_closed(&mut self, reason: CloseReason) {
        self.closed[reason as usize] += 1;
    }

    /// All counters by name; reasons only if they occurred.
    pub(crate) fn list(&self) -> Vec<(String, u64)> {
        let plain = [
            ("accepted", self.accepted),
            ("accept-failures", self.accept_failures),
            ("dialled", self.dialled),
            ("dial-failures", self.dial_failures),
            ("established", self.established),
            ("frames-in", self.frames_in),
            ("frames-out", self.frames_out),
            ("bytes-in", self.bytes_in),
            ("bytes-out", self.bytes_out),
            ("throttled", self.throttled),
        ];
        let mut all: Vec<_> = plain.map(|(name, count)| (name.to_owned(), count)).into();
        for (what, counts) in [("rejected", &self.rejected), ("closed", &self.closed)] {
            let happened = CloseReason::ALL.into_iter().zip(counts).filter(|(_, count)| **count > 0);
            all.extend(happened.map(|(reason, count)| (format!("{what}-{reason}"), *count)));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_own_index_and_name() {
        let mut counters = Counters::default();
        for (place, reason) in CloseReason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, place);
            counters.count_rejected(reason);
        }
        assert!(CloseReason::ALL.iter().all(|reason| counters.rejected(*reason) == 1 && counters.closed(*reason) == 0));
        let mut names: Vec<_> = counters.list().into_iter().map(|(name, _)| name).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!((names.len(), count), (31, 31));
    }
}
