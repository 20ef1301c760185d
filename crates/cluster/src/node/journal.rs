//! What happened, one line each, for people.

use std::fmt;
use std::io::Write;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, SystemTime};

use crate::clock::Moment;

/// So many lines may wait for whoever reads them.
const QUEUE: usize = 1024;
/// Lines about peers that are refused come no faster than this.
const REFUSALS_EVERY: Duration = Duration::from_secs(10);

/// How long a node that has stopped waits for the last lines to be read.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// Where a node tells what happens. It never waits: if nobody reads, lines are lost, and that is told.
pub struct Journal {
    queue: Option<SyncSender<String>>,
    /// Ends with the thread that writes.
    writer: Option<Receiver<()>>,
    lost: u64,
    /// When refusals may be told again, and how many were not.
    refusals: (Moment, u64),
}

impl Journal {
    /// Tells nobody.
    pub fn off() -> Journal {
        Journal { queue: None, writer: None, lost: 0, refusals: (Moment::ZERO, 0) }
    }

    /// Tells on the standard error.
    pub fn to_stderr() -> std::io::Result<Journal> {
        Journal::to(std::io::stderr())
    }

    /// Tells here, from a thread of its own.
    pub fn to(mut writer: impl Write + Send + 'static) -> std::io::Result<Journal> {
        let (queue, lines): (_, Receiver<String>) = sync_channel(QUEUE);
        let (works, writer_ends) = sync_channel(0);
        let work = move || {
            let _works: SyncSender<()> = works;
            for line in lines {
                // There is nobody left to tell of a journal that cannot be written.
                let _ = writer.write_all(line.as_bytes()).and_then(|()| writer.flush());
            }
        };
        thread::Builder::new().name("journal".to_string()).spawn(work)?;
        Ok(Journal { queue: Some(queue), writer: Some(writer_ends), lost: 0, refusals: (Moment::ZERO, 0) })
    }

    /// Something happened.
    pub(super) fn note(&mut self, what: fmt::Arguments<'_>) {
        let Some(queue) = &self.queue else { return };
        let time = humantime::format_rfc3339_millis(SystemTime::now());
        if self.lost > 0 && queue.try_send(format!("{time} {} lines were lost here\n", self.lost)).is_ok() {
            self.lost = 0;
        }
        if queue.try_send(format!("{time} {what}\n")).is_err() {
            self.lost += 1;
        }
    }

    /// Something happened that anybody on the network can make happen as often as it likes.
    pub(super) fn note_refusal(&mut self, now: Moment, what: fmt::Arguments<'_>) {
        let (again, untold) = self.refusals;
        if now < again {
            self.refusals.1 += 1;
            return;
        }
        self.refusals = (now + REFUSALS_EVERY, 0);
        match untold {
            0 => self.note(what),
            untold => self.note(format_args!("{what}; and {untold} times something like it before")),
        }
    }
}

impl Drop for Journal {
    /// Waits until everything is written, if somebody reads it.
    fn drop(&mut self) {
        self.queue = None;
        if let Some(writer) = self.writer.take() {
            // Nothing is ever sent: this waits for the end.
            let _ = writer.recv_timeout(LAST_WAIT);
        }
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal").field("lost", &self.lost).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Page(Arc<Mutex<Vec<u8>>>);

    impl Write for Page {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("nobody panics with it").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl Page {
        fn lines(&self) -> Vec<String> {
            let bytes = self.0.lock().expect("nobody panics with it");
            String::from_utf8(bytes.clone()).expect("lines are text").lines().map(str::to_string).collect()
        }
    }

    #[test]
    fn lines_have_the_time_and_refusals_are_told_rarely() {
        let page = Page::default();
        let mut journal = Journal::to(page.clone()).expect("a thread can be started");
        journal.note(format_args!("started"));
        for second in 0..25 {
            journal.note_refusal(Moment(second * 1_000_000_000), format_args!("refused {second}"));
        }
        drop(journal);
        let lines = page.lines();
        let ends: Vec<&str> = lines.iter().filter_map(|line| line.split_once(' ')).map(|(_, end)| end).collect();
        let again = "and 9 times something like it before";
        let expected = ["started", "refused 0", &format!("refused 10; {again}"), &format!("refused 20; {again}")];
        assert_eq!(ends, expected);
        assert!(lines.iter().all(|line| line.starts_with("20") && line.as_bytes()[23] == b'Z'), "{lines:?}");
    }

    #[test]
    fn a_reader_who_stopped_reading_costs_lines_and_not_time() {
        struct Stuck(Receiver<()>);
        impl Write for Stuck {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                // Ends when the test lets go.
                let _ = self.0.recv();
                Ok(bytes.len())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let (let_go, held) = std::sync::mpsc::channel();
        let mut journal = Journal::to(Stuck(held)).expect("a thread can be started");
        for number in 0..2 * QUEUE {
            journal.note(format_args!("{number}"));
        }
        assert!(journal.lost >= QUEUE as u64 - 1, "{}", journal.lost);
        // Neither does the end of the journal wait for ever.
        drop(journal);
        drop(let_go);
    }
}
