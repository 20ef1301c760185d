//! The health check, on a thread of its own.

mod command;
mod http;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mio::{Poll, Token, Waker};

use crate::config::{Health, Probe};

const STOP: Token = Token(0);

/// What a check came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Checked {
    pub(super) score: u8,
    /// Why it could not run.
    pub(super) problem: Option<String>,
}

/// The thread and its results.
pub(super) struct HealthMonitor {
    results: Receiver<Checked>,
    stop: Option<Sender<()>>,
    interrupt: Waker,
    is_command: bool,
    thread: Option<JoinHandle<()>>,
}

impl HealthMonitor {
    /// Starts the checks. The waker is woken when the score changes.
    pub(super) fn start(health: Health, waker: Arc<Waker>) -> io::Result<HealthMonitor> {
        let (sender, results) = channel();
        let (stop, stopped) = channel();
        let is_command = matches!(health.probe, Probe::Command(_));
        let poll = Poll::new()?;
        let interrupt = Waker::new(poll.registry(), STOP)?;
        let report = move |checked| sender.send(checked).is_ok() && waker.wake().is_ok();
        let thread = thread::Builder::new().name("health".to_string());
        let thread = thread.spawn(move || run(&health, poll, &stopped, &report))?;
        Ok(HealthMonitor { results, stop: Some(stop), interrupt, is_command, thread: Some(thread) })
    }

    /// The next score that differs from the one before.
    pub(super) fn try_recv(&self) -> Option<Checked> {
        self.results.try_recv().ok()
    }
}

impl Drop for HealthMonitor {
    /// Waits until a running command has been killed. An HTTP request is not waited for.
    fn drop(&mut self) {
        self.stop = None;
        if self.interrupt.wake().is_ok()
            && let Some(thread) = self.thread.take().filter(|_| self.is_command)
        {
            // A panic was reported when it happened.
            let _ = thread.join();
        }
    }
}

fn run(health: &Health, mut poll: Poll, stopped: &Receiver<()>, report: &impl Fn(Checked) -> bool) {
    let mut damper = Damper::default();
    loop {
        let started = Instant::now();
        let until = started + health.timeout;
        let (score, problem) = match &health.probe {
            // A check that cannot run scores 0.
            Probe::Command(command) => match command::probe(command, until, &mut poll) {
                Ok(score) => (score, None),
                Err(error) => (0, Some(format!("{}: {error}", command.join(" ")))),
            },
            Probe::Http(url) => (http::probe(url, until), None),
        };
        let next = health.every.saturating_sub(started.elapsed());
        match stopped.recv_timeout(Duration::ZERO) {
            Err(RecvTimeoutError::Timeout) => {}
            _ => return,
        }
        if damper.take(score).is_some_and(|score| !report(Checked { score, problem })) {
            return;
        }
        match stopped.recv_timeout(next) {
            Err(RecvTimeoutError::Timeout) => {}
            _ => return,
        }
    }
}

/// Lets scores fall at once and rise slowly, so that a host with unstable health stays out of office.
#[derive(Default)]
struct Damper {
    told: Option<u8>,
    better: Option<u8>,
}

impl Damper {
    /// Takes a score. Returns the score to report, if it changed.
    fn take(&mut self, score: u8) -> Option<u8> {
        let better = self.better.take();
        let news = match self.told {
            Some(told) if score == told => None,
            Some(told) if score > told => match better {
                Some(before) => Some(score.min(before)),
                None => {
                    self.better = Some(score);
                    None
                }
            },
            _ => Some(score),
        };
        self.told = news.or(self.told);
        news
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    fn poll() -> (Poll, Waker) {
        let poll = Poll::new().expect("descriptors are there");
        let waker = Waker::new(poll.registry(), STOP).expect("descriptors are there");
        (poll, waker)
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(20)
    }

    fn shell(script: &str, until: Instant) -> Option<u8> {
        let (mut poll, _waker) = poll();
        command::probe(&["/bin/sh".to_string(), "-c".to_string(), script.to_string()], until, &mut poll).ok()
    }

    #[test]
    fn scores_fall_at_once_and_rise_after_two_checks() {
        let mut damper = Damper::default();
        let scores = [100, 100, 40, 100, 40, 100, 90, 90, 95, 95, 0, 0];
        let news: Vec<_> = scores.into_iter().map(|score| damper.take(score)).collect();
        let expected = [Some(100), None, Some(40), None, None, None, Some(90), None, None, Some(95), Some(0), None];
        assert_eq!(news, expected);
    }

    #[test]
    fn a_command_is_scored_by_its_exit_code_and_first_line() {
        assert_eq!(shell("exit 0", soon()), Some(100));
        assert_eq!(shell("echo 42; echo 7", soon()), Some(42));
        assert_eq!(shell("echo fine", soon()), Some(100));
        assert_eq!(shell("echo 999", soon()), Some(100));
        assert_eq!(shell("echo 42; exit 3", soon()), Some(0));
        assert_eq!(shell("kill -9 $$", soon()), Some(0));
        assert_eq!(shell("head -c 300000 /dev/zero", soon()), Some(100), "its output is read, and forgotten");
        let (mut poll, _waker) = poll();
        let missing = command::probe(&["/nowhere/at/all".to_string()], soon(), &mut poll);
        assert_eq!(missing.map_err(|error| error.kind()), Err(io::ErrorKind::NotFound));
    }

    #[test]
    fn a_command_that_times_out_is_killed_with_its_children() {
        let folder = tempfile::tempdir().expect("a folder");
        let pid = folder.path().join("pid");
        let script = format!("sleep 1000 & echo $! > {}; wait", pid.display());
        let started = Instant::now();
        assert_eq!(shell(&script, started + Duration::from_millis(300)), Some(0));
        assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
        let started = std::fs::read_to_string(pid).expect("it got so far within its time");
        let started = format!("/proc/{}/stat", started.trim());
        let is_dead = || std::fs::read_to_string(&started).map_or(true, |stat| stat.contains(") Z "));
        let until = soon();
        while !is_dead() {
            assert!(Instant::now() < until, "it is still running");
            thread::yield_now();
        }
    }

    #[test]
    fn a_command_is_killed_when_the_node_stops() {
        let (mut poll, waker) = poll();
        waker.wake().expect("the poll is there");
        let started = Instant::now();
        let command = ["/bin/sleep".to_string(), "1000".to_string()];
        assert_eq!(command::probe(&command, started + Duration::from_secs(100), &mut poll).ok(), Some(0));
        assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    }

    /// The score of a URL whose server sends this, and the request that the server received.
    fn page(says: &'static [u8], hold: bool, until: Instant) -> (u8, String) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
        let address = listener.local_addr().expect("it is bound");
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("the probe comes");
            let mut asked = [0; 1024];
            let count = stream.read(&mut asked).expect("the probe asks");
            stream.write_all(says).expect("the probe listens");
            if hold {
                // Ends when the client disconnects.
                let _ = stream.read(&mut [0; 1]);
            }
            String::from_utf8_lossy(&asked[..count]).into_owned()
        });
        let score = http::probe(&format!("http://{address}/health?deep"), until);
        (score, server.join().expect("it does not panic"))
    }

    #[test]
    fn a_url_is_scored_by_its_status() {
        let (score, asked) = page(b"HTTP/1.1 204 No Content\r\n\r\n", false, soon());
        assert_eq!(score, 100);
        assert!(asked.starts_with("GET /health?deep HTTP/1.1\r\nHost: 127.0.0.1:"), "{asked}");
        assert_eq!(page(b"HTTP/1.1 200 OK\r\n", true, soon()).0, 100, "no need to wait for the end");
        assert_eq!(page(b"HTTP/1.1 503 Busy\r\n\r\n", false, soon()).0, 0);
        assert_eq!(page(b"HTTP/1.1 2\r\n\r\n", false, soon()).0, 0);
        assert_eq!(page(b"SSH-2.0-x 200\r\n", false, soon()).0, 0);
        assert_eq!(page(b"", false, soon()).0, 0);
        assert_eq!(page(&[b'x'; 100_000], false, soon()).0, 0, "a line without an end");
    }

    #[test]
    fn a_url_that_does_not_answer_in_time_scores_zero() {
        let started = Instant::now();
        let (score, _) = page(b"HTTP/1.1 20", true, started + Duration::from_millis(100));
        assert_eq!(score, 0);
        assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
        let closed = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("loopback");
        assert_eq!(http::probe(&format!("http://{closed}"), soon()), 0);
    }
}
