//! The kinds of faults.

use std::fmt;

/// A kind of fault.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum FaultKind {
    /// A node is killed and restarted.
    Kill,
    /// All nodes are killed at once and restarted one after the other.
    KillAll,
    /// A node is frozen and thawed.
    Freeze,
    /// Some nodes are separated from the rest: connections are closed.
    CutClosed,
    /// Some nodes are separated from the rest: nothing arrives, but connections stay open.
    CutSilent,
    /// The messages of one node do not reach one other node or any other; or none reach it.
    OneWay,
    /// Two groups cannot reach each other, but both reach one node: their majorities overlap.
    Overlap,
    /// Messages between a node and some others are delayed.
    Slow,
    /// A host fails: nothing arrives any more, and then its node is killed.
    HostAway,
    /// A node's disk is full.
    DiskFull,
    /// A node's disk has no room but what its log has reserved.
    DiskTight,
    /// The device of a node's disk fails: what is written cannot be synced.
    DiskError,
    /// All disks are full, and then all nodes are killed at once.
    Blackout,
    /// All disks have no room but what the logs have reserved; they are freed, and soon all nodes are killed at once.
    Shortage,
    /// A bit of a stopped node's log or states is flipped. A node that notices is replaced by a new member.
    BitRot,
    /// A stopped node gets an earlier copy of its folder. It must notice, and is replaced by a new member.
    Rollback,
    /// A node loses its disk: it is removed from the cluster and added as a new member.
    Wipe,
    /// A node is killed and restarted with a wrong time of day.
    WallClock,
    /// A node gets SIGTERM, hands its offices over and exits, and is restarted.
    Terminate,
    /// An operator transfers an office to a member.
    Transfer,
    /// An operator makes the holder of an office resign.
    Resign,
    /// An operator pauses elections, and resumes them.
    Pause,
    /// An operator adds a member that never starts, and removes it. Often a member is deaf one way meanwhile.
    AddRemove,
    /// An operator removes a live member, and adds it again as a new one.
    Remove,
    /// All nodes are restarted one after the other with another length of leases.
    Retime,
    /// Busy loops and programs that sync what they write take the host's processors and its disk.
    Hogs,
    /// Strangers, slow HTTP clients and greedy programs flood a node.
    Flood,
}

impl FaultKind {
    /// All kinds.
    pub(crate) const ALL: [FaultKind; 27] = [
        FaultKind::Kill,
        FaultKind::KillAll,
        FaultKind::Freeze,
        FaultKind::CutClosed,
        FaultKind::CutSilent,
        FaultKind::OneWay,
        FaultKind::Overlap,
        FaultKind::Slow,
        FaultKind::HostAway,
        FaultKind::DiskFull,
        FaultKind::DiskTight,
        FaultKind::DiskError,
        FaultKind::Blackout,
        FaultKind::Shortage,
        FaultKind::BitRot,
        FaultKind::Rollback,
        FaultKind::Wipe,
        FaultKind::WallClock,
        FaultKind::Terminate,
        FaultKind::Transfer,
        FaultKind::Resign,
        FaultKind::Pause,
        FaultKind::AddRemove,
        FaultKind::Remove,
        FaultKind::Retime,
        FaultKind::Hogs,
        FaultKind::Flood,
    ];

    /// The name on the command line and in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            FaultKind::Kill => "kill",
            FaultKind::KillAll => "kill-all",
            FaultKind::Freeze => "freeze",
            FaultKind::CutClosed => "cut-closed",
            FaultKind::CutSilent => "cut-silent",
            FaultKind::OneWay => "one-way",
            FaultKind::Overlap => "overlap",
            FaultKind::Slow => "slow",
            FaultKind::HostAway => "host-away",
            FaultKind::DiskFull => "disk-full",
            FaultKind::DiskTight => "disk-tight",
            FaultKind::DiskError => "disk-error",
            FaultKind::Blackout => "blackout",
            FaultKind::Shortage => "shortage",
            FaultKind::BitRot => "bit-rot",
            FaultKind::Rollback => "rollback",
            FaultKind::Wipe => "wipe",
            FaultKind::WallClock => "wall-clock",
            FaultKind::Terminate => "terminate",
            FaultKind::Transfer => "transfer",
            FaultKind::Resign => "resign",
            FaultKind::Pause => "pause",
            FaultKind::AddRemove => "add-remove",
            FaultKind::Remove => "remove",
            FaultKind::Retime => "retime",
            FaultKind::Hogs => "hogs",
            FaultKind::Flood => "flood",
        }
    }

    /// How often this kind is drawn, relative to the others.
    pub(crate) fn weight(self) -> u64 {
        match self {
            FaultKind::Kill => 20,
            FaultKind::Freeze => 16,
            FaultKind::CutClosed | FaultKind::CutSilent | FaultKind::OneWay => 12,
            FaultKind::Overlap | FaultKind::Slow | FaultKind::HostAway => 8,
            FaultKind::Terminate => 8,
            FaultKind::DiskFull
            | FaultKind::DiskTight
            | FaultKind::DiskError
            | FaultKind::Transfer
            | FaultKind::AddRemove
            | FaultKind::Remove
            | FaultKind::Hogs
            | FaultKind::Flood => 5,
            FaultKind::Resign | FaultKind::Pause | FaultKind::Retime => 3,
            FaultKind::KillAll | FaultKind::Blackout | FaultKind::Shortage | FaultKind::WallClock => 3,
            FaultKind::Wipe | FaultKind::BitRot | FaultKind::Rollback => 3,
        }
    }

    /// Whether a node is down, frozen or cannot write meanwhile.
    pub(crate) fn impairs_node(self) -> bool {
        match self {
            FaultKind::Kill
            | FaultKind::Freeze
            | FaultKind::HostAway
            | FaultKind::DiskFull
            | FaultKind::DiskTight
            | FaultKind::DiskError
            | FaultKind::WallClock
            | FaultKind::Terminate
            | FaultKind::Remove
            | FaultKind::Retime => true,
            FaultKind::KillAll | FaultKind::Blackout | FaultKind::Shortage => false,
            FaultKind::Wipe | FaultKind::BitRot | FaultKind::Rollback => false,
            FaultKind::CutClosed
            | FaultKind::CutSilent
            | FaultKind::OneWay
            | FaultKind::Overlap
            | FaultKind::Slow
            | FaultKind::Transfer
            | FaultKind::Resign
            | FaultKind::Pause
            | FaultKind::AddRemove
            | FaultKind::Hogs
            | FaultKind::Flood => false,
        }
    }

    /// Whether all nodes are as slow as their host, on which other programs work. There is one such fault at a time.
    pub(crate) fn burdens_host(self) -> bool {
        matches!(self, FaultKind::Hogs | FaultKind::Flood)
    }

    /// Whether links between nodes do not work as they should.
    pub(crate) fn impairs_links(self) -> bool {
        matches!(
            self,
            FaultKind::CutClosed | FaultKind::CutSilent | FaultKind::OneWay | FaultKind::Overlap | FaultKind::Slow
        )
    }

    /// Whether nothing else begins meanwhile, and it begins when nothing else is active: everything is down, or a
    /// member is replaced that is down.
    pub(crate) fn is_exclusive(self) -> bool {
        matches!(self, FaultKind::KillAll | FaultKind::Blackout | FaultKind::Shortage) || self.loses_disk()
    }

    /// Whether it changes the membership. There is one such change at a time.
    pub(crate) fn changes_membership(self) -> bool {
        matches!(self, FaultKind::AddRemove | FaultKind::Remove) || self.loses_disk()
    }

    /// Whether a node loses what its disk holds, so that it has to be replaced by a new member.
    pub(crate) fn loses_disk(self) -> bool {
        matches!(self, FaultKind::Wipe | FaultKind::BitRot | FaultKind::Rollback)
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
