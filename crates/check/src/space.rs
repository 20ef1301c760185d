//! The election as a model for stateright: its worlds, the steps between them, and what is claimed of each world.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use hustings_algorithms::Goal;
use stateright::{Model, Property as Claim};

use crate::graph::{Expanded, Recorder};
use crate::machine::Machine;
use crate::promise::{Promise, Right};
use crate::property::{Marks, Property};
use crate::scene::Scene;
use crate::steps::{Rules, Step};
use crate::world::{Seat, World};

/// How far an exploration is, and the wish that it stop.
#[derive(Debug, Default)]
pub struct Progress {
    /// How many worlds were explored.
    pub worlds: AtomicU64,
    /// Set by whoever wants it to stop.
    pub stop: AtomicBool,
}

/// How much may be explored.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most worlds.
    pub worlds: u64,
    /// The latest time.
    pub until: Option<Instant>,
}

/// The model.
pub(crate) struct Space<R> {
    pub(crate) scene: Arc<Scene<R>>,
    pub(crate) machine: Arc<dyn Machine>,
    pub(crate) promise: Arc<Promise>,
    /// The place of each member's rank among all.
    pub(crate) order: Arc<[u32]>,
    pub(crate) limits: Limits,
    pub(crate) progress: Arc<Progress>,
    pub(crate) recorder: Arc<Recorder>,
}

impl<R> Clone for Space<R> {
    fn clone(&self) -> Self {
        Space {
            scene: Arc::clone(&self.scene),
            machine: Arc::clone(&self.machine),
            promise: Arc::clone(&self.promise),
            order: Arc::clone(&self.order),
            limits: self.limits,
            progress: Arc::clone(&self.progress),
            recorder: Arc::clone(&self.recorder),
        }
    }
}

impl<R> Space<R> {
    fn rules(&self) -> Rules<'_, R> {
        Rules { scene: &self.scene, machine: &*self.machine }
    }

    pub(crate) fn first(&self) -> World {
        let mut world = self.rules().first();
        world.marks = self.judge(&world);
        world
    }

    pub(crate) fn steps(&self, world: &World) -> Vec<Step> {
        let mut steps = Vec::new();
        self.rules().steps(world, &mut steps);
        // What changes nothing is no step.
        steps.retain(|step| step.next.fingerprint != world.fingerprint);
        for step in &mut steps {
            step.next.marks = self.judge(&step.next);
        }
        steps
    }

    /// Whether it is time to stop.
    fn is_over(&self) -> bool {
        let worlds = self.progress.worlds.fetch_add(1, Ordering::Relaxed);
        let is_late = || worlds.is_multiple_of(1024) && self.limits.until.is_some_and(|until| Instant::now() >= until);
        if worlds >= self.limits.worlds || is_late() {
            self.progress.stop.store(true, Ordering::Relaxed);
        }
        self.progress.stop.load(Ordering::Relaxed)
    }

    fn checks(&self, property: Property) -> bool {
        self.promise.properties.contains(&property)
    }

    /// What is the case in a world.
    fn judge(&self, world: &World) -> Marks {
        let mut marks = Marks::default();
        let members = &world.seats[..self.scene.members as usize];
        let is_faultless = self.scene.budget == Default::default();
        let leaders = || (0u8..).zip(members).filter(|(_, seat)| seat.live && seat.leads);
        marks.put(Marks::LEADER, leaders().next().is_some());
        if self.checks(Property::OneLeader) && leaders().nth(1).is_some() {
            let mut epochs: Vec<_> = leaders().map(|(_, seat)| self.machine.epoch(seat.state)).collect();
            epochs.sort_unstable();
            marks.put(Marks::TWO_LEADERS, epochs.windows(2).any(|pair| pair[0] == pair[1]));
        }
        marks.put(Marks::FICKLE, world.fickle && self.checks(Property::SteadyMind));
        let agreed = self.agreed(world);
        marks.put(Marks::AGREEMENT, agreed.is_some());
        if is_faultless && self.checks(Property::RightLeader) {
            let right = match self.promise.right {
                Right::Position(right) => Some(right as u8),
                Right::GreatestEntrant => self.greatest(world, |seat| seat.entered),
                Right::GreatestLive | Right::Anyone => None,
            };
            let is_wrong = |seat: &Seat| seat.live && seat.names.is_some() && seat.names != right;
            marks.put(Marks::WRONG_LEADER, right.is_some() && members.iter().any(is_wrong));
        }
        if !self.rules().is_quiet(world) || self.is_untouched(world) {
            return marks;
        }
        marks.put(Marks::END, true);
        marks.put(Marks::GOOD_END, agreed.is_some());
        marks.put(Marks::DISAGREEMENT, agreed.is_none() && self.checks(Property::Agreement));
        let is_busy = members.iter().any(|seat| seat.live && seat.busy);
        marks.put(Marks::BUSY, is_busy && self.checks(Property::AllNormal));
        if let (Right::GreatestLive, Some(Some(leader))) = (self.promise.right, agreed) {
            let is_right = self.greatest(world, |seat| seat.live) == Some(leader);
            marks.put(Marks::WRONG_LEADER, !is_right && self.checks(Property::RightLeader));
        }
        marks
    }

    /// The greatest of the members that are as wished.
    fn greatest(&self, world: &World, is_wished: impl Fn(&Seat) -> bool) -> Option<u8> {
        let members = (0u8..).zip(&world.seats[..self.scene.members as usize]);
        let wished = members.filter(|(_, seat)| is_wished(seat)).map(|(at, _)| at);
        wished.max_by_key(|&at| self.order[usize::from(at)])
    }

    /// Whether all live members agree; on a leader, if the goal is to have one.
    fn agreed(&self, world: &World) -> Option<Option<u8>> {
        let mut living = world.seats[..self.scene.members as usize].iter().filter(|seat| seat.live);
        let first = living.next()?;
        match self.promise.goal {
            Goal::Leader => {
                let leader = first.names?;
                let seat = &world.seats[usize::from(leader)];
                let is_leader = seat.live && seat.leads;
                (is_leader && living.all(|seat| seat.names == Some(leader))).then_some(Some(leader))
            }
            Goal::Estimate => {
                let size = first.estimate?;
                let is_possible = size <= self.scene.members;
                (is_possible && living.all(|seat| seat.estimate == Some(size))).then_some(None)
            }
        }
    }

    /// Whether nobody who lives was ever asked for an election.
    fn is_untouched(&self, world: &World) -> bool {
        let init = self.machine.init();
        world.seats[..self.scene.members as usize].iter().all(|seat| !seat.live || seat.state == init)
    }
}

impl<R: Send + Sync + 'static> Model for Space<R> {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![self.first()]
    }

    /// All steps are worked out here, where they are taken down as well: they share most of the work.
    fn actions(&self, world: &World, actions: &mut Vec<Step>) {
        if self.is_over() {
            return;
        }
        let steps = self.steps(world);
        self.recorder.note(Expanded {
            fingerprint: world.fingerprint,
            marks: world.marks,
            next: steps.iter().map(|step| (step.next.fingerprint, step.sent)).collect(),
        });
        actions.extend(steps);
    }

    fn next_state(&self, _: &World, step: Step) -> Option<World> {
        Some(step.next)
    }

    fn properties(&self) -> Vec<Claim<Self>> {
        vec![
            Claim::always(Property::OneLeader.name(), |_, world: &World| !world.marks.has(Marks::TWO_LEADERS)),
            Claim::always(Property::RightLeader.name(), |_, world: &World| !world.marks.has(Marks::WRONG_LEADER)),
            Claim::always(Property::SteadyMind.name(), |_, world: &World| !world.marks.has(Marks::FICKLE)),
            Claim::always(Property::Agreement.name(), |_, world: &World| !world.marks.has(Marks::DISAGREEMENT)),
            Claim::always(Property::AllNormal.name(), |_, world: &World| !world.marks.has(Marks::BUSY)),
            Claim::sometimes("somebody leads", |_, world: &World| world.marks.has(Marks::LEADER)),
            Claim::sometimes("a good end", |_, world: &World| world.marks.has(Marks::GOOD_END)),
            // A checker stops when it has found something about every property: this one is never found.
            Claim::always(UNTIL_THE_END, |_, _| true),
        ]
    }
}

/// The name of a property that always holds.
pub(crate) const UNTIL_THE_END: &str = "explored";
