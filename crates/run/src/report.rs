//! What `run` says about itself: log lines on standard error, and the status file.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value, json};

use crate::messages::{Event, Outcome};

/// How log lines are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LogFormat {
    /// A sentence per line.
    #[default]
    Text,
    /// A JSON object per line.
    Json,
    /// Nothing but errors.
    Quiet,
}

/// Writes log lines.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    pub(crate) office: String,
    pub(crate) format: LogFormat,
}

impl Log {
    /// Logs a sentence with an event's name and values.
    pub(crate) fn say(&self, event: &str, message: &str, values: Value) {
        let line = match self.format {
            LogFormat::Quiet => return,
            LogFormat::Text => format!("hustings run: {}: {message}\n", self.office),
            LogFormat::Json => self.object(event, message, values),
        };
        write(&line);
    }

    /// Logs an error.
    pub(crate) fn error(&self, message: &str) {
        let line = match self.format {
            LogFormat::Quiet | LogFormat::Text => format!("hustings run: {}: error: {message}\n", self.office),
            LogFormat::Json => self.object("error", message, json!({})),
        };
        write(&line);
    }

    fn object(&self, event: &str, message: &str, values: Value) -> String {
        let unix_ms = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH);
        let unix_ms = unix_ms.map_or(0, |since| since.as_millis() as u64);
        let mut object = json!({ "unix_ms": unix_ms, "office": self.office, "event": event, "message": message });
        if let (Some(object), Value::Object(values)) = (object.as_object_mut(), values) {
            object.extend(values);
        }
        format!("{object}\n")
    }

    /// Logs what the guardian reported.
    pub(crate) fn event(&self, event: &Event) {
        let message = match event {
            Event::Waiting => "waiting for the office".to_string(),
            Event::NodeGone => "the node is gone; waiting for it".to_string(),
            Event::Acquired { token } => format!("acquired with token {token}"),
            Event::Started { token } => format!("started the command (token {token})"),
            Event::Ended { end } => format!("the command {end}"),
            Event::Restarting { after_ms } => format!("starting the command again in {after_ms} ms"),
            Event::StandingBack { for_ms } => format!("standing back for {} s", for_ms / 1_000),
            Event::Stopping { reason } => format!("stopping the command: {reason}"),
            Event::Killing => "killing the command's processes".to_string(),
            Event::HookFailed { hook, problem } => return self.error(&format!("{hook}: {problem}")),
            Event::Released => "released; no process of the command is left".to_string(),
            Event::Working | Event::LoseHookDone | Event::Finished { .. } => return,
        };
        let mut values = serde_json::to_value(event).unwrap_or_default();
        let name = values.as_object_mut().and_then(|values| values.remove("event"));
        self.say(name.as_ref().and_then(Value::as_str).unwrap_or_default(), &message, values);
    }

    /// Logs the result, unless the command's own end says it all.
    pub(crate) fn outcome(&self, outcome: &Outcome) {
        let code = outcome.exit_code();
        let message = match outcome {
            Outcome::Command { .. } => return,
            Outcome::LostLeadership { reason } => format!("lost leadership: {reason}; exit code {code}"),
            Outcome::NeverLed => format!("the office was not acquired in time; exit code {code}"),
            Outcome::AlreadyCompleted { token } => format!("already completed with token {token}; nothing to do"),
            Outcome::Signal { signal } => format!("ended by signal {signal}; exit code {code}"),
            Outcome::Failure { message } => return self.error(message),
        };
        self.say("finished", &message, json!({ "outcome": outcome }));
    }
}

/// Writes a line, unless that would block: `run` must be able to kill even if nobody reads what it says.
fn write(line: &str) {
    let stderr = io::stderr();
    let mut polled = [PollFd::new(&stderr, PollFlags::OUT)];
    let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
    let is_writable = matches!(poll(&mut polled, Some(&zero)), Ok(1..));
    if is_writable {
        // If standard error is closed, there is nobody to tell.
        let _ = (&stderr).write_all(line.as_bytes());
    }
}

/// The status file's content.
pub(crate) fn status(office: &str, state: &str, token: Option<u64>, outcome: Option<&Outcome>) -> Value {
    let exit = outcome.map(|outcome| {
        let is_command = matches!(outcome, Outcome::Command { .. });
        json!({ "code": outcome.exit_code(), "from": if is_command { "command" } else { "run" }, "outcome": outcome })
    });
    json!({ "office": office, "pid": std::process::id(), "state": state, "token": token, "exit": exit })
}

/// Replaces the status file: a reader sees either the old or the new content.
pub(crate) fn write_status(path: &Path, status: &Value) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    writeln!(file, "{status}")?;
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    fs::set_permissions(file.path(), mode)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
