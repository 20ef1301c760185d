//! The events of a story, in words and as JSON.

use std::fmt;
use std::time::Duration;

use hustings_cluster::api::ChangeReason;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::Action;

/// Something that happened.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Event {
    /// When, since the cluster was started.
    #[serde(rename = "at_ms", serialize_with = "milliseconds")]
    pub at: Duration,
    /// What.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum EventKind {
    /// All processes were started.
    Started {
        /// The members and the ids of their processes.
        members: Vec<(String, i32)>,
    },
    /// A member leads.
    Leads {
        /// The member.
        member: String,
        /// Its token.
        token: u64,
        /// Why the office changed hands.
        reason: ChangeReason,
        /// How long it took, if the former leader was lost on purpose.
        failover: Option<Failover>,
    },
    /// All members that can act name the same leader.
    Agreed {
        /// The leader.
        leader: String,
        /// The members.
        members: Vec<String>,
    },
    /// Something was done to a member.
    Acted {
        /// What.
        action: Action,
        /// The member.
        member: String,
        /// The id of its process, if it has one then.
        pid: Option<i32>,
        /// What exactly was done.
        how: String,
        /// Whether it led.
        led: bool,
    },
    /// The leader can no longer reach a majority, and knows it.
    Unsure {
        /// The leader.
        member: String,
    },
    /// Fewer members than a majority can act.
    NoMajority {
        /// How many can act.
        able: usize,
        /// How many members there are.
        members: usize,
    },
    /// A process ended by itself.
    Ended {
        /// The member.
        member: String,
        /// How.
        why: String,
    },
}

/// The loss of a leader and what it took to replace it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Failover {
    /// The former leader.
    pub lost: String,
    /// How it was lost.
    pub by: Action,
    /// From just before the loss until a node first reported the next leader.
    #[serde(rename = "took_ms", serialize_with = "milliseconds")]
    pub took: Duration,
}

impl Event {
    /// The event as one JSON object, with its words.
    pub fn to_json(&self) -> Value {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        if let Some(object) = value.as_object_mut() {
            object.insert("text".to_string(), self.kind.to_string().into());
        }
        value
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EventKind::Started { members } => {
                let members: Vec<String> = members.iter().map(|(name, pid)| format!("{name} ({pid})")).collect();
                write!(f, "started {} real nodes, each with its process id: {}", members.len(), list(&members))
            }
            EventKind::Leads { member, token, reason, failover: None } => {
                write!(f, "{member} leads with token {token}: {reason}")
            }
            EventKind::Leads { member, token, reason, failover: Some(failover) } => {
                let Failover { lost, by, took } = failover;
                let took = time(*took);
                write!(f, "{member} leads with token {token}, {took} after {lost} was {}: {reason}", by.participle())
            }
            EventKind::Agreed { leader, members } => {
                let verb = if members.len() == 1 { "names" } else { "name" };
                write!(f, "{} {verb} {leader} as the leader", list(members))
            }
            EventKind::Acted { member, how, led, .. } => {
                write!(f, "{how}{}", if *led { format!("; {member} led") } else { String::new() })
            }
            EventKind::Unsure { member } => {
                write!(f, "{member} no longer acts as the leader: no majority answers it")
            }
            EventKind::NoMajority { able, members } => write!(
                f,
                "{able} of {members} members can act, and a majority is {}: nobody can lead until one is revived",
                members / 2 + 1
            ),
            EventKind::Ended { member, why } => write!(f, "{member} ended by itself, {why}"),
        }
    }
}

/// A time in words.
fn time(duration: Duration) -> String {
    let milliseconds = duration.as_secs_f64() * 1e3;
    match milliseconds {
        ..10.0 => format!("{milliseconds:.1} ms"),
        10.0..1000.0 => format!("{milliseconds:.0} ms"),
        _ => format!("{:.2} s", milliseconds / 1e3),
    }
}

/// Names in a sentence.
pub(super) fn list(names: &[impl AsRef<str>]) -> String {
    match names {
        [] => "nobody".to_string(),
        [only] => only.as_ref().to_string(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}

fn milliseconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    // To the microsecond: digits beyond that are noise.
    serializer.serialize_f64(duration.as_micros() as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failover_is_told_in_words_and_as_json() {
        let failover = Failover { lost: "a".to_string(), by: Action::Kill, took: Duration::from_micros(327_456) };
        let (member, reason) = ("b".to_string(), ChangeReason::Disconnected);
        let kind = EventKind::Leads { member, token: 9, reason, failover: Some(failover) };
        let event = Event { at: Duration::from_millis(2_500), kind };
        let words = "b leads with token 9, 327 ms after a was killed: the connection to the holder closed";
        assert_eq!(event.kind.to_string(), words);
        let json = event.to_json();
        assert_eq!((&json["event"], &json["at_ms"], &json["token"]), (&"leads".into(), &2500.0.into(), &9.into()));
        assert_eq!(json["failover"], serde_json::json!({"lost": "a", "by": "kill", "took_ms": 327.456}));
        assert_eq!(json["text"], words);
    }

    #[test]
    fn times_and_lists_read_as_in_a_sentence() {
        assert_eq!([1, 99, 2500].map(|ms| time(Duration::from_millis(ms))), ["1.0 ms", "99 ms", "2.50 s"]);
        assert_eq!(list(&["a", "b", "c"]), "a, b and c");
        assert_eq!(list(&["a"]), "a");
    }
}
