//! A proxy between nodes on loopback: it can pass, delay, hold back and cut, each direction by itself.
//!
//! Every node has a listener, which is the address the others know, and behind it the address where it really listens.
//! Who knocks is found out from the kernel. Held back is held back as TCP would: bytes wait, the end of a connection
//! waits behind them, a new connection is neither made nor refused.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};

use super::pipe::{Connection, Progress};
use super::{Links, caller, prefer_this_thread};

/// The port of all doors and of what is behind them.
const PORT: u16 = 7400;
/// The doors' addresses end in this and more.
const FIRST_DOOR: u8 = 100;
/// A connection more is refused: nodes keep a few each.
const MAX_CONNECTIONS: usize = 1024;

const WAKE: Token = Token(0);

/// See the module.
pub struct Proxy {
    network: [u8; 3],
    shared: Arc<Shared>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    links: Mutex<Links>,
    processes: Mutex<Vec<Option<u32>>>,
    stop: AtomicBool,
}

impl Proxy {
    /// A proxy with everything open, on addresses that come from this process's number.
    pub fn new(nodes: usize) -> io::Result<Self> {
        // All of 127/8 is this core's. An address of our own cannot be taken by an outgoing connection of others.
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
        let mut doors = Vec::new();
        for node in 0..nodes {
            let mut listener = TcpListener::bind(address(network, FIRST_DOOR, node))?;
            poll.registry().register(&mut listener, Token(1 + node), Interest::READABLE)?;
            doors.push(listener);
        }
        let server = Server { network, shared: Arc::clone(&shared), poll, doors, connections: Vec::new() };
        let thread = thread::Builder::new().name("proxy".to_string()).spawn(move || server.serve())?;
        Ok(Proxy { network, shared, waker, thread: Some(thread) })
    }

    /// Where the others find a node.
    pub fn listener(&self, node: usize) -> SocketAddr {
        address(self.network, FIRST_DOOR, node)
    }

    /// Where a node listens.
    pub fn back(&self, node: usize) -> SocketAddr {
        address(self.network, 1, node)
    }

    /// A node runs as this process from now on.
    pub fn started(&self, node: usize, process: u32) {
        if let Some(slot) = lock(&self.shared.processes).get_mut(node) {
            *slot = Some(process);
        }
    }

    /// From now on links are like this: whatever is said after this returns goes by it.
    pub fn set(&self, links: &Links) -> io::Result<()> {
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
            // A panic of the proxy has been printed, and shows as nodes that are cut off.
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

/// The thread's side.
struct Server {
    network: [u8; 3],
    shared: Arc<Shared>,
    poll: Poll,
    doors: Vec<TcpListener>,
    connections: Vec<Option<Connection>>,
}

impl Server {
    fn serve(mut self) {
        // A network does not slow down because programs are busy.
        prefer_this_thread();
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
                if (1..=self.doors.len()).contains(&token) {
                    self.open_door(token - 1);
                } else if let Some(side) = token.checked_sub(1 + self.doors.len())
                    && let Some(Some(connection)) = self.connections.get_mut(side / 2)
                {
                    connection.ready(side % 2 == 1, event.is_writable());
                }
            }
            next = self.move_everything();
        }
    }

    /// Lets in whoever knocks.
    fn open_door(&mut self, node: usize) {
        while let Ok((stream, caller)) = self.doors[node].accept() {
            let called = address(self.network, FIRST_DOOR, node);
            let processes = lock(&self.shared.processes).clone();
            // Nobody's: it ended in the meantime, or a stranger knocked.
            if let Some(from) = caller::whose(&processes, caller, called)
                && let Err(error) = self.let_in(stream, from, node)
                && error.kind() != io::ErrorKind::QuotaExceeded
            {
                return;
            }
        }
    }

    fn let_in(&mut self, mut stream: TcpStream, from: usize, to: usize) -> io::Result<()> {
        let free = self.connections.iter().position(Option::is_none).unwrap_or(self.connections.len());
        if free >= MAX_CONNECTIONS {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        if free == self.connections.len() {
            self.connections.push(None);
        }
        let token = 1 + self.doors.len() + 2 * free;
        stream.set_nodelay(true)?;
        self.poll.registry().register(&mut stream, Token(token), Interest::READABLE | Interest::WRITABLE)?;
        self.connections[free] = Some(Connection::new(stream, from, to));
        Ok(())
    }

    /// Moves what can be moved; says when there is more to do.
    fn move_everything(&mut self) -> Option<Instant> {
        // Nobody is told that links have changed while something still goes by the old ones.
        let links = lock(&self.shared.links);
        let mut next: Option<Instant> = None;
        for (index, slot) in self.connections.iter_mut().enumerate() {
            let Some(connection) = slot else { continue };
            let (from, to) = (connection.from, connection.to);
            if connection.needs_far_side(&links) {
                let token = Token(1 + self.doors.len() + 2 * index + 1);
                let made = TcpStream::connect(address(self.network, 1, to)).and_then(|mut far| {
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
                Progress::Over => *slot = None,
                Progress::Waits(until) => next = [next, until].into_iter().flatten().min(),
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

    /// Two nodes, both this very process: it calls as node 0 and listens as node 1.
    fn pair() -> (Proxy, StdListener) {
        let proxy = Proxy::new(2).expect("loopback addresses");
        proxy.started(0, std::process::id());
        let listener = StdListener::bind(proxy.back(1)).expect("the address behind the listener is free");
        (proxy, listener)
    }

    fn call(proxy: &Proxy) -> StdStream {
        let stream = StdStream::connect(proxy.listener(1)).expect("the listener is open");
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
        stream
    }

    fn answer(listener: &StdListener) -> StdStream {
        let (stream, _) = listener.accept().expect("the call arrives");
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
        stream
    }

    fn links(forth: Link, back: Link) -> Links {
        let mut links = Links::open(2);
        links.worsen(0, 1, forth);
        links.worsen(1, 0, back);
        links
    }

    fn says(from: &mut StdStream, to: &mut StdStream, word: &[u8]) {
        from.write_all(word).expect("written");
        let mut heard = vec![0; word.len()];
        to.read_exact(&mut heard).expect("heard");
        assert_eq!(heard, word);
    }

    /// Nothing is heard in a while in which it would be heard if it came through.
    fn hears_nothing(stream: &mut StdStream) {
        stream.set_read_timeout(Some(Duration::from_millis(80))).expect("a timeout");
        let error = stream.read(&mut [0]).expect_err("nothing comes");
        assert!(matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut), "{error}");
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
    }

    #[test]
    fn words_pass_both_ways_and_so_does_the_end() {
        let (proxy, listener) = pair();
        let mut near = call(&proxy);
        let mut far = answer(&listener);
        says(&mut near, &mut far, b"hello");
        says(&mut far, &mut near, &[7; 300_000]);
        drop(near);
        assert_eq!(far.read(&mut [0]).expect("the end"), 0);
    }

    #[test]
    fn one_way_holds_back_one_direction_and_gives_it_out_later() {
        let (proxy, listener) = pair();
        let mut near = call(&proxy);
        let mut far = answer(&listener);
        says(&mut near, &mut far, b"a");
        proxy.set(&links(Link::Silent, Link::Open)).expect("set");
        says(&mut far, &mut near, b"b");
        near.write_all(b"held").expect("taken");
        hears_nothing(&mut far);
        proxy.set(&links(Link::Open, Link::Open)).expect("set");
        let mut heard = [0; 4];
        far.read_exact(&mut heard).expect("heard in the end");
        assert_eq!(&heard, b"held");
    }

    #[test]
    fn the_end_of_a_connection_is_held_back_too() {
        let (proxy, listener) = pair();
        let mut near = call(&proxy);
        let mut far = answer(&listener);
        says(&mut near, &mut far, b"a");
        proxy.set(&links(Link::Silent, Link::Silent)).expect("set");
        drop(near);
        hears_nothing(&mut far);
        proxy.set(&links(Link::Open, Link::Open)).expect("set");
        assert_eq!(far.read(&mut [0]).expect("the end"), 0);
    }

    #[test]
    fn what_is_said_after_a_cut_is_never_heard_before_it_is_mended() {
        let (proxy, listener) = pair();
        let mut near = call(&proxy);
        let mut far = answer(&listener);
        far.set_nonblocking(true).expect("set");
        let chatter = |near: &mut StdStream, word: u8| (0..20).for_each(|_| near.write_all(&[word]).expect("taken"));
        for round in 0..500 {
            // The proxy is busy with this when the link is cut.
            chatter(&mut near, b'a');
            proxy.set(&links(Link::Silent, Link::Silent)).expect("set");
            chatter(&mut near, b'b');
            let (mut heard, mut left) = ([0; 64], 40);
            let soon = Instant::now() + Duration::from_millis(1);
            while Instant::now() < soon {
                let length = far.read(&mut heard).unwrap_or(0);
                assert!(!heard[..length].contains(&b'b'), "round {round}: {:?}", &heard[..length]);
                left -= length;
            }
            proxy.set(&links(Link::Open, Link::Open)).expect("set");
            let end = Instant::now() + Duration::from_secs(10);
            while left > 0 {
                assert!(Instant::now() < end, "round {round}: {left} are missing");
                left -= far.read(&mut heard).unwrap_or(0);
            }
        }
    }

    #[test]
    fn a_new_call_waits_while_the_link_is_silent() {
        let (proxy, listener) = pair();
        proxy.set(&links(Link::Open, Link::Silent)).expect("set");
        let mut near = call(&proxy);
        near.write_all(b"x").expect("taken");
        listener.set_nonblocking(true).expect("set");
        hears_nothing(&mut near);
        assert_eq!(listener.accept().expect_err("nobody").kind(), io::ErrorKind::WouldBlock);
        listener.set_nonblocking(false).expect("set");
        proxy.set(&links(Link::Open, Link::Open)).expect("set");
        let mut heard = [0];
        answer(&listener).read_exact(&mut heard).expect("heard in the end");
    }

    #[test]
    fn a_cut_ends_connections_and_new_ones_at_once() {
        let (proxy, listener) = pair();
        let mut near = call(&proxy);
        let mut far = answer(&listener);
        says(&mut near, &mut far, b"a");
        proxy.set(&links(Link::Closed, Link::Closed)).expect("set");
        assert_eq!(near.read(&mut [0]).expect("the end"), 0);
        assert_eq!(far.read(&mut [0]).expect("the end"), 0);
        assert_eq!(call(&proxy).read(&mut [0]).expect("the end"), 0);
    }

    #[test]
    fn a_slow_link_takes_its_time() {
        let (proxy, listener) = pair();
        proxy.set(&links(Link::Slow(60), Link::Open)).expect("set");
        let mut near = call(&proxy);
        let mut far = answer(&listener);
        let before = Instant::now();
        says(&mut near, &mut far, b"slowly");
        assert!(before.elapsed() >= Duration::from_millis(60), "{:?}", before.elapsed());
    }

    #[test]
    fn nobody_there_and_strangers_are_shown_the_end() {
        let (proxy, listener) = pair();
        drop(listener);
        assert_eq!(call(&proxy).read(&mut [0]).unwrap_or(0), 0, "nobody listens");
        proxy.started(0, 1);
        assert_eq!(call(&proxy).read(&mut [0]).unwrap_or(0), 0, "not a node");
    }
}
