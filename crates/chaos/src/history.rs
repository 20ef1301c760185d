//! The record: what clients saw, and what was done to the nodes, one JSON object a line.
//!
//! Every moment is of this machine's `CLOCK_BOOTTIME`, in nanoseconds: one machine, so moments can be compared whoever
//! noted them. Lines are written as things happen, so that a crash of the harness leaves them; their order is that
//! in which threads came to write, not that of the moments.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// A node, as the judge knows it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct NodeFacts {
    /// Its name.
    pub(crate) name: String,
    /// The higher, the better it is as a leader.
    pub(crate) priority: u32,
    /// By how much its clock is made to go wrong.
    pub(crate) ppm: i32,
}

/// An office, as the judge knows it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct OfficeFacts {
    /// Its name.
    pub(crate) name: String,
    /// Whether two may never hold it at once; if not, old tokens must be refused.
    pub(crate) exclusive: bool,
    /// Whether somebody better takes it from a live holder.
    pub(crate) better: bool,
}

/// What the judge must know beforehand.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Facts {
    /// The seed of everything.
    pub(crate) seed: u64,
    /// The nodes.
    pub(crate) nodes: Vec<NodeFacts>,
    /// The offices clients campaign for.
    pub(crate) offices: Vec<OfficeFacts>,
    /// Whether there is an arbiter; if not, only calm is judged.
    pub(crate) arbiter: bool,
    /// For how long a holder may act after a confirmed renewal, in nanoseconds.
    pub(crate) lease: u64,
    /// By how much clocks may go wrong against each other, in parts per million.
    pub(crate) drift_ppm: u32,
    /// How long after the last fault the right one must lead, in nanoseconds.
    pub(crate) bound: u64,
}

/// Something that happened.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(crate) enum Event {
    /// The first line.
    Facts(Facts),
    /// A client was told that it holds an office.
    Claimed {
        /// The node that told it.
        node: String,
        /// The client, one name for each of its connections.
        client: String,
        /// The office.
        office: String,
        /// Whether it is exclusive.
        exclusive: bool,
        /// The token.
        token: u64,
        /// When the client had read it.
        from: u64,
        /// Until when it may act, in real time.
        deadline: u64,
    },
    /// A client was told that it may act longer.
    Until {
        /// The client.
        client: String,
        /// The office.
        office: String,
        /// The token.
        token: u64,
        /// When the client had read it.
        at: u64,
        /// Until when it may act, in real time.
        deadline: u64,
    },
    /// A client stopped acting before its deadline; from then on it did nothing in this office.
    Ended {
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
    /// A client wrote to the fenced store.
    Wrote {
        /// The store's own count: the order of writes.
        number: u64,
        /// The client.
        client: String,
        /// The office.
        office: String,
        /// The token.
        token: u64,
        /// Whether the store took it.
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
        /// Whom it named.
        holder: Option<String>,
        /// With which token.
        token: u64,
        /// Whether it said that this is how things are.
        current: bool,
        /// When it was asked.
        began: u64,
        /// When it had answered.
        at: u64,
    },
    /// Something was broken, or mended.
    Fault {
        /// Which kind.
        kind: String,
        /// What, for people.
        what: String,
        /// When it began to be broken (or mended).
        at: u64,
    },
    /// Whether some majority of nodes is up, thawed, not short of disk and connected each with each.
    Majority {
        /// Whether it is.
        well: bool,
        /// Since when.
        at: u64,
    },
    /// The machine itself stood still, or was so busy that it might as well have.
    Stall {
        /// Since when.
        from: u64,
        /// Until when.
        at: u64,
    },
    /// Everything is mended and all clients campaign; nothing is broken until the next fault.
    Calm {
        /// Since when.
        at: u64,
    },
    /// The calm is over, before anything is broken again.
    CalmOver {
        /// When.
        at: u64,
    },
}

/// Writes the record.
pub(crate) struct Recorder {
    inner: Mutex<Inner>,
}

struct Inner {
    file: File,
    failed: Option<io::Error>,
    holders: BTreeMap<String, (u64, String)>,
}

impl Recorder {
    /// A record in a new file.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let file = File::create(path)?;
        Ok(Recorder { inner: Mutex::new(Inner { file, failed: None, holders: BTreeMap::new() }) })
    }

    /// Notes an event. A record that cannot be written is told by [`Recorder::finish`]: clients cannot do anything
    /// about it.
    pub(crate) fn note(&self, event: &Event) {
        let mut line = match serde_json::to_vec(event) {
            Ok(line) => line,
            Err(error) => return self.fail(error.into()),
        };
        line.push(b'\n');
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Event::Claimed { office, node, from, .. } = event
            && inner.holders.get(office).is_none_or(|(last, _)| last <= from)
        {
            inner.holders.insert(office.clone(), (*from, node.clone()));
        }
        if let Err(error) = inner.file.write_all(&line) {
            inner.failed.get_or_insert(error);
        }
    }

    /// The node on which the last claim to an office was made.
    pub(crate) fn last_holder(&self, office: &str) -> Option<String> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.holders.get(office).map(|(_, node)| node.clone())
    }

    /// Whether everything was written.
    pub(crate) fn finish(&self) -> io::Result<()> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).failed.take().map_or(Ok(()), Err)
    }

    fn fail(&self, error: io::Error) {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).failed.get_or_insert(error);
    }
}

/// Reads a record. A last line without its end is left out: that is how a crash leaves it.
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

    fn claim(token: u64) -> Event {
        Event::Claimed {
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
    fn what_was_noted_is_read_again_and_a_torn_line_is_left_out() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("history");
        let recorder = Recorder::create(&path).expect("a new file");
        let events = [claim(5), Event::Calm { at: 7 }, claim(4)];
        events.iter().for_each(|event| recorder.note(event));
        recorder.finish().expect("written");
        assert_eq!(recorder.last_holder("x").as_deref(), Some("n5"), "the last claim, not the last line");
        assert_eq!(recorder.last_holder("y"), None);
        assert_eq!(read(&path).expect("readable"), events);

        let mut bytes = fs::read(&path).expect("readable");
        assert!(bytes.starts_with(br#"{"event":"claimed","node":"n5","#));
        bytes.truncate(bytes.len() - 1);
        fs::write(&path, &bytes).expect("writable");
        assert_eq!(read(&path).expect("readable"), events[..2]);
        fs::write(&path, b"{\"event\":\"calm\"}\n").expect("writable");
        let error = read(&path).expect_err("a line without its moment").to_string();
        assert!(error.contains("line 1"), "{error}");
    }
}
