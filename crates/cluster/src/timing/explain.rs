//! Estimates how long an office is vacant after its holder fails, step by step.

use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};

use super::{Timing, microseconds};
use crate::config::{ArbiterKind, Mode};

/// The delay between the campaigns of two voters, so that they rarely split the vote.
pub(crate) const CAMPAIGN_STAGGER: Duration = Duration::from_millis(3);
/// How long a voter postpones its own campaign when another voter campaigns, in addition to its stagger.
pub(crate) const CAMPAIGN_DEFERRAL: Duration = Duration::from_millis(8);

// Assumed delays of the host and its disk. They are estimates, not bounds: a busy disk can take a tenth of a second.
const CONNECTION_END: Estimate = Estimate(Duration::from_millis(1), Duration::from_millis(5));
const VOTE: Estimate = Estimate(Duration::from_millis(1), Duration::from_millis(5));
const COMMIT: Estimate = Estimate(Duration::from_millis(1), Duration::from_millis(5));

/// A typical and a worst-case duration.
#[derive(Clone, Copy)]
struct Estimate(Duration, Duration);

/// How a holder fails.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HolderLoss {
    /// Its process is killed or crashes. The host closes its connections.
    Killed,
    /// It is frozen, partitioned away, or its host is dead: its peers hear nothing more.
    Silent,
    /// It resigns or shuts down.
    Graceful,
}

impl fmt::Display for HolderLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HolderLoss::Killed => "process killed",
            HolderLoss::Silent => "frozen, partitioned or host dead",
            HolderLoss::Graceful => "graceful",
        })
    }
}

impl Serialize for HolderLoss {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// One step of a failover.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct FailoverStep {
    /// The name of the step.
    name: &'static str,
    /// The typical duration.
    #[serde(rename = "usual_us", serialize_with = "microseconds::serialize")]
    typical: Duration,
    /// The worst-case duration.
    #[serde(rename = "worst_us", serialize_with = "microseconds::serialize")]
    worst: Duration,
    /// Why it takes this long.
    reason: &'static str,
}

/// A failover after one kind of failure.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FailoverPath {
    /// How the holder fails.
    pub loss: HolderLoss,
    /// The sum of the typical durations of its steps.
    #[serde(rename = "usual_us", serialize_with = "microseconds::serialize")]
    pub typical: Duration,
    /// The sum of the worst-case durations of its steps.
    #[serde(rename = "worst_us", serialize_with = "microseconds::serialize")]
    pub worst: Duration,
    /// The steps, in order.
    steps: Vec<FailoverStep>,
}

impl FailoverPath {
    fn new(loss: HolderLoss, steps: Vec<FailoverStep>) -> Self {
        let sum = |duration: fn(&FailoverStep) -> Duration| {
            steps.iter().map(duration).fold(Duration::ZERO, Duration::saturating_add)
        };
        FailoverPath { loss, typical: sum(|step| step.typical), worst: sum(|step| step.worst), steps }
    }
}

/// In one line: `notice 1.0 + grant 1.0 = 2.0 ms, at worst 10.0 ms`.
impl fmt::Display for FailoverPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, step) in self.steps.iter().enumerate() {
            let plus = if place > 0 { " + " } else { "" };
            write!(f, "{plus}{} {}", step.name, Milliseconds(step.typical))?;
        }
        write!(f, " = {} ms, at worst {} ms", Milliseconds(self.typical), Milliseconds(self.worst))
    }
}

/// How long an office is vacant after each kind of failure. Its `Display` prints a table with every step, and so does
/// its `Serialize`, in microseconds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FailoverEstimate {
    /// The mode of the office.
    pub mode: Mode,
    /// The arbiter.
    pub arbiter: ArbiterKind,
    /// The number of nodes.
    pub nodes: usize,
    /// One path per kind of failure.
    pub paths: Vec<FailoverPath>,
}

impl Timing {
    /// Estimates how long an office of this mode is vacant in a cluster of this size.
    ///
    /// The worst case assumes a single failure: the failed holder also led the arbiter, two voters split the vote, and
    /// the failure detector needs its longest timeout. The delays of the host and its disk are assumptions, not bounds.
    pub fn explain(&self, mode: Mode, nodes: usize, arbiter: ArbiterKind) -> FailoverEstimate {
        let paths = [HolderLoss::Killed, HolderLoss::Silent, HolderLoss::Graceful]
            .map(|loss| FailoverPath::new(loss, self.steps(loss, mode, nodes, arbiter)));
        FailoverEstimate { mode, arbiter, nodes, paths: paths.into() }
    }

    fn steps(&self, loss: HolderLoss, mode: Mode, nodes: usize, arbiter: ArbiterKind) -> Vec<FailoverStep> {
        let arbitrated = arbiter == ArbiterKind::Raft;
        let mut steps = vec![self.detection(loss)];
        if arbitrated && loss == HolderLoss::Graceful {
            steps.push(step("release", COMMIT, "a majority commits the release"));
        }
        if arbitrated && loss != HolderLoss::Graceful {
            steps.push(arbiter_election(nodes));
        }
        steps.push(self.election_step(nodes));
        if arbitrated && loss != HolderLoss::Graceful && mode == Mode::Exclusive {
            // The lease runs from the last renewal on, so the steps before are part of it. A new leader of the arbiter
            // does not know when that was, and waits for a whole lease.
            let passed = steps.iter().map(|step| step.typical).fold(Duration::ZERO, Duration::saturating_add);
            let wait = self.takeover_delay();
            let reason =
                "the rest of the lease: lease + drift + 1 ms since its renewal, at worst since the arbiter's election";
            steps.push(step("lease", Estimate(wait.saturating_sub(passed), wait), reason));
        }
        if arbitrated {
            steps.push(step("grant", COMMIT, "a majority commits the new holder and its token"));
        }
        steps
    }

    fn detection(&self, loss: HolderLoss) -> FailoverStep {
        match loss {
            HolderLoss::Killed => step("notice", CONNECTION_END, "the kernel closes the connections of a dead process"),
            HolderLoss::Silent => step(
                "notice",
                Estimate(self.silence_floor, self.silence_ceiling),
                "timeout of the failure detector: silence-floor if the network is calm, silence-ceiling at worst",
            ),
            HolderLoss::Graceful => step("stop", Estimate(self.stop, self.stop), "the holder stops its work first"),
        }
    }

    fn election_step(&self, nodes: usize) -> FailoverStep {
        let ticks = |count: usize| self.tick.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX));
        let typical = nodes.saturating_sub(1).min(2);
        let reason = "the algorithm: one round trip; at worst twice around a ring";
        step("election", Estimate(ticks(typical), ticks(nodes.saturating_mul(2))), reason)
    }
}

/// The election of a new leader of the arbiter by the remaining voters.
fn arbiter_election(nodes: usize) -> FailoverStep {
    let last = u32::try_from(nodes.saturating_sub(2)).unwrap_or(u32::MAX);
    let all_campaigns = CAMPAIGN_STAGGER.saturating_mul(last).saturating_add(VOTE.1);
    let worst = all_campaigns.saturating_mul(2).saturating_add(CAMPAIGN_DEFERRAL);
    let reason = "election of the arbiter's next leader; at worst every voter campaigns twice";
    step("arbiter", Estimate(VOTE.0, worst), reason)
}

fn step(name: &'static str, Estimate(typical, worst): Estimate, reason: &'static str) -> FailoverStep {
    FailoverStep { name, typical, worst, reason }
}

/// Prints milliseconds with one decimal.
struct Milliseconds(Duration);

impl fmt::Display for Milliseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = self.0.as_nanos().saturating_add(50_000) / 100_000;
        f.pad(&format!("{}.{}", tenths / 10, tenths % 10))
    }
}

impl fmt::Display for FailoverEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = match self.mode {
            Mode::Exclusive => "exclusive",
            Mode::Fenced => "fenced",
        };
        match self.arbiter {
            ArbiterKind::Raft => writeln!(f, "{mode} office, {} nodes, times in milliseconds", self.nodes)?,
            ArbiterKind::None => {
                writeln!(
                    f,
                    "office without arbiter, {} nodes, times in milliseconds; two members may hold it at once",
                    self.nodes
                )?;
            }
        }
        for path in &self.paths {
            writeln!(f, "\n{:<30} {:>9} {:>9}", path.loss.to_string(), "typical", "worst")?;
            for FailoverStep { name, typical, worst, reason } in &path.steps {
                writeln!(f, "  {name:<28} {:>9} {:>9}  {reason}", Milliseconds(*typical), Milliseconds(*worst))?;
            }
            writeln!(f, "  {:<28} {:>9} {:>9}", "total", Milliseconds(path.typical), Milliseconds(path.worst))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path: &FailoverPath) -> Vec<&str> {
        path.steps.iter().map(|step| step.name).collect()
    }

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn only_exclusive_offices_wait_for_the_lease() {
        let timing = Timing::default();
        let fenced = timing.explain(Mode::Fenced, 3, ArbiterKind::Raft);
        let exclusive = timing.explain(Mode::Exclusive, 3, ArbiterKind::Raft);
        assert_eq!(names(&fenced.paths[0]), ["notice", "arbiter", "election", "grant"]);
        assert_eq!(names(&exclusive.paths[0]), ["notice", "arbiter", "election", "lease", "grant"]);
        for (fenced, exclusive) in fenced.paths.iter().zip(&exclusive.paths).take(2) {
            assert_eq!(exclusive.worst - fenced.worst, timing.takeover_delay());
            // What comes before the lease's end is part of the lease.
            assert_eq!(exclusive.typical, timing.takeover_delay() + COMMIT.0);
        }
        let slow = Timing { silence_floor: ms(900), ..timing };
        let (slow_fenced, slow_exclusive) =
            [Mode::Fenced, Mode::Exclusive].map(|mode| slow.explain(mode, 3, ArbiterKind::Raft)).into();
        assert_eq!(slow_exclusive.paths[1].typical, slow_fenced.paths[1].typical, "the lease is over by then");
        // A graceful hand-over never waits for the lease.
        assert_eq!(fenced.paths[2], exclusive.paths[2]);
        assert_eq!(names(&fenced.paths[2]), ["stop", "release", "election", "grant"]);
    }

    #[test]
    fn the_worst_case_is_the_sum_of_its_steps() {
        let estimate = Timing::default().explain(Mode::Fenced, 5, ArbiterKind::Raft);
        // 5 to notice, 2 x (3 x 3 + 5) + 8 for the arbiter, 10 ticks of 5, 5 for the disk.
        assert_eq!(estimate.paths[0].worst, ms(5 + 36 + 50 + 5));
        assert_eq!(estimate.paths[1].worst, ms(1000 + 36 + 50 + 5));
        assert_eq!(estimate.paths[1].typical, ms(150 + 1 + 10 + 1));
    }

    #[test]
    fn without_an_arbiter_only_the_algorithm_remains_and_a_warning_is_printed() {
        let estimate = Timing::default().explain(Mode::Exclusive, 3, ArbiterKind::None);
        assert_eq!(names(&estimate.paths[0]), ["notice", "election"]);
        assert!(estimate.to_string().contains("two members may hold it at once"));
    }

    #[test]
    fn json_has_every_step_in_microseconds() {
        let estimate = Timing::default().explain(Mode::Fenced, 3, ArbiterKind::None);
        let mut json = serde_json::to_value(&estimate).expect("plain data");
        assert_eq!((&json["mode"], &json["arbiter"], &json["nodes"]), (&"fenced".into(), &"none".into(), &3.into()));
        let killed = json["paths"][0].take();
        assert_eq!((&killed["loss"], &killed["worst_us"]), (&"process killed".into(), &35_000.into()));
        let notice = r#"{"name":"notice","usual_us":1000,"worst_us":5000,"reason":"the kernel closes the connections of a dead process"}"#;
        assert_eq!(killed["steps"][0].to_string(), notice);
    }

    #[test]
    fn the_arithmetic_of_each_profile_fits_into_a_line() {
        for (timing, killed, silent) in [
            (
                Timing::LAN,
                "notice 1.0 + arbiter 1.0 + election 10.0 + lease 292.0 + grant 1.0 = 305.0 ms, at worst 368.0 ms",
                "notice 150.0 + arbiter 1.0 + election 10.0 + lease 143.0 + grant 1.0 = 305.0 ms, at worst 1363.0 ms",
            ),
            (
                Timing::CAUTIOUS,
                "notice 1.0 + arbiter 1.0 + election 40.0 + lease 2989.0 + grant 1.0 = 3032.0 ms, at worst 3185.0 ms",
                "notice 1500.0 + arbiter 1.0 + election 40.0 + lease 1490.0 + grant 1.0 = 3032.0 ms, at worst 6180.0 ms",
            ),
            (
                Timing::WAN,
                "notice 1.0 + arbiter 1.0 + election 300.0 + lease 9799.0 + grant 1.0 = 10102.0 ms, at worst 11035.0 ms",
                "notice 4000.0 + arbiter 1.0 + election 300.0 + lease 5800.0 + grant 1.0 = 10102.0 ms, at worst 21030.0 ms",
            ),
        ] {
            assert_eq!(timing.check(), Ok(()));
            let paths = timing.explain(Mode::Exclusive, 3, ArbiterKind::Raft).paths;
            assert_eq!([paths[0].to_string(), paths[1].to_string()], [killed, silent]);
        }
    }

    #[test]
    fn columns_are_aligned() {
        let text = Timing::default().explain(Mode::Exclusive, 3, ArbiterKind::Raft).to_string();
        let lease = text.lines().find(|line| line.contains("lease")).expect("exclusive offices wait for it");
        assert!(
            lease.starts_with("  lease                            292.0     304.0  the rest of the lease"),
            "{lease}"
        );
        for line in text.lines().filter(|line| line.starts_with("  ")) {
            assert!(line.as_bytes()[39].is_ascii_digit() && line.as_bytes()[49].is_ascii_digit(), "{line}");
        }
    }

    #[test]
    fn huge_values_do_not_overflow() {
        for nodes in [0, 1, usize::MAX] {
            let timing = Timing { tick: Duration::MAX, lease: Duration::MAX, ..Timing::default() };
            assert!(!timing.explain(Mode::Exclusive, nodes, ArbiterKind::Raft).to_string().is_empty());
        }
    }
}
