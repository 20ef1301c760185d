//! Older copies of the disks of a simulated cluster.

use super::SimCluster;
use super::hosts::owner;
use crate::store::tests::fake::Fake;

/// A copy of the disk of a host.
pub(crate) struct DiskCopy {
    node: usize,
    disk: Fake,
}

impl SimCluster {
    /// Copies the disk of a host.
    pub(crate) fn copy_disk(&self, node: usize) -> DiskCopy {
        DiskCopy { node, disk: self.hosts[node].disk.copy() }
    }

    /// A host is restarted with an older copy of its disk. When the cluster refuses it, the newest one is put back.
    pub(crate) fn restart_with(&mut self, copy: &DiskCopy) {
        self.kill(copy.node);
        let host = &mut self.hosts[copy.node];
        host.newest = Some(std::mem::replace(&mut host.disk, copy.disk.copy()));
        self.start(copy.node);
    }

    pub(super) fn put_newest_disk_back(&mut self, node: usize) {
        if let Some(newest) = self.hosts[node].newest.take() {
            let refused = std::mem::replace(&mut self.hosts[node].disk, newest);
            self.hosts[node].refused = Some(refused);
        }
    }

    /// What is written on the copy that the cluster refused: the process that was refused.
    pub(crate) fn refused_as(&self, node: usize) -> Option<u64> {
        let refused = self.hosts[node].refused.as_ref().expect("a copy was refused");
        let (_, recovered) = refused.copy().open(&owner(node)).expect("the store is valid");
        recovered.storage.refused_as()
    }
}
