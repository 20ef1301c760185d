//! A reader: asks a node who leads, again and again, and notes what it is told.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hustings_cluster::api::{OfficeStatus, Reply, Request, Status};

use crate::clock;
use crate::history::Event;
use crate::scene::Scene;
use crate::socket::Socket;

/// How often it asks.
const EVERY: Duration = Duration::from_millis(50);
/// How long it waits for an answer: its node may be frozen.
const PATIENCE: Duration = Duration::from_secs(1);
/// Of so many rounds it asks in one how the cluster is.
const STATUS_ROUNDS: u64 = 4;

/// Starts a reader of a node.
pub(crate) fn start(
    scene: &Arc<Scene>,
    node: String,
    socket: PathBuf,
    offices: Vec<String>,
) -> io::Result<JoinHandle<()>> {
    let scene = Arc::clone(scene);
    std::thread::Builder::new().name(format!("{node}.reader")).spawn(move || {
        while !scene.over() {
            if let Ok(mut socket) = Socket::connect(&socket) {
                // However it ends, there is another connection.
                let _ = read(&scene, &node, &mut socket, &offices);
            }
            scene.pause(EVERY);
        }
    })
}

fn read(scene: &Scene, node: &str, socket: &mut Socket, offices: &[String]) -> io::Result<()> {
    for round in 0_u64.. {
        if scene.over() {
            break;
        }
        for office in offices {
            let began = clock::now();
            let said = leader(socket, office)?;
            let event = Event::Read {
                node: node.to_string(),
                office: office.clone(),
                holder: said.holder,
                token: said.token,
                current: said.current,
                began,
                at: clock::now(),
            };
            scene.recorder.note(&event);
        }
        if round % STATUS_ROUNDS == 0 {
            let said = status(socket)?;
            scene.saw_arbiter(said.term, said.arbiter_leader);
        }
        scene.pause(EVERY);
    }
    Ok(())
}

/// Who holds an office, according to a node.
fn leader(socket: &mut Socket, office: &str) -> io::Result<OfficeStatus> {
    match ask(socket, &Request::Leader { office: office.to_string() }, PATIENCE)? {
        Reply::Office(said) => Ok(said),
        other => Err(unexpected(&other)),
    }
}

/// How the cluster is, according to a node.
pub(crate) fn status(socket: &mut Socket) -> io::Result<Box<Status>> {
    match ask(socket, &Request::Status, PATIENCE)? {
        Reply::Status(said) => Ok(said),
        other => Err(unexpected(&other)),
    }
}

/// Asks something that has one answer.
pub(crate) fn ask(socket: &mut Socket, request: &Request, patience: Duration) -> io::Result<Reply> {
    socket.say(request)?;
    let deadline = Instant::now() + patience;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match socket.hear(left)? {
            Some(reply) => return Ok(reply),
            None if left.is_zero() => return Err(io::ErrorKind::TimedOut.into()),
            None => {}
        }
    }
}

fn unexpected(reply: &Reply) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not an answer to that: {reply:?}"))
}
