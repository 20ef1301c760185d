//! What can happen next in a world.

use hustings_protocol::{Port, StartReason};

use crate::machine::{Input, Machine};
use crate::property::Marks;
use crate::scene::{Channels, Scene, Timing};
use crate::world::{Alarm, Budget, Channel, Letter, MessageNo, Seat, Word, World};

/// One thing that can happen, and the world after it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Step {
    pub(crate) what: What,
    /// Which node handles what, if one does.
    pub(crate) handled: Option<(u8, Input)>,
    /// Which of the ways in which the coins may fall.
    pub(crate) fall: u32,
    /// How many messages are sent.
    pub(crate) sent: u32,
    /// By how much the greatest round has grown.
    pub(crate) raised: u32,
    /// By how much all rounds were lowered after it.
    pub(crate) lowered: u32,
    pub(crate) next: World,
}

/// What happens. Numbers are places in the lists of the world before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum What {
    /// A node gets its start signal.
    Start(u8),
    /// A node takes its first step, which does nothing.
    FirstStep(u8),
    /// A node is told that the leader it names is gone.
    Notice(u8),
    /// A node is told whom it reaches.
    Word(usize),
    /// A letter arrives, and is gone.
    Arrive(usize),
    /// A copy of it arrives.
    Copy(usize),
    /// It is lost.
    Lose(usize),
    /// It finds its receiver down.
    Bounce(usize),
    /// Its sender hears of that.
    Return(usize),
    /// A timer is due.
    Ring(usize),
    /// So much time passes.
    Tick(u32),
    /// A node stops.
    Crash(u8),
    /// A node comes back.
    Recover(u8),
}

impl What {
    /// Whether it is something that goes wrong, or the end of it: nothing says that it must happen.
    pub(crate) fn is_fault(self) -> bool {
        matches!(self, What::Copy(_) | What::Lose(_) | What::Crash(_) | What::Recover(_))
    }
}

/// The rules of a scene.
pub(crate) struct Rules<'a, R> {
    pub(crate) scene: &'a Scene<R>,
    pub(crate) machine: &'a dyn Machine,
}

/// A letter that came back to its sender along a link, while that handles it.
pub(crate) type Returned = Option<Lost>;

#[derive(Clone, Copy)]
pub(crate) struct Lost {
    pub(crate) port: Port,
    pub(crate) peer: u8,
    pub(crate) message: MessageNo,
}

impl<R> Rules<'_, R> {
    /// The world before anything has happened.
    pub(crate) fn first(&self) -> World {
        let init = self.machine.init();
        let seat = |at: u32| Seat {
            state: init,
            estimate: None,
            names: None,
            leads: false,
            live: true,
            starts: self.scene.starters.contains(&at) || self.scene.first_steps,
            entered: false,
            busy: false,
            struck: [0, 0],
        };
        let mut world = World {
            fingerprint: 0,
            seats: (0..self.scene.ranks.len() as u32).map(seat).collect(),
            letters: Vec::new(),
            alarms: Vec::new(),
            words: Vec::new(),
            left: self.scene.budget,
            fickle: false,
            marks: Marks::default(),
        };
        world.seal();
        world
    }

    /// Whether nothing more happens, unless something fails.
    pub(crate) fn is_quiet(&self, world: &World) -> bool {
        let nothing_is_due = world.letters.is_empty() && world.alarms.is_empty() && world.words.is_empty();
        nothing_is_due && {
            let mut signals = Vec::new();
            self.signals(world, &mut signals);
            signals.is_empty()
        }
    }

    pub(crate) fn is_fifo(&self) -> bool {
        self.scene.channels == Channels::Fifo
    }

    /// Everything that can happen next.
    pub(crate) fn steps(&self, world: &World, steps: &mut Vec<Step>) {
        self.signals(world, steps);
        self.post(world, steps);
        self.clock(world, steps);
        self.faults(world, steps);
    }

    fn signals(&self, world: &World, steps: &mut Vec<Step>) {
        for (at, seat) in (0u8..).zip(&world.seats).filter(|(_, seat)| seat.live) {
            let is_misled = seat.names.is_some_and(|leader| !world.seats[usize::from(leader)].live);
            let reason = if is_misled { StartReason::LeaderLost } else { StartReason::Start };
            if seat.starts {
                let mut begun = world.clone();
                let now = &mut begun.seats[usize::from(at)];
                now.starts = false;
                now.entered = self.scene.notes_entrants && seat.state == self.machine.init();
                if self.scene.starters.contains(&u32::from(at)) {
                    self.handle(&begun, at, Input::Start(reason), What::Start(at), None, steps);
                } else {
                    self.push(What::FirstStep(at), begun, steps);
                }
            } else if is_misled && self.scene.notices {
                let before = steps.len();
                self.handle(world, at, Input::Start(StartReason::LeaderLost), What::Notice(at), None, steps);
                // A node that does not care is told again and again: nothing happens.
                if steps[before..].iter().all(|step| step.next.fingerprint == world.fingerprint) {
                    steps.truncate(before);
                }
            }
        }
        for (place, &Word { at, reach }) in world.words.iter().enumerate() {
            if world.words[..place].iter().any(|word| word.at == at) {
                continue;
            }
            let mut told = world.clone();
            told.words.remove(place);
            self.handle(&told, at, Input::Reach(reach), What::Word(place), None, steps);
        }
    }

    /// Whether a letter may be the next to arrive.
    fn is_next(&self, world: &World, place: usize) -> bool {
        let letter = &world.letters[place];
        let before = world.letters[..place].iter().rev().take_while(|other| other.channel == letter.channel);
        match self.is_fifo() {
            true => before.count() == 0,
            // Of those that are alike, the first.
            false => !before.into_iter().any(|other| other == letter),
        }
    }

    fn post(&self, world: &World, steps: &mut Vec<Step>) {
        for (place, &letter) in world.letters.iter().enumerate() {
            let Letter { channel, message, .. } = letter;
            let receiver = channel.receiver();
            let seat = &world.seats[usize::from(receiver)];
            if !self.is_next(world, place) || (self.scene.first_steps && seat.starts) {
                continue;
            }
            let mut taken = world.clone();
            taken.letters.remove(place);
            if channel.returns {
                let (input, lost) = match channel.port() {
                    Some(port) => (Input::Unreachable(port, message), Some(Lost { port, peer: channel.to, message })),
                    None => (Input::UnreachableDirect(channel.to, message), None),
                };
                self.handle(&taken, receiver, input, What::Return(place), lost, steps);
                continue;
            }
            if !seat.live {
                if !letter.orphan {
                    let back =
                        Letter { channel: Channel { returns: true, ..channel }, left: self.way_back(), ..letter };
                    taken.post(back, self.is_fifo());
                }
                self.push(What::Bounce(place), taken, steps);
                continue;
            }
            let input = self.arrival(world, channel, message);
            self.handle(&taken, receiver, input, What::Arrive(place), None, steps);
        }
    }

    fn arrival(&self, world: &World, channel: Channel, message: MessageNo) -> Input {
        let into = channel.port().and_then(|port| {
            let struck = world.seats[usize::from(channel.from)].struck;
            self.scene.target(channel.from, port, struck).map(|(_, into)| into)
        });
        into.map_or(Input::Direct(channel.from, message), |into| Input::Message(into, message))
    }

    fn clock(&self, world: &World, steps: &mut Vec<Step>) {
        let is_anything_due = match self.scene.timing {
            Timing::Free => true,
            Timing::Bounded(_) => !world.alarms.is_empty() || !world.letters.is_empty(),
            Timing::Patient => steps.is_empty() && !world.alarms.is_empty(),
        };
        if !is_anything_due {
            return;
        }
        for (place, &Alarm { at, timer, left }) in world.alarms.iter().enumerate() {
            let is_due = left == 0 && !world.letters.iter().any(|letter| self.precedes(letter, at));
            if !is_due || world.alarms[..place].contains(&world.alarms[place]) {
                continue;
            }
            let mut rung = world.clone();
            rung.alarms.remove(place);
            self.handle(&rung, at, Input::Timer(timer), What::Ring(place), None, steps);
        }
        let is_late =
            world.letters.iter().any(|letter| letter.left == 0) || world.alarms.iter().any(|set| set.left == 0);
        if self.scene.timing == Timing::Free || is_late {
            return;
        }
        // Where only timers can be due, the time until the next one passes at once.
        let is_idle = steps.is_empty() && world.letters.is_empty();
        let can_fail = world.left.crashes > 0 || world.left.recoveries > 0;
        let ticks = match world.alarms.iter().map(|set| set.left).min() {
            Some(next) if self.scene.timing == Timing::Patient || (is_idle && !can_fail) => next,
            _ => 1,
        };
        let mut later = world.clone();
        later.letters.iter_mut().for_each(|letter| letter.left -= ticks);
        later.alarms.iter_mut().for_each(|alarm| alarm.left -= ticks);
        self.push(What::Tick(ticks), later, steps);
    }

    /// Whether a letter must arrive before a timer of this node may be due.
    fn precedes(&self, letter: &Letter, at: u8) -> bool {
        matches!(self.scene.timing, Timing::Bounded(_)) && letter.left == 0 && letter.channel.receiver() == at
    }

    fn faults(&self, world: &World, steps: &mut Vec<Step>) {
        let Budget { crashes, recoveries, losses, copies } = world.left;
        let members = self.scene.members as usize;
        for (at, seat) in (0u8..).zip(&world.seats[..members]) {
            if seat.live && crashes > 0 {
                let mut world = world.clone();
                world.left.crashes -= 1;
                self.crash(&mut world, at);
                self.push(What::Crash(at), world, steps);
            }
            if !seat.live && recoveries > 0 {
                let mut world = world.clone();
                world.left.recoveries -= 1;
                world.seats[usize::from(at)].live = true;
                self.spread_word(&mut world);
                match self.machine.handles_rejoin() {
                    true => self.handle(&world, at, Input::Rejoin, What::Recover(at), None, steps),
                    false => self.push(What::Recover(at), world, steps),
                }
            }
        }
        if losses == 0 && copies == 0 {
            return;
        }
        for (place, &Letter { channel, message, copied: is_copied, .. }) in world.letters.iter().enumerate() {
            if channel.returns || !self.is_next(world, place) {
                continue;
            }
            if losses > 0 {
                let mut world = world.clone();
                world.left.losses -= 1;
                world.letters.remove(place);
                self.push(What::Lose(place), world, steps);
            }
            if copies > 0 && !is_copied && world.seats[usize::from(channel.to)].live {
                let mut copied = world.clone();
                copied.left.copies -= 1;
                copied.letters[place].copied = true;
                if !self.is_fifo() {
                    copied.letters.sort_unstable();
                }
                let input = self.arrival(world, channel, message);
                self.handle(&copied, channel.to, input, What::Copy(place), None, steps);
            }
        }
    }

    fn crash(&self, world: &mut World, at: u8) {
        let seat = &mut world.seats[usize::from(at)];
        *seat = Seat {
            state: self.machine.init(),
            estimate: None,
            names: None,
            leads: false,
            live: false,
            starts: false,
            entered: false,
            busy: false,
            struck: [0, 0],
        };
        world.alarms.retain(|alarm| alarm.at != at);
        world.words.retain(|word| word.at != at);
        world.letters.retain(|letter| !(letter.channel.returns && letter.channel.from == at));
        let own = world.letters.iter_mut().filter(|letter| letter.channel.from == at);
        own.for_each(|letter| letter.orphan = true);
        if !self.is_fifo() {
            world.letters.sort_unstable();
        }
        self.spread_word(world);
    }

    /// Everybody who lives is to be told whom it now reaches.
    fn spread_word(&self, world: &mut World) {
        if self.machine.observes_reachability() {
            let members = u64::MAX >> (64 - self.scene.members);
            let reach = world.living() & members;
            let living = (0..self.scene.members as u8).filter(|at| reach >> at & 1 == 1);
            world.words.extend(living.map(|at| Word { at, reach }));
        }
    }

    /// How long a letter may take.
    pub(crate) fn way(&self) -> u32 {
        if let Timing::Bounded(most) = self.scene.timing { most } else { 0 }
    }

    /// How long it may take until a sender hears that its receiver is down.
    fn way_back(&self) -> u32 {
        self.way().min(1)
    }
}
