//! The history: what clients saw and which faults were injected, one JSON object a line.
//!
//! Every moment is read from this machine's `CLOCK_BOOTTIME`, in nanoseconds, so all moments can be compared. Lines are
//! written as things happen, so that they survive a crash. Their order is the order in which threads wrote them, not
//! that of their moments.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// A node, as the checker knows it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct ScenarioNode {
    /// The name.
    pub(crate) name: String,
    /// Of two candidates, the one with the higher priority is better.
    pub(crate) priority: u32,
    /// The drift of its clock, in parts per million.
    pub(crate) ppm: i32,
}

/// An office, as the checker knows it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct ScenarioOffice {
    /// The name.
    pub(crate) name: String,
    /// Whether tenures must not overlap; if not, the store refuses old tokens.
    pub(crate) exclusive: bool,
    /// Whether a better candidate takes it from a live holder.
    pub(crate) preempts: bool,
}

/// What the checker has to know about a run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Scenario {
    /// The seed.
    pub(crate) seed: u64,
    /// The nodes.
    pub(crate) nodes: Vec<ScenarioNode>,
    /// The offices that clients campaign for.
    pub(crate) offices: Vec<ScenarioOffice>,
    /// Whether there is an arbiter; if not, only recovery is checked.
    pub(crate) arbiter: bool,
    /// The length of the longest lease, in nanoseconds.
    pub(crate) lease: u64,
    /// How much clocks may drift against each other, in parts per million.
    pub(crate) drift_ppm: u32,
    /// How long after the last fault the right candidate must lead, in nanoseconds.
    pub(crate) bound: u64,
    /// How long processes may take to start, in nanoseconds.
    pub(crate) restart: u64,
    /// How long a fenced office may have no holder after all faults are healed, in nanoseconds. An exclusive one may
    /// have none for a lease longer.
    pub(crate) max_vacancy: u64,
    /// How soon after all faults are healed every node must give answers that are current, in nanoseconds.
    pub(crate) max_uncertainty: u64,
}

/// Something that happened.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(crate) enum Event {
    /// The first line.
    Scenario(Scenario),
    /// A client was told that it holds an office.
    Acquired {
        /// The node that told it.
        node: String,
        /// The client; it has a new name on each connection.
        client: String,
        /// The office.
        office: String,
        /// Whether it is exclusive.
        exclusive: bool,
        /// The token.
        token: u64,
        /// When the client had read the message.
        from: u64,
        /// Until when it may act, on the machine's clock.
        deadline: u64,
    },
    /// A client was told that its lease is renewed.
    Renewed {
        /// The client.
        client: String,
        /// The office.
        office: String,
        /// The token.
        token: u64,
        /// When the client had read the message.
        at: u64,
        /// Until when it may act, on the machine's clock.
        deadline: u64,
    },
    /// A client stopped acting before its deadline.
    Released {
        /// The client.
        client: String,
        /// The office.
        office: String,
        /// The token.
        token: u64,
        /// When it had stopped.
        at: u64,
        /// Why: `stop`, `lost`, `withdrew`, `left`, …
        why: String,
    },
    /// A client tried to write to the fenced store.
    Write {
        /// The position in the store's own order of writes.
        number: u64,
        /// The client.
        client: String,
        /// The office.
        office: String,
        /// The token.
        token: u64,
        /// Whether the store accepted the write.
        accepted: bool,
        /// When.
        at: u64,
    },
    /// A node was asked who holds an office.
    Read {
        /// The node.
        node: String,
        /// The office.
        office: String,
        /// The holder that it named.
        holder: Option<String>,
        /// The holder's token.
        token: u64,
        /// Whether the node confirmed that this is current.
        current: bool,
        /// When it was asked.
        began: u64,
        /// When it had answered.
        at: u64,
    },
    /// A keeper tried to store a state of an office.
    Stored {
        /// The node that it asked.
        node: String,
        /// The office.
        office: String,
        /// The token that it stored it with.
        token: u64,
        /// The number of the state.
        number: u64,
        /// What became of it.
        outcome: StoreOutcome,
        /// When it asked.
        began: u64,
        /// When it was answered, or gave up.
        at: u64,
    },
    /// A node was asked for the state of an office, and said that its answer is confirmed.
    StateRead {
        /// The node.
        node: String,
        /// The office.
        office: String,
        /// The token that the state was stored with; 0 if there is none.
        token: u64,
        /// The number of the state; absent if there is none, or if it is damaged.
        number: Option<u64>,
        /// Whether the bytes are not those of one state.
        is_damaged: bool,
        /// When it was asked.
        began: u64,
        /// When it had answered.
        at: u64,
    },
    /// A fault was injected or healed.
    Fault {
        /// The kind.
        kind: String,
        /// A description.
        what: String,
        /// When that began.
        at: u64,
    },
    /// An operator asked for something.
    Operator {
        /// What: `transfer`, `resign`, `pause` or `resume`.
        request: String,
        /// The office, if it concerns one.
        office: Option<String>,
        /// The member that an office is transferred to.
        to: Option<String>,
        /// Whether it was carried out; if not, it may be carried out later.
        done: bool,
        /// When the operator asked.
        began: u64,
        /// When it was answered.
        at: u64,
    },
    /// The cluster gained or lost a healthy majority: nodes that are up, can write and are connected each with each.
    Majority {
        /// Whether there is one now.
        healthy: bool,
        /// Since when.
        at: u64,
    },
    /// The machine stalled, or was so busy that it might as well have.
    Stall {
        /// Since when.
        from: u64,
        /// Until when.
        at: u64,
    },
    /// All faults are healed. Processes may still be starting, and operators may still be at work.
    Healed {
        /// Since when.
        at: u64,
    },
    /// All faults are healed and all clients campaign: the recovery phase begins.
    Recovery {
        /// Since when.
        at: u64,
    },
    /// The recovery phase is over; the next fault may follow.
    RecoveryOver {
        /// When.
        at: u64,
    },
}

/// What became of a state that was to be stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StoreOutcome {
    /// It is stored.
    Done,
    /// The token was stale: nothing has changed.
    Refused,
    /// Nobody knows, or it may still be stored.
    Unknown,
}

/// Who acquired an office last.
struct LastHolder {
    from: u64,
    node: String,
    token: u64,
}

/// Writes the history.
pub(crate) struct Recorder {
    inner: Mutex<Inner>,
}

struct Inner {
    file: File,
    failed: Option<io::Error>,
    holders: BTreeMap<String, LastHolder>,
}

impl Recorder {
    /// Creates a history in a new file.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let file = File::create(path)?;
        Ok(Recorder { inner: Mutex::new(Inner { file, failed: None, holders: BTreeMap::new() }) })
    }

    /// Records an event. [`Recorder::finish`] reports errors, because clients cannot do anything about them.
    pub(crate) fn record(&self, event: &Event) {
        let mut line = match serde_json::to_vec(event) {
            Ok(line) => line,
            Err(error) => return self.fail(error.into()),
        };
        line.push(b'\n');
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Event::Acquired { office, node, from, token, .. } = event
            && inner.holders.get(office).is_none_or(|last| last.from <= *from)
        {
            let last = LastHolder { from: *from, node: node.clone(), token: *token };
            inner.holders.insert(office.clone(), last);
        }
        if let Err(error) = inner.file.write_all(&line) {
            inner.failed.get_or_insert(error);
        }
    }

    /// The node of the client that acquired an office last.
    pub(crate) fn last_holder(&self, office: &str) -> Option<String> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.holders.get(office).map(|last| last.node.clone())
    }

    /// The token of the client that acquired an office last.
    pub(crate) fn last_token(&self, office: &str) -> Option<u64> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.holders.get(office).map(|last| last.token)
    }

    /// Fails if an event could not be written.
    pub(crate) fn finish(&self) -> io::Result<()> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).failed.take().map_or(Ok(()), Err)
    }

    fn fail(&self, error: io::Error) {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).failed.get_or_insert(error);
    }
}

/// Reads a history. An incomplete last line, which a crash leaves, is skipped.
pub(crate) fn read(path: &Path) -> io::Result<Vec<Event>> {
    let mut reader = BufReader::new(File::open(path)?);
    let (mut events, mut line) = (Vec::new(), String::new());
    for number in 1.. {
        line.clear();
        if reader.read_line(&mut line)? == 0 || !line.ends_with('\n') {
            break;
        }
        let event = serde_json::from_str(&line).map_err(|error| {
            io::Error::new(io::ErrorKind::InvalidData, format!("{}, line {number}: {error}", path.display()))
        })?;
        events.push(event);
    }
    Ok(events)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn tenure(token: u64) -> Event {
        Event::Acquired {
            node: format!("n{token}"),
            client: "c".to_string(),
            office: "x".to_string(),
            exclusive: true,
            token,
            from: token,
            deadline: 20,
        }
    }

    #[test]
    fn reads_what_was_recorded_and_skips_an_incomplete_line() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("history");
        let recorder = Recorder::create(&path).expect("a new file");
        let events = [tenure(5), Event::Recovery { at: 7 }, tenure(4)];
        events.iter().for_each(|event| recorder.record(event));
        recorder.finish().expect("written");
        assert_eq!(recorder.last_holder("x").as_deref(), Some("n5"), "the latest moment, not the last line");
        assert_eq!(recorder.last_token("x"), Some(5));
        assert_eq!((recorder.last_holder("y"), recorder.last_token("y")), (None, None));
        assert_eq!(read(&path).expect("readable"), events);

        let mut bytes = fs::read(&path).expect("readable");
        assert!(bytes.starts_with(br#"{"event":"acquired","node":"n5","#));
        bytes.truncate(bytes.len() - 1);
        fs::write(&path, &bytes).expect("writable");
        assert_eq!(read(&path).expect("readable"), events[..2]);
        fs::write(&path, b"{\"event\":\"recovery\"}\n").expect("writable");
        let error = read(&path).expect_err("a line without its moment").to_string();
        assert!(error.contains("line 1"), "{error}");
    }
}
