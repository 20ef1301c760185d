//! Nodes on small disks that are really full.

mod acknowledged;
mod state;

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::common::skip;
use crate::processes::Cluster;

/// The size of a disk. A log takes 1 MiB, and another one while it is rewritten.
const SIZE: usize = 6 << 20;
const FILLER: &str = "filler";

/// The members of the clusters here.
const ABC: [&str; 3] = ["a", "b", "c"];

/// Small file systems in memory, one for each member. They are unmounted when this is dropped.
struct Disks {
    folder: tempfile::TempDir,
}

impl Disks {
    /// `None` if this process may not mount them. Where it must (HUSTINGS_REQUIRE_TOOLS=1), the test fails.
    fn mount(names: &[&str]) -> Option<Disks> {
        let disks = Disks { folder: tempfile::tempdir().expect("a folder for the disks") };
        for name in names {
            let place = disks.place(name);
            fs::create_dir(&place).expect("the folder is ours");
            let options = format!("size={SIZE},mode=700");
            let mut mount = Command::new("mount");
            mount.args(["-t", "tmpfs", "-o", &options, "hustings-test"]).arg(&place);
            let output = mount.output().expect("start mount");
            if !output.status.success() {
                skip(&format!("cannot mount a disk: {}", String::from_utf8_lossy(&output.stderr).trim()));
                return None;
            }
        }
        Some(disks)
    }

    fn place(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Fills a disk to the last byte. The room that the log has reserved stays its own.
    fn fill(&self, name: &str) {
        let mut filler = File::create(self.place(name).join(FILLER)).expect("a new file takes no room");
        for size in [1 << 20, 4096, 1] {
            let piece = vec![0; size];
            loop {
                match filler.write(&piece) {
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::StorageFull => break,
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }

    fn free(&self, name: &str) {
        fs::remove_file(self.place(name).join(FILLER)).expect("it was filled");
    }
}

impl Drop for Disks {
    fn drop(&mut self) {
        for place in fs::read_dir(self.folder.path()).into_iter().flatten().flatten() {
            // If it is still in use, it goes away with its last user.
            let _ = Command::new("umount").arg("--lazy").arg(place.path()).output();
        }
    }
}

/// A cluster whose members have small disks. The nodes end before the disks do.
struct DiskCluster {
    cluster: Cluster,
    disks: Disks,
}

impl DiskCluster {
    /// A cluster that is not started yet; `None` if this process may not mount disks.
    fn prepare(members: &[&str]) -> Option<DiskCluster> {
        let disks = Disks::mount(&ABC)?;
        let cluster = Cluster::new(members, &[]);
        for name in ABC {
            let data = disks.place(name).join("data");
            cluster.edit(&[name], "data = \"data\"", &format!("data = \"{}\"", data.display()));
        }
        Some(DiskCluster { cluster, disks })
    }

    /// What a member prints as JSON.
    fn json(&self, name: &str, args: &[&str]) -> Value {
        let ran = self.cluster.run(name, &[args, &["--format", "json"]].concat());
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
    }

    /// Stores this many bytes as the state of an office.
    fn put_state(&self, name: &str, office: &str, token: u64, bytes: usize) -> crate::common::Ran {
        let file = self.cluster.root().join("state");
        fs::write(&file, vec![b'x'; bytes]).expect("the folder is ours");
        let file = file.to_str().expect("the path is UTF-8");
        self.cluster.run(name, &["state", "put", office, file, "--token", &token.to_string()])
    }

    /// Fills these disks, and makes their nodes notice it: a new state needs a file of its own.
    fn fill(&self, names: &[&str]) {
        names.iter().for_each(|name| self.disks.fill(name));
        let asked = ABC.iter().find(|name| !names.contains(name)).unwrap_or(&"a");
        self.cluster.wait_until("the nodes notice that their disks are full", || {
            let token = self.json(asked, &["leader", "--wait", "0s"])["token"].as_u64().expect("a number");
            // It need not succeed.
            self.put_state(asked, "leader", token, 20_000);
            let notice = |name: &&str| self.json(name, &["status"])["disk"].is_object();
            names.iter().all(notice).then_some(())
        });
    }
}
