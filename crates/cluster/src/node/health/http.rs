//! A page that says how well the host is.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// A status line is not longer.
const MAX_BYTES: usize = 4096;

/// The score: 100 if the page answers in time with a status of 2xx, else 0.
pub(super) fn probe(page: &str, until: Instant) -> u8 {
    let status = ask(page, until).ok();
    if status.is_some_and(|status| (200..300).contains(&status)) { 100 } else { 0 }
}

fn ask(page: &str, until: Instant) -> io::Result<u16> {
    let (host, path) = parts(page).ok_or(io::ErrorKind::InvalidInput)?;
    let mut stream = connect(host, until)?;
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: hustings\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    );
    stream.set_write_timeout(Some(left(until)?))?;
    stream.write_all(request.as_bytes())?;
    let mut said = Vec::new();
    let mut piece = [0; 1024];
    loop {
        if let Some(end) = said.iter().position(|byte| *byte == b'\n') {
            return status(&said[..end]).ok_or_else(|| io::ErrorKind::InvalidData.into());
        }
        if said.len() > MAX_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        stream.set_read_timeout(Some(left(until)?))?;
        match stream.read(&mut piece) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => said.extend_from_slice(&piece[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Host with port if any, and path with question.
fn parts(page: &str) -> Option<(&str, String)> {
    let rest = page.strip_prefix("http://")?.split('#').next()?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(end);
    Some((host, if path.starts_with('/') { path.to_string() } else { format!("/{path}") }))
}

fn connect(host: &str, until: Instant) -> io::Result<TcpStream> {
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let with_port = if has_port { host.to_string() } else { format!("{host}:80") };
    let mut trouble = io::ErrorKind::AddrNotAvailable.into();
    for address in with_port.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, left(until)?) {
            Ok(stream) => return Ok(stream),
            Err(error) => trouble = error,
        }
    }
    Err(trouble)
}

/// What is left of the time: never nothing.
fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// Of a line like `HTTP/1.1 200 OK`.
fn status(line: &[u8]) -> Option<u16> {
    let line = std::str::from_utf8(line).ok()?;
    let code = line.strip_prefix("HTTP/1.")?.split_whitespace().nth(1)?;
    if code.len() == 3 { code.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_taken_apart() {
        let taken = |page| parts(page).expect("it is a page");
        assert_eq!(taken("http://a"), ("a", "/".to_string()));
        assert_eq!(taken("http://a:81?x=1#y"), ("a:81", "/?x=1".to_string()));
        assert_eq!(taken("http://[::1]:80/a/b?c"), ("[::1]:80", "/a/b?c".to_string()));
        assert_eq!(parts("ftp://a"), None);
    }
}
