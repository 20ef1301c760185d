//! How long it takes until an office has a holder again, as a sum of its parts.

use std::fmt;
use std::time::Duration;

use super::Timing;
use crate::config::{ArbiterKind, Mode};

/// How much later each further voter stands for the lead of the arbiter, so that they do not get in each other's way.
pub const STAGGER: Duration = Duration::from_millis(3);
/// How long a voter that sees another one stand puts off its own candidature, its stagger not counted.
pub const DEFERENCE: Duration = Duration::from_millis(8);

// What the host and its disk take. Assumed, not promised: a busy disk has been seen to take a tenth of a second.
const CONNECTION_END: Between = Between(Duration::from_millis(1), Duration::from_millis(5));
const VOTE: Between = Between(Duration::from_millis(1), Duration::from_millis(5));
const COMMIT: Between = Between(Duration::from_millis(1), Duration::from_millis(5));

/// What is usual, and the worst of it.
#[derive(Clone, Copy)]
struct Between(Duration, Duration);

/// How a holder is lost.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Loss {
    /// Its process is killed or crashes; its host goes on and ends its connections.
    Killed,
    /// It is frozen or cut off, or its host is dead: nothing is heard of it any more.
    Silent,
    /// It leaves, or is asked to, in good order.
    Graceful,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Loss::Killed => "killed process",
            Loss::Silent => "frozen, cut off, or host dead",
            Loss::Graceful => "graceful",
        })
    }
}

/// A part of the time without a holder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// What it is.
    pub name: &'static str,
    /// How long it usually takes.
    pub usual: Duration,
    /// How long it takes at worst.
    pub worst: Duration,
    /// Why.
    pub why: &'static str,
}

/// The parts that follow one kind of loss, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Way {
    /// The loss.
    pub loss: Loss,
    /// What follows.
    pub parts: Vec<Part>,
}

impl Way {
    /// The sum of what is usual.
    pub fn usual(&self) -> Duration {
        self.parts.iter().map(|part| part.usual).fold(Duration::ZERO, Duration::saturating_add)
    }

    /// The sum of the worst.
    pub fn worst(&self) -> Duration {
        self.parts.iter().map(|part| part.worst).fold(Duration::ZERO, Duration::saturating_add)
    }
}

/// How long an office is without a holder, for every kind of loss. Printed, it is a table for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explanation {
    /// The kind of office.
    pub mode: Mode,
    /// Who appoints.
    pub arbiter: ArbiterKind,
    /// Among how many.
    pub nodes: usize,
    /// A way for each kind of loss.
    pub ways: Vec<Way>,
}

impl Timing {
    /// How long an office of this kind is without a holder among so many nodes, and why.
    ///
    /// The worst is the worst of one loss: the lost holder also led the arbiter, two candidates got in each other's
    /// way, and silence had to last as long as it may. What the host and its disk do is assumed, not bounded.
    pub fn explain(&self, mode: Mode, nodes: usize, arbiter: ArbiterKind) -> Explanation {
        let ways = [Loss::Killed, Loss::Silent, Loss::Graceful]
            .map(|loss| Way { loss, parts: self.parts(loss, mode, nodes, arbiter) });
        Explanation { mode, arbiter, nodes, ways: ways.into() }
    }

    fn parts(&self, loss: Loss, mode: Mode, nodes: usize, arbiter: ArbiterKind) -> Vec<Part> {
        let arbitrated = arbiter == ArbiterKind::Raft;
        let mut parts = vec![self.noticing(loss)];
        if arbitrated && loss == Loss::Graceful {
            parts.push(part("release", COMMIT, "a majority writes down that the office is free"));
        }
        if arbitrated && loss != Loss::Graceful {
            parts.push(arbiter_election(nodes));
        }
        parts.push(self.round(nodes));
        if arbitrated && loss != Loss::Graceful && mode == Mode::Exclusive {
            let wait = self.waits_for();
            let why = "the arbiter lets the lost one's lease end: lease + drift + 1 ms";
            parts.push(part("lease", Between(wait, wait), why));
        }
        if arbitrated {
            parts.push(part("grant", COMMIT, "a majority writes down the new holder and its token"));
        }
        parts
    }

    fn noticing(&self, loss: Loss) -> Part {
        match loss {
            Loss::Killed => part("notice", CONNECTION_END, "the kernel ends the connections of a dead process"),
            Loss::Silent => part(
                "notice",
                Between(self.silence_floor, self.silence_ceiling),
                "silence: the floor on a calm network, the ceiling at worst",
            ),
            Loss::Graceful => part("stop", Between(self.stop, self.stop), "the holder ends its work before it lets go"),
        }
    }

    fn round(&self, nodes: usize) -> Part {
        let ticks = |count: usize| self.tick.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX));
        let usual = nodes.saturating_sub(1).min(2);
        let why = "the algorithm: a question and an answer; at worst twice round a ring";
        part("election", Between(ticks(usual), ticks(nodes.saturating_mul(2))), why)
    }
}

/// Among those who are left, in case the lost one led the arbiter.
fn arbiter_election(nodes: usize) -> Part {
    let last = u32::try_from(nodes.saturating_sub(2)).unwrap_or(u32::MAX);
    let turn = STAGGER.saturating_mul(last).saturating_add(VOTE.1);
    let worst = turn.saturating_mul(2).saturating_add(DEFERENCE);
    let why = "the arbiter's next leader; at worst all take turns, twice";
    part("arbiter", Between(VOTE.0, worst), why)
}

fn part(name: &'static str, Between(usual, worst): Between, why: &'static str) -> Part {
    Part { name, usual, worst, why }
}

/// Milliseconds, with one digit after the point.
struct Milliseconds(Duration);

impl fmt::Display for Milliseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = self.0.as_nanos().saturating_add(50_000) / 100_000;
        f.pad(&format!("{}.{}", tenths / 10, tenths % 10))
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = match self.mode {
            Mode::Exclusive => "exclusive",
            Mode::Fenced => "fenced",
        };
        match self.arbiter {
            ArbiterKind::Raft => writeln!(f, "an office that is {mode}, {} nodes, in milliseconds", self.nodes)?,
            ArbiterKind::None => {
                writeln!(
                    f,
                    "an office without arbiter, {} nodes, in milliseconds: two may hold it at once",
                    self.nodes
                )?;
            }
        }
        for way in &self.ways {
            writeln!(f, "\n{:<30} {:>9} {:>9}", way.loss.to_string(), "usual", "worst")?;
            for Part { name, usual, worst, why } in &way.parts {
                writeln!(f, "  {name:<28} {:>9} {:>9}  {why}", Milliseconds(*usual), Milliseconds(*worst))?;
            }
            writeln!(f, "  {:<28} {:>9} {:>9}", "total", Milliseconds(way.usual()), Milliseconds(way.worst()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(way: &Way) -> Vec<&str> {
        way.parts.iter().map(|part| part.name).collect()
    }

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn a_fenced_office_does_not_wait_for_the_lease_and_an_exclusive_one_does() {
        let timing = Timing::default();
        let fenced = timing.explain(Mode::Fenced, 3, ArbiterKind::Raft);
        let exclusive = timing.explain(Mode::Exclusive, 3, ArbiterKind::Raft);
        assert_eq!(names(&fenced.ways[0]), ["notice", "arbiter", "election", "grant"]);
        assert_eq!(names(&exclusive.ways[0]), ["notice", "arbiter", "election", "lease", "grant"]);
        for (fenced, exclusive) in fenced.ways.iter().zip(&exclusive.ways).take(2) {
            assert_eq!(exclusive.worst() - fenced.worst(), timing.waits_for());
            assert_eq!(exclusive.usual() - fenced.usual(), timing.waits_for());
        }
        // Whoever leaves in good order makes nobody wait, whatever the kind.
        assert_eq!(fenced.ways[2], exclusive.ways[2]);
        assert_eq!(names(&fenced.ways[2]), ["stop", "release", "election", "grant"]);
    }

    #[test]
    fn the_worst_is_the_sum_of_its_parts() {
        let explained = Timing::default().explain(Mode::Fenced, 5, ArbiterKind::Raft);
        // 5 to notice, 2 x (3 x 3 + 5) + 8 for the arbiter, 10 ticks of 5, 5 for the disk.
        assert_eq!(explained.ways[0].worst(), ms(5 + 36 + 50 + 5));
        assert_eq!(explained.ways[1].worst(), ms(1000 + 36 + 50 + 5));
        assert_eq!(explained.ways[1].usual(), ms(150 + 1 + 10 + 1));
    }

    #[test]
    fn without_an_arbiter_there_is_only_the_algorithm_and_a_warning() {
        let explained = Timing::default().explain(Mode::Exclusive, 3, ArbiterKind::None);
        assert_eq!(names(&explained.ways[0]), ["notice", "election"]);
        assert!(explained.to_string().contains("two may hold it at once"));
    }

    #[test]
    fn the_text_is_aligned() {
        let text = Timing::default().explain(Mode::Exclusive, 3, ArbiterKind::Raft).to_string();
        let lease = text.lines().find(|line| line.contains("lease")).expect("exclusive offices wait for it");
        assert!(lease.starts_with("  lease                            304.0     304.0  the arbiter lets"), "{lease}");
        for line in text.lines().filter(|line| line.starts_with("  ")) {
            assert!(line.as_bytes()[39].is_ascii_digit() && line.as_bytes()[49].is_ascii_digit(), "{line}");
        }
    }

    #[test]
    fn no_number_of_nodes_overflows() {
        for nodes in [0, 1, usize::MAX] {
            let timing = Timing { tick: Duration::MAX, lease: Duration::MAX, ..Timing::default() };
            assert!(!timing.explain(Mode::Exclusive, nodes, ArbiterKind::Raft).to_string().is_empty());
        }
    }
}
