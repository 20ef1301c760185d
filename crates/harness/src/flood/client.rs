//! The flood: one process with thousands of connections that are never finished, and two greedy programs.

use std::collections::HashSet;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

use super::Sent;
use super::hello::client_hello;

/// How long a connection that was closed waits before it comes again, and a greedy program whose node has ended.
const PAUSE: Duration = Duration::from_secs(1);
/// How often connections are looked after.
const TICK: Duration = Duration::from_millis(10);
/// The most connections that are opened in one tick.
const MAX_OPENED: usize = 50;
/// Descriptors for everything else.
const RESERVED_DESCRIPTORS: u64 = 64;
/// How many addresses of this host the strangers have.
const STRANGERS: usize = 200;
/// How many requests the greedy program sends without waiting.
const PIPELINED: usize = 10_000;

/// What is flooded.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Targets {
    /// The addresses on which nodes listen for each other.
    pub peers: Vec<SocketAddr>,
    /// The addresses of the HTTP API.
    pub http: Vec<SocketAddr>,
    /// The socket for the program that does not wait for answers.
    pub pipelined: PathBuf,
    /// The socket for the program that asks for the history.
    pub history: PathBuf,
    /// How many connections to those of `peers`.
    pub connections: usize,
    /// How many to those of `http`.
    pub http_clients: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Connects and says nothing.
    HalfOpen,
    /// Begins a handshake and never goes on.
    Handshake,
    /// Sends a byte of a request every second.
    SlowHttp,
}

/// A connection that comes again and again.
struct Stranger {
    kind: Kind,
    /// Which address of this host it has, if it connects over loopback.
    from: Ipv4Addr,
    to: SocketAddr,
    stream: Option<TcpStream>,
    /// When it connects, or sends its next byte.
    due: Instant,
    /// How much of its request it has sent.
    sent: usize,
}

/// Floods until the process is killed. Prints what it did once a second.
pub fn run(targets: &Targets, out: &mut dyn Write) -> io::Result<()> {
    raise_descriptors((targets.connections + targets.http_clients) as u64 + RESERVED_DESCRIPTORS)?;
    let pipelined = greedy(&targets.pipelined, "{\"type\":\"leader\",\"office\":\"leader\"}\n", PIPELINED);
    let histories = greedy(&targets.history, "{\"type\":\"history\"}\n", 1);
    let hello = client_hello()?;
    let mut strangers = strangers(targets);
    let (mut poll, mut events, mut sent) = (Poll::new()?, Events::with_capacity(1024), Sent::default());
    let mut told_at = Instant::now() + PAUSE;
    loop {
        poll.poll(&mut events, Some(TICK))?;
        let ready: HashSet<usize> = events.iter().map(|event| event.token().0).collect();
        let (now, mut opened) = (Instant::now(), 0);
        for (number, stranger) in strangers.iter_mut().enumerate() {
            if ready.contains(&number) {
                stranger.handle_ready(&hello, now);
            }
            if stranger.due > now || (stranger.stream.is_none() && opened == MAX_OPENED) {
                continue;
            }
            if stranger.stream.is_some() {
                stranger.send_byte(now);
            } else {
                opened += 1;
                stranger.open(&poll, number, now)?;
                match stranger.kind {
                    Kind::SlowHttp => sent.http_connections += 1,
                    kind => {
                        sent.connections += 1;
                        sent.handshakes += u64::from(kind == Kind::Handshake);
                    }
                }
            }
        }
        if now >= told_at {
            told_at = now + PAUSE;
            (sent.pipelined, sent.histories) = (pipelined.load(Ordering::Relaxed), histories.load(Ordering::Relaxed));
            writeln!(out, "{}", serde_json::to_string(&sent)?)?;
            out.flush()?;
        }
    }
}

fn raise_descriptors(needed: u64) -> io::Result<()> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if maximum.is_some_and(|maximum| maximum < needed) {
        let maximum = maximum.unwrap_or_default();
        let problem = format!(
            "a process may have {maximum} open files here, and the flood needs {needed}: raise the limit (`ulimit -Hn`), or \
             lower --connections and --http-clients"
        );
        return Err(io::Error::other(problem));
    }
    if current.is_some_and(|current| current < needed) {
        setrlimit(Resource::Nofile, Rlimit { current: Some(needed), maximum })?;
    }
    Ok(())
}

/// All of them, spread over the targets and over addresses of this host that no member has.
fn strangers(targets: &Targets) -> Vec<Stranger> {
    let stranger = |number: usize, kind, targets: &[SocketAddr]| {
        let from = Ipv4Addr::new(127, 0, 1, (1 + number % STRANGERS) as u8);
        let to = targets.get(number / 2 % targets.len().max(1)).copied()?;
        Some(Stranger { kind, from, to, stream: None, due: Instant::now(), sent: 0 })
    };
    let peers = (0..targets.connections).filter_map(|number| {
        let kind = if number % 2 == 0 { Kind::HalfOpen } else { Kind::Handshake };
        stranger(number, kind, &targets.peers)
    });
    let http = (0..targets.http_clients).filter_map(|number| stranger(number, Kind::SlowHttp, &targets.http));
    peers.chain(http).collect()
}

impl Stranger {
    fn open(&mut self, poll: &Poll, number: usize, now: Instant) -> io::Result<()> {
        (self.sent, self.due) = (0, now + PAUSE);
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let family = if self.to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let socket = socket_with(family, SocketType::STREAM, flags, None)?;
        if self.to.is_ipv4() && self.to.ip().is_loopback() {
            bind(&socket, &SocketAddrV4::new(self.from, 0))?;
        }
        // A node that has just ended refuses, and so does a network that is cut; it is tried again later.
        let refused = connect(&socket, &self.to);
        if refused.is_ok() || refused == Err(rustix::io::Errno::INPROGRESS) {
            let mut stream = TcpStream::from_std(socket.into());
            poll.registry().register(&mut stream, Token(number), Interest::READABLE | Interest::WRITABLE)?;
            self.stream = Some(stream);
            if self.kind != Kind::SlowHttp {
                // Nothing is due until it ends.
                self.due = now + Duration::from_secs(1_000_000);
            }
        }
        Ok(())
    }

    /// Says what it has to say once it is connected, and reads what comes until it is closed.
    fn handle_ready(&mut self, hello: &[u8], now: Instant) {
        let Some(stream) = &mut self.stream else { return };
        if self.kind == Kind::Handshake && self.sent == 0 {
            match stream.write(hello) {
                Ok(written) => self.sent = written,
                Err(error) if error.kind() == ErrorKind::NotConnected || error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => return self.end(now),
            }
        }
        let mut bytes = [0; 4096];
        loop {
            match self.stream.as_mut().map(|stream| stream.read(&mut bytes)) {
                Some(Ok(1..)) => {}
                Some(Err(error)) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected) => return,
                Some(Err(error)) if error.kind() == ErrorKind::Interrupted => {}
                _ => return self.end(now),
            }
        }
    }

    fn send_byte(&mut self, now: Instant) {
        const REQUEST: &[u8] = b"GET /v1/offices HTTP/1.1\r\nHost: localhost\r\nX-Slow: ";
        self.due = now + PAUSE;
        let byte = REQUEST.get(self.sent).copied().unwrap_or(b'x');
        self.sent += 1;
        let written = self.stream.as_mut().map(|stream| stream.write(&[byte]));
        if let Some(Err(error)) = written
            && error.kind() != ErrorKind::WouldBlock
        {
            self.end(now);
        }
    }

    fn end(&mut self, now: Instant) {
        (self.stream, self.due) = (None, now + PAUSE);
    }
}

/// Starts a program that sends this many requests at once, reads as many answers, and begins again. It counts answers.
fn greedy(socket: &Path, request: &'static str, at_once: usize) -> Arc<AtomicU64> {
    let (answers, socket) = (Arc::new(AtomicU64::new(0)), socket.to_path_buf());
    let counted = answers.clone();
    thread::spawn(move || {
        loop {
            // Its node may be gone for a while.
            let _ = ask(&socket, request, at_once, &counted);
            thread::sleep(PAUSE);
        }
    });
    answers
}

fn ask(socket: &Path, request: &'static str, at_once: usize, answers: &AtomicU64) -> io::Result<()> {
    let mut stream = UnixStream::connect(socket)?;
    let mut writing = stream.try_clone()?;
    let mut bytes = vec![0; 256 * 1024];
    loop {
        let requests = request.repeat(at_once);
        thread::scope(|scope| {
            let written = scope.spawn(|| writing.write_all(requests.as_bytes()));
            let mut missing = at_once;
            while missing > 0 {
                let count = match stream.read(&mut bytes)? {
                    0 => return Err(ErrorKind::UnexpectedEof.into()),
                    count => bytes[..count].iter().filter(|byte| **byte == b'\n').count(),
                };
                answers.fetch_add(count as u64, Ordering::Relaxed);
                missing = missing.saturating_sub(count);
            }
            written.join().unwrap_or_else(|_| Err(io::Error::other("the writer panicked")))
        })?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_are_spread_over_ports_and_addresses() {
        let local = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let targets = Targets {
            peers: vec![local(1), local(2), local(3)],
            http: vec![local(4)],
            pipelined: PathBuf::new(),
            history: PathBuf::new(),
            connections: 2_000,
            http_clients: 500,
        };
        let all = strangers(&targets);
        let count = |is_counted: &dyn Fn(&Stranger) -> bool| all.iter().filter(|one| is_counted(one)).count();
        assert_eq!(count(&|one| one.kind == Kind::HalfOpen), 1_000);
        assert_eq!(count(&|one| one.kind == Kind::Handshake), 1_000);
        assert_eq!(count(&|one| one.kind == Kind::SlowHttp && one.to == local(4)), 500);
        for port in 1..=3 {
            let (silent, begun) = (Kind::HalfOpen, Kind::Handshake);
            assert!(count(&|one| one.kind == silent && one.to == local(port)) > 300, "{port}");
            assert!(count(&|one| one.kind == begun && one.to == local(port)) > 300, "{port}");
        }
        let hosts: HashSet<Ipv4Addr> = all.iter().map(|one| one.from).collect();
        assert_eq!(hosts.len(), STRANGERS);
        assert!(!hosts.contains(&Ipv4Addr::LOCALHOST));
        let none = Targets { peers: Vec::new(), ..targets };
        assert_eq!(strangers(&none).len(), 500, "without a port there is nothing to connect to");
    }

    #[test]
    fn too_few_descriptors_are_an_error_that_says_how_many() {
        let error = raise_descriptors(u64::MAX).expect_err("no system allows that many").to_string();
        assert!(error.contains(&u64::MAX.to_string()) && error.contains("--connections"), "{error}");
    }
}
