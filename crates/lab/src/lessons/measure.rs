//! What claims measure of a run.

use hustings_elections::Catalogue;

use crate::request::Bounds;
use crate::run::{Finished, run as simulate};
use crate::timeline::{Event, Timeline};

/// The part of a run that is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Window {
    /// All of it.
    Whole,
    /// Until the end of a tick.
    At(u64),
    /// What comes after a tick.
    After(u64),
}

/// What can be measured, with what stands after it.
const MEASURES: &str = "nodes, live, down, leader, leaders, agreement, starters, lowest, highest, in-flight, lost, \
                        elected, agreed, quiescent, estimate, until, messages [KIND], senders KIND [to NODE], \
                        receivers KIND [from NODE], tick EVENT NODE, parameter NAME";

/// Runs an election and measures it: the number of nodes, and the values. A number is one value.
pub(super) fn run(
    text: &str,
    measure: &[String],
    window: Window,
    catalogue: &Catalogue,
) -> Result<(u32, Vec<String>), String> {
    let finished = simulate(text, catalogue, &Bounds::OWN).map_err(|error| format!("`{text}`: {}", error.message))?;
    let timeline = finished.timeline().map_err(|error| error.message)?;
    if timeline.total > timeline.events.len() as u64 {
        return Err(format!("`{text}` has {} events; allowed: as many as the page shows", timeline.total));
    }
    let words: Vec<&str> = measure.iter().map(String::as_str).collect();
    let values = Measured { finished: &finished, timeline: &timeline, window }.values(&words);
    let unknown = || format!("`{}` cannot be measured; allowed: {MEASURES}", hustings_text::quote(&words.join(" ")));
    Ok((timeline.members, values.ok_or_else(unknown)?))
}

struct Measured<'a> {
    finished: &'a Finished,
    timeline: &'a Timeline,
    window: Window,
}

impl Measured<'_> {
    /// The values; `None` if there is no such measure.
    fn values(&self, words: &[&str]) -> Option<Vec<String>> {
        let outcome = &self.finished.outcome;
        let one = |number: u64| Some(vec![number.to_string()]);
        let time = |tick: Option<u64>| Some(tick.map(|tick| tick.to_string()).into_iter().collect());
        let labels = |positions: Vec<u32>| Some(positions.into_iter().map(|at| self.label(at)).collect());
        match words {
            ["nodes"] => one(self.timeline.members.into()),
            ["live"] => one((self.timeline.members as usize - self.with_role("down").len()) as u64),
            ["down"] => labels(self.with_role("down")),
            ["leader"] => labels(self.with_role("leader")),
            ["leaders"] => one(self.with_role("leader").len() as u64),
            ["agreement"] => Some(vec![if self.agrees() { "yes" } else { "no" }.to_string()]),
            ["starters"] => labels(self.positions(|event| event.k == "start")),
            ["lowest"] => self.timeline.labels.iter().filter_map(|label| label.parse().ok()).min().and_then(one),
            ["highest"] => self.timeline.labels.iter().filter_map(|label| label.parse().ok()).max().and_then(one),
            ["in-flight"] => one(self.in_flight()),
            ["lost"] => one(self.events().filter(|event| event.k == "lost").count() as u64),
            ["elected"] => time(outcome.time.elected),
            ["agreed"] => time(outcome.time.agreed),
            ["quiescent"] => time(outcome.time.quiescent),
            ["estimate"] => time(outcome.estimate),
            ["until"] => one(self.finished.request.built.scenario.until),
            ["messages"] => one(self.sent(None).count() as u64),
            ["messages", kind] => one(self.sent(Some(self.kind(kind)?)).count() as u64),
            ["senders", kind] => labels(self.ends(kind, None, true)?),
            ["senders", kind, "to", node] => labels(self.ends(kind, Some(self.position(node)?), true)?),
            ["receivers", kind] => labels(self.ends(kind, None, false)?),
            ["receivers", kind, "from", node] => labels(self.ends(kind, Some(self.position(node)?), false)?),
            ["tick", what, node] => {
                let at = self.position(node)?;
                let is = |event: &&Event| event.n == at && (event.k == *what || event.r == Some(*what));
                time(self.events().find(is).map(|event| event.t))
            }
            ["parameter", name] => {
                let params = self.finished.request.election.params();
                params.iter().find(|(known, _)| known == name).map(|(_, value)| vec![value.clone()])
            }
            _ => None,
        }
    }

    fn label(&self, at: u32) -> String {
        self.timeline.labels[at as usize].clone()
    }

    fn position(&self, label: &str) -> Option<u32> {
        self.timeline.labels.iter().position(|known| known == label).map(|at| at as u32)
    }

    fn kind(&self, name: &str) -> Option<usize> {
        self.timeline.kinds.iter().position(|kind| *kind == name)
    }

    fn is_inside(&self, tick: u64) -> bool {
        match self.window {
            Window::Whole => true,
            Window::At(last) => tick <= last,
            Window::After(last) => tick > last,
        }
    }

    fn events(&self) -> impl Iterator<Item = &Event> {
        self.timeline.events.iter().filter(|event| self.is_inside(event.t))
    }

    /// The messages that are sent in the window. One that arrives twice was sent once.
    fn sent(&self, kind: Option<usize>) -> impl Iterator<Item = &crate::timeline::Message> {
        let is_sent = move |message: &&crate::timeline::Message| {
            let tick = self.timeline.events[message.s].t;
            !message.c && kind.is_none_or(|kind| message.k == kind) && self.is_inside(tick)
        };
        self.timeline.messages.iter().filter(is_sent)
    }

    /// Those who sent, or were to receive, messages of a kind; the other end may be given.
    fn ends(&self, kind: &str, other: Option<u32>, are_senders: bool) -> Option<Vec<u32>> {
        let messages = self.sent(Some(self.kind(kind)?));
        let ends = messages.map(|message| if are_senders { (message.f, message.o) } else { (message.o, message.f) });
        let mut ends: Vec<u32> =
            ends.filter(|(_, far)| other.is_none_or(|other| other == *far)).map(|(near, _)| near).collect();
        ends.sort_unstable();
        ends.dedup();
        Some(ends)
    }

    fn positions(&self, is: impl Fn(&Event) -> bool) -> Vec<u32> {
        let mut positions: Vec<u32> = self.events().filter(|event| is(event)).map(|event| event.n).collect();
        positions.sort_unstable();
        positions.dedup();
        positions
    }

    /// The members that have this role at the end of the window.
    fn with_role(&self, role: &str) -> Vec<u32> {
        let is_absent = |at: &u32| self.timeline.absent.contains(at);
        let mut roles: Vec<&str> =
            (0..self.timeline.members).map(|at| if is_absent(&at) { "down" } else { "idle" }).collect();
        let is_past = |event: &&Event| !matches!(self.window, Window::At(last) if event.t > last);
        for event in self.timeline.events.iter().filter(is_past) {
            if let (Some(changed), Some(now)) = (roles.get_mut(event.n as usize), event.r) {
                *changed = now;
            }
        }
        (0..).zip(roles).filter(|(_, now)| *now == role).map(|(at, _)| at).collect()
    }

    fn agrees(&self) -> bool {
        match self.window {
            Window::At(_) => self.events().filter_map(|event| event.p).last().is_some_and(|(_, _, agreed)| agreed),
            Window::Whole | Window::After(_) => self.finished.outcome.agreement,
        }
    }

    fn in_flight(&self) -> u64 {
        let is_over = |message: &crate::timeline::Message| {
            message.a.is_some_and(|event| self.is_inside(self.timeline.events[event].t))
        };
        self.sent(None).filter(|message| !is_over(message)).count() as u64
    }
}
