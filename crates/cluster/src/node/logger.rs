//! The log of a node: one line per event, for people.

use std::fmt;
use std::io::Write;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, SystemTime};

use crate::clock::Timestamp;

/// How many lines may wait for the writer.
const QUEUE_LINES: usize = 1024;
/// The shortest time between two lines about rejected peers.
const RATE_LIMIT: Duration = Duration::from_secs(10);

/// How long a stopped node waits for the last lines to be written.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// Writes log lines on a thread of its own. It never blocks: if the writer is too slow, lines are dropped, and their
/// number is logged.
pub struct Logger {
    queue: Option<Arc<SyncSender<String>>>,
    /// Disconnected when the writing thread ends.
    writer: Option<Receiver<()>>,
    lost: u64,
    /// When the next rate-limited line may be written, and how many were suppressed.
    rate_limit: (Timestamp, u64),
}

impl Logger {
    /// Discards everything.
    pub fn disabled() -> Logger {
        Logger { queue: None, writer: None, lost: 0, rate_limit: (Timestamp::ZERO, 0) }
    }

    /// Writes to standard error.
    pub fn to_stderr() -> std::io::Result<Logger> {
        Logger::to_writer(std::io::stderr())
    }

    /// Writes to this writer.
    pub fn to_writer(mut writer: impl Write + Send + 'static) -> std::io::Result<Logger> {
        let (queue, lines): (_, Receiver<String>) = sync_channel(QUEUE_LINES);
        let (works, writer_ends) = sync_channel(0);
        let work = move || {
            let _works: SyncSender<()> = works;
            for line in lines {
                // A failure to write the log cannot be logged.
                let _ = writer.write_all(line.as_bytes()).and_then(|()| writer.flush());
            }
        };
        thread::Builder::new().name("logger".to_string()).spawn(work)?;
        Ok(Logger {
            queue: Some(Arc::new(queue)),
            writer: Some(writer_ends),
            lost: 0,
            rate_limit: (Timestamp::ZERO, 0),
        })
    }

    /// A handle with which other threads log lines until this logger is dropped.
    pub fn handle(&self) -> LogHandle {
        LogHandle(self.queue.as_ref().map(Arc::downgrade).unwrap_or_default())
    }

    /// Logs a line.
    pub(super) fn log(&mut self, what: fmt::Arguments<'_>) {
        let Some(queue) = &self.queue else { return };
        let time = humantime::format_rfc3339_millis(SystemTime::now());
        if self.lost > 0 && queue.try_send(format!("{time} {} lines were dropped here\n", self.lost)).is_ok() {
            self.lost = 0;
        }
        if queue.try_send(format!("{time} {what}\n")).is_err() {
            self.lost += 1;
        }
    }

    /// Logs a line about something that any host on the network can cause, so it is rate-limited.
    pub(super) fn log_rate_limited(&mut self, now: Timestamp, what: fmt::Arguments<'_>) {
        let (again, suppressed) = self.rate_limit;
        if now < again {
            self.rate_limit.1 += 1;
            return;
        }
        self.rate_limit = (now + RATE_LIMIT, 0);
        match suppressed {
            0 => self.log(what),
            suppressed => self.log(format_args!("{what} ({suppressed} similar lines suppressed)")),
        }
    }
}

/// Logs lines from another thread.
#[derive(Clone, Debug)]
pub struct LogHandle(Weak<SyncSender<String>>);

impl LogHandle {
    /// Logs a line. It is dropped if the writer is too slow.
    pub fn log(&self, what: fmt::Arguments<'_>) {
        if let Some(queue) = self.0.upgrade() {
            let time = humantime::format_rfc3339_millis(SystemTime::now());
            // What does not fit is lost, as with the logger itself.
            let _ = queue.try_send(format!("{time} {what}\n"));
        }
    }
}

impl Drop for Logger {
    /// Waits until everything is written, for a limited time.
    fn drop(&mut self) {
        self.queue = None;
        if let Some(writer) = self.writer.take() {
            // Nothing is ever sent on this channel: this waits for the thread's end.
            let _ = writer.recv_timeout(FLUSH_TIMEOUT);
        }
    }
}

impl fmt::Debug for Logger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Logger").field("lost", &self.lost).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("nobody panics with it").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl Buffer {
        fn lines(&self) -> Vec<String> {
            let bytes = self.0.lock().expect("nobody panics with it");
            String::from_utf8(bytes.clone()).expect("lines are text").lines().map(str::to_string).collect()
        }
    }

    #[test]
    fn lines_start_with_the_time_and_repetitions_are_suppressed() {
        let buffer = Buffer::default();
        let mut logger = Logger::to_writer(buffer.clone()).expect("a thread can be started");
        logger.log(format_args!("started"));
        for second in 0..25 {
            logger.log_rate_limited(Timestamp(second * 1_000_000_000), format_args!("refused {second}"));
        }
        drop(logger);
        let lines = buffer.lines();
        let ends: Vec<&str> = lines.iter().filter_map(|line| line.split_once(' ')).map(|(_, end)| end).collect();
        let suffix = "(9 similar lines suppressed)";
        let expected = ["started", "refused 0", &format!("refused 10 {suffix}"), &format!("refused 20 {suffix}")];
        assert_eq!(ends, expected);
        assert!(lines.iter().all(|line| line.starts_with("20") && line.as_bytes()[23] == b'Z'), "{lines:?}");
    }

    #[test]
    fn a_slow_writer_loses_lines_without_blocking() {
        struct Stuck(Receiver<()>);
        impl Write for Stuck {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                // Ends when the test drops the sender.
                let _ = self.0.recv();
                Ok(bytes.len())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let (release, blocked) = std::sync::mpsc::channel();
        let mut logger = Logger::to_writer(Stuck(blocked)).expect("a thread can be started");
        for number in 0..2 * QUEUE_LINES {
            logger.log(format_args!("{number}"));
        }
        assert!(logger.lost >= QUEUE_LINES as u64 - 1, "{}", logger.lost);
        // Dropping the logger does not wait for the stuck writer either.
        drop(logger);
        drop(release);
    }
}
