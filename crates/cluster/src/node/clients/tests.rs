use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::UnixStream as StdStream;

use mio::{Events, Poll};

use super::connection::{MAX_BYTES_PER_PASS, MAX_REQUEST_BYTES, MAX_UNREAD, MAX_WORK_PER_CLIENT, MAX_WORK_PER_PASS};
use super::descriptors::MAX_PASSED;
use super::*;

/// How many programs may connect.
const CONNECTIONS: usize = 20;
const TIMEOUT: Duration = Duration::from_secs(20);

/// The node's end of the socket without a node.
struct Harness {
    clients: Clients,
    poll: Poll,
    path: std::path::PathBuf,
    _folder: tempfile::TempDir,
    /// Whether clients are owed a reply.
    owes: bool,
    now: Timestamp,
}

impl Harness {
    fn open() -> Harness {
        Harness::with_own_connections(0)
    }

    /// With a budget for connections of this process, where the clients of these tests are.
    fn with_own_connections(own: usize) -> Harness {
        let folder = tempfile::tempdir().expect("a folder for the socket");
        let path = folder.path().join("hustings.sock");
        let poll = Poll::new().expect("descriptors are there");
        let budget = ConnectionBudget { programs: CONNECTIONS, own };
        let clients = Clients::listen(&path, poll.registry(), 0, budget, None).expect("nobody listens there");
        Harness { clients, poll, path, owes: false, now: Timestamp(1), _folder: folder }
    }

    fn connect(&self) -> StdStream {
        StdStream::connect(&self.path).expect("somebody listens")
    }

    /// Runs one pass of the loop.
    fn pass(&mut self, patience: Duration) -> Vec<ClientEvent> {
        let timeout = if self.clients.due() <= self.now { Duration::ZERO } else { patience };
        let mut events = Events::with_capacity(512);
        self.poll.poll(&mut events, Some(timeout)).expect("nothing interrupts a test");
        events.iter().for_each(|event| self.clients.ready(event));
        let mut events = Vec::new();
        self.clients.read_requests(self.now, &mut events);
        self.clients.flush(|_| self.owes, &mut events);
        events
    }

    /// Runs passes until there are events.
    fn events(&mut self) -> Vec<ClientEvent> {
        loop {
            let events = self.pass(TIMEOUT);
            if !events.is_empty() {
                return events;
            }
        }
    }
}

fn ids(events: &[ClientEvent]) -> Vec<ClientId> {
    let asked = events.iter().filter_map(|event| match event {
        ClientEvent::Request(id, _) => Some(*id),
        ClientEvent::NotPermitted(..) | ClientEvent::Silent(..) | ClientEvent::Disconnected(_) => None,
    });
    asked.collect()
}

/// A small request.
const LEADER: &str = "{\"type\":\"leader\",\"office\":\"a\"}\n";

#[test]
fn a_flood_of_requests_does_not_starve_other_clients() {
    let mut harness = Harness::open();
    let (mut loud, mut quiet) = (harness.connect(), harness.connect());
    loud.write_all(LEADER.repeat(500).as_bytes()).expect("that fits into the socket");
    quiet.write_all(LEADER.as_bytes()).expect("that fits into the socket");
    let events = harness.events();
    let asked = ids(&events);
    assert_eq!(asked.iter().filter(|id| **id == asked[0]).count(), MAX_WORK_PER_CLIENT);
    assert_eq!(asked.len(), MAX_WORK_PER_CLIENT + 1, "the other client is served in the same pass");
    let mut count = asked.len();
    while count < 501 {
        let more = ids(&harness.events()).len();
        assert!(more <= MAX_WORK_PER_CLIENT);
        count += more;
    }
    assert_eq!(count, 501);
}

#[test]
fn clients_that_ask_too_much_together_take_turns() {
    let mut harness = Harness::open();
    let mut loud: Vec<StdStream> = (0..CONNECTIONS).map(|_| harness.connect()).collect();
    while harness.clients.count() < CONNECTIONS {
        harness.pass(TIMEOUT);
    }
    loud.iter_mut().for_each(|program| {
        program.write_all(LEADER.repeat(100).as_bytes()).expect("that fits into the socket");
    });
    let mut asked: BTreeMap<u64, usize> = BTreeMap::new();
    for _ in 0..CONNECTIONS.div_ceil(MAX_WORK_PER_PASS / MAX_WORK_PER_CLIENT) {
        let events = ids(&harness.pass(Duration::ZERO));
        assert_eq!(events.len(), MAX_WORK_PER_PASS, "no more than that, however many ask");
        events.into_iter().for_each(|id| *asked.entry(id.0).or_default() += 1);
    }
    assert_eq!(asked.len(), CONNECTIONS, "everybody had a turn: {asked:?}");
    assert!(asked.values().all(|count| *count == MAX_WORK_PER_CLIENT), "{asked:?}");
}

/// However fast somebody fills the socket, a pass ends.
#[test]
fn a_line_without_an_end_is_read_a_part_at_a_time() {
    let mut harness = Harness::open();
    let mut endless = harness.connect();
    while harness.clients.count() == 0 {
        harness.pass(TIMEOUT);
    }
    endless.set_nonblocking(true).expect("it is a socket");
    let mut written = 0;
    while let Ok(count) = endless.write(&[b'x'; 4096]) {
        written += count;
    }
    assert!(written > MAX_BYTES_PER_PASS + 4096, "the socket has room for {written} bytes only");
    assert_eq!(ids(&harness.pass(TIMEOUT)), []);
    let client = harness.clients.slots[0].as_ref().expect("it is connected");
    let waiting = rustix::io::ioctl_fionread(&client.stream).expect("it is a socket");
    assert!(waiting > 0, "everything was read in one pass");
    assert_eq!(harness.clients.due(), Timestamp::ZERO, "the rest follows at once");
    assert_eq!(ids(&harness.pass(TIMEOUT)), []);
    endless.set_nonblocking(false).expect("it is a socket");
    endless.write_all(format!("\n{LEADER}").as_bytes()).expect("the node has read");
    assert_eq!(ids(&harness.events()).len(), 1, "what follows is a request again");
}

#[test]
fn what_concerns_all_offices_is_a_clients_share_of_a_pass() {
    for (large, others) in
        [("{\"type\":\"status\"}\n", 1), ("{\"type\":\"history\"}\n", 1), ("{\"type\":\"metrics\"}\n", 0)]
    {
        let mut harness = Harness::open();
        let (mut first, mut second) = (harness.connect(), harness.connect());
        first.write_all(large.repeat(10).as_bytes()).expect("that fits into the socket");
        second.write_all(LEADER.as_bytes()).expect("that fits into the socket");
        assert_eq!(ids(&harness.events()).len(), 1 + others, "{large}");
        assert_eq!(ids(&harness.events()).len(), 2 - others, "{large}");
    }
    assert_eq!(ids(&one_office_history()).len(), MAX_WORK_PER_CLIENT);
}

/// The first pass of a client that asks for the history of one office again and again.
fn one_office_history() -> Vec<ClientEvent> {
    let mut harness = Harness::open();
    let mut program = harness.connect();
    let small = "{\"type\":\"history\",\"office\":\"a\"}\n";
    program.write_all(small.repeat(100).as_bytes()).expect("that fits into the socket");
    harness.events()
}

#[test]
fn an_invalid_request_is_answered_and_the_connection_stays() {
    let mut harness = Harness::open();
    let mut program = harness.connect();
    let writer = std::thread::spawn(move || {
        let long = vec![b'x'; MAX_REQUEST_BYTES * 3];
        for line in
            [b"hello".as_slice(), b"", b"{\"type\":\"dance\"}", b"\xff\xfe", &long, b"{\"type\":\"leader\",\"x\":1}"]
        {
            program.write_all(line).expect("the node reads");
            program.write_all(b"\n").expect("the node reads");
        }
        program.write_all(b"{\"type\":\"pause\"}\n").expect("the node reads");
        let mut lines = BufReader::new(program).lines();
        let replies: Vec<String> = (0..6).map(|_| lines.next().expect("an answer").expect("it is text")).collect();
        replies
    });
    let events = harness.events();
    assert!(matches!(&events[..], [ClientEvent::Request(_, Request::Pause)]), "{events:?}");
    let replies = writer.join().expect("it does not panic");
    for (reply, problem) in replies.iter().zip(["expected", "EOF", "dance", "expected", "longer than 65536", "`x`"]) {
        assert!(reply.contains("bad-request") && reply.contains(problem), "{problem}: {reply}");
    }
    assert!(matches!(harness.events()[..], [ClientEvent::Disconnected(_)]));
}

#[test]
fn a_client_that_does_not_read_is_throttled_and_then_disconnected() {
    let mut harness = Harness::open();
    let mut program = harness.connect();
    program.write_all(b"{\"type\":\"status\"}\n").expect("that fits into the socket");
    let id = ids(&harness.events())[0];
    let news = Reply::History { changes: Vec::new() };
    let size = serde_json::to_vec(&news).expect("plain data").len() + 1;
    let told = |count: usize, harness: &mut Harness| (0..count).for_each(|_| harness.clients.queue_reply(id, &news));
    // More than the kernel takes, and a little more than makes the node stop listening.
    told((UNREAD_SOFT_LIMIT * 3) / size, &mut harness);
    program.write_all(b"{\"type\":\"status\"}\n").expect("that fits into the socket");
    let mut events = harness.pass(Duration::ZERO);
    events.extend(harness.pass(Duration::ZERO));
    assert!(events.is_empty(), "{events:?}");
    assert_ne!(harness.clients.due(), Timestamp::ZERO, "waiting for it must not spin");
    told(MAX_UNREAD / size, &mut harness);
    let events = harness.pass(Duration::ZERO);
    assert!(matches!(events[..], [ClientEvent::Disconnected(gone)] if gone == id), "{events:?}");
}

#[test]
fn limits_the_number_of_clients_and_reuses_free_slots() {
    let mut harness = Harness::open();
    let mut programs: Vec<StdStream> = (0..CONNECTIONS + RESERVED_CONNECTIONS).map(|_| harness.connect()).collect();
    while harness.clients.slots.iter().flatten().count() < programs.len() {
        harness.pass(TIMEOUT);
    }
    // One more that may operate the cluster takes the place of the oldest of those beyond the limit.
    let mut one_more = harness.connect();
    assert!(matches!(harness.events()[..], [ClientEvent::Disconnected(_)]));
    let mut line = String::new();
    BufReader::new(programs.remove(CONNECTIONS)).read_line(&mut line).expect("it is told something");
    assert!(line.contains("too-many"), "{line}");
    one_more.write_all(b"{\"type\":\"status\"}\n").expect("that fits into the socket");
    assert!(matches!(harness.events()[..], [ClientEvent::Request(_, Request::Status)]));
    drop(programs.pop());
    let events = harness.events();
    let [ClientEvent::Disconnected(gone)] = events[..] else { panic!("one has gone: {events:?}") };
    let mut next = harness.connect();
    next.write_all(b"{\"type\":\"status\"}\n").expect("that fits into the socket");
    let id = ids(&harness.events())[0];
    assert_ne!(id, gone, "what is still meant for the one who has gone must not reach the next");
    assert_eq!(harness.clients.place(id), harness.clients.place(gone));
}

#[test]
fn operators_get_in_when_programs_use_all_connections() {
    let mut harness = Harness::open();
    let _programs: Vec<StdStream> = (0..CONNECTIONS).map(|_| harness.connect()).collect();
    while harness.clients.slots.iter().flatten().count() < CONNECTIONS {
        harness.pass(TIMEOUT);
    }
    let mut operator = harness.connect();
    operator.write_all(b"{\"type\":\"status\"}\n").expect("that fits into the socket");
    assert!(matches!(harness.events()[..], [ClientEvent::Request(_, Request::Status)]));
    for request in ["{\"type\":\"watch\"}\n", "{\"type\":\"campaign\",\"office\":\"job\"}\n"] {
        // More often than there are reserved connections: none of them is used up.
        for _ in 0..2 * RESERVED_CONNECTIONS {
            let mut program = harness.connect();
            program.write_all(request.as_bytes()).expect("that fits into the socket");
            assert!(matches!(harness.events()[..], [ClientEvent::Disconnected(_)]), "{request}");
            let mut line = String::new();
            BufReader::new(program).read_line(&mut line).expect("it is told why");
            assert!(line.contains("too-many") && line.contains("limits.connections"), "{line}");
        }
    }
}

#[test]
fn a_client_that_shuts_down_its_write_side_still_gets_its_reply() {
    let mut harness = Harness::open();
    let mut program = harness.connect();
    program.write_all(b"nonsense\n").expect("that fits into the socket");
    program.shutdown(std::net::Shutdown::Write).expect("it is connected");
    assert!(matches!(harness.events()[..], [ClientEvent::Disconnected(_)]));
    let mut line = String::new();
    BufReader::new(program).read_line(&mut line).expect("the answer was sent");
    assert!(line.contains("bad-request"), "{line}");
}

#[test]
fn a_client_that_shuts_down_its_write_side_stays_while_it_is_owed_a_reply() {
    let mut harness = Harness::open();
    harness.owes = true;
    let mut program = harness.connect();
    program.write_all(b"{\"type\":\"status\"}\n").expect("that fits into the socket");
    program.shutdown(std::net::Shutdown::Write).expect("it is connected");
    let events = harness.events();
    let [ClientEvent::Request(id, _)] = events[..] else { panic!("it has not gone yet: {events:?}") };
    harness.clients.queue_reply(id, &Reply::Done);
    harness.owes = false;
    assert!(matches!(harness.events()[..], [ClientEvent::Disconnected(gone)] if gone == id));
    let mut line = String::new();
    BufReader::new(program).read_line(&mut line).expect("the answer was sent");
    assert!(line.contains("done"), "{line}");
}

/// The node may have been frozen. Meanwhile the program gave up, and did something else.
#[test]
fn what_a_program_asked_that_has_gone_is_not_carried_out() {
    let mut harness = Harness::open();
    for has_been_accepted in [false, true] {
        let mut program = harness.connect();
        if has_been_accepted {
            while harness.clients.count() == 0 {
                harness.pass(TIMEOUT);
            }
        }
        program.write_all(b"{\"type\":\"pause\"}\n{\"type\":\"pause\"}\n").expect("that fits into the socket");
        drop(program);
        let events = harness.events();
        assert!(matches!(events[..], [ClientEvent::Disconnected(_)]), "{events:?}");
    }
}

#[test]
fn who_may_not_operate_the_cluster_displaces_nobody() {
    let mut harness = Harness::open();
    let _programs: Vec<StdStream> = (0..CONNECTIONS + RESERVED_CONNECTIONS).map(|_| harness.connect()).collect();
    while harness.clients.slots.iter().flatten().count() < CONNECTIONS + RESERVED_CONNECTIONS {
        harness.pass(TIMEOUT);
    }
    let (node, program) = UnixStream::pair().expect("descriptors are there");
    let mut peer = PeerCredentials::of(&node, None);
    peer.rights.operate = false;
    harness.clients.add_peer(node, peer);
    let mut line = [0; 200];
    let told = (&program).read(&mut line).expect("it is told something");
    assert!(String::from_utf8_lossy(&line[..told]).contains("too-many"));
    assert_eq!(harness.clients.slots.iter().flatten().count(), CONNECTIONS + RESERVED_CONNECTIONS);
}

#[test]
fn a_request_without_the_right_is_refused_and_reaches_nobody() {
    for (may_operate, line) in [(true, "{\"type\":\"pause\"}\n"), (false, "{\"type\":\"pause\"}\n"), (false, STATUS)] {
        let mut harness = Harness::open();
        let mut program = harness.connect_with(may_operate);
        program.write_all(line.as_bytes()).expect("that fits into the socket");
        let events = harness.events();
        let [event] = &events[..] else { panic!("{events:?}") };
        if may_operate || line == STATUS {
            assert!(matches!(event, ClientEvent::Request(..)), "{event:?}");
            continue;
        }
        assert!(matches!(event, ClientEvent::NotPermitted(_, Request::Pause)), "{event:?}");
        harness.pass(Duration::ZERO);
        let mut told = String::new();
        BufReader::new(program).read_line(&mut told).expect("it is told something");
        assert!(told.contains("\"not-permitted\""), "{told}");
    }
}

#[test]
fn a_client_that_is_silent_for_its_time_to_live_is_disconnected() {
    let ttl = Duration::from_secs(2);
    let mut harness = Harness::open();
    let (mut program, mut other) = (harness.connect(), harness.connect());
    program.write_all(LEADER.as_bytes()).expect("that fits into the socket");
    let id = ids(&harness.events())[0];
    assert_eq!(harness.clients.due(), Timestamp::NEVER, "a client that does not say so may be silent");
    harness.clients.keep_alive(id, ttl, harness.now);
    assert_eq!(harness.clients.due(), Timestamp(1) + ttl);

    // The node was late, and no event has told it yet what arrived meanwhile.
    program.write_all(LEADER.as_bytes()).expect("that fits into the socket");
    harness.now = Timestamp(1) + 2 * ttl;
    let mut events = Vec::new();
    harness.clients.read_requests(harness.now, &mut events);
    assert_eq!(ids(&events), [id]);
    assert_eq!(harness.clients.due(), harness.now + ttl);

    // Half a word is no word, and another client's does not count.
    harness.now = harness.now + ttl;
    program.write_all(b"{").expect("that fits into the socket");
    other.write_all(LEADER.as_bytes()).expect("that fits into the socket");
    let mut events = harness.events();
    while events.len() < 3 {
        events.extend(harness.events());
    }
    let is_silent = |event: &ClientEvent| matches!(event, ClientEvent::Silent(silent, _) if *silent == id);
    let is_gone = |event: &ClientEvent| matches!(event, ClientEvent::Disconnected(gone) if *gone == id);
    assert!(events.iter().any(is_silent) && events.iter().any(is_gone), "{events:?}");
    assert_eq!(ids(&events).len(), 1);
    let mut line = String::new();
    BufReader::new(program).read_line(&mut line).expect("it is told why");
    assert!(line.contains("silent") && line.contains("nothing arrived for 2s"), "{line}");
    assert_eq!(harness.clients.due(), Timestamp::NEVER);
}

#[test]
fn connections_of_the_own_process_have_a_budget_of_their_own() {
    let mut harness = Harness::with_own_connections(2);
    let connected = 2 + CONNECTIONS;
    let _programs: Vec<StdStream> = (0..connected).map(|_| harness.connect()).collect();
    while harness.clients.slots.iter().flatten().count() < connected {
        harness.pass(TIMEOUT);
    }
    let count = |is_counted: fn(&&Client) -> bool| harness.clients.slots.iter().flatten().filter(is_counted).count();
    assert_eq!((count(|client| client.is_own), count(|client| client.is_restricted)), (2, 0));
    let _one_more = harness.connect();
    while harness.clients.slots.iter().flatten().count() == connected {
        harness.pass(TIMEOUT);
    }
    let restricted = harness.clients.slots.iter().flatten().filter(|client| client.is_restricted).count();
    assert_eq!(restricted, 1, "beyond both budgets");
}

/// Sends a line with as many descriptors as there are.
fn pass(program: &StdStream, line: &str, passed: &[std::os::fd::BorrowedFd<'_>]) -> rustix::io::Result<()> {
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_PASSED))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(passed)));
    let sent = sendmsg(program, &[std::io::IoSlice::new(line.as_bytes())], &mut control, SendFlags::empty())?;
    assert_eq!(sent, line.len(), "that fits into the socket");
    Ok(())
}

const STATUS: &str = "{\"type\":\"status\"}\n";
const GUARDED: &str = "{\"type\":\"campaign\",\"office\":\"a\",\"guard\":{\"kind\":\"process-tree\"}}\n";

impl Harness {
    /// Connects, and waits until the node knows it and what it may do.
    fn connect_with(&mut self, operate: bool) -> StdStream {
        let program = self.connect();
        while self.clients.count() == 0 {
            self.pass(TIMEOUT);
        }
        self.clients.slots.iter_mut().flatten().for_each(|client| client.peer.rights.operate = operate);
        program
    }

    fn leave(&mut self, program: StdStream) {
        drop(program);
        while self.clients.count() > 0 {
            self.pass(TIMEOUT);
        }
    }

    /// As before Linux 6.16, where everybody may pass descriptors. Nobody closes those that the node gets rid of.
    fn keep_descriptors(&mut self) -> std::sync::mpsc::Receiver<OwnedFd> {
        let _ = allow_descriptors(&self.clients.listener, true);
        let (disposer, descriptors) = Disposer::without_thread();
        self.clients.disposer = disposer;
        descriptors
    }
}

/// To close one may take as long as whoever passed it wants, and the last one to close it may be the kernel on behalf
/// of the node's thread.
#[test]
fn the_node_closes_no_descriptor_itself() {
    use std::os::fd::AsFd;

    let mut harness = Harness::open();
    let descriptors = harness.keep_descriptors();
    let (reader, writer) = std::io::pipe().expect("descriptors are there");
    let passed = [writer.as_fd(); MAX_PASSED];
    for (operate, kept) in [(true, 1), (false, 0)] {
        let program = harness.connect_with(operate);
        pass(&program, STATUS, &passed).expect("everybody may");
        assert_eq!(ids(&harness.events()).len(), 1);
        assert_eq!(descriptors.try_iter().count(), MAX_PASSED - kept, "they were received, and are not closed");
        harness.leave(program);
        assert_eq!(descriptors.try_iter().count(), kept + 1, "the connection as well");
    }
    // What was never received is in the connection.
    let mut program = harness.connect_with(false);
    pass(&program, &"x".repeat(5_000), &passed).expect("everybody may");
    pass(&program, STATUS, &passed).expect("everybody may");
    let id = harness.clients.slots.iter().flatten().next().expect("it is connected").id;
    let news = Reply::History { changes: Vec::new() };
    (0..MAX_UNREAD).step_by(20).for_each(|_| harness.clients.queue_reply(id, &news));
    assert_eq!(harness.clients.count(), 0, "it leaves too much unread");
    program.write_all(b"x").expect_err("it is told at once");
    drop(writer);
    let closed: Vec<OwnedFd> = descriptors.try_iter().collect();
    assert_eq!(closed.len(), 1);
    let mut byte = [0];
    rustix::io::ioctl_fionbio(&reader, true).expect("it is a pipe");
    assert_eq!(rustix::io::read(&reader, &mut byte), Err(rustix::io::Errno::AGAIN), "the writing end is open");
    drop((closed, program));
    rustix::io::ioctl_fionbio(&reader, false).expect("it is a pipe");
    assert_eq!(rustix::io::read(&reader, &mut byte), Ok(0), "nobody else has it");
}

#[test]
fn a_rejected_connection_is_closed_elsewhere_too() {
    let mut harness = Harness::open();
    let descriptors = harness.keep_descriptors();
    let mut programs: Vec<StdStream> = (0..CONNECTIONS + RESERVED_CONNECTIONS).map(|_| harness.connect()).collect();
    while harness.clients.count() < CONNECTIONS + RESERVED_CONNECTIONS {
        harness.pass(TIMEOUT);
    }
    let _one_more = harness.connect();
    harness.pass(TIMEOUT);
    let displaced = programs.remove(CONNECTIONS);
    let told: Vec<String> = BufReader::new(displaced).lines().map_while(Result::ok).collect();
    assert!(told.len() == 1 && told[0].contains("too-many"), "{told:?}");
    assert_eq!(descriptors.try_iter().count(), 1);
}

/// Since Linux 6.16.
#[test]
fn the_kernel_refuses_descriptors_of_all_but_operators() {
    use std::os::fd::AsFd;

    let mut harness = Harness::open();
    if allow_descriptors(&harness.clients.listener, false).is_err() {
        // Without standard error there is nobody to tell.
        let _ = writeln!(io::stderr(), "SKIPPED: this kernel cannot refuse descriptors (Linux 6.16)");
        return;
    }
    let program = harness.connect();
    // Not its own end, which would then stay open.
    let (reader, _writer) = std::io::pipe().expect("descriptors are there");
    let refused = pass(&program, STATUS, &[reader.as_fd()]);
    assert_eq!(refused, Err(rustix::io::Errno::PERM), "nobody knows yet who it is");
    while harness.clients.count() == 0 {
        harness.pass(TIMEOUT);
    }
    pass(&program, STATUS, &[reader.as_fd()]).expect("it is an operator");
    harness.leave(program);
}

#[test]
fn a_descriptor_is_for_the_campaign_that_it_came_with() {
    use std::os::fd::AsFd;

    let mut harness = Harness::open();
    for operate in [true, false] {
        let _ = allow_descriptors(&harness.clients.listener, true);
        let mut program = harness.connect_with(operate);
        program.write_all(STATUS.as_bytes()).expect("that fits into the socket");
        // More than one: the last one counts.
        pass(&program, GUARDED, &[program.as_fd(); 3]).expect("everybody may");
        let mut asked = Vec::new();
        while asked.len() < 2 {
            asked.extend(harness.events());
        }
        let [ClientEvent::Request(id, first), ClientEvent::Request(_, second)] = &asked[..] else {
            panic!("{asked:?}")
        };
        assert!(harness.clients.take_descriptor(*id, first).is_none(), "it has no use for one");
        assert_eq!(harness.clients.take_descriptor(*id, second).is_some(), operate);
        assert!(harness.clients.take_descriptor(*id, second).is_none(), "it was taken");
        harness.leave(program);
    }
}
