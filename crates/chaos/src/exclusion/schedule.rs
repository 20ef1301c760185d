//! Which fault happens when, decided by a seed.

use super::options::{Condition, ExclusionOptions};
use crate::rng::Rng;

/// How much time passes between two faults, in milliseconds.
const PAUSE: (u64, u64) = (150, 600);
/// The range around the length of a lease, in milliseconds: the most interesting time to be away.
const AROUND_LEASE: (u64, u64) = (200, 500);
/// How long processes are away otherwise, in milliseconds.
const ANY_LENGTH: (u64, u64) = (20, 1_200);
/// How long all killers are frozen to break the promise, in milliseconds.
const ALL_FROZEN: (u64, u64) = (800, 1_500);

/// A process that a fault hits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Victim {
    Run,
    Guardian,
    Node,
    Command,
}

impl Victim {
    /// Whether it can kill the command.
    pub(crate) fn is_killer(self) -> bool {
        self != Victim::Command
    }
}

/// A kind of fault.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Kind {
    KillRun,
    KillGuardian,
    KillNode,
    KillCommand,
    /// Everything on a host dies at once.
    KillHost,
    FreezeRun,
    FreezeGuardian,
    FreezeNode,
    FreezeCommand,
    FreezeRunGuardian,
    FreezeRunNode,
    FreezeGuardianNode,
    /// Not covered by the promise.
    FreezeKillers,
    /// A host reaches no other.
    Cut,
}

impl Kind {
    /// All kinds that the promise covers.
    const COVERED: [Kind; 13] = [
        Kind::KillRun,
        Kind::KillGuardian,
        Kind::KillNode,
        Kind::KillCommand,
        Kind::KillHost,
        Kind::FreezeRun,
        Kind::FreezeGuardian,
        Kind::FreezeNode,
        Kind::FreezeCommand,
        Kind::FreezeRunGuardian,
        Kind::FreezeRunNode,
        Kind::FreezeGuardianNode,
        Kind::Cut,
    ];

    /// The name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::KillRun => "kill-run",
            Kind::KillGuardian => "kill-guardian",
            Kind::KillNode => "kill-node",
            Kind::KillCommand => "kill-command",
            Kind::KillHost => "kill-host",
            Kind::FreezeRun => "freeze-run",
            Kind::FreezeGuardian => "freeze-guardian",
            Kind::FreezeNode => "freeze-node",
            Kind::FreezeCommand => "freeze-command",
            Kind::FreezeRunGuardian => "freeze-run-guardian",
            Kind::FreezeRunNode => "freeze-run-node",
            Kind::FreezeGuardianNode => "freeze-guardian-node",
            Kind::FreezeKillers => "freeze-killers",
            Kind::Cut => "cut",
        }
    }

    /// The processes that it hits.
    pub(crate) fn victims(self) -> &'static [Victim] {
        match self {
            Kind::KillRun | Kind::FreezeRun => &[Victim::Run],
            Kind::KillGuardian | Kind::FreezeGuardian => &[Victim::Guardian],
            Kind::KillNode | Kind::FreezeNode => &[Victim::Node],
            Kind::KillCommand | Kind::FreezeCommand => &[Victim::Command],
            Kind::KillHost => &[Victim::Node, Victim::Run],
            Kind::FreezeRunGuardian => &[Victim::Run, Victim::Guardian],
            Kind::FreezeRunNode => &[Victim::Node, Victim::Run],
            Kind::FreezeGuardianNode => &[Victim::Guardian, Victim::Node],
            Kind::FreezeKillers => &[Victim::Node, Victim::Run, Victim::Guardian],
            Kind::Cut => &[],
        }
    }

    /// Whether the victims are killed rather than frozen.
    pub(crate) fn kills(self) -> bool {
        matches!(self, Kind::KillRun | Kind::KillGuardian | Kind::KillNode | Kind::KillCommand | Kind::KillHost)
    }

    /// The killers of the command that cannot act meanwhile. A killed `run` takes the command with it, and so does a
    /// killed guardian, so that there is nothing left to kill.
    pub(crate) fn disabled_killers(self) -> impl Iterator<Item = Victim> {
        let is_disabled = move |victim: &Victim| victim.is_killer() && (!self.kills() || *victim == Victim::Node);
        self.victims().iter().copied().filter(is_disabled)
    }

    /// Whether `run` or the guardian is killed.
    pub(crate) fn kills_a_guard(self) -> bool {
        matches!(self, Kind::KillRun | Kind::KillGuardian | Kind::KillHost)
    }

    /// Whether a cut of the host makes it harder: the command must be killed by those who are left.
    fn goes_with_cut(self) -> bool {
        matches!(self, Kind::FreezeRun | Kind::FreezeGuardian | Kind::FreezeRunGuardian | Kind::FreezeCommand)
    }

    /// How often it is drawn, relative to the others.
    fn weight(self) -> u64 {
        match self {
            Kind::KillRun | Kind::KillNode | Kind::FreezeNode => 10,
            Kind::KillGuardian | Kind::FreezeGuardian => 12,
            Kind::FreezeRunGuardian | Kind::FreezeGuardianNode => 12,
            Kind::FreezeRun | Kind::FreezeRunNode | Kind::Cut => 8,
            Kind::KillHost => 5,
            // A command that was killed starts again only after a pause, during which nothing can overlap.
            Kind::KillCommand | Kind::FreezeCommand => 2,
            Kind::FreezeKillers => 1,
        }
    }
}

/// What a fault does to a host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Damage {
    /// The kind of fault.
    pub(crate) kind: Kind,
    /// Whether the host is cut off as well: then its lease ends while the others are away.
    pub(crate) has_cut: bool,
}

impl Damage {
    /// Whether the node cannot take part in the cluster meanwhile.
    pub(crate) fn disables_node(self) -> bool {
        self.has_cut || self.kind.victims().contains(&Victim::Node)
    }

    /// The name in reports.
    pub(crate) fn name(self) -> String {
        match self.kind {
            Kind::Cut => self.kind.name().to_string(),
            _ if self.has_cut => format!("{}+cut", self.kind.name()),
            _ => self.kind.name().to_string(),
        }
    }
}

/// A fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fault {
    /// When it begins, in milliseconds since the start.
    pub(crate) at: u64,
    /// What it does.
    pub(crate) damage: Damage,
    /// How long the victims are frozen, down or cut off, in milliseconds.
    pub(crate) length: u64,
    /// The host, unless it hits the one where the command runs.
    pub(crate) host: usize,
    /// Whether it hits the host where the command runs.
    pub(crate) hits_holder: bool,
    /// Whether it waits for the next start of a command, and hits that host at once.
    pub(crate) awaits_start: bool,
}

/// The faults of a run, in order.
pub(crate) fn schedule(options: &ExclusionOptions) -> Vec<Fault> {
    let mut rng = Rng::for_purpose(options.seed, 77);
    let max_frozen = usize::from(options.max_frozen);
    let kinds: Vec<Kind> = match options.breaks {
        Some(Condition::OneKiller) => vec![Kind::FreezeKillers],
        None => Kind::COVERED.into_iter().filter(|kind| kind.disabled_killers().count() <= max_frozen).collect(),
    };
    let weights: Vec<u64> = kinds.iter().map(|kind| kind.weight()).collect();
    let end = (options.minutes * 60_000.0) as u64;
    let mut faults = Vec::new();
    let mut at = 0;
    loop {
        at += rng.range(PAUSE.0, PAUSE.1);
        if at >= end {
            return faults;
        }
        let Some(index) = rng.weighted(&weights) else { return faults };
        let kind = kinds[index];
        let length = match kind {
            Kind::FreezeKillers => rng.range(ALL_FROZEN.0, ALL_FROZEN.1),
            _ if rng.percent(50) => rng.range(AROUND_LEASE.0, AROUND_LEASE.1),
            _ => rng.log_uniform(ANY_LENGTH.0, ANY_LENGTH.1),
        };
        let host = rng.below(u64::from(options.nodes)) as usize;
        let hits_holder = kind == Kind::FreezeKillers || rng.percent(85);
        let awaits_start = hits_holder && kind != Kind::FreezeKillers && rng.percent(20);
        let has_cut = kind == Kind::Cut || kind.goes_with_cut() && rng.percent(60);
        faults.push(Fault { at, damage: Damage { kind, has_cut }, length, host, hits_holder, awaits_start });
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::options::{Command, Options};

    fn faults(words: &[&str]) -> Vec<Fault> {
        let all = ["hustings-chaos", "run", "--minutes", "10"].iter().chain(words);
        match Options::try_parse_from(all).expect("understood").command {
            Some(Command::Run(options)) => schedule(&options),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_same_seed_has_the_same_faults_and_all_kinds() {
        let first = faults(&["--seed", "3"]);
        assert_eq!(first, faults(&["--seed", "3"]));
        assert_ne!(first, faults(&["--seed", "4"]));
        assert!(Kind::COVERED.iter().all(|kind| first.iter().any(|fault| fault.damage.kind == *kind)));
        assert!(first.windows(2).all(|pair| pair[0].at < pair[1].at) && first.iter().all(|fault| fault.at < 600_000));
        let together = Damage { kind: Kind::FreezeRunGuardian, has_cut: true };
        assert!(first.iter().any(|fault| fault.damage == together), "only the node is left to kill the command");
        assert!(first.len() > 1_000, "a fault about every 0.4 s: {}", first.len());
    }

    #[test]
    fn no_fault_disables_more_killers_than_allowed() {
        for allowed in ["0", "1", "2"] {
            let most = faults(&["--max-frozen", allowed])
                .iter()
                .map(|fault| fault.damage.kind.disabled_killers().count())
                .max();
            assert_eq!(most.map(|most| most.to_string()).as_deref(), Some(allowed));
        }
        let broken = faults(&["--break", "one-killer"]);
        assert!(broken.iter().all(|fault| fault.damage.kind.disabled_killers().count() == 3 && fault.hits_holder));
    }
}
