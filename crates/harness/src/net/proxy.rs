//! A proxy between nodes on loopback. It passes on, delays, holds back or cuts, each direction separately.
//!
//! Every node has a public address, on which the proxy listens for the other nodes, and a listen address, on which the
//! node itself listens. The kernel tells which node opened a connection. A silent link behaves like TCP whose packets
//! are lost: bytes wait, the end of a connection waits behind them, and a new connection is neither accepted nor
//! refused.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};
use rustix::process::Pid;

use super::pipe::{Connection, Progress};
use super::{Links, caller, raise_thread_priority};

/// The port of all addresses.
const PORT: u16 = 7400;
/// The last byte of the first public and the first listen address.
const FIRST_PUBLIC: u8 = 100;
const FIRST_LISTEN: u8 = 1;
/// How many connections the proxy accepts: nodes keep a few each.
const MAX_CONNECTIONS: usize = 1024;

const WAKE: Token = Token(0);

/// A proxy between nodes on loopback; see the module. It stops when it is dropped.
pub struct Proxy {
    network: [u8; 3],
    shared: Arc<Shared>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    links: Mutex<Links>,
    processes: Mutex<Vec<Option<Pid>>>,
    stop: AtomicBool,
}

impl Proxy {
    /// Starts a proxy with all links open, on addresses derived from this process's id.
    pub fn new(nodes: usize) -> io::Result<Self> {
        // All of 127/8 is this host. Outgoing connections of other programs do not use these addresses.
        let [.., high, low] = std::process::id().to_be_bytes();
        for attempt in 0..64 {
            match Self::on([127, 64 + (high.wrapping_add(attempt)) % 128, low], nodes) {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                other => return other,
            }
        }
        Err(io::Error::new(io::ErrorKind::AddrInUse, "no free addresses for the proxy"))
    }

    fn on(network: [u8; 3], nodes: usize) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            links: Mutex::new(Links::open(nodes)),
            processes: Mutex::new(vec![None; nodes]),
            stop: AtomicBool::new(false),
        });
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKE)?;
        let mut listeners = Vec::new();
        for node in 0..nodes {
            let mut listener = TcpListener::bind(address(network, FIRST_PUBLIC, node))?;
            poll.registry().register(&mut listener, Token(1 + node), Interest::READABLE)?;
            listeners.push(listener);
        }
        let server = Server { network, shared: Arc::clone(&shared), poll, listeners, connections: Vec::new() };
        let thread = thread::Builder::new().name("proxy".to_string()).spawn(move || server.serve())?;
        Ok(Proxy { network, shared, waker, thread: Some(thread) })
    }

    /// The address at which other nodes reach a node.
    pub fn public_address(&self, node: usize) -> SocketAddr {
        address(self.network, FIRST_PUBLIC, node)
    }

    /// The address on which a node has to listen.
    pub fn listen_address(&self, node: usize) -> SocketAddr {
        address(self.network, FIRST_LISTEN, node)
    }

    /// Sets the process of a node.
    pub fn set_process(&self, node: usize, pid: Pid) {
        if let Some(slot) = lock(&self.shared.processes).get_mut(node) {
            *slot = Some(pid);
        }
    }

    /// Sets all links. Bytes sent after this returns are treated by the new state.
    pub fn set_links(&self, links: &Links) -> io::Result<()> {
        lock(&self.shared.links).clone_from(links);
        self.waker.wake()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        if self.waker.wake().is_ok()
            && let Some(thread) = self.thread.take()
        {
            // A panic of the proxy has been printed, and shows as nodes without connections.
            let _ = thread.join();
        }
    }
}

fn address(network: [u8; 3], first: u8, node: usize) -> SocketAddr {
    let [a, b, c] = network;
    SocketAddr::from((Ipv4Addr::new(a, b, c, first + node as u8), PORT))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The proxy's thread.
struct Server {
    network: [u8; 3],
    shared: Arc<Shared>,
    poll: Poll,
    listeners: Vec<TcpListener>,
    connections: Vec<Option<Connection>>,
}

impl Server {
    fn serve(mut self) {
        // A real network does not slow down because programs are busy.
        raise_thread_priority();
        let mut events = Events::with_capacity(256);
        let mut next: Option<Instant> = None;
        while !self.shared.stop.load(Ordering::Acquire) {
            let wait = next.map(|next| next.saturating_duration_since(Instant::now()));
            match self.poll.poll(&mut events, wait) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return,
                _ => {}
            }
            for event in &events {
                let token = event.token().0;
                if (1..=self.listeners.len()).contains(&token) {
                    self.accept(token - 1);
                } else if let Some(side) = token.checked_sub(1 + self.listeners.len())
                    && let Some(Some(connection)) = self.connections.get_mut(side / 2)
                {
                    connection.handle_ready(side % 2 == 1, event.is_writable());
                }
            }
            next = self.advance();
        }
    }

    /// Accepts the connections to a node.
    fn accept(&mut self, node: usize) {
        while let Ok((stream, caller)) = self.listeners[node].accept() {
            let called = address(self.network, FIRST_PUBLIC, node);
            let processes = lock(&self.shared.processes).clone();
            // Without a process the connection has ended in the meantime, or is not a node's: it is closed.
            if let Some(from) = caller::find_process(&processes, caller, called)
                && let Err(error) = self.add_connection(stream, from, node)
                && error.kind() != io::ErrorKind::QuotaExceeded
            {
                return;
            }
        }
    }

    fn add_connection(&mut self, mut stream: TcpStream, from: usize, to: usize) -> io::Result<()> {
        let free = self.connections.iter().position(Option::is_none).unwrap_or(self.connections.len());
        if free >= MAX_CONNECTIONS {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        if free == self.connections.len() {
            self.connections.push(None);
        }
        let token = 1 + self.listeners.len() + 2 * free;
        stream.set_nodelay(true)?;
        self.poll.registry().register(&mut stream, Token(token), Interest::READABLE | Interest::WRITABLE)?;
        self.connections[free] = Some(Connection::new(stream, from, to));
        Ok(())
    }

    /// Moves bytes on all connections. Returns when there is more to do.
    fn advance(&mut self) -> Option<Instant> {
        // Held until the end, so that `set_links` returns only when nothing uses the old links any more.
        let links = lock(&self.shared.links);
        let mut next: Option<Instant> = None;
        for (index, slot) in self.connections.iter_mut().enumerate() {
            let Some(connection) = slot else { continue };
            let (from, to) = (connection.from, connection.to);
            if connection.needs_far_side(&links) {
                let token = Token(1 + self.listeners.len() + 2 * index + 1);
                let made = TcpStream::connect(address(self.network, FIRST_LISTEN, to)).and_then(|mut far| {
                    self.poll.registry().register(&mut far, token, Interest::READABLE | Interest::WRITABLE)?;
                    Ok(far)
                });
                match made {
                    Ok(far) => connection.set_far_side(far),
                    Err(_) => {
                        *slot = None;
                        continue;
                    }
                }
            }
            match connection.advance(links.get(from, to), links.get(to, from), Instant::now()) {
                Progress::Closed => *slot = None,
                Progress::Pending(until) => next = [next, until].into_iter().flatten().min(),
            }
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Link;
    use std::io::{Read, Write};
    use std::net::{TcpListener as StdListener, TcpStream as StdStream};
    use std::time::Duration;

    /// Two nodes, both this process: it connects as node 0 and listens as node 1.
    fn pair() -> (Proxy, StdListener) {
        let proxy = Proxy::new(2).expect("loopback addresses");
        proxy.set_process(0, rustix::process::getpid());
        let listener = StdListener::bind(proxy.listen_address(1)).expect("the listen address is free");
        (proxy, listener)
    }

    fn connect(proxy: &Proxy) -> StdStream {
        let stream = StdStream::connect(proxy.public_address(1)).expect("the listener is open");
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
        stream
    }

    fn accept(listener: &StdListener) -> StdStream {
        let (stream, _) = listener.accept().expect("the connection arrives");
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
        stream
    }

    fn links(forth: Link, back: Link) -> Links {
        let mut links = Links::open(2);
        links.worsen(0, 1, forth);
        links.worsen(1, 0, back);
        links
    }

    fn sends(from: &mut StdStream, to: &mut StdStream, bytes: &[u8]) {
        from.write_all(bytes).expect("written");
        let mut received = vec![0; bytes.len()];
        to.read_exact(&mut received).expect("received");
        assert_eq!(received, bytes);
    }

    /// Nothing arrives in a time in which it would arrive over an open link.
    fn receives_nothing(stream: &mut StdStream) {
        stream.set_read_timeout(Some(Duration::from_millis(80))).expect("a timeout");
        let error = stream.read(&mut [0]).expect_err("nothing comes");
        assert!(matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut), "{error}");
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
    }

    #[test]
    fn passes_bytes_both_ways_and_the_end_of_a_connection() {
        let (proxy, listener) = pair();
        let mut near = connect(&proxy);
        let mut far = accept(&listener);
        sends(&mut near, &mut far, b"hello");
        sends(&mut far, &mut near, &[7; 300_000]);
        drop(near);
        assert_eq!(far.read(&mut [0]).expect("the end"), 0);
    }

    #[test]
    fn a_silent_direction_is_held_back_and_delivered_later() {
        let (proxy, listener) = pair();
        let mut near = connect(&proxy);
        let mut far = accept(&listener);
        sends(&mut near, &mut far, b"a");
        proxy.set_links(&links(Link::Silent, Link::Open)).expect("set");
        sends(&mut far, &mut near, b"b");
        near.write_all(b"held").expect("taken");
        receives_nothing(&mut far);
        proxy.set_links(&links(Link::Open, Link::Open)).expect("set");
        let mut received = [0; 4];
        far.read_exact(&mut received).expect("received in the end");
        assert_eq!(&received, b"held");
    }

    #[test]
    fn the_end_of_a_connection_is_held_back_too() {
        let (proxy, listener) = pair();
        let mut near = connect(&proxy);
        let mut far = accept(&listener);
        sends(&mut near, &mut far, b"a");
        proxy.set_links(&links(Link::Silent, Link::Silent)).expect("set");
        drop(near);
        receives_nothing(&mut far);
        proxy.set_links(&links(Link::Open, Link::Open)).expect("set");
        assert_eq!(far.read(&mut [0]).expect("the end"), 0);
    }

    #[test]
    fn bytes_sent_after_a_cut_do_not_arrive_before_it_is_healed() {
        let (proxy, listener) = pair();
        let mut near = connect(&proxy);
        let mut far = accept(&listener);
        far.set_nonblocking(true).expect("set");
        let chatter = |near: &mut StdStream, byte: u8| (0..20).for_each(|_| near.write_all(&[byte]).expect("taken"));
        for round in 0..500 {
            // The proxy is still passing these on when the link is cut.
            chatter(&mut near, b'a');
            proxy.set_links(&links(Link::Silent, Link::Silent)).expect("set");
            chatter(&mut near, b'b');
            let (mut received, mut left) = ([0; 64], 40);
            let soon = Instant::now() + Duration::from_millis(1);
            while Instant::now() < soon {
                let length = far.read(&mut received).unwrap_or(0);
                assert!(!received[..length].contains(&b'b'), "round {round}: {:?}", &received[..length]);
                left -= length;
            }
            proxy.set_links(&links(Link::Open, Link::Open)).expect("set");
            let end = Instant::now() + Duration::from_secs(10);
            while left > 0 {
                assert!(Instant::now() < end, "round {round}: {left} are missing");
                left -= far.read(&mut received).unwrap_or(0);
            }
        }
    }

    #[test]
    fn a_new_connection_waits_while_the_link_is_silent() {
        let (proxy, listener) = pair();
        proxy.set_links(&links(Link::Open, Link::Silent)).expect("set");
        let mut near = connect(&proxy);
        near.write_all(b"x").expect("taken");
        listener.set_nonblocking(true).expect("set");
        receives_nothing(&mut near);
        assert_eq!(listener.accept().expect_err("no connection").kind(), io::ErrorKind::WouldBlock);
        listener.set_nonblocking(false).expect("set");
        proxy.set_links(&links(Link::Open, Link::Open)).expect("set");
        let mut received = [0];
        accept(&listener).read_exact(&mut received).expect("received in the end");
    }

    #[test]
    fn a_closed_link_ends_connections_and_refuses_new_ones() {
        let (proxy, listener) = pair();
        let mut near = connect(&proxy);
        let mut far = accept(&listener);
        sends(&mut near, &mut far, b"a");
        proxy.set_links(&links(Link::Closed, Link::Closed)).expect("set");
        assert_eq!(near.read(&mut [0]).expect("the end"), 0);
        assert_eq!(far.read(&mut [0]).expect("the end"), 0);
        assert_eq!(connect(&proxy).read(&mut [0]).expect("the end"), 0);
    }

    #[test]
    fn a_slow_link_delays_bytes() {
        let (proxy, listener) = pair();
        proxy.set_links(&links(Link::Slow(60), Link::Open)).expect("set");
        let mut near = connect(&proxy);
        let mut far = accept(&listener);
        let before = Instant::now();
        sends(&mut near, &mut far, b"slowly");
        assert!(before.elapsed() >= Duration::from_millis(60), "{:?}", before.elapsed());
    }

    #[test]
    fn closes_connections_without_a_listener_and_those_of_strangers() {
        let (proxy, listener) = pair();
        drop(listener);
        assert_eq!(connect(&proxy).read(&mut [0]).unwrap_or(0), 0, "no listener");
        proxy.set_process(0, Pid::INIT);
        assert_eq!(connect(&proxy).read(&mut [0]).unwrap_or(0), 0, "not a node");
    }
}
