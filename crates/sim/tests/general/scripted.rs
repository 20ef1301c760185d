//! A protocol whose nodes follow a test's script, and helpers that read the records.

use hustings_protocol::{
    Context, Effect, Event, Id, Loss, Port, Protocol, Record, StartReason, Timer, TraceEvent, kinds,
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(crate) enum TestMessage {
    Say(u64),
    Reply(u64),
}
kinds!(TestMessage: Say = "say", Reply = "reply");

pub(crate) type Effects = Vec<Effect<TestMessage>>;

/// The effects of an event, from the node's index and the event.
#[derive(Clone, Copy)]
pub(crate) struct Scripted(pub(crate) fn(u32, &Event<TestMessage>) -> Effects);

impl Scripted {
    fn act<C: Context<Self>>(&self, event: Event<TestMessage>, cx: &mut C) {
        for effect in (self.0)(cx.index(), &event) {
            cx.emit(effect);
        }
    }
}

impl Protocol for Scripted {
    type Rank = Id;
    /// How many events it has handled since it came up, not counting timers.
    type State = u32;
    type Message = TestMessage;

    fn init(&self) -> u32 {
        0
    }
    fn handle_start<C: Context<Self>>(&self, handled: &mut u32, reason: StartReason, cx: &mut C) {
        *handled += 1;
        self.act(Event::Start(reason), cx);
    }
    fn handle_message<C: Context<Self>>(&self, handled: &mut u32, from: Port, message: TestMessage, cx: &mut C) {
        *handled += 1;
        self.act(Event::Message { from, message }, cx);
    }
    fn handle_direct<C: Context<Self>>(&self, handled: &mut u32, from: Id, message: TestMessage, cx: &mut C) {
        *handled += 1;
        self.act(Event::Direct { from, message }, cx);
    }
    fn handle_unreachable<C: Context<Self>>(&self, _: &mut u32, port: Port, message: TestMessage, cx: &mut C) {
        self.act(Event::Unreachable { port, message }, cx);
    }
    fn handle_unreachable_direct<C: Context<Self>>(&self, _: &mut u32, to: Id, message: TestMessage, cx: &mut C) {
        self.act(Event::UnreachableDirect { to, message }, cx);
    }
    fn handle_timer<C: Context<Self>>(&self, _: &mut u32, timer: Timer, cx: &mut C) {
        self.act(Event::Timer(timer), cx);
    }
    fn handle_retire<C: Context<Self>>(&self, _: &mut u32, cx: &mut C) {
        self.act(Event::Retire, cx);
    }
}

pub(crate) fn say(port: Port, number: u64) -> Effect<TestMessage> {
    Effect::Send(port, TestMessage::Say(number))
}

pub(crate) fn timer(kind: u8) -> Timer {
    Timer { kind, token: 0 }
}

pub(crate) fn number(word: &TestMessage) -> u64 {
    match word {
        TestMessage::Say(number) | TestMessage::Reply(number) => *number,
    }
}

/// All events that were handled: tick, node, event.
pub(crate) fn handled(records: &[Record<TestMessage>]) -> Vec<(u64, u32, Event<TestMessage>)> {
    let each = records.iter().filter_map(|record| match &record.what {
        TraceEvent::Handled { event, .. } => Some((record.tick, record.node, event.clone())),
        _ => None,
    });
    each.collect()
}

/// All messages that were handled: tick, receiver, number.
pub(crate) fn heard(records: &[Record<TestMessage>]) -> Vec<(u64, u32, u64)> {
    let each = handled(records).into_iter().filter_map(|(tick, node, event)| match event {
        Event::Message { message, .. } | Event::Direct { message, .. } => Some((tick, node, number(&message))),
        _ => None,
    });
    each.collect()
}

/// All `unreachable` events: tick, sender, number.
pub(crate) fn returned(records: &[Record<TestMessage>]) -> Vec<(u64, u32, u64)> {
    let each = handled(records).into_iter().filter_map(|(tick, node, event)| match event {
        Event::Unreachable { message, .. } | Event::UnreachableDirect { message, .. } => {
            Some((tick, node, number(&message)))
        }
        _ => None,
    });
    each.collect()
}

/// All losses: tick, receiver, number, reason.
pub(crate) fn lost(records: &[Record<TestMessage>]) -> Vec<(u64, u32, u64, Loss)> {
    let each = records.iter().filter_map(|record| match &record.what {
        TraceEvent::Lost { message, why, .. } => Some((record.tick, record.node, number(message), *why)),
        _ => None,
    });
    each.collect()
}
