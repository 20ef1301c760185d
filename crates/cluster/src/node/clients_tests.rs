use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream as StdStream;

use mio::{Events, Poll};

use super::*;

const PATIENCE: Duration = Duration::from_secs(20);

/// Programs and the node's end of the socket, without a node.
struct Counter {
    clients: Clients,
    poll: Poll,
    path: std::path::PathBuf,
    _folder: tempfile::TempDir,
    /// Whether programs are owed an answer.
    owes: bool,
}

impl Counter {
    fn open() -> Counter {
        let folder = tempfile::tempdir().expect("a folder for the socket");
        let path = folder.path().join("hustings.sock");
        let poll = Poll::new().expect("descriptors are there");
        let clients = Clients::listen(&path, poll.registry(), 0..MAX_CLIENTS + 1).expect("nobody listens there");
        Counter { clients, poll, path, owes: false, _folder: folder }
    }

    fn connect(&self) -> StdStream {
        StdStream::connect(&self.path).expect("somebody listens")
    }

    /// One pass of the loop: what was done.
    fn pass(&mut self, patience: Duration) -> Vec<ClientEvent> {
        let timeout = if self.clients.due() == Moment::ZERO { Duration::ZERO } else { patience };
        let mut events = Events::with_capacity(512);
        self.poll.poll(&mut events, Some(timeout)).expect("nothing interrupts a test");
        events.iter().for_each(|event| self.clients.ready(event));
        let mut events = Vec::new();
        self.clients.hear(Moment(1), &mut events);
        self.clients.flush(|_| self.owes, &mut events);
        events
    }

    /// Passes until something was done.
    fn events(&mut self) -> Vec<ClientEvent> {
        loop {
            let events = self.pass(PATIENCE);
            if !events.is_empty() {
                return events;
            }
        }
    }
}

fn ids(events: &[ClientEvent]) -> Vec<ClientId> {
    let asked = events.iter().filter_map(|event| match event {
        ClientEvent::Asked(id, _) => Some(*id),
        ClientEvent::Gone(_) => None,
    });
    asked.collect()
}

#[test]
fn a_flood_of_one_does_not_keep_others_waiting() {
    let mut counter = Counter::open();
    let (mut loud, mut quiet) = (counter.connect(), counter.connect());
    loud.write_all("{\"do\":\"status\"}\n".repeat(500).as_bytes()).expect("that fits into the socket");
    quiet.write_all(b"{\"do\":\"status\"}\n").expect("that fits into the socket");
    let events = counter.events();
    let asked = ids(&events);
    assert_eq!(asked.iter().filter(|id| **id == asked[0]).count(), REQUESTS_A_PASS);
    assert_eq!(asked.len(), REQUESTS_A_PASS + 1, "the quiet one is heard in the same pass");
    let mut count = asked.len();
    while count < 501 {
        let more = ids(&counter.events()).len();
        assert!(more <= REQUESTS_A_PASS);
        count += more;
    }
    assert_eq!(count, 501);
}

#[test]
fn garbage_is_answered_and_the_connection_stays() {
    let mut counter = Counter::open();
    let mut program = counter.connect();
    let writer = std::thread::spawn(move || {
        let long = vec![b'x'; MAX_REQUEST_BYTES * 3];
        for line in
            [b"hello".as_slice(), b"", b"{\"do\":\"dance\"}", b"\xff\xfe", &long, b"{\"do\":\"leader\",\"x\":1}"]
        {
            program.write_all(line).expect("the node reads");
            program.write_all(b"\n").expect("the node reads");
        }
        program.write_all(b"{\"do\":\"pause\"}\n").expect("the node reads");
        let mut lines = BufReader::new(program).lines();
        let replies: Vec<String> = (0..6).map(|_| lines.next().expect("an answer").expect("it is text")).collect();
        replies
    });
    let events = counter.events();
    assert!(matches!(&events[..], [ClientEvent::Asked(_, Request::Pause)]), "{events:?}");
    let replies = writer.join().expect("it does not panic");
    for (reply, trouble) in replies.iter().zip(["expected", "EOF", "dance", "expected", "longer than 65536", "`x`"]) {
        assert!(reply.contains("bad-request") && reply.contains(trouble), "{trouble}: {reply}");
    }
    assert!(matches!(counter.events()[..], [ClientEvent::Gone(_)]));
}

#[test]
fn one_who_does_not_read_is_heard_no_more_and_dropped_in_the_end() {
    let mut counter = Counter::open();
    let mut program = counter.connect();
    program.write_all(b"{\"do\":\"status\"}\n").expect("that fits into the socket");
    let id = ids(&counter.events())[0];
    let news = Reply::History { changes: Vec::new() };
    let size = serde_json::to_vec(&news).expect("plain data").len() + 1;
    let told = |count: usize, counter: &mut Counter| (0..count).for_each(|_| counter.clients.tell(id, &news));
    // More than the kernel takes, and a little more than makes the node stop listening.
    told((UNREAD * 3) / size, &mut counter);
    program.write_all(b"{\"do\":\"status\"}\n").expect("that fits into the socket");
    let mut events = counter.pass(Duration::ZERO);
    events.extend(counter.pass(Duration::ZERO));
    assert!(events.is_empty(), "{events:?}");
    assert_ne!(counter.clients.due(), Moment::ZERO, "waiting for it must not spin");
    told(MAX_UNREAD / size, &mut counter);
    let events = counter.pass(Duration::ZERO);
    assert!(matches!(events[..], [ClientEvent::Gone(gone)] if gone == id), "{events:?}");
}

#[test]
fn there_is_room_for_so_many_and_a_seat_that_is_free_is_used_again() {
    let mut counter = Counter::open();
    let mut programs: Vec<StdStream> = (0..MAX_CLIENTS).map(|_| counter.connect()).collect();
    while counter.clients.seats.iter().flatten().count() < MAX_CLIENTS {
        counter.pass(PATIENCE);
    }
    let one_more = counter.connect();
    counter.pass(PATIENCE);
    let mut line = String::new();
    BufReader::new(one_more).read_line(&mut line).expect("it is told something");
    assert!(line.contains("too-many"), "{line}");
    drop(programs.pop());
    let events = counter.events();
    let [ClientEvent::Gone(gone)] = events[..] else { panic!("one has gone: {events:?}") };
    let mut next = counter.connect();
    next.write_all(b"{\"do\":\"status\"}\n").expect("that fits into the socket");
    let id = ids(&counter.events())[0];
    assert_ne!(id, gone, "what is still meant for the one who has gone must not reach the next");
    assert_eq!(counter.clients.place(id), counter.clients.place(gone));
}

#[test]
fn one_who_hangs_up_after_its_question_still_gets_its_answer() {
    let mut counter = Counter::open();
    let mut program = counter.connect();
    program.write_all(b"nonsense\n").expect("that fits into the socket");
    program.shutdown(std::net::Shutdown::Write).expect("it is connected");
    assert!(matches!(counter.events()[..], [ClientEvent::Gone(_)]));
    let mut line = String::new();
    BufReader::new(program).read_line(&mut line).expect("the answer was sent");
    assert!(line.contains("bad-request"), "{line}");
}

#[test]
fn one_who_hangs_up_stays_while_it_is_owed_an_answer() {
    let mut counter = Counter::open();
    counter.owes = true;
    let mut program = counter.connect();
    program.write_all(b"{\"do\":\"status\"}\n").expect("that fits into the socket");
    program.shutdown(std::net::Shutdown::Write).expect("it is connected");
    let events = counter.events();
    let [ClientEvent::Asked(id, _)] = events[..] else { panic!("it has not gone yet: {events:?}") };
    counter.clients.tell(id, &Reply::Done);
    counter.owes = false;
    assert!(matches!(counter.events()[..], [ClientEvent::Gone(gone)] if gone == id));
    let mut line = String::new();
    BufReader::new(program).read_line(&mut line).expect("the answer was sent");
    assert!(line.contains("done"), "{line}");
}
