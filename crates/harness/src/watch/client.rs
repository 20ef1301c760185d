//! Many watchers in one process.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::TcpStream as StdStream;

use hustings_cluster::clock::Clock;
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// How many bytes of an event may wait for its end.
const MAX_PENDING: usize = 64 * 1024;

/// One watcher.
struct Watcher {
    stream: TcpStream,
    /// The beginning of a line whose end has not arrived yet.
    pending: Vec<u8>,
    /// Whether the first state has arrived.
    is_connected: bool,
}

/// Watches an office with many connections, until the process is killed. Prints `connected` when each of them has the
/// first state; then, for every grant that all of them were told of, its token and when each of them was told, in
/// nanoseconds of this host's `CLOCK_BOOTTIME`.
pub fn run(port: u16, office: &str, watchers: usize, out: &mut dyn Write) -> io::Result<()> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
    let mut poll = Poll::new()?;
    let mut all = Vec::with_capacity(watchers);
    for index in 0..watchers {
        let mut stream = StdStream::connect(("127.0.0.1", port))?;
        let request = format!("GET /v1/offices/{office}/watch HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
        stream.write_all(request.as_bytes())?;
        stream.set_nonblocking(true)?;
        let mut stream = TcpStream::from_std(stream);
        poll.registry().register(&mut stream, Token(index), Interest::READABLE)?;
        all.push(Watcher { stream, pending: Vec::new(), is_connected: false });
    }
    let (clock, mut connected) = (Clock::new(), 0);
    let mut arrivals: HashMap<u64, Vec<u64>> = HashMap::new();
    let mut events = Events::with_capacity(1024);
    loop {
        poll.poll(&mut events, None)?;
        for event in &events {
            let watcher = &mut all[event.token().0];
            for (token, is_vacant) in watcher.read()? {
                let now = clock.now().0;
                if !std::mem::replace(&mut watcher.is_connected, true) {
                    connected += 1;
                    if connected == watchers {
                        writeln!(out, "connected")?;
                        out.flush()?;
                    }
                } else if !is_vacant {
                    let times = arrivals.entry(token).or_default();
                    times.push(now);
                    if times.len() == watchers {
                        let times: Vec<String> = times.iter().map(u64::to_string).collect();
                        writeln!(out, "{token} {}", times.join(" "))?;
                        out.flush()?;
                        arrivals.remove(&token);
                    }
                }
            }
        }
    }
}

impl Watcher {
    /// The ids of the events that have arrived: the token, and whether the office is vacant.
    fn read(&mut self) -> io::Result<Vec<(u64, bool)>> {
        let mut ids = Vec::new();
        let mut chunk = [0; 4096];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(io::Error::other("the API closed a watch")),
                Ok(count) => {
                    self.pending.extend_from_slice(&chunk[..count]);
                    // There is no more, and to ask for it would cost as much as what was read.
                    if count < chunk.len() {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let end = self.pending.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        for line in self.pending[..end].split(|byte| *byte == b'\n') {
            if line.starts_with(b"HTTP/1.1 ") && !line.starts_with(b"HTTP/1.1 200") {
                return Err(io::Error::other(String::from_utf8_lossy(line).into_owned()));
            }
            ids.extend(line.strip_prefix(b"id: ").and_then(parse_id));
        }
        self.pending.drain(..end);
        self.pending.shrink_to(0);
        if self.pending.len() > MAX_PENDING { Err(io::Error::other("an event is too long")) } else { Ok(ids) }
    }
}

fn parse_id(id: &[u8]) -> Option<(u64, bool)> {
    let (token, phase) = std::str::from_utf8(id).ok()?.split_once('.')?;
    Some((token.parse().ok()?, phase == "1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_token_and_phase() {
        assert_eq!(parse_id(b"17.0"), Some((17, false)));
        assert_eq!(parse_id(b"17.1"), Some((17, true)));
        assert_eq!(parse_id(b"x"), None);
    }
}
