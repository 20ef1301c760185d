//! A small HTTP client: one request per connection, or one stream of events.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::processes::TIMEOUT;

/// What a server answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The code of an error.
    pub(crate) fn code(&self) -> String {
        let json = self.json();
        assert!(json["error"]["message"].as_str().is_some_and(|message| !message.is_empty()), "{self:?}");
        json["error"]["code"].as_str().expect("an error has a code").to_string()
    }
}

/// One address, and the bearer token and the session that requests carry.
#[derive(Clone, Debug)]
pub(crate) struct Api {
    pub(crate) port: u16,
    pub(crate) token: Option<String>,
    pub(crate) session: Option<String>,
}

impl Api {
    pub(crate) fn with_token(&self, token: &str) -> Api {
        Api { token: Some(token.to_string()), ..self.clone() }
    }

    pub(crate) fn with_session(&self, session: &Value) -> Api {
        Api { session: session["session"].as_str().map(str::to_string), ..self.clone() }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the API listens");
        stream.set_read_timeout(Some(TIMEOUT)).expect("it is a socket");
        stream
    }

    /// A connection on which a request was answered, and which stays open.
    pub(crate) fn connect_and_ask(&self) -> TcpStream {
        let mut stream = self.connect();
        stream.write_all(b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").expect("the server reads");
        let mut bytes = [0; 64];
        assert!(stream.read(&mut bytes).expect("it answers") > 0);
        stream
    }

    fn head(&self, method: &str, path: &str, extra: &str) -> String {
        let token = self.token.as_ref().map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
        let session =
            self.session.as_ref().map(|session| format!("Hustings-Session: {session}\r\n")).unwrap_or_default();
        format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{token}{session}{extra}")
    }

    /// Sends a request as it is, and reads everything until the server closes the connection.
    pub(crate) fn send(&self, request: &[u8]) -> Answer {
        let mut stream = self.connect();
        // The server may answer and close before it has read everything.
        let _ = stream.write_all(request);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8(bytes).expect("answers are text");
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|status| status.parse().ok());
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(key, value)| (key.to_ascii_lowercase(), value.to_string())).collect();
        Answer { status: status.expect("a status line"), headers, body: body.to_string() }
    }

    /// Stores a state with a token.
    pub(crate) fn put(&self, path: &str, token: u64, body: &[u8]) -> Answer {
        let extra = format!("Hustings-Token: {token}\r\nContent-Length: {}\r\n", body.len());
        self.send(&[format!("{}\r\n", self.head("PUT", path, &extra)).as_bytes(), body].concat())
    }

    /// Deletes a state with a token.
    pub(crate) fn delete_with_token(&self, path: &str, token: u64) -> Answer {
        let extra = format!("Hustings-Token: {token}\r\n");
        self.send(format!("{}\r\n", self.head("DELETE", path, &extra)).as_bytes())
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.method("GET", path)
    }

    pub(crate) fn method(&self, method: &str, path: &str) -> Answer {
        self.send(format!("{}\r\n", self.head(method, path, "")).as_bytes())
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_text(path, &body.to_string())
    }

    pub(crate) fn post_text(&self, path: &str, body: &str) -> Answer {
        let extra = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
        self.send(format!("{}\r\n{body}", self.head("POST", path, &extra)).as_bytes())
    }

    /// Watches an office.
    pub(crate) fn watch(&self, office: &str, last: Option<&str>) -> Events {
        let last = last.map(|last| format!("Last-Event-ID: {last}\r\n")).unwrap_or_default();
        let mut stream = self.connect();
        let head = self.head("GET", &format!("/v1/offices/{office}/watch"), &last);
        stream.write_all(format!("{head}\r\n").as_bytes()).expect("the server reads");
        let mut lines = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(lines.read_line(&mut head).expect("a head") > 0, "{head}");
        }
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert!(head.contains("content-type: text/event-stream"), "{head}");
        Events { lines }
    }
}

/// An event of a watch.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) kind: String,
    pub(crate) id: String,
    pub(crate) data: Value,
}

/// The events of a watch.
pub(crate) struct Events {
    lines: BufReader<TcpStream>,
}

impl Events {
    /// The next event. Chunk sizes, comments and `retry` are skipped.
    pub(crate) fn next(&mut self) -> Event {
        let (mut kind, mut id) = (String::new(), String::new());
        loop {
            let mut line = String::new();
            assert!(self.lines.read_line(&mut line).expect("an event in time") > 0, "the watch ended");
            let line = line.trim_end();
            if let Some(value) = line.strip_prefix("event: ") {
                kind = value.to_string();
            } else if let Some(value) = line.strip_prefix("id: ") {
                id = value.to_string();
            } else if let Some(value) = line.strip_prefix("data: ") {
                let data = serde_json::from_str(value).unwrap_or_else(|error| panic!("{error}: {value}"));
                return Event { kind, id, data };
            }
        }
    }

    /// The next event of a kind that satisfies a condition.
    pub(crate) fn wait_for(&mut self, kind: &str, is_right: impl Fn(&Value) -> bool) -> Event {
        loop {
            let event = self.next();
            if event.kind == kind && is_right(&event.data) {
                return event;
            }
        }
    }
}

/// Whether the server closes a connection on which nothing, or nothing complete, is sent.
pub(crate) fn is_closed_by_server(mut stream: TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("it is a socket");
    // If it had not read everything, the connection is reset.
    stream.read_to_end(&mut Vec::new()).map_or_else(|error| error.kind() == ErrorKind::ConnectionReset, |_| true)
}
