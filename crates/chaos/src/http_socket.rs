//! A client's connection to the HTTP API of a node: one request at a time.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde::Serialize;

use crate::socket::{read_timeout, receive_into};

/// How long a client waits to connect and to send a request: its node may be frozen.
const TIMEOUT: Duration = Duration::from_millis(500);
/// The largest response that is read.
const MAX_RESPONSE_BYTES: usize = 64 * 1024;

/// What the node answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

/// A connection to the API.
pub(crate) struct HttpSocket {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl HttpSocket {
    /// Connects.
    pub(crate) fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        Ok(HttpSocket { stream, buffer: Vec::new() })
    }

    /// Sends a request with a JSON body.
    pub(crate) fn post(&mut self, path: &str, body: &impl Serialize) -> io::Result<()> {
        let body = serde_json::to_string(body)?;
        let head = "Host: 127.0.0.1\r\nContent-Type: application/json";
        let length = body.len();
        self.stream
            .write_all(format!("POST {path} HTTP/1.1\r\n{head}\r\nContent-Length: {length}\r\n\r\n{body}").as_bytes())
    }

    /// The response; `None` if it does not arrive within `timeout`. The end of the connection is an error.
    pub(crate) fn receive(&mut self, timeout: Duration) -> io::Result<Option<Response>> {
        self.stream.set_read_timeout(read_timeout(timeout))?;
        if receive_into(&mut self.buffer, &mut self.stream)? { self.take_response() } else { Ok(None) }
    }

    /// Takes the response out of the buffer, if it is complete.
    fn take_response(&mut self) -> io::Result<Option<Response>> {
        let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_string());
        if self.buffer.len() > MAX_RESPONSE_BYTES {
            return Err(invalid("the response is too long"));
        }
        let Some(end) = self.buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { return Ok(None) };
        let head = std::str::from_utf8(&self.buffer[..end]).map_err(|_| invalid("the head is not text"))?;
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| invalid("there is no status"))?;
        let length = lines.filter_map(|line| line.split_once(':')).find_map(|(name, value)| {
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok()).flatten()
        });
        let start = end + 4;
        let end = length.and_then(|length| start.checked_add(length)).ok_or_else(|| invalid("there is no length"))?;
        if self.buffer.len() < end {
            return Ok(None);
        }
        let body = self.buffer[start..end].to_vec();
        self.buffer.drain(..end);
        Ok(Some(Response { status, body }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;

    #[test]
    fn reads_responses_that_arrive_in_pieces() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let mut socket = HttpSocket::connect(listener.local_addr().expect("bound")).expect("it listens");
        let (mut server, _) = listener.accept().expect("it connects");
        socket.post("/x", &serde_json::json!({ "a": 1 })).expect("sent");
        let mut request = [0; 200];
        let length = server.read(&mut request).expect("it arrives");
        let text = String::from_utf8_lossy(&request[..length]).into_owned();
        assert!(text.starts_with("POST /x HTTP/1.1\r\n") && text.ends_with("\r\nContent-Length: 7\r\n\r\n{\"a\":1}"));

        let mut receive = |bytes: &str| {
            server.write_all(bytes.as_bytes()).expect("it is connected");
            socket.receive(Duration::from_secs(20)).expect("it is valid")
        };
        assert_eq!(receive("HTTP/1.1 404 Not Found\r\ncontent-"), None);
        assert_eq!(receive("Length: 2\r\n\r\n{"), None);
        assert_eq!(receive("}"), Some(Response { status: 404, body: b"{}".to_vec() }));
        drop(server);
        assert!(socket.receive(Duration::from_secs(20)).is_err(), "the connection has ended");
    }

    #[test]
    fn refuses_what_is_not_http() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        for bad in ["x\r\n\r\n".to_string(), "HTTP/1.1 200 OK\r\n\r\n".to_string(), "x".repeat(3 * MAX_RESPONSE_BYTES)]
        {
            let mut socket = HttpSocket::connect(listener.local_addr().expect("bound")).expect("it listens");
            let (mut server, _) = listener.accept().expect("it connects");
            // It may give up before everything is sent.
            std::thread::spawn(move || server.write_all(bad.as_bytes()));
            let error = loop {
                match socket.receive(Duration::from_secs(20)) {
                    Ok(None) => {}
                    Ok(Some(response)) => panic!("{response:?}"),
                    Err(error) => break error,
                }
            };
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
        }
    }
}
