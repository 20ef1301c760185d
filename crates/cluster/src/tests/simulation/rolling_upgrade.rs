//! Members are started again one by one with a later program, which writes another version of the formats, while disks
//! fail and nodes are killed.

use crate::format::{FIRST, Formats};
use crate::tests::cluster::SimCluster;
use crate::tests::faults::{FaultInjector, Options};

const NEXT: u8 = FIRST + 1;

#[test]
fn members_are_upgraded_one_by_one_under_faults() {
    for seed in 0..20 {
        let mut cluster = SimCluster::new(3, seed, Options { preempt: false, ..Options::default() });
        let mut faults = FaultInjector::new(seed);
        cluster.run_ms(1_000);
        for node in 0..3 {
            assert_eq!(cluster.version(), FIRST, "seed {seed}: not all read the next one");
            // A node that cannot read something stops, and nothing here expects that.
            cluster.formats.insert(node, Formats { reads: NEXT, ..Formats::default() });
            cluster.kill(node);
            for _ in 0..10 {
                faults.fail_disks(&mut cluster);
                cluster.run_ms(60);
            }
        }
        cluster.heal();
        cluster.run_ms(3_000);
        cluster.check_converged();
        assert_eq!(cluster.version(), NEXT, "seed {seed}");
    }
}
