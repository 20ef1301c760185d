//! Executions that show something: the way to a world, and where it goes round for ever, the loop.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::property::Property;
use crate::space::Space;
use crate::steps::{Step, What};
use crate::world::{Channel, World};

/// An execution that breaks a property.
#[derive(Clone, Debug)]
pub struct Witness {
    /// Which.
    pub property: Property,
    /// What happens, from the beginning on.
    pub(crate) steps: Vec<Step>,
    /// If it goes on for ever: after how many steps the part begins that is repeated until the last step.
    pub repeats_from: Option<usize>,
}

impl Witness {
    /// How many steps it has.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Where it goes on for ever: the part before that.
    pub fn stem(&self) -> Option<Witness> {
        let stem = self.steps.get(..self.repeats_from?)?;
        Some(Witness { property: self.property, steps: stem.to_vec(), repeats_from: None })
    }

    /// Whether the very first world breaks the property.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

/// The steps of a loop, from a world back to it.
pub(crate) type Lasso = Vec<Step>;

/// Turns a way, as fingerprints, into steps.
pub(crate) fn witness<R>(space: &Space<R>, property: Property, way: &[u64], lasso: Option<Lasso>) -> Witness
where
    R: Send + Sync + 'static,
{
    let mut steps = walk(space, way);
    let repeats_from = lasso.as_ref().map(|_| steps.len());
    steps.extend(lasso.into_iter().flatten());
    Witness { property, steps, repeats_from }
}

fn walk<R: Send + Sync + 'static>(space: &Space<R>, way: &[u64]) -> Vec<Step> {
    let mut world = space.first();
    let mut steps = Vec::new();
    for &next in way.iter().skip(1) {
        // Every way goes along steps that were explored.
        let Some(step) = space.steps(&world).into_iter().find(|step| step.next.fingerprint == next) else { break };
        world = step.next.clone();
        steps.push(step);
    }
    steps
}

/// What can happen, told apart from one world to the next: by what it is, not by its place in a list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Chance {
    Channel(Channel, u32),
    Timer(u8, hustings_protocol::Timer),
    Word(u8),
    Other(What),
}

fn chance<R>(space: &Space<R>, world: &World, what: What) -> Chance {
    match what {
        What::Arrive(place) | What::Bounce(place) | What::Return(place) => {
            let letter = &world.letters[place];
            let is_fifo = space.scene.channels == crate::scene::Channels::Fifo;
            Chance::Channel(letter.channel, if is_fifo { 0 } else { letter.message })
        }
        What::Ring(place) => Chance::Timer(world.alarms[place].at, world.alarms[place].timer),
        What::Word(place) => Chance::Word(world.words[place].at),
        What::Tick(_) => Chance::Other(What::Tick(0)),
        other => Chance::Other(other),
    }
}

/// A step that stays within a knot: the chance that is taken, the step, where it leads.
type Inside = (Chance, Step, usize);

/// A knot of worlds, with the steps between them.
struct Knot {
    worlds: Vec<World>,
    /// Steps that stay within.
    inside: Vec<Vec<Inside>>,
    /// What could happen, within or not.
    enabled: Vec<BTreeSet<Chance>>,
}

/// A loop in which everything that could happen all the time happens, if the knot has one. Nothing fails in it.
pub(crate) fn fair_lasso<R: Send + Sync + 'static>(
    space: &Space<R>,
    way: &[u64],
    members: &BTreeSet<u64>,
) -> Option<Lasso> {
    let entry = walk(space, way).pop().map_or_else(|| space.first(), |step| step.next);
    let knot = Knot::new(space, entry, members);
    let mut wishes: BTreeSet<Chance> = knot.enabled.iter().flatten().copied().collect();
    // A wish is granted by a world in which it cannot happen, or by a step in which it does.
    let grants =
        |at: usize, taken: Option<Chance>, wish: &Chance| !knot.enabled[at].contains(wish) || taken == Some(*wish);
    let can_be_granted = |wish: &Chance| {
        (0..knot.worlds.len())
            .any(|at| grants(at, None, wish) || knot.inside[at].iter().any(|(taken, ..)| taken == wish))
    };
    if !wishes.iter().all(can_be_granted) {
        return None;
    }
    let mut lasso = Vec::new();
    let mut at = 0;
    wishes.retain(|wish| !grants(0, None, wish));
    while let Some(&wish) = wishes.first() {
        let (steps, end) = knot.way(at, |at, taken| grants(at, taken, &wish))?;
        for (taken, step, to) in steps {
            wishes.retain(|wish| !grants(to, Some(taken), wish));
            lasso.push(step);
        }
        at = end;
    }
    if at != 0 || lasso.is_empty() {
        let (back, _) = knot.way(at, |to, taken| to == 0 && taken.is_some())?;
        lasso.extend(back.into_iter().map(|(_, step, _)| step));
    }
    Some(lasso)
}

impl Knot {
    fn new<R: Send + Sync + 'static>(space: &Space<R>, entry: World, members: &BTreeSet<u64>) -> Self {
        let mut places: BTreeMap<u64, usize> = BTreeMap::from([(entry.fingerprint, 0)]);
        let mut knot = Knot { worlds: vec![entry], inside: Vec::new(), enabled: Vec::new() };
        while knot.inside.len() < knot.worlds.len() {
            let world = knot.worlds[knot.inside.len()].clone();
            let steps: Vec<Step> = space.steps(&world).into_iter().filter(|step| !step.what.is_fault()).collect();
            knot.enabled.push(steps.iter().map(|step| chance(space, &world, step.what)).collect());
            let mut inside = Vec::new();
            for step in steps.into_iter().filter(|step| members.contains(&step.next.fingerprint)) {
                let to = *places.entry(step.next.fingerprint).or_insert_with(|| {
                    knot.worlds.push(step.next.clone());
                    knot.worlds.len() - 1
                });
                inside.push((chance(space, &world, step.what), step, to));
            }
            knot.inside.push(inside);
        }
        knot
    }

    /// The shortest way from a world to one that is wished for, judged with the step that led there.
    fn way(&self, from: usize, is_wished: impl Fn(usize, Option<Chance>) -> bool) -> Option<(Vec<Inside>, usize)> {
        if is_wished(from, None) {
            return Some((Vec::new(), from));
        }
        let mut before: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        let mut queue = VecDeque::from([from]);
        while let Some(at) = queue.pop_front() {
            for (place, &(taken, _, to)) in self.inside[at].iter().enumerate() {
                let is_new = to != from && !before.contains_key(&to);
                if is_wished(to, Some(taken)) {
                    let mut way = vec![self.inside[at][place].clone()];
                    let mut back = at;
                    while back != from {
                        let (earlier, step) = before[&back];
                        way.push(self.inside[earlier][step].clone());
                        back = earlier;
                    }
                    way.reverse();
                    return Some((way, to));
                }
                if is_new {
                    before.insert(to, (at, place));
                    queue.push_back(to);
                }
            }
        }
        None
    }
}
