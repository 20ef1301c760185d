//! Nodes that must notice what was done to their disk: they refuse to run, and are replaced by new members.

use std::fs;
use std::io;
use std::thread;
use std::time::Duration;

use super::{POLL_INTERVAL, Runner, TIMEOUT};
use crate::clock;
use crate::disk::LOG;
use crate::reader;
use crate::socket::Socket;

/// How much a node must have stored that an earlier copy lacks, in bytes: a part of a state, and not only what it notes
/// about others.
const FORGOTTEN: usize = 16 << 10;
/// How long a node may take to tell all others what it has stored: several heartbeats.
const HEARTBEATS: Duration = Duration::from_millis(500);
/// What a node says that finds a damaged file.
const DAMAGED: &str = "damaged";

impl Runner<'_> {
    /// Flips a bit of a node's files while it is stopped, and starts it. It must refuse to run on a damaged log. The
    /// file of a state may not be needed any more.
    pub(super) fn rot(&mut self, episode: usize, node: usize, number: u64) -> io::Result<()> {
        self.cluster.nodes.kill(node)?;
        let file = self.cluster.disks.flip_bit(node, number)?;
        let name = self.scenario.nodes[node].name.clone();
        let said = self.log(node)?.len();
        self.start_node(node)?;
        let refuses = self.refuses(node, false)?;
        self.record_fault("rot", &format!("{file} of {name}: {}", if refuses { "refused" } else { "not needed" }));
        if refuses {
            // Its output goes through a pipe.
            let deadline = clock::now() + TIMEOUT;
            while !self.log(node)?.get(said..).is_some_and(|text| text.contains(DAMAGED)) {
                if clock::now() > deadline {
                    self.outcome.problems.push(format!("{name} exited, and does not say that {file} is damaged"));
                    break;
                }
                thread::sleep(POLL_INTERVAL);
            }
            self.replace(episode, node);
        } else if file == LOG {
            self.outcome.problems.push(format!("{name} runs, although a bit of its log was flipped"));
        }
        Ok(())
    }

    /// Gives a node an earlier copy of its folder. It must notice that it has forgotten something, if it has, and if it
    /// had the time to tell the others what it stored: it does so with its heartbeats.
    pub(super) fn roll_back(&mut self, episode: usize) -> io::Result<()> {
        let Some(&node) = self.targets.get(&episode) else { return Ok(()) };
        let name = self.scenario.nodes[node].name.clone();
        if self.cluster.disks.grown(node)? < FORGOTTEN {
            self.record_fault("rollback", &format!("{name} has stored too little since the copy, which is not used"));
            return self.end_episode(episode);
        }
        thread::sleep(HEARTBEATS);
        self.cluster.nodes.kill(node)?;
        self.cluster.disks.roll_back(node)?;
        self.start_node(node)?;
        if self.refuses(node, true)? {
            self.replace(episode, node);
            self.membership_change.iter_mut().for_each(|change| change.has_ended = true);
            return Ok(());
        }
        self.outcome.problems.push(format!("{name} runs with an earlier copy of its folder"));
        self.end_episode(episode)
    }

    /// Waits until a node has exited, or answers. If others have to tell it to exit, an answer proves nothing.
    fn refuses(&mut self, node: usize, is_told: bool) -> io::Result<bool> {
        let deadline = clock::now() + TIMEOUT;
        while clock::now() < deadline {
            if self.cluster.nodes.take_exit_status(node)?.is_some() {
                return Ok(true);
            }
            let answers =
                || Socket::connect(&self.cluster.sockets[node]).and_then(|mut socket| reader::status(&mut socket));
            if !is_told && answers().is_ok() {
                return Ok(false);
            }
            thread::sleep(POLL_INTERVAL);
        }
        Ok(false)
    }

    /// What a node has printed so far.
    fn log(&mut self, node: usize) -> io::Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(&self.cluster.nodes.spec(node).log)?).into_owned())
    }
}
