//! Who may ask, and what is answered, over plain sockets.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use hustings_elections::Catalogue;
use hustings_lab::live::{Control, ControlView, LiveNode, Monitor};
use hustings_lab::{Lab, Listener, Options};

/// A server for the time of a test.
struct Server {
    address: SocketAddr,
    token: String,
    stop: &'static AtomicBool,
    thread: Option<std::thread::JoinHandle<std::io::Result<()>>>,
}

impl Server {
    fn start(class: bool) -> Self {
        Server::start_with(class, Lab::new(Catalogue::default()))
    }

    fn start_with(class: bool, lab: Lab) -> Self {
        let listener = Listener::bind(Options { class, ..Options::default() }).expect("a free port");
        let url = listener.url("");
        let rest = url.strip_prefix("http://").expect("an address");
        let (address, query) = rest.split_once('/').expect("a path");
        let token = query.strip_prefix("?token=").unwrap_or_default().to_string();
        let address = address.parse().expect("an address");
        let stop: &'static AtomicBool = Box::leak(Box::default());
        let thread = std::thread::spawn(move || listener.serve(lab, stop));
        Server { address, token, stop, thread: Some(thread) }
    }

    /// Sends a request with these headers; returns the whole answer.
    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
        let mut stream = TcpStream::connect(self.address).expect("it listens");
        let mut request =
            format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        // A server that refuses may close before it has read everything.
        let _ = stream.write_all(format!("{request}\r\n{body}").as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).to_string()
    }

    fn host(&self) -> String {
        self.address.to_string()
    }

    fn cookie(&self) -> String {
        format!("hustings-lab-{}={}", self.address.port(), self.token)
    }

    /// Asks as the page does.
    fn run(&self, text: &str) -> String {
        let (host, cookie) = (self.host(), self.cookie());
        self.ask("POST", "/api/run", &[("Host", &host), ("Cookie", &cookie)], text)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(std::thread::JoinHandle::join);
        assert!(ended.is_some_and(|ended| ended.is_ok_and(|served| served.is_ok())) || std::thread::panicking());
    }
}

fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}

#[test]
fn only_those_with_the_token_get_anything() {
    let server = Server::start(false);
    let host = server.host();
    for path in ["/", "/app.js", "/api/catalogue", "/?token=0123456789abcdef0123456789abcdef"] {
        let answer = server.ask("GET", path, &[("Host", &host)], "");
        assert_eq!(status(&answer), 401, "{path}: {answer}");
        assert!(answer.contains(r#"{"error":{"code":"no-token","message""#), "{answer}");
    }
    let answer = server.ask("GET", &format!("/?token={}", server.token), &[("Host", &host)], "");
    assert_eq!(status(&answer), 200, "{answer}");
    assert!(answer.contains(&format!("set-cookie: {}; HttpOnly; SameSite=Strict", server.cookie())), "{answer}");
    assert!(answer.contains("enter.js") && !answer.contains("app.js"), "it leads to the page: {answer}");
    let answer = server.ask("GET", "/", &[("Host", &host), ("Cookie", &server.cookie())], "");
    assert_eq!(status(&answer), 200);
    assert!(answer.contains("content-security-policy: default-src 'none'; script-src 'self'"), "{answer}");
}

#[test]
fn other_hosts_and_other_origins_are_refused_even_with_the_token() {
    let server = Server::start(false);
    let (host, cookie) = (server.host(), server.cookie());
    let rebound = format!("evil.example:{}", server.address.port());
    let asked = |headers: &[(&str, &str)]| {
        let headers: Vec<(&str, &str)> = headers.iter().copied().chain([("Cookie", cookie.as_str())]).collect();
        status(&server.ask("POST", "/api/run", &headers, "a=bully"))
    };
    assert_eq!(asked(&[("Host", &host)]), 200);
    assert_eq!(asked(&[("Host", &host), ("Origin", &format!("http://{host}"))]), 200);
    assert_eq!(asked(&[("Host", &rebound)]), 421);
    assert_eq!(asked(&[("Host", &rebound), ("Origin", &format!("http://{rebound}"))]), 421);
    assert_eq!(asked(&[("Host", &host), ("Origin", "http://evil.example")]), 403);
    assert_eq!(asked(&[("Host", &host), ("Sec-Fetch-Site", "cross-site")]), 403);
}

#[test]
fn wrong_requests_get_errors_that_name_the_field() {
    let server = Server::start(false);
    let answer = server.run("a=bully&n=5");
    assert_eq!(status(&answer), 200, "{answer}");
    for (text, part) in [
        ("a=buly", r#""field":"a","nearest":"bully""#),
        ("a=echo-extinction&topology=file:/etc/passwd", "the page reads no files"),
        ("a=bully&ids=@/etc/passwd", "the page reads no files"),
        ("a=bully&do=3:drop:0.9", "is not in flight then"),
        ("a=chang-roberts&n=1000000", "at most 100000 are allowed"),
    ] {
        let answer = server.run(text);
        assert!(status(&answer) == 422 && answer.contains(part), "{text}: {answer}");
    }
    assert_eq!(status(&server.run(&"x".repeat(600_000))), 413);
    let (host, cookie) = (server.host(), server.cookie());
    let as_page = [("Host", host.as_str()), ("Cookie", cookie.as_str())];
    assert_eq!(status(&server.ask("POST", "/api/trace", &as_page, "not a trace")), 422);
    assert_eq!(status(&server.ask("POST", "/api/export/postscript", &as_page, "a=bully")), 422);
    assert_eq!(status(&server.ask("POST", "/api/chart", &as_page, r#"{"runs":[],"sizes":[4]}"#)), 422);
    assert_eq!(status(&server.ask("GET", "/api/opened/7", &as_page, "")), 404);
    assert_eq!(status(&server.ask("GET", "/../Cargo.toml", &as_page, "")), 404);
    let chart = server.ask("POST", "/api/chart", &as_page, r#"{"runs":["a=bully"],"sizes":[4,5]}"#);
    assert_eq!((chart.matches("event: point").count(), chart.matches("event: done").count()), (2, 1), "{chart}");
}

#[test]
fn a_class_needs_no_token_and_gets_less() {
    let server = Server::start(true);
    assert_eq!(server.token, "");
    let host = server.host();
    let ask = |text: &str| server.ask("POST", "/api/run", &[("Host", &host)], text);
    assert_eq!(status(&ask("a=bully&n=5")), 200);
    assert!(ask("a=chang-roberts&n=5000").contains("at most 2000 are allowed"));
    let mut refused = String::new();
    for _ in 0..200 {
        let answer = ask("a=nothing");
        if status(&answer) == 429 {
            refused = answer;
            break;
        }
    }
    assert!(refused.contains("too-many-requests") && refused.contains("retry-after: "), "{refused}");
    assert_eq!(status(&server.ask("GET", "/", &[("Host", "evil.example")], "")), 421);
}

/// Many who send nothing, or one byte now and then, must not take all places.
#[test]
fn visitors_who_are_slow_are_cut_off() {
    let server = Server::start(true);
    let (host, long) = (server.host(), "Content-Length: 10");
    let begin = |text: String| {
        let mut stream = TcpStream::connect(server.address).expect("it listens");
        stream.set_read_timeout(Some(std::time::Duration::from_secs(60))).expect("it is a socket");
        stream.write_all(text.as_bytes()).expect("it reads");
        stream
    };
    let silent = begin(String::new());
    let slow_head = begin(format!("GET / HTTP/1.1\r\nHost: {host}\r\n"));
    let slow_body = begin(format!("POST /api/run HTTP/1.1\r\nHost: {host}\r\n{long}\r\n\r\na=b"));
    let large_head = begin(format!("GET / HTTP/1.1\r\nHost: {host}\r\nX: {}\r\n\r\n", "x".repeat(40_000)));
    for (mut stream, expected) in [(silent, ""), (slow_head, ""), (slow_body, " 408 "), (large_head, " 431 ")] {
        let mut answer = Vec::new();
        // A server that refuses may close before it has read everything.
        let ended = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer);
        assert!(!ended.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock), "it was not closed");
        assert!(answer.contains(expected), "{expected}: {answer}");
    }
    assert_eq!(status(&server.ask("GET", "/", &[("Host", &host)], "")), 200, "others are served");
}

/// Remembers what it was told to do.
#[derive(Default)]
struct Recorder(Mutex<Vec<String>>);

impl Control for Recorder {
    fn act(&self, order: &str) -> Result<(), String> {
        self.0.lock().expect("not poisoned").push(order.to_string());
        if order == "kill x" { Err("there is no member `x`".to_string()) } else { Ok(()) }
    }

    fn view(&self) -> ControlView {
        ControlView::default()
    }
}

fn live(control: Option<Arc<dyn Control>>) -> Server {
    let mut lab = Lab::new(Catalogue::default());
    // Nobody answers there.
    let nodes = vec![LiveNode { name: "a".to_string(), socket: "/nonexistent/hustings.sock".into() }];
    lab.show_cluster(Monitor::start(nodes, control));
    Server::start_with(false, lab)
}

#[test]
fn only_who_started_processes_controls_them_and_only_with_the_token() {
    let act = |server: &Server, order: &str| {
        let (host, cookie) = (server.host(), server.cookie());
        server.ask("POST", "/api/live/act", &[("Host", &host), ("Cookie", &cookie)], order)
    };
    assert!(act(&Server::start(false), "kill a").contains("no-cluster"));
    let read_only = act(&live(None), "kill a");
    assert!(status(&read_only) == 403 && read_only.contains("read-only"), "{read_only}");
    let recorder = Arc::new(Recorder::default());
    let server = live(Some(recorder.clone()));
    let host = server.host();
    assert_eq!(status(&server.ask("POST", "/api/live/act", &[("Host", &host)], "kill a")), 401);
    let foreign = [("Host", host.as_str()), ("Cookie", &server.cookie()), ("Origin", "http://evil.example")];
    assert_eq!(status(&server.ask("POST", "/api/live/act", &foreign, "kill a")), 403);
    assert!(recorder.0.lock().expect("not poisoned").is_empty(), "nothing was done");
    assert_eq!(status(&act(&server, "kill a")), 200);
    let refused = act(&server, "kill x");
    assert!(status(&refused) == 409 && refused.contains("there is no member `x`"), "{refused}");
    assert_eq!(status(&act(&server, &"x".repeat(300))), 413);
    assert_eq!(*recorder.0.lock().expect("not poisoned"), ["kill a", "kill x"]);
}

#[test]
fn a_cluster_that_does_not_answer_is_shown_as_such() {
    let server = live(None);
    let (host, cookie) = (server.host(), server.cookie());
    let get = |path: &str| server.ask("GET", path, &[("Host", &host), ("Cookie", &cookie)], "");
    assert!(get("/api/live").contains(r#"{"live":true,"control":false}"#));
    assert!(get("/api/live/offices?search=job&page=7").contains(r#""total":0"#));
    assert!(get("/api/live/failover").ends_with("\r\n\r\nnull"), "there was none");
    assert_eq!(status(&server.ask("GET", "/api/live/failover", &[("Host", &host)], "")), 401);
    assert_eq!(status(&get("/api/live/offices?page=x")), 422);
    assert_eq!(status(&get(&format!("/api/live/offices?search={}", "x".repeat(65)))), 422);
    let other = Server::start(false);
    let headers = [("Host", other.host()), ("Cookie", other.cookie())];
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(status(&other.ask("GET", "/api/live/failover", &headers, "")), 404);
    assert!(other.ask("GET", "/api/live", &headers, "").contains(r#"{"live":false,"control":false}"#));
}
