//! What is broken when: decided by a seed, before anything starts.
//!
//! The time is cut into rounds. In a storm episodes begin and end, several at a time; each breaks one thing and mends
//! it again. At the end of a storm everything is mended and a calm follows, long enough to be judged. So a majority is
//! never broken for ever, and the last word is a calm.

use std::fmt;

use crate::rng::Rng;

/// What an episode breaks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Kind {
    /// A node is killed, and restarted.
    Kill,
    /// All nodes are killed at once, and restarted one after the other.
    KillAll,
    /// A node is frozen, and thawed.
    Freeze,
    /// A part of the nodes is cut off from the rest: connections end.
    CutClosed,
    /// A part of the nodes is cut off from the rest: nothing arrives any more.
    CutSilent,
    /// What one node says does not reach one other, or any other.
    OneWay,
    /// Two parts do not reach each other, but both reach the node in the middle: majorities that overlap.
    Overlap,
    /// What a node and some others say to each other takes long.
    Slow,
    /// A host goes away: nothing arrives any more, and then its node is killed.
    HostAway,
    /// A node's disk is full.
    DiskFull,
    /// All disks are full, and then all nodes are killed at once.
    Blackout,
    /// A node loses its disk: removed from the cluster, and added as a new member.
    Wipe,
    /// A node is killed, and restarted with another time of day.
    WallClock,
}

impl Kind {
    /// All of them.
    pub(crate) const ALL: [Kind; 13] = [
        Kind::Kill,
        Kind::KillAll,
        Kind::Freeze,
        Kind::CutClosed,
        Kind::CutSilent,
        Kind::OneWay,
        Kind::Overlap,
        Kind::Slow,
        Kind::HostAway,
        Kind::DiskFull,
        Kind::Blackout,
        Kind::Wipe,
        Kind::WallClock,
    ];

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Kill => "kill",
            Kind::KillAll => "kill-all",
            Kind::Freeze => "freeze",
            Kind::CutClosed => "cut-closed",
            Kind::CutSilent => "cut-silent",
            Kind::OneWay => "one-way",
            Kind::Overlap => "overlap",
            Kind::Slow => "slow",
            Kind::HostAway => "host-away",
            Kind::DiskFull => "disk-full",
            Kind::Blackout => "blackout",
            Kind::Wipe => "wipe",
            Kind::WallClock => "wall-clock",
        }
    }

    /// How often it is drawn, compared with the others.
    fn weight(self) -> u64 {
        match self {
            Kind::Kill => 20,
            Kind::Freeze => 16,
            Kind::CutClosed | Kind::CutSilent | Kind::OneWay => 12,
            Kind::Overlap | Kind::Slow | Kind::HostAway => 8,
            Kind::DiskFull => 5,
            Kind::KillAll | Kind::Blackout | Kind::Wipe | Kind::WallClock => 3,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// At whom an episode is aimed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Aim {
    /// At the node of this number.
    Node(usize),
    /// At whoever holds the office of this number when the episode begins.
    Holder(usize),
    /// At whoever leads the arbiter when the episode begins.
    Arbiter,
}

/// Something that is broken for a while.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Episode {
    /// What is broken.
    pub(crate) kind: Kind,
    /// The first node concerned: the killed one, the frozen one, the one that is cut off, the one in the middle.
    pub(crate) aim: Aim,
    /// The others, in an order from which each kind takes what it needs. All nodes.
    pub(crate) order: Vec<usize>,
    /// How many of them: on the side of the first one, or behind the middle one.
    pub(crate) side: usize,
    /// A number whose meaning depends on the kind: milliseconds of delay, seconds of the wall clock, which way.
    pub(crate) amount: i64,
    /// When it begins, in milliseconds since the start.
    pub(crate) begin: u64,
    /// When it ends.
    pub(crate) end: u64,
}

/// A moment of the schedule.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Step {
    /// An episode begins.
    Begin(usize),
    /// An episode ends.
    End(usize),
    /// Everything is mended.
    Calm,
    /// The calm is over.
    CalmOver,
}

/// What a schedule is made for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Plan {
    /// Of everything.
    pub(crate) seed: u64,
    /// How many nodes there are.
    pub(crate) nodes: usize,
    /// How many offices there are.
    pub(crate) offices: usize,
    /// How long it takes, in milliseconds.
    pub(crate) length: u64,
    /// How long a calm is, in milliseconds.
    pub(crate) calm: u64,
    /// How long a lease is, in milliseconds: episodes are shorter and longer than that.
    pub(crate) lease: u64,
    /// What may be broken.
    pub(crate) kinds: Vec<Kind>,
    /// Whether every episode is aimed at the holder of the first office.
    pub(crate) aimed: bool,
    /// Whether storms are short, and in each of them all mail is late while whoever leads goes and comes back.
    pub(crate) late_mail: bool,
}

/// Everything that is going to happen.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Schedule {
    /// In the order in which they begin.
    pub(crate) episodes: Vec<Episode>,
    /// What happens at which millisecond, in order.
    pub(crate) steps: Vec<(u64, Step)>,
}

/// At most so many nodes are killed, frozen or short of disk at once, unless all are.
fn most_at_once(nodes: usize) -> usize {
    (nodes / 2).max(1)
}

impl Schedule {
    /// The schedule of a plan: the same for the same plan, for ever.
    pub(crate) fn new(plan: &Plan) -> Self {
        let mut rng = Rng::of(plan.seed, 1);
        let mut episodes = Vec::new();
        let mut steps = Vec::new();
        let storm = if plan.late_mail { 2_000 } else { plan.lease.saturating_mul(6).clamp(12_000, 40_000) };
        // The last calm ends with the schedule; a first, short storm is better than none.
        let mut now = 0;
        while now + plan.calm < plan.length || steps.is_empty() {
            let room = plan.length.saturating_sub(now + plan.calm).max(2_000);
            // What would be left after this round must be enough for another.
            let storm = if room < storm * 3 / 2 + plan.calm { room } else { storm };
            let first = episodes.len();
            match plan.late_mail {
                true => draw_late_mail(plan, &mut rng, now, now + storm, &mut episodes),
                false => draw_storm(plan, &mut rng, now, now + storm, &mut episodes),
            }
            for (index, episode) in episodes.iter().enumerate().skip(first) {
                steps.push((episode.begin, Step::Begin(index)));
                steps.push((episode.end, Step::End(index)));
            }
            now += storm;
            steps.push((now, Step::Calm));
            now += plan.calm;
            steps.push((now, Step::CalmOver));
        }
        // Stable: at the same millisecond an episode begins before it ends, and ends before the calm begins.
        steps.sort_by_key(|(at, _)| *at);
        Schedule { episodes, steps }
    }
}

/// All mail is late from one moment to another, so that elections take long, and meanwhile whoever leads is killed. It
/// comes back about when the others have elected its deputy and word of that is still on its way: mail of an election
/// that is over, which names the wrong one.
fn draw_late_mail(plan: &Plan, rng: &mut Rng, from: u64, to: u64, episodes: &mut Vec<Episode>) {
    // Longer, and nodes would take each other for dead again and again.
    let delay = rng.from(20, 60);
    let others = plan.nodes.saturating_sub(1);
    // What is between the first node and another is slow because the other's mail is.
    for node in 1..plan.nodes {
        let slow = draw_episode(plan, rng, Kind::Slow, from + 50, to);
        episodes.push(Episode { aim: Aim::Node(node), side: others, amount: delay as i64, end: to, ..slow });
    }
    let begin = from + rng.from(200, 500);
    let kill = draw_episode(plan, rng, Kind::Kill, begin, to);
    // An election takes the others two laps of their ring, and somebody who comes back is known after some round trips.
    let end = begin + delay * rng.from(1, 4);
    episodes.push(Episode { aim: Aim::Holder(0), end: end.min(to), ..kill });
}

/// Episodes from one moment to another.
fn draw_storm(plan: &Plan, rng: &mut Rng, from: u64, to: u64, episodes: &mut Vec<Episode>) {
    let first = episodes.len();
    let mut now = from + rng.from(50, 500);
    while now + 100 < to {
        let running = |kinds: fn(Kind) -> bool| {
            episodes[first..].iter().filter(|episode| episode.end > now && kinds(episode.kind)).count()
        };
        let (ill, links) = (running(breaks_node), running(breaks_links));
        let alone = running(|kind| matches!(kind, Kind::KillAll | Kind::Blackout | Kind::Wipe)) > 0;
        let weight = |kind: &Kind| {
            let fits = match kind {
                _ if alone => false,
                // A change of membership needs its majority; and whoever is down cannot be killed.
                Kind::KillAll | Kind::Blackout | Kind::Wipe => ill + links == 0,
                kind if breaks_node(*kind) => ill < most_at_once(plan.nodes),
                _ => links < 2,
            };
            if fits { kind.weight() } else { 0 }
        };
        let weights: Vec<u64> = plan.kinds.iter().map(weight).collect();
        if let Some(kind) = rng.weighted(&weights).map(|index| plan.kinds[index]) {
            episodes.push(draw_episode(plan, rng, kind, now, to));
        }
        // Mostly one after the other, sometimes all at once.
        now += if rng.percent(25) { rng.from(1, 60) } else { rng.of_any_size(100, 2_500) };
    }
}

fn breaks_node(kind: Kind) -> bool {
    matches!(kind, Kind::Kill | Kind::Freeze | Kind::HostAway | Kind::DiskFull | Kind::WallClock)
}

fn breaks_links(kind: Kind) -> bool {
    matches!(kind, Kind::CutClosed | Kind::CutSilent | Kind::OneWay | Kind::Overlap | Kind::Slow)
}

fn draw_episode(plan: &Plan, rng: &mut Rng, kind: Kind, begin: u64, latest: u64) -> Episode {
    let mut order: Vec<usize> = (0..plan.nodes).collect();
    rng.shuffle(&mut order);
    let aim = match rng.below(100) {
        _ if plan.aimed => Aim::Holder(0),
        0..40 => Aim::Holder(rng.below(plan.offices as u64) as usize),
        40..60 => Aim::Arbiter,
        _ => Aim::Node(order[0]),
    };
    let longest = match kind {
        Kind::KillAll | Kind::Blackout | Kind::Wipe => 2_000,
        _ if plan.aimed => plan.lease * 3,
        _ => (plan.lease * 8).clamp(1_000, 6_000),
    };
    let shortest = if plan.aimed { plan.lease * 3 / 2 } else { 20 };
    let lasts = rng.of_any_size(shortest, longest.max(shortest));
    let nodes = plan.nodes as u64;
    let side = match kind {
        // Aimed: the holder alone, so that the others can go on.
        Kind::CutClosed | Kind::CutSilent if plan.aimed => 1,
        Kind::CutClosed | Kind::CutSilent => rng.from(1, nodes.saturating_sub(1).max(1)),
        Kind::OneWay => [1, nodes.saturating_sub(1)][usize::from(rng.percent(40))],
        Kind::Overlap => rng.from(1, nodes.saturating_sub(2).max(1)),
        Kind::Slow => rng.from(1, nodes.saturating_sub(1).max(1)),
        _ => 1,
    };
    let amount = match kind {
        Kind::Slow => rng.of_any_size(2, 400) as i64,
        Kind::OneWay => rng.below(2) as i64,
        // Up to ten days either way.
        Kind::WallClock => rng.from(0, 1_728_000) as i64 - 864_000,
        _ => 0,
    };
    Episode { kind, aim, order, side: side as usize, amount, begin, end: (begin + lasts).min(latest) }
}

#[cfg(test)]
mod tests;
