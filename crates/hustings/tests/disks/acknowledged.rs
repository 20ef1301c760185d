//! What a node acknowledges is on its disk, also after that disk was full.
//!
//! A full disk may still have room in the log, which is reserved, but none for a new state, which is a file of its own.
//! A node that acknowledges writes which follow such a failure, but does not append them, has forgotten grants when it
//! is killed, or does not start because its log has a gap.

use std::fs;
use std::path::Path;

use super::{ABC, DiskCluster};
use crate::run::{Running, run_command, start_with};

/// A cluster of which two members had full disks while an exclusive office was granted and a state was stored.
struct Story {
    test: DiskCluster,
    leader: &'static str,
    followers: Vec<&'static str>,
    /// The work of the office's first holder, and its token.
    work: Running,
    token: u64,
}

/// Campaigns for the office `job` at a member. Its work holds a lock, so that two of them cannot overlap unseen.
fn campaign(test: &DiskCluster, member: &str) -> Running {
    let root = test.cluster.root();
    let locked = "echo started; exec sleep 1000";
    let script = format!("flock -n {} sh -c '{locked}' || echo overlap", root.join("lock").display());
    let output = fs::OpenOptions::new().create(true).append(true).open(root.join("work")).expect("the folder is ours");
    let mut command = run_command(&test.cluster, member, &[], &["sh", "-c", &script]);
    command.stdout(output);
    start_with(command)
}

/// Waits until a campaign is told its token.
fn token(running: &mut Running) -> u64 {
    let line = running.wait_for("acquired with token ");
    let digits = line.split("acquired with token ").nth(1).expect("it was waited for");
    digits.trim().parse().unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// Waits until the work of this many holders has begun; none may have found another one at work.
fn check_work(test: &DiskCluster, holders: usize) {
    let path = test.cluster.root().join("work");
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    test.cluster.wait_until("the work begins", || (read(&path).lines().count() >= holders).then_some(()));
    assert!(!read(&path).contains("overlap"), "a holder began while another one still acted:\n{}", read(&path));
}

fn tell() -> Option<Story> {
    let mut test = DiskCluster::prepare(&ABC)?;
    // The arbiter's leader stays, as long as it runs.
    test.cluster.be_patient(&ABC);
    test.cluster.start(&ABC);
    test.cluster.wait_for_agreement(&ABC, |_| true);
    let status = test.json("a", &["status"]);
    let leader = ABC.into_iter().find(|name| status["arbiter_leader"] == **name).expect("it is a member");
    let followers: Vec<&str> = ABC.into_iter().filter(|name| *name != leader).collect();
    let held = test.json("a", &["leader"])["token"].as_u64().expect("it is held");

    followers.iter().for_each(|name| test.disks.fill(name));
    // The log has room for it, but the file that is made of it has none.
    let stored = test.put_state(leader, "leader", held, 20_000);
    assert_eq!(stored.code, 0, "{}", stored.err);
    test.cluster.wait_until("the followers notice", || {
        followers.iter().all(|name| test.json(name, &["status"])["disk"].is_object()).then_some(())
    });
    // It is granted when a follower acknowledges the grant, among the first writes after the one that failed.
    let mut work = campaign(&test, leader);
    followers.iter().for_each(|name| test.disks.free(name));
    let token = token(&mut work);
    check_work(&test, 1);
    Some(Story { test, leader, followers, work, token })
}

impl Story {
    /// Kills all nodes at once.
    fn kill_all(&mut self) {
        ABC.iter().for_each(|name| self.test.cluster.kill(name));
    }

    /// The two that had full disks come up without the third, and know what they had acknowledged.
    fn check(mut self) {
        let followers = self.followers.clone();
        self.test.cluster.start(&followers);
        self.test.cluster.wait_for_agreement(&followers, |_| true);
        // Its holder is down, so nothing about it need be current.
        let shown = self.test.json(followers[0], &["leader", "job", "--wait", "0s"]);
        let is_known = shown["token"].as_u64() >= Some(self.token);
        assert!(is_known || shown["current"] == false, "token {} was told, but now: {shown}", self.token);
        let holders =
            fs::read_to_string(self.test.cluster.root().join("work")).expect("it was written").lines().count();
        let mut next = campaign(&self.test, followers[0]);
        let second = token(&mut next);
        assert!(second > self.token, "{second} was told after {}", self.token);
        check_work(&self.test, holders + 1);

        self.test.cluster.start(&[self.leader]);
        self.test.cluster.wait_for_agreement(&ABC, |_| true);
        let shown = self.test.json(self.leader, &["leader", "job"]);
        assert_eq!(shown["token"].as_u64(), Some(second), "{shown}");
        // It may still wait for the office.
        drop(self.work);
    }
}

#[test]
fn a_grant_that_was_told_after_a_full_disk_survives_the_death_of_all_nodes() {
    let Some(mut story) = tell() else { return };
    story.kill_all();
    story.check();
}

#[test]
fn a_node_whose_disk_was_full_starts_again() {
    let Some(mut story) = tell() else { return };
    // More is written after what the full disk did not take.
    for _ in 0..3 {
        let leader = story.leader;
        let status = story.test.json(leader, &["leader"]);
        let held = status["token"].as_u64().expect("it is held");
        let stored = story.test.put_state(leader, "leader", held, 20_000);
        assert_eq!(stored.code, 0, "{}", stored.err);
    }
    story.kill_all();
    story.check();
}
