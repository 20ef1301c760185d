//! A reader: keeps asking a node who holds each office, and records the answers.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hustings_cluster::api::{OfficeStatus, Reply, Request, Status};

use crate::clock;
use crate::history::Event;
use crate::shared::Shared;
use crate::socket::Socket;

/// How often a reader asks.
const INTERVAL: Duration = Duration::from_millis(50);
/// How long a reader waits for an answer: its node may be frozen.
const TIMEOUT: Duration = Duration::from_secs(1);
/// A reader asks for the node's status once in this many rounds.
const STATUS_ROUNDS: u64 = 4;

/// Starts a reader.
pub(crate) fn start(
    shared: &Arc<Shared>,
    node: String,
    socket: PathBuf,
    offices: Vec<String>,
) -> io::Result<JoinHandle<()>> {
    let shared = Arc::clone(shared);
    std::thread::Builder::new().name(format!("{node}.reader")).spawn(move || {
        while !shared.is_over() {
            if let Ok(mut socket) = Socket::connect(&socket) {
                // Whatever the error, the reader connects again.
                let _ = read(&shared, &node, &mut socket, &offices);
            }
            shared.pause(INTERVAL);
        }
    })
}

fn read(shared: &Shared, node: &str, socket: &mut Socket, offices: &[String]) -> io::Result<()> {
    for round in 0_u64.. {
        if shared.is_over() {
            break;
        }
        for office in offices {
            let began = clock::now();
            let answer = leader(socket, office)?;
            let event = Event::Read {
                node: node.to_string(),
                office: office.clone(),
                holder: answer.holder,
                token: answer.token,
                current: answer.current,
                began,
                at: clock::now(),
            };
            shared.recorder.record(&event);
        }
        if round % STATUS_ROUNDS == 0 {
            let status = status(socket)?;
            shared.update_arbiter(status.term, status.arbiter_leader);
        }
        shared.pause(INTERVAL);
    }
    Ok(())
}

/// Asks a node who holds an office.
fn leader(socket: &mut Socket, office: &str) -> io::Result<OfficeStatus> {
    match ask(socket, &Request::Leader { office: office.to_string() }, TIMEOUT)? {
        Reply::Office(office) => Ok(office),
        other => Err(unexpected(&other)),
    }
}

/// Asks a node for its status.
pub(crate) fn status(socket: &mut Socket) -> io::Result<Box<Status>> {
    match ask(socket, &Request::Status, TIMEOUT)? {
        Reply::Status(status) => Ok(status),
        other => Err(unexpected(&other)),
    }
}

/// Sends a request and waits for its reply.
pub(crate) fn ask(socket: &mut Socket, request: &Request, timeout: Duration) -> io::Result<Reply> {
    socket.send(request)?;
    let deadline = Instant::now() + timeout;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match socket.receive(left)? {
            Some(reply) => return Ok(reply),
            None if left.is_zero() => return Err(io::ErrorKind::TimedOut.into()),
            None => {}
        }
    }
}

fn unexpected(reply: &Reply) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("unexpected reply: {reply:?}"))
}
