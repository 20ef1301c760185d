//! What is to be done in one tick, by node and then in the order in which a node handles it.

use std::iter::Peekable;
use std::vec::Drain;

use hustings_protocol::Timer;

use super::post::Mail;
use super::reach::Word;

/// A timer that was set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alarm {
    pub(crate) at: u32,
    /// Which life of the node set it.
    pub(crate) life: u32,
    /// The record of the handling that set it.
    pub(crate) cause: u64,
    pub(crate) timer: Timer,
}

/// What happened to a node before its turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turnabout {
    Crashed,
    Recovered,
    Joined,
}

/// Who asks a node to hold an election.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Signal {
    /// The scenario.
    Planned,
    /// The watch that it keeps on its leader.
    LeaderLost,
}

/// What is to be done in one tick. Each list is sorted by node.
#[derive(Debug)]
pub(crate) struct Agenda<M> {
    pub(crate) turnabouts: Vec<(u32, Turnabout)>,
    pub(crate) signals: Vec<(u32, Signal)>,
    pub(crate) words: Vec<Word>,
    /// By receiver.
    pub(crate) mail: Vec<Mail<M>>,
    /// By sender.
    pub(crate) returned: Vec<Mail<M>>,
    pub(crate) alarms: Vec<Alarm>,
    pub(crate) retiring: Vec<u32>,
}

impl<M> Default for Agenda<M> {
    fn default() -> Self {
        Agenda {
            turnabouts: Vec::new(),
            signals: Vec::new(),
            words: Vec::new(),
            mail: Vec::new(),
            returned: Vec::new(),
            alarms: Vec::new(),
            retiring: Vec::new(),
        }
    }
}

impl<M> Agenda<M> {
    /// Sorts what does not come sorted; what one node has to do stays in its order.
    pub(crate) fn sort(&mut self) {
        self.turnabouts.sort_by_key(|&(at, _)| at);
        self.signals.sort_by_key(|&(at, _)| at);
        self.returned.sort_by_key(|mail| (mail.from, mail.order));
        self.alarms.sort_by_key(|alarm| alarm.at);
        self.retiring.sort_unstable();
    }

    /// Goes through it, and leaves it empty.
    pub(crate) fn turns(&mut self) -> Turns<'_, M> {
        Turns {
            turnabouts: self.turnabouts.drain(..).peekable(),
            signals: self.signals.drain(..).peekable(),
            words: self.words.drain(..).peekable(),
            mail: self.mail.drain(..).peekable(),
            returned: self.returned.drain(..).peekable(),
            alarms: self.alarms.drain(..).peekable(),
            retiring: self.retiring.drain(..).peekable(),
        }
    }
}

/// The turns of a tick.
#[derive(Debug)]
pub(crate) struct Turns<'a, M> {
    turnabouts: Peekable<Drain<'a, (u32, Turnabout)>>,
    signals: Peekable<Drain<'a, (u32, Signal)>>,
    words: Peekable<Drain<'a, Word>>,
    mail: Peekable<Drain<'a, Mail<M>>>,
    returned: Peekable<Drain<'a, Mail<M>>>,
    alarms: Peekable<Drain<'a, Alarm>>,
    retiring: Peekable<Drain<'a, u32>>,
}

impl<M> Turns<'_, M> {
    /// The next node that has something to do.
    #[inline]
    pub(crate) fn next_node(&mut self) -> Option<u32> {
        let mail = self.mail.peek().map(|mail| mail.to);
        let alarm = self.alarms.peek().map(|alarm| alarm.at);
        let returned = self.returned.peek().map(|mail| mail.from);
        let signal = self.signals.peek().map(|&(at, _)| at);
        let word = self.words.peek().map(|word| word.at);
        let turnabout = self.turnabouts.peek().map(|&(at, _)| at);
        let retiring = self.retiring.peek().copied();
        [mail, alarm, returned, signal, word, turnabout, retiring].into_iter().flatten().min()
    }

    /// The next turnabout of this node; so below.
    pub(crate) fn turnabout(&mut self, node: u32) -> Option<Turnabout> {
        self.turnabouts.next_if(|&(at, _)| at == node).map(|(_, turnabout)| turnabout)
    }

    pub(crate) fn signal(&mut self, node: u32) -> Option<Signal> {
        self.signals.next_if(|&(at, _)| at == node).map(|(_, signal)| signal)
    }

    pub(crate) fn word(&mut self, node: u32) -> Option<Word> {
        self.words.next_if(|word| word.at == node)
    }

    #[inline]
    pub(crate) fn mail(&mut self, node: u32) -> Option<Mail<M>> {
        self.mail.next_if(|mail| mail.to == node)
    }

    pub(crate) fn returned(&mut self, node: u32) -> Option<Mail<M>> {
        self.returned.next_if(|mail| mail.from == node)
    }

    pub(crate) fn alarm(&mut self, node: u32) -> Option<Alarm> {
        self.alarms.next_if(|alarm| alarm.at == node)
    }

    pub(crate) fn retires(&mut self, node: u32) -> bool {
        self.retiring.next_if(|&at| at == node).is_some()
    }
}
