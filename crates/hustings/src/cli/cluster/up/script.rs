//! What `hustings up --script` does.

use std::collections::VecDeque;
use std::time::Instant;

use clap::ValueEnum;
use hustings_harness::TIMEOUT;
use hustings_harness::live::{Action, Event, EventKind, Order, Story, Target};

use crate::cli::console::{Console, Exit};
use crate::cli::failure::warn;

/// One step of a script.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Step {
    /// SIGKILL to the leader; until another member leads.
    KillLeader,
    /// SIGSTOP to the leader; until another member leads.
    FreezeLeader,
    /// No bytes in or out of the leader; until another member leads.
    CutLeader,
    /// Undoes all of that; until all members name the leader.
    Revive,
}

impl Step {
    fn order(self) -> Order {
        let (action, target) = match self {
            Step::KillLeader => (Action::Kill, Target::Leader),
            Step::FreezeLeader => (Action::Freeze, Target::Leader),
            Step::CutLeader => (Action::Cut, Target::Leader),
            Step::Revive => (Action::Revive, Target::Disturbed),
        };
        Order { action, target }
    }
}

/// The steps that are left, and how far the current one is.
pub(super) struct Script {
    left: VecDeque<Step>,
    /// The step that was ordered and whether its purpose is reached: another leader, or nothing for a revival.
    current: Option<(Step, bool)>,
    since: Instant,
    exits: bool,
}

impl Script {
    pub(super) fn new(steps: &[Step], exits: bool) -> Script {
        Script { left: steps.iter().copied().collect(), current: None, since: Instant::now(), exits }
    }

    /// Whether every step has happened.
    pub(super) fn is_over(&self) -> bool {
        self.left.is_empty() && self.current.is_none()
    }

    /// The next order, if it is time for it.
    pub(super) fn next_order(&mut self, story: &Story) -> Option<Order> {
        let is_settled = story.is_agreed()
            && self.current.is_none_or(|(step, is_reached)| is_reached && (step != Step::Revive || story.is_whole()));
        if !is_settled {
            return None;
        }
        self.current = self.left.pop_front().map(|step| (step, step == Step::Revive));
        self.since = Instant::now();
        self.current.map(|(step, _)| step.order())
    }

    pub(super) fn handle(&mut self, event: &Event) {
        if let EventKind::Leads { failover: Some(_), .. } = &event.kind
            && let Some((_, is_reached)) = &mut self.current
        {
            *is_reached = true;
        }
    }

    /// The exit code, if the script ends the program.
    pub(super) fn exit(&self, console: &mut Console<'_>) -> Option<Exit> {
        if self.exits && self.is_over() {
            return Some(Exit::Done);
        }
        if self.is_over() || self.since.elapsed() < TIMEOUT {
            return None;
        }
        let what = match self.current {
            None => "no member led",
            Some((Step::Revive, _)) => "not all members named the leader again",
            Some(_) => "no other member was named as the leader by all that can act",
        };
        warn(console, &format!("--script: within {} s, {what}", TIMEOUT.as_secs()));
        Some(Exit::No)
    }
}
