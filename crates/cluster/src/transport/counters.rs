//! What was counted since the start, and why connections end.

use std::fmt;

/// Why a connection ended, or never came about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Ended {
    /// The peer said good-bye.
    Closed,
    /// The peer's end closed without a word: most likely its process is gone.
    Lost,
    /// The connection was reset.
    Reset,
    /// The network or the host failed otherwise.
    Failed,
    /// The peer refused this node's certificate.
    Refused,
    /// No certificate, or not one of the cluster's authority.
    NotAuthenticated,
    /// A certificate that is no longer valid, or not yet.
    Expired,
    /// It speaks for another cluster.
    OtherCluster,
    /// It is not the member that it says, or that was dialled.
    OtherId,
    /// It speaks for an id that is not a member's.
    Stranger,
    /// It speaks another version of the protocol.
    OtherVersion,
    /// It took too long to say who it is.
    TooSlow,
    /// Too many connections had not said who they are.
    TooMany,
    /// It did not speak TLS, or made no sense.
    Garbage,
    /// It sent a frame larger than allowed.
    Oversize,
    /// It does not read what is sent to it.
    SlowReader,
    /// It sent too many frames for too long, or ended while too many were waiting.
    Flood,
    /// Another connection with the same member takes its place.
    Replaced,
    /// This node wanted it so.
    Dropped,
    /// The peer is no longer a member.
    Removed,
}

impl Ended {
    /// All there are, in order.
    pub const ALL: [Ended; 20] = [
        Ended::Closed,
        Ended::Lost,
        Ended::Reset,
        Ended::Failed,
        Ended::Refused,
        Ended::NotAuthenticated,
        Ended::Expired,
        Ended::OtherCluster,
        Ended::OtherId,
        Ended::Stranger,
        Ended::OtherVersion,
        Ended::TooSlow,
        Ended::TooMany,
        Ended::Garbage,
        Ended::Oversize,
        Ended::SlowReader,
        Ended::Flood,
        Ended::Replaced,
        Ended::Dropped,
        Ended::Removed,
    ];

    /// A word for programs.
    pub fn word(self) -> &'static str {
        match self {
            Ended::Closed => "closed",
            Ended::Lost => "lost",
            Ended::Reset => "reset",
            Ended::Failed => "failed",
            Ended::Refused => "refused",
            Ended::NotAuthenticated => "not-authenticated",
            Ended::Expired => "expired",
            Ended::OtherCluster => "other-cluster",
            Ended::OtherId => "other-id",
            Ended::Stranger => "stranger",
            Ended::OtherVersion => "other-version",
            Ended::TooSlow => "too-slow",
            Ended::TooMany => "too-many",
            Ended::Garbage => "garbage",
            Ended::Oversize => "oversize",
            Ended::SlowReader => "slow-reader",
            Ended::Flood => "flood",
            Ended::Replaced => "replaced",
            Ended::Dropped => "dropped",
            Ended::Removed => "removed",
        }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What was counted since the start.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Connections that came in.
    pub accepted: u64,
    /// Times that no connection could be accepted: out of descriptors, for example.
    pub accept_failures: u64,
    /// Connections that this node tried to make.
    pub dialled: u64,
    /// Those of them that failed.
    pub dial_failures: u64,
    /// Connections on which both sides said who they are.
    pub established: u64,
    /// Frames received of peers.
    pub frames_in: u64,
    /// Frames taken for peers.
    pub frames_out: u64,
    /// Bytes of TLS received.
    pub bytes_in: u64,
    /// Bytes of TLS sent.
    pub bytes_out: u64,
    /// Times that a peer's frames had to wait because it sends too many.
    pub throttled: u64,
    refused: [u64; Ended::ALL.len()],
    ended: [u64; Ended::ALL.len()],
}

impl Counters {
    /// Connections that never came about, for this reason.
    pub fn refused(&self, why: Ended) -> u64 {
        self.refused[why as usize]
    }

    /// Established connections that ended, for this reason.
    pub fn ended(&self, why: Ended) -> u64 {
        self.ended[why as usize]
    }

    pub(super) fn count_refused(&mut self, why: Ended) {
        self.refused[why as usize] += 1;
    }

    pub(super) fn count_ended(&mut self, why: Ended) {
        self.ended[why as usize] += 1;
    }

    /// All of them by name, those of reasons only if they ever happened.
    pub fn list(&self) -> Vec<(String, u64)> {
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
        for (what, counts) in [("refused", &self.refused), ("ended", &self.ended)] {
            let happened = Ended::ALL.into_iter().zip(counts).filter(|(_, count)| **count > 0);
            all.extend(happened.map(|(why, count)| (format!("{what}-{why}"), *count)));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_own_place_and_word() {
        let mut counters = Counters::default();
        for (place, why) in Ended::ALL.into_iter().enumerate() {
            assert_eq!(why as usize, place);
            counters.count_refused(why);
        }
        assert!(Ended::ALL.iter().all(|why| counters.refused(*why) == 1 && counters.ended(*why) == 0));
        let mut names: Vec<_> = counters.list().into_iter().map(|(name, _)| name).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!((names.len(), count), (30, 30));
    }
}
