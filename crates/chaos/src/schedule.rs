//! Which fault happens when: decided by a seed, before anything starts.
//!
//! A run alternates between fault phases and recovery phases. In a fault phase episodes begin and end, several at a
//! time; each injects one fault and heals it. At the end of the phase everything is healed. The recovery phase that
//! follows is long enough to be checked. A run ends with a recovery phase.

use crate::rng::Rng;

pub(crate) use crate::fault_kind::FaultKind;

/// The first node that an episode hits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Target {
    /// The node with this index.
    Node(usize),
    /// The holder of the office with this index when the episode begins.
    Holder(usize),
    /// The leader of the arbiter when the episode begins.
    Arbiter,
}

/// A fault that lasts for a while.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Episode {
    /// The kind of fault.
    pub(crate) kind: FaultKind,
    /// The node that is killed, frozen or separated, or the one that both groups reach.
    pub(crate) aim: Target,
    /// All nodes, in the order in which the kind of fault takes further ones.
    pub(crate) order: Vec<usize>,
    /// How many of them are on the target's side, or in the first of two groups.
    pub(crate) side: usize,
    /// Depends on the kind: the delay in milliseconds, the error of the clock in seconds, the direction, the index of
    /// an office, the new lease in milliseconds (negative if the node is terminated rather than killed), whether a node
    /// is killed, where a bit is flipped.
    pub(crate) amount: i64,
    /// When it begins, in milliseconds since the start of the run.
    pub(crate) begin: u64,
    /// When it ends.
    pub(crate) end: u64,
}

/// A step of the schedule.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Step {
    /// An episode begins.
    Begin(usize),
    /// An episode ends.
    End(usize),
    /// A recovery phase begins: all faults are healed.
    Recovery,
    /// A recovery phase ends.
    RecoveryOver,
}

/// What a schedule is drawn from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Plan {
    /// The seed.
    pub(crate) seed: u64,
    /// How many nodes there are.
    pub(crate) nodes: usize,
    /// How many offices there are.
    pub(crate) offices: usize,
    /// The length of the run, in milliseconds.
    pub(crate) length: u64,
    /// The length of a recovery phase, in milliseconds.
    pub(crate) recovery: u64,
    /// The length of a lease, in milliseconds: some episodes are shorter and some longer.
    pub(crate) lease: u64,
    /// The length that leases have after the first rolling change, in milliseconds; the second one changes them back.
    pub(crate) other_lease: u64,
    /// The kinds of faults to inject.
    pub(crate) kinds: Vec<FaultKind>,
    /// Whether every episode targets the holder of the first office.
    pub(crate) aimed: bool,
    /// Whether fault phases are short, delay all messages, and restart the leader meanwhile.
    pub(crate) delayed_messages: bool,
}

/// All faults of a run.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Schedule {
    /// The episodes, in the order in which they are drawn.
    pub(crate) episodes: Vec<Episode>,
    /// The steps, each with its time in milliseconds, in order.
    pub(crate) steps: Vec<(u64, Step)>,
}

/// How many nodes may be impaired at once, unless all are.
fn max_impaired(nodes: usize) -> usize {
    (nodes / 2).max(1)
}

impl Schedule {
    /// The schedule of a plan. The same plan always gives the same schedule.
    pub(crate) fn new(plan: &Plan) -> Self {
        let mut rng = Rng::for_purpose(plan.seed, 1);
        let mut episodes = Vec::new();
        let mut steps = Vec::new();
        let phase = if plan.delayed_messages { 2_000 } else { plan.lease.saturating_mul(6).clamp(12_000, 40_000) };
        // The last recovery phase ends with the run. A run that is too short for a fault phase gets a short one.
        let mut now = 0;
        while now + plan.recovery < plan.length || steps.is_empty() {
            let room = plan.length.saturating_sub(now + plan.recovery).max(2_000);
            // A remainder that is too short for another round is added to this fault phase.
            let phase = if room < phase * 3 / 2 + plan.recovery { room } else { phase };
            let first = episodes.len();
            match plan.delayed_messages {
                true => draw_delayed_messages(plan, &mut rng, now, now + phase, &mut episodes),
                false => draw_faults(plan, &mut rng, now, now + phase, &mut episodes),
            }
            for (index, episode) in episodes.iter().enumerate().skip(first) {
                steps.push((episode.begin, Step::Begin(index)));
                steps.push((episode.end, Step::End(index)));
            }
            now += phase;
            steps.push((now, Step::Recovery));
            now += plan.recovery;
            steps.push((now, Step::RecoveryOver));
        }
        // A stable sort: within a millisecond an episode begins before it ends, and ends before the recovery begins.
        steps.sort_by_key(|(at, _)| *at);
        Schedule { episodes, steps }
    }
}

/// Delays all messages, so that elections take long, and kills the leader meanwhile. It restarts about when the others
/// have elected a successor and the announcement is still in flight: a message of an earlier election, which names the
/// wrong leader.
fn draw_delayed_messages(plan: &Plan, rng: &mut Rng, from: u64, to: u64, episodes: &mut Vec<Episode>) {
    // With longer delays, nodes would suspect each other all the time.
    let delay = rng.range(20, 60);
    let others = plan.nodes.saturating_sub(1);
    // The first node needs no episode: its links are delayed by the episodes of the others.
    for node in 1..plan.nodes {
        let slow = draw_episode(plan, rng, FaultKind::Slow, from + 50, to);
        episodes.push(Episode { aim: Target::Node(node), side: others, amount: delay as i64, end: to, ..slow });
    }
    let begin = from + rng.range(200, 500);
    let kill = draw_episode(plan, rng, FaultKind::Kill, begin, to);
    // An election takes two rounds of the ring, and a restarted node is known after a few round trips.
    let end = begin + delay * rng.range(1, 4);
    episodes.push(Episode { aim: Target::Holder(0), end: end.min(to), ..kill });
}

/// Draws the episodes of a fault phase.
fn draw_faults(plan: &Plan, rng: &mut Rng, from: u64, to: u64, episodes: &mut Vec<Episode>) {
    let first = episodes.len();
    let mut now = from + rng.range(50, 500);
    while now + 100 < to {
        let running = |kinds: fn(FaultKind) -> bool| {
            episodes[first..].iter().filter(|episode| episode.end > now && kinds(episode.kind)).count()
        };
        let (impaired, links) = (running(FaultKind::impairs_node), running(FaultKind::impairs_links));
        let is_exclusive = running(FaultKind::is_exclusive) > 0;
        let changes_membership = running(FaultKind::changes_membership) > 0;
        let weight = |kind: &FaultKind| {
            let fits = match kind {
                _ if is_exclusive => false,
                kind if kind.changes_membership() && changes_membership => false,
                // A node that is down cannot be killed, and a member that is down is replaced while all others are up.
                kind if kind.is_exclusive() => impaired + links == 0,
                FaultKind::Retime => impaired == 0 && now + rolling_restart_length(plan) < to,
                FaultKind::Pause => running(|kind| kind == FaultKind::Pause) == 0,
                kind if kind.burdens_host() => running(FaultKind::burdens_host) == 0,
                FaultKind::Transfer | FaultKind::Resign | FaultKind::AddRemove => true,
                kind if kind.impairs_node() => impaired < max_impaired(plan.nodes),
                _ => links < 2,
            };
            if fits { kind.weight() } else { 0 }
        };
        let weights: Vec<u64> = plan.kinds.iter().map(weight).collect();
        match rng.weighted(&weights).map(|index| plan.kinds[index]) {
            Some(FaultKind::Retime) => draw_rolling_restart(plan, rng, now, to, episodes),
            Some(kind @ (FaultKind::AddRemove | FaultKind::Remove)) => {
                draw_membership_change(plan, rng, kind, now, to, episodes);
            }
            Some(kind) => episodes.push(draw_episode(plan, rng, kind, now, to)),
            None => {}
        }
        // Usually one after the other, sometimes several at once.
        now += if rng.percent(25) { rng.range(1, 60) } else { rng.log_uniform(100, 2_500) };
    }
}

/// How long one node of a rolling restart may be down, and how long the next one waits after it is restarted.
const RESTART: u64 = 300;

fn rolling_restart_length(plan: &Plan) -> u64 {
    plan.nodes as u64 * 2 * RESTART
}

/// Restarts all nodes one after the other with another length of leases, some in good order and some not.
fn draw_rolling_restart(plan: &Plan, rng: &mut Rng, from: u64, to: u64, episodes: &mut Vec<Episode>) {
    let before = episodes.iter().filter(|episode| episode.kind == FaultKind::Retime).count() / plan.nodes.max(1);
    let lease = if before.is_multiple_of(2) { plan.other_lease } else { plan.lease } as i64;
    let model = draw_episode(plan, rng, FaultKind::Retime, from, to);
    let mut begin = from;
    for node in model.order.clone() {
        let end = begin + rng.range(50, RESTART);
        let amount = if rng.percent(30) { -lease } else { lease };
        episodes.push(Episode { aim: Target::Node(node), amount, begin, end, ..model.clone() });
        begin = end + rng.range(50, RESTART);
    }
}

/// Changes the membership. Half of the changes end with the fault phase, so that the recovery phase shows whether they
/// stop the cluster. While a member is added and removed, another one is often deaf one way.
fn draw_membership_change(
    plan: &Plan,
    rng: &mut Rng,
    kind: FaultKind,
    from: u64,
    to: u64,
    episodes: &mut Vec<Episode>,
) {
    let mut change = draw_episode(plan, rng, kind, from, to);
    if rng.percent(50) {
        (change.begin, change.end) = (to - (change.end - change.begin), to);
    }
    if kind == FaultKind::AddRemove && rng.percent(60) {
        let deaf = draw_episode(plan, rng, FaultKind::OneWay, change.begin, to);
        let begin = change.begin.saturating_sub(rng.range(1, 100)).max(from);
        let end = (change.end + rng.range(1, 500)).min(to);
        episodes.push(Episode { amount: 1, begin, end, ..deaf });
    }
    episodes.push(change);
}

fn draw_episode(plan: &Plan, rng: &mut Rng, kind: FaultKind, begin: u64, latest: u64) -> Episode {
    let mut order: Vec<usize> = (0..plan.nodes).collect();
    rng.shuffle(&mut order);
    let aim = match rng.below(100) {
        _ if plan.aimed => Target::Holder(0),
        0..40 => Target::Holder(rng.below(plan.offices as u64) as usize),
        40..60 => Target::Arbiter,
        _ => Target::Node(order[0]),
    };
    let longest = match kind {
        FaultKind::KillAll
        | FaultKind::Blackout
        | FaultKind::Shortage
        | FaultKind::Wipe
        | FaultKind::BitRot
        | FaultKind::Rollback
        | FaultKind::Remove
        | FaultKind::AddRemove
        | FaultKind::Terminate => 2_000,
        _ if plan.aimed => plan.lease * 3,
        _ => (plan.lease * 8).clamp(1_000, 6_000),
    };
    let shortest = match kind {
        _ if plan.aimed => plan.lease * 3 / 2,
        // A state must be stored meanwhile.
        FaultKind::DiskTight | FaultKind::DiskError | FaultKind::Shortage => 500,
        // The node must start, catch up and store something that the others hear of.
        FaultKind::Rollback => 1_000,
        // The processes must start, and queues must fill.
        FaultKind::Hogs | FaultKind::Flood => 1_000,
        _ => 20,
    };
    let lasts = rng.log_uniform(shortest, longest.max(shortest));
    let nodes = plan.nodes as u64;
    let side = match kind {
        // The holder alone, so that the others keep a majority.
        FaultKind::CutClosed | FaultKind::CutSilent if plan.aimed => 1,
        FaultKind::CutClosed | FaultKind::CutSilent => rng.range(1, nodes.saturating_sub(1).max(1)),
        FaultKind::OneWay => [1, nodes.saturating_sub(1)][usize::from(rng.percent(40))],
        FaultKind::Overlap => rng.range(1, nodes.saturating_sub(2).max(1)),
        FaultKind::Slow => rng.range(1, nodes.saturating_sub(1).max(1)),
        _ => 1,
    };
    let amount = match kind {
        FaultKind::Slow => rng.log_uniform(2, 400) as i64,
        FaultKind::OneWay => rng.below(2) as i64,
        // Half of the nodes are killed before their disks work again.
        FaultKind::DiskTight | FaultKind::DiskError => rng.below(2) as i64,
        // After how long all nodes are killed.
        FaultKind::Shortage => rng.log_uniform(5, 500) as i64,
        // Where the bit is.
        FaultKind::BitRot => rng.next() as i64 & i64::MAX,
        FaultKind::Transfer | FaultKind::Resign => rng.below(plan.offices as u64) as i64,
        // Up to ten days in either direction.
        FaultKind::WallClock => rng.range(0, 1_728_000) as i64 - 864_000,
        _ => 0,
    };
    Episode { kind, aim, order, side: side as usize, amount, begin, end: (begin + lasts).min(latest) }
}

#[cfg(test)]
mod tests;
