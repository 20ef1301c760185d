//! The log of a node: one line per event, as text for people or as JSON for programs.

use std::fmt;
use std::io::Write;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::config::Log;

/// How important a line is. A logger writes the lines of its own level and of all above it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogLevel {
    /// Something does not work.
    Error,
    /// Something needs attention, or will.
    Warn,
    /// What the node does: connections, offices, leaders.
    #[default]
    Info,
    /// What only helps to find an error.
    Debug,
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LogLevel::Error => "error",
            LogLevel::Warn => "warn",
            LogLevel::Info => "info",
            LogLevel::Debug => "debug",
        })
    }
}

/// How log lines are written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// Time, level and a sentence.
    #[default]
    Text,
    /// A JSON object with `time`, `level` and `message`.
    Json,
}

impl fmt::Display for LogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LogFormat::Text => "text",
            LogFormat::Json => "json",
        })
    }
}

impl LogFormat {
    /// A line of the log, with its end.
    pub fn line(self, level: LogLevel, message: fmt::Arguments<'_>) -> String {
        let time = humantime::format_rfc3339_millis(SystemTime::now());
        let level = level.to_string();
        match self {
            // What comes from others must not begin a line of its own.
            LogFormat::Text => {
                let message = message.to_string().replace('\n', "\\n");
                format!("{time} {:<5} {message}\n", level.to_uppercase())
            }
            LogFormat::Json => {
                let time = time.to_string();
                format!("{}\n", serde_json::json!({ "time": time, "level": level, "message": message.to_string() }))
            }
        }
    }
}

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
    level: LogLevel,
    format: LogFormat,
    lost: u64,
    /// When the next rate-limited line may be written, and how many were suppressed.
    rate_limit: (Timestamp, u64),
}

impl Logger {
    /// Discards everything.
    pub(crate) fn disabled() -> Logger {
        Logger::new(None, None)
    }

    fn new(queue: Option<Arc<SyncSender<String>>>, writer: Option<Receiver<()>>) -> Logger {
        let (level, format) = (LogLevel::default(), LogFormat::default());
        Logger { queue, writer, level, format, lost: 0, rate_limit: (Timestamp::ZERO, 0) }
    }

    /// The same logger with this level and format.
    pub(crate) fn with(self, level: LogLevel, format: LogFormat) -> Logger {
        // `Drop` forbids taking the value apart.
        let mut logger = self;
        (logger.level, logger.format) = (level, format);
        logger
    }

    /// Changes the level.
    pub(super) fn set_level(&mut self, level: LogLevel) {
        self.level = level;
    }

    /// Writes to standard error, as it is configured.
    pub fn to_stderr(log: Log) -> std::io::Result<Logger> {
        Ok(Logger::to_writer(std::io::stderr())?.with(log.level, log.format))
    }

    /// Writes to this writer.
    pub(crate) fn to_writer(mut writer: impl Write + Send + 'static) -> std::io::Result<Logger> {
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
        Ok(Logger::new(Some(Arc::new(queue)), Some(writer_ends)))
    }

    /// A function with which other threads log lines until this logger is dropped. It logs whatever the level is, as
    /// for the audit log, and drops a line if the writer is too slow.
    pub fn handle(&self) -> impl Fn(fmt::Arguments<'_>) + Send + Sync + use<> {
        let queue: Weak<SyncSender<String>> = self.queue.as_ref().map(Arc::downgrade).unwrap_or_default();
        let format = self.format;
        move |what| {
            if let Some(queue) = queue.upgrade() {
                // What does not fit is lost, as with the logger itself.
                let _ = queue.try_send(format.line(LogLevel::Info, what));
            }
        }
    }

    /// Logs that something does not work.
    pub(super) fn error(&mut self, what: fmt::Arguments<'_>) {
        self.log(LogLevel::Error, what);
    }

    /// Logs that something needs attention.
    pub(super) fn warn(&mut self, what: fmt::Arguments<'_>) {
        self.log(LogLevel::Warn, what);
    }

    /// Logs what the node does.
    pub(super) fn info(&mut self, what: fmt::Arguments<'_>) {
        self.log(LogLevel::Info, what);
    }

    /// Logs what only helps to find an error.
    pub(super) fn debug(&mut self, what: fmt::Arguments<'_>) {
        self.log(LogLevel::Debug, what);
    }

    /// Logs what somebody did, whatever the level: nobody hides an operation by a setting of the log.
    pub(super) fn audit(&mut self, what: fmt::Arguments<'_>) {
        self.write(LogLevel::Info, what);
    }

    fn log(&mut self, level: LogLevel, what: fmt::Arguments<'_>) {
        if level <= self.level {
            self.write(level, what);
        }
    }

    fn write(&mut self, level: LogLevel, what: fmt::Arguments<'_>) {
        let Some(queue) = &self.queue else { return };
        let line = |level, what: fmt::Arguments<'_>| self.format.line(level, what);
        if self.lost > 0
            && queue.try_send(line(LogLevel::Warn, format_args!("{} lines were dropped here", self.lost))).is_ok()
        {
            self.lost = 0;
        }
        if queue.try_send(line(level, what)).is_err() {
            self.lost += 1;
        }
    }

    /// Warns of something that any host on the network can cause, so it is rate-limited.
    pub(super) fn warn_rate_limited(&mut self, now: Timestamp, what: fmt::Arguments<'_>) {
        let (again, suppressed) = self.rate_limit;
        if now < again {
            self.rate_limit.1 += 1;
            return;
        }
        self.rate_limit = (now + RATE_LIMIT, 0);
        match suppressed {
            0 => self.warn(what),
            suppressed => self.warn(format_args!("{what} ({suppressed} similar lines suppressed)")),
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
pub(super) mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    pub(in super::super) struct Buffer(Arc<Mutex<Vec<u8>>>);

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
        pub(in super::super) fn lines(&self) -> Vec<String> {
            let bytes = self.0.lock().expect("nobody panics with it");
            String::from_utf8(bytes.clone()).expect("lines are text").lines().map(str::to_string).collect()
        }
    }

    #[test]
    fn lines_start_with_the_time_and_repetitions_are_suppressed() {
        let buffer = Buffer::default();
        let mut logger = Logger::to_writer(buffer.clone()).expect("a thread can be started");
        logger.info(format_args!("started"));
        for second in 0..25 {
            logger.warn_rate_limited(Timestamp(second * 1_000_000_000), format_args!("refused {second}"));
        }
        drop(logger);
        let lines = buffer.lines();
        let ends: Vec<&str> = lines.iter().filter_map(|line| line.split_once(' ')).map(|(_, end)| end).collect();
        let suffix = "(9 similar lines suppressed)";
        let expected = [
            "INFO  started",
            "WARN  refused 0",
            &format!("WARN  refused 10 {suffix}"),
            &format!("WARN  refused 20 {suffix}"),
        ];
        assert_eq!(ends, expected);
        assert!(lines.iter().all(|line| line.starts_with("20") && line.as_bytes()[23] == b'Z'), "{lines:?}");
    }

    #[test]
    fn writes_the_lines_of_its_level_as_json() {
        let buffer = Buffer::default();
        let logger = Logger::to_writer(buffer.clone()).expect("a thread can be started");
        let mut logger = logger.with(LogLevel::Warn, LogFormat::Json);
        logger.info(format_args!("too much"));
        logger.audit(format_args!("always"));
        logger.warn(format_args!("a \"quoted\"\nword"));
        logger.set_level(LogLevel::Debug);
        logger.debug(format_args!("now"));
        drop(logger);
        let lines: Vec<serde_json::Value> =
            buffer.lines().iter().map(|line| serde_json::from_str(line).expect("a JSON object")).collect();
        let parts = |line: &serde_json::Value| (line["level"].clone(), line["message"].clone());
        let expected = [("info", "always"), ("warn", "a \"quoted\"\nword"), ("debug", "now")]
            .map(|(level, text)| (level.into(), text.into()));
        assert_eq!(lines.iter().map(parts).collect::<Vec<_>>(), expected);
        assert!(lines.iter().all(|line| line["time"].as_str().is_some_and(|time| time.ends_with('Z'))));
    }

    #[test]
    fn a_line_of_text_stays_one_line() {
        let line = LogFormat::Text.line(LogLevel::Error, format_args!("one\ntwo"));
        assert!(line.ends_with(" ERROR one\\ntwo\n") && line.matches('\n').count() == 1, "{line:?}");
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
            logger.info(format_args!("{number}"));
        }
        assert!(logger.lost >= QUEUE_LINES as u64 - 1, "{}", logger.lost);
        // Dropping the logger does not wait for the stuck writer either.
        drop(logger);
        drop(release);
    }
}
