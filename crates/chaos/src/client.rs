//! A client: campaigns for one office at one node, acts while it holds it, and obeys.
//!
//! It believes nothing but what it was told on its socket, and its own clock. When its node is gone it acts on until
//! its deadline, as a program would whose node was killed; when it hangs, it hears nothing and stops by the clock
//! alone.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hustings_cluster::api::{Holding, Reply, Request};
use hustings_cluster::config::Mode;

use crate::clock::{self, HostClock, MILLISECOND};
use crate::history::Event;
use crate::rng::Rng;
use crate::scene::Scene;
use crate::socket::Socket;

/// How often a holder of a fenced office writes.
const WRITES: u64 = 4 * MILLISECOND;
/// A client looks up this often, whatever happens.
const IDLE: u64 = 40 * MILLISECOND;
/// A deadline that is this far away is none: there is no arbiter, and who has lost its node has lost its office.
const NO_LEASE: u64 = 3_600_000 * MILLISECOND;
/// How long a client takes at most to stop when it is asked to.
const STOPS_WITHIN: u64 = 6 * MILLISECOND;

/// Which client it is.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// The node it talks to.
    pub(crate) node: String,
    /// Its number among the clients of that node and office.
    pub(crate) number: usize,
    /// The office.
    pub(crate) office: String,
    /// Whether that is exclusive.
    pub(crate) exclusive: bool,
    /// The node's socket.
    pub(crate) socket: PathBuf,
    /// The clock of the node's host, which is the client's too.
    pub(crate) clock: HostClock,
    /// Decides about its whims.
    pub(crate) rng: Rng,
}

/// Plays a client until the scene is over. `engaged` says whether it campaigns and listens.
pub(crate) fn play(scene: &Scene, mut part: Part, engaged: &AtomicBool) {
    let mut sessions = 0;
    while !scene.over() {
        if let Ok(socket) = Socket::connect(&part.socket) {
            sessions += 1;
            let name = format!("{}.{}.{}#{sessions}", part.node, part.office, part.number);
            let mut session = Session::new(scene, &mut part, engaged, name);
            // However it ends, there is another.
            let _ = session.campaign(socket);
            session.outlive();
        }
        engaged.store(false, Ordering::Relaxed);
        scene.pause(Duration::from_millis(20));
    }
}

/// A request that is not answered yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Asked {
    Campaign,
    Withdraw,
    Stopped,
}

/// That the client holds the office, as far as it was told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Tenure {
    token: u64,
    /// In real time.
    deadline: u64,
    writes_at: u64,
    /// It was asked to stop, and does then.
    stops_at: Option<u64>,
}

/// One connection.
struct Session<'a> {
    scene: &'a Scene,
    part: &'a mut Part,
    engaged: &'a AtomicBool,
    name: String,
    tenure: Option<Tenure>,
    asked: VecDeque<Asked>,
    /// Does not campaign, but will from then on.
    away_until: Option<u64>,
    hangs_until: Option<u64>,
    whim_at: u64,
}

impl<'a> Session<'a> {
    fn new(scene: &'a Scene, part: &'a mut Part, engaged: &'a AtomicBool, name: String) -> Self {
        let whim_at = clock::now() + next_whim(scene, &mut part.rng);
        Session {
            scene,
            part,
            engaged,
            name,
            tenure: None,
            asked: VecDeque::new(),
            away_until: None,
            hangs_until: None,
            whim_at,
        }
    }

    /// Until the connection ends or the client leaves it.
    fn campaign(&mut self, mut socket: Socket) -> io::Result<()> {
        self.ask_for_office(&mut socket)?;
        while !self.scene.over() {
            let now = clock::now();
            self.act(now);
            if self.tenure.is_some_and(|tenure| tenure.stops_at.is_some_and(|at| at <= now)) {
                self.stop(&mut socket)?;
            }
            if !self.follow_whim(now, &mut socket)? {
                break;
            }
            let wait = Duration::from_nanos(self.next(now).saturating_sub(now));
            if self.hangs_until.is_some() {
                std::thread::sleep(wait);
            } else if let Some(reply) = socket.hear(wait)? {
                self.obey(reply, &mut socket)?;
            }
        }
        self.end("left");
        Ok(())
    }

    /// The node is gone: acts on until the deadline.
    fn outlive(&mut self) {
        self.engaged.store(false, Ordering::Relaxed);
        if self.tenure.is_some_and(|tenure| tenure.deadline > clock::now() + NO_LEASE) {
            self.end("gone");
        }
        while let Some(tenure) = self.tenure {
            let now = clock::now();
            self.act(now);
            if now >= tenure.deadline {
                self.tenure = None;
            } else if self.scene.over() {
                self.end("over");
            } else {
                std::thread::sleep(Duration::from_nanos(self.next(now).saturating_sub(now)));
            }
        }
    }

    /// What a holder does.
    fn act(&mut self, now: u64) {
        if let Some(tenure) = &mut self.tenure
            && !self.part.exclusive
            && now >= tenure.writes_at
            && now < tenure.deadline
        {
            tenure.writes_at = now + WRITES;
            self.scene.store.write(&self.name, &self.part.office, tenure.token);
        }
    }

    /// When there is something to do, apart from listening.
    fn next(&self, now: u64) -> u64 {
        let mut next = now + IDLE;
        if let Some(tenure) = &self.tenure {
            if !self.part.exclusive && now < tenure.deadline {
                next = next.min(tenure.writes_at);
            }
            next = next.min(tenure.stops_at.unwrap_or(u64::MAX));
        }
        next.min(self.hangs_until.unwrap_or(u64::MAX)).min(self.away_until.unwrap_or(u64::MAX)).max(now)
    }

    /// Hangs, resigns, comes back, leaves: false if it left.
    fn follow_whim(&mut self, now: u64, socket: &mut Socket) -> io::Result<bool> {
        let calm = self.scene.calm();
        if self.hangs_until.is_some_and(|until| until <= now || calm) {
            self.hangs_until = None;
        }
        if self.away_until.is_some_and(|until| until <= now || calm) {
            self.away_until = None;
            self.ask_for_office(socket)?;
        }
        let waits = self.asked.contains(&Asked::Campaign) || self.away_until.is_some() || self.hangs_until.is_some();
        self.engaged.store(!waits, Ordering::Relaxed);
        if calm || now < self.whim_at || waits {
            return Ok(true);
        }
        self.whim_at = now + next_whim(self.scene, &mut self.part.rng);
        match self.part.rng.below(10) {
            0..5 => self.hangs_until = Some(now + self.part.rng.of_any_size(20, 1_500) * MILLISECOND),
            5..8 => {
                self.end("withdrew");
                self.say(socket, &Request::Withdraw { office: self.part.office.clone() }, Asked::Withdraw)?;
                self.away_until = Some(now + self.part.rng.of_any_size(5, 800) * MILLISECOND);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn ask_for_office(&mut self, socket: &mut Socket) -> io::Result<()> {
        let mode = if self.part.exclusive { Mode::Exclusive } else { Mode::Fenced };
        let request = Request::Campaign { office: self.part.office.clone(), mode: Some(mode) };
        self.say(socket, &request, Asked::Campaign)
    }

    fn say(&mut self, socket: &mut Socket, request: &Request, asked: Asked) -> io::Result<()> {
        self.asked.push_back(asked);
        socket.say(request)
    }

    fn obey(&mut self, reply: Reply, socket: &mut Socket) -> io::Result<()> {
        let now = clock::now();
        match reply {
            Reply::Done => drop(self.asked.pop_front()),
            Reply::Refused(_) => {
                let campaigned = self.asked.pop_front() == Some(Asked::Campaign);
                self.away_until = if campaigned { Some(now + 100 * MILLISECOND) } else { self.away_until };
            }
            Reply::Held(holding) if self.wants() => self.take_office(&holding, now),
            Reply::Renewed(holding) if self.wants() => self.go_on(&holding, now),
            Reply::Stop { token, .. } => match &mut self.tenure {
                Some(tenure) if tenure.token == token => {
                    tenure.stops_at = Some(now + self.part.rng.below(STOPS_WITHIN));
                }
                // It has stopped already.
                _ => self.say_stopped(socket, token)?,
            },
            Reply::Lost { token, .. } if self.tenure.is_some_and(|tenure| tenure.token == token) => {
                self.end("lost");
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether it wants the office; what was said before the node heard that it does not is void.
    fn wants(&self) -> bool {
        self.away_until.is_none() && !self.asked.contains(&Asked::Withdraw)
    }

    fn take_office(&mut self, holding: &Holding, now: u64) {
        self.end("replaced");
        let deadline = self.part.clock.real(holding.deadline.0);
        self.tenure = Some(Tenure { token: holding.token, deadline, writes_at: now, stops_at: None });
        self.scene.recorder.note(&Event::Claimed {
            node: self.part.node.clone(),
            client: self.name.clone(),
            office: holding.office.clone(),
            exclusive: self.part.exclusive,
            token: holding.token,
            from: now,
            deadline,
        });
    }

    fn go_on(&mut self, holding: &Holding, now: u64) {
        let Some(tenure) = &mut self.tenure else { return };
        let deadline = self.part.clock.real(holding.deadline.0);
        if tenure.token == holding.token {
            tenure.deadline = tenure.deadline.max(deadline);
        }
        self.scene.recorder.note(&Event::Until {
            client: self.name.clone(),
            office: holding.office.clone(),
            token: holding.token,
            at: now,
            deadline,
        });
    }

    /// Stops because it was asked to, and says so.
    fn stop(&mut self, socket: &mut Socket) -> io::Result<()> {
        match self.end("stop") {
            Some(token) => self.say_stopped(socket, token),
            None => Ok(()),
        }
    }

    fn say_stopped(&mut self, socket: &mut Socket, token: u64) -> io::Result<()> {
        let request = Request::Stopped { office: self.part.office.clone(), token };
        self.say(socket, &request, Asked::Stopped)
    }

    /// Does nothing in its office from now on; the token it held.
    fn end(&mut self, why: &str) -> Option<u64> {
        let tenure = self.tenure.take()?;
        self.scene.recorder.note(&Event::Ended {
            client: self.name.clone(),
            office: self.part.office.clone(),
            token: tenure.token,
            at: clock::now(),
            why: why.to_string(),
        });
        Some(tenure.token)
    }
}

fn next_whim(scene: &Scene, rng: &mut Rng) -> u64 {
    let longest = if scene.restless { 600 } else { 30_000 };
    rng.of_any_size(300, longest) * MILLISECOND
}

/// A client that plays in a thread of its own.
pub(crate) struct Player {
    engaged: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<()>,
}

impl Player {
    /// Starts it.
    pub(crate) fn start(scene: &Arc<Scene>, part: Part) -> io::Result<Self> {
        let (scene, engaged) = (Arc::clone(scene), Arc::new(AtomicBool::new(false)));
        let shown = Arc::clone(&engaged);
        let name = format!("{}.{}.{}", part.node, part.office, part.number);
        let thread = std::thread::Builder::new().name(name).spawn(move || play(&scene, part, &engaged))?;
        Ok(Player { engaged: shown, thread })
    }

    /// Whether it campaigns and listens.
    pub(crate) fn engaged(&self) -> bool {
        self.engaged.load(Ordering::Relaxed)
    }

    /// Waits for its end; an error if it panicked.
    pub(crate) fn join(self) -> io::Result<()> {
        let name = self.thread.thread().name().unwrap_or_default().to_string();
        self.thread.join().map_err(|_| io::Error::other(format!("client {name} panicked")))
    }
}

#[cfg(test)]
mod tests;
