//! Health checks by HTTP.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// The longest status line, in bytes.
const MAX_BYTES: usize = 4096;

/// Requests the URL. The score is 100 for a 2xx status within the time, else 0.
pub(super) fn probe(url: &str, until: Instant) -> u8 {
    let status = request_status(url, until).ok();
    if status.is_some_and(|status| (200..300).contains(&status)) { 100 } else { 0 }
}

fn request_status(url: &str, until: Instant) -> io::Result<u16> {
    let (host, path) = split_url(url).ok_or(io::ErrorKind::InvalidInput)?;
    let mut stream = connect(host, until)?;
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: hustings\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    );
    stream.set_write_timeout(Some(left(until)?))?;
    stream.write_all(request.as_bytes())?;
    let mut response = Vec::new();
    let mut chunk = [0; 1024];
    loop {
        if let Some(end) = response.iter().position(|byte| *byte == b'\n') {
            return status(&response[..end]).ok_or_else(|| io::ErrorKind::InvalidData.into());
        }
        if response.len() > MAX_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        stream.set_read_timeout(Some(left(until)?))?;
        match stream.read(&mut chunk) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => response.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Splits a URL into the host, with port if given, and the path with query.
fn split_url(url: &str) -> Option<(&str, String)> {
    let rest = url.strip_prefix("http://")?.split('#').next()?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(end);
    Some((host, if path.starts_with('/') { path.to_string() } else { format!("/{path}") }))
}

fn connect(host: &str, until: Instant) -> io::Result<TcpStream> {
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let with_port = if has_port { host.to_string() } else { format!("{host}:80") };
    let mut last_error = io::ErrorKind::AddrNotAvailable.into();
    for address in with_port.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, left(until)?) {
            Ok(stream) => return Ok(stream),
            Err(error) => last_error = error,
        }
    }
    Err(last_error)
}

/// The time left; an error if there is none.
fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// Parses the status of a line like `HTTP/1.1 200 OK`.
fn status(line: &[u8]) -> Option<u16> {
    let line = std::str::from_utf8(line).ok()?;
    let code = line.strip_prefix("HTTP/1.")?.split_whitespace().nth(1)?;
    if code.len() == 3 { code.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_urls() {
        let split = |url| split_url(url).expect("a valid URL");
        assert_eq!(split("http://a"), ("a", "/".to_string()));
        assert_eq!(split("http://a:81?x=1#y"), ("a:81", "/?x=1".to_string()));
        assert_eq!(split("http://[::1]:80/a/b?c"), ("[::1]:80", "/a/b?c".to_string()));
        assert_eq!(split_url("ftp://a"), None);
    }
}
