//! Asking a node's HTTP API: one request per connection, bounded in time and size.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::archive::MAX_PART_BYTES;

/// The longest file with a token or with certificates.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// How much longer than its body an answer may be.
const MAX_HEAD_BYTES: u64 = 64 << 10;

/// The address of an API.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Url {
    is_tls: bool,
    host: String,
    port: u16,
}

impl Url {
    pub(super) fn parse(text: &str) -> Result<Url, String> {
        let expected =
            || "expected http://HOST:PORT or https://HOST:PORT, such as https://b.example.org:7480".to_string();
        let (scheme, rest) = text.split_once("://").ok_or_else(expected)?;
        let is_tls = match scheme {
            "http" => false,
            "https" => true,
            _ => return Err(expected()),
        };
        let (host, port) = rest.trim_end_matches('/').rsplit_once(':').ok_or_else(expected)?;
        let port = port.parse().map_err(|_| expected())?;
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | ':' | '[' | ']');
        if host.is_empty() || !host.chars().all(is_allowed) {
            return Err(expected());
        }
        Ok(Url { is_tls, host: host.to_string(), port })
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}:{}", if self.is_tls { "https" } else { "http" }, self.host, self.port)
    }
}

/// What the caller proves who it is with, and whom it trusts.
#[derive(Default)]
pub(super) struct Access {
    token: Option<String>,
    tls: Option<Arc<ClientConfig>>,
}

/// A file that cannot be used.
type FileError = (PathBuf, io::Error);

impl Access {
    pub(super) fn read(
        token: Option<&Path>,
        authority: Option<&Path>,
        certificate: Option<&Path>,
    ) -> Result<Access, FileError> {
        let read = |path: &Path| read(path).map_err(|error| (path.to_path_buf(), error));
        let invalid = |path: &Path, what: String| (path.to_path_buf(), io::Error::other(what));
        let token = match token {
            None => None,
            Some(path) => {
                let text = String::from_utf8(read(path)?).map_err(|_| invalid(path, "it is not text".into()))?;
                let token = text.trim().to_string();
                if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
                    return Err(invalid(path, "expected one bearer token and nothing else".into()));
                }
                Some(token)
            }
        };
        let Some(authority) = authority else { return Ok(Access { token, tls: None }) };
        let mut roots = RootCertStore::empty();
        for found in CertificateDer::pem_slice_iter(&read(authority)?) {
            let added = found.map_err(|error| error.to_string());
            let added = added.and_then(|one| roots.add(one).map_err(|error| error.to_string()));
            added.map_err(|problem| invalid(authority, problem))?;
        }
        let config = ClientConfig::builder().with_root_certificates(roots);
        let config = match certificate {
            None => config.with_no_client_auth(),
            Some(path) => {
                let bytes = read(path)?;
                let chain = CertificateDer::pem_slice_iter(&bytes).collect::<Result<Vec<_>, _>>();
                let chain = chain.map_err(|error| invalid(path, error.to_string()))?;
                let key = PrivateKeyDer::from_pem_slice(&bytes).map_err(|error| invalid(path, error.to_string()))?;
                config.with_client_auth_cert(chain, key).map_err(|error| invalid(path, error.to_string()))?
            }
        };
        Ok(Access { token, tls: Some(Arc::new(config)) })
    }

    /// The status and the body of an answer. Everything together takes at most `wait`.
    pub(super) fn get(&self, url: &Url, route: &str, wait: Duration) -> io::Result<(u16, Vec<u8>)> {
        let deadline = Instant::now() + wait;
        let host = url.host.trim_start_matches('[').trim_end_matches(']');
        let stream = Timed { stream: connect(host, url.port, deadline)?, deadline };
        let token = self.token.as_ref().map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
        let request =
            format!("GET {route} HTTP/1.0\r\nHost: {}:{}\r\n{token}Connection: close\r\n\r\n", url.host, url.port);
        if !url.is_tls {
            return exchange(stream, &request);
        }
        let config = self.tls.clone().ok_or_else(|| io::Error::other("https needs --authority FILE"))?;
        let name = ServerName::try_from(host.to_string()).map_err(io::Error::other)?;
        let connection = ClientConnection::new(config, name).map_err(io::Error::other)?;
        exchange(StreamOwned::new(connection, stream), &request)
    }
}

/// Connects to the first address of a name that answers.
fn connect(host: &str, port: u16, deadline: Instant) -> io::Result<TcpStream> {
    let mut last = io::Error::other("the name has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, left(deadline)?) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::Error::new(io::ErrorKind::TimedOut, "it did not answer in time")) } else { Ok(left) }
}

/// A connection on which everything together takes no longer than until the deadline.
struct Timed {
    stream: TcpStream,
    deadline: Instant,
}

impl Read for Timed {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(left(self.deadline)?))?;
        self.stream.read(bytes).map_err(in_time)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(left(self.deadline)?))?;
        self.stream.write(bytes).map_err(in_time)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

fn in_time(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => io::Error::new(io::ErrorKind::TimedOut, "it did not answer in time"),
        _ => error,
    }
}

fn exchange(mut stream: impl Read + Write, request: &str) -> io::Result<(u16, Vec<u8>)> {
    stream.write_all(request.as_bytes())?;
    stream.flush()?;
    let mut bytes = Vec::new();
    let read = (&mut stream).take(MAX_PART_BYTES as u64 + MAX_HEAD_BYTES).read_to_end(&mut bytes);
    match read {
        // A server that does not say goodbye in TLS: the length of the body tells whether anything is missing.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
        read => drop(read?),
    }
    answer(&bytes).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "this is not the answer of an HTTP API"))
}

/// The status and the body, which must be complete if its length is given.
fn answer(bytes: &[u8]) -> Option<(u16, Vec<u8>)> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?.to_ascii_lowercase();
    let mut lines = head.lines();
    let status = lines.next()?.strip_prefix("http/1.")?.split(' ').nth(1)?.parse().ok()?;
    let length = lines.find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    let body = &bytes[end + 4..];
    (length.is_none_or(|length: usize| length == body.len())).then(|| (status, body.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_or_refused() {
        let url = Url::parse("https://b.example.org:7480/").expect("it is one");
        assert_eq!((url.is_tls, url.host.as_str(), url.port), (true, "b.example.org", 7480));
        assert_eq!(Url::parse("http://[::1]:1").expect("it is one").to_string(), "http://[::1]:1");
        for wrong in ["b:7480", "ftp://b:1", "http://b", "http://:1", "http://a b:1", "http://u:p@b:1", "http://b:1/x"]
        {
            assert!(Url::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_answer_is_complete_or_none() {
        assert_eq!(answer(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}"), Some((200, b"{}".to_vec())));
        assert_eq!(answer(b"HTTP/1.1 404 Not Found\r\n\r\nno"), Some((404, b"no".to_vec())));
        for wrong in
            [&b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\n{}"[..], b"HTTP/1.0 200 OK\r\n", b"SSH-2.0\r\n\r\n", b""]
        {
            assert_eq!(answer(wrong), None);
        }
    }

    #[test]
    fn a_server_that_dribbles_is_left_when_the_time_is_over() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("it has one").port();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            // Ends when the client is gone.
            while stream.write_all(b"x").is_ok() {}
        });
        let url = Url { is_tls: false, host: "127.0.0.1".to_string(), port };
        let got = Access::default().get(&url, "/", Duration::from_millis(50));
        assert!(got.is_err(), "{got:?}");
        server.join().expect("it ends");
    }
}
