//! The fenced store: a minimal version of what every resource behind a fenced office has to do.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::clock;
use crate::history::{Event, Recorder};

/// Accepts writes with a token that is at least the greatest one seen, refuses others, and records both.
pub(crate) struct Store {
    recorder: Arc<Recorder>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    writes: u64,
    greatest: BTreeMap<String, u64>,
}

impl Store {
    /// An empty store.
    pub(crate) fn new(recorder: Arc<Recorder>) -> Self {
        Store { recorder, state: Mutex::default() }
    }

    /// Tries to write. Returns whether the write was accepted.
    pub(crate) fn write(&self, client: &str, office: &str, token: u64) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.writes += 1;
        let number = state.writes;
        let greatest = match state.greatest.get_mut(office) {
            Some(greatest) => greatest,
            None => state.greatest.entry(office.to_string()).or_insert(0),
        };
        let accepted = token >= *greatest;
        *greatest = token.max(*greatest);
        // Recorded while the store is locked, so that a later write never has an earlier moment.
        let (client, office) = (client.to_string(), office.to_string());
        self.recorder.record(&Event::Write { number, client, office, token, accepted, at: clock::now() });
        accepted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history;

    #[test]
    fn refuses_old_tokens_and_records_every_write() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("history");
        let store = Store::new(Arc::new(Recorder::create(&path).expect("a new file")));
        let writes = [("a", "f", 3), ("a", "f", 3), ("b", "f", 5), ("a", "f", 4), ("a", "g", 1), ("b", "f", 5)];
        let answers = writes.map(|(client, office, token)| store.write(client, office, token));
        assert_eq!(answers, [true, true, true, false, true, true]);
        let recorded: Vec<_> = history::read(&path)
            .expect("readable")
            .into_iter()
            .map(|event| match event {
                Event::Write { number, token, accepted, .. } => (number, token, accepted),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(recorded, [(1, 3, true), (2, 3, true), (3, 5, true), (4, 4, false), (5, 1, true), (6, 5, true)]);
    }
}
