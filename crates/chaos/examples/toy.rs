//! A fake `hustings` for tests of chaos: its nodes share a locked file instead of talking to each other. It violates no
//! rule, unless `--test-break` tells it to.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use hustings_cluster::api::{
    Base64, ChangeReason, Lease, MemberStatus, OfficeStatus, Reply, Request, RequestError, StatePart, Status,
};
use hustings_cluster::clock::{Clock, Timestamp};
use hustings_cluster::config::Mode;
use hustings_cluster::member::Role;
use hustings_testkit::switches;
use serde::{Deserialize, Serialize};

const LEASE: u64 = 250_000_000;
const MARGIN: u64 = 20_000_000;
/// A node that was not seen for this long is down.
const DOWN: u64 = 200_000_000;

#[derive(Default, Serialize, Deserialize)]
struct Table {
    /// When each node was last seen, with its priority.
    nodes: BTreeMap<String, (u64, u32)>,
    offices: BTreeMap<String, Grant>,
}

#[derive(Default, Serialize, Deserialize)]
struct Grant {
    holder: String,
    process: u32,
    token: u64,
    until: u64,
    /// The candidates, and when each was last seen.
    candidates: BTreeMap<String, u64>,
}

struct Client {
    stream: UnixStream,
    heard: Vec<u8>,
    gone: bool,
    office: Option<String>,
    /// What it has sent of a state.
    state: Vec<u8>,
    /// The token it holds, and whether it was asked to stop.
    held: Option<(u64, bool)>,
}

struct Node {
    name: String,
    priority: u32,
    folder: PathBuf,
    ppm: i32,
    broken: bool,
    clients: Vec<Client>,
}

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| words.iter().skip_while(|word| *word != name).nth(1).cloned().unwrap_or_default();
    match words.first().map(String::as_str) {
        Some("init") => {
            let nodes = words.iter().zip(words.iter().skip(1)).filter(|(option, _)| *option == "--node");
            fs::create_dir_all(&words[1])?;
            nodes.map(|(_, node)| node).try_for_each(|node| write_member(Path::new(&words[1]), node))
        }
        Some("members") if words[1] == "add" => write_member(Path::new(&value("--dir")), &words[2]),
        Some("members") => {
            let config = Path::new(&value("--dir")).join(&words[2]).join("hustings.toml");
            if config.exists() { fs::remove_file(config) } else { Ok(()) }
        }
        Some("node") if words.iter().any(|word| word == "--explain-timing") => Ok(()),
        Some("node") => {
            let config = PathBuf::from(value("--config"));
            let text = fs::read_to_string(&config)?;
            let mut lines = text.lines();
            let mut next = || lines.next().unwrap_or_default().trim_start_matches("# ").to_string();
            let (name, priority) = (next(), next().parse().map_err(io::Error::other)?);
            let ppm = words
                .iter()
                .find_map(|word| word.strip_prefix(switches::CLOCK_PPM)?.strip_prefix('=')?.parse().ok())
                .unwrap_or(0);
            let folder = config.ancestors().nth(2).unwrap_or(Path::new("")).to_path_buf();
            let broken = words.iter().any(|word| word == switches::BREAK);
            Node { name, priority, folder, ppm, broken, clients: Vec::new() }
                .serve(&config.with_file_name("hustings.sock"))
        }
        _ => Ok(()),
    }
}

fn write_member(folder: &Path, new_member: &str) -> io::Result<()> {
    let (name, rest) = new_member.split_once('=').unwrap_or_default();
    let priority = rest.rsplit_once("priority=").unwrap_or_default().1;
    fs::create_dir_all(folder.join(name))?;
    fs::write(folder.join(name).join("hustings.toml"), format!("# {name}\n# {priority}\n"))
}

/// Every member has a configuration.
fn members(folder: &Path) -> Vec<MemberStatus> {
    let all = fs::read_dir(folder).into_iter().flatten().flatten();
    let members = all.filter(|entry| entry.path().join("hustings.toml").exists());
    let status = |name: String| MemberStatus {
        id: 1,
        name,
        address: String::new(),
        role: Role::Elector,
        priority: 0,
        health: 100,
        up: true,
        disk_fails: false,
        joining: false,
        differs_in: Vec::new(),
        certificate_not_after_unix_s: None,
    };
    members.map(|entry| status(entry.file_name().to_string_lossy().into_owned())).collect()
}

fn now() -> u64 {
    Clock::new().now().0
}

impl Node {
    fn serve(mut self, socket: &Path) -> io::Result<()> {
        if socket.exists() {
            fs::remove_file(socket)?;
        }
        let listener = UnixListener::bind(socket)?;
        listener.set_nonblocking(true)?;
        loop {
            while let Ok((stream, _)) = listener.accept() {
                stream.set_nonblocking(true)?;
                let (heard, state) = (Vec::new(), Vec::new());
                self.clients.push(Client { stream, heard, gone: false, office: None, state, held: None });
            }
            let lock = File::create(self.folder.join("lock"))?;
            lock.lock()?;
            let path = self.folder.join("table");
            let mut table: Table =
                fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
            table.nodes.insert(self.name.clone(), (now(), self.priority));
            let mut clients = std::mem::take(&mut self.clients);
            clients.iter_mut().for_each(|client| self.handle_requests(client, &mut table));
            clients.iter_mut().for_each(|client| self.update_grant(client, &mut table));
            clients.retain(|client| !client.gone);
            self.clients = clients;
            fs::write(self.folder.join("next"), serde_json::to_vec(&table)?)?;
            fs::rename(self.folder.join("next"), &path)?;
            drop(lock);
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Answers the requests of a client.
    fn handle_requests(&self, client: &mut Client, table: &mut Table) {
        // A part of a state.
        let mut chunk = vec![0; 1 << 20];
        match client.stream.read(&mut chunk) {
            Ok(0) => client.gone = true,
            Ok(length) => client.heard.extend_from_slice(&chunk[..length]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => client.gone = true,
        }
        while let Some(end) = client.heard.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = client.heard.drain(..=end).collect();
            match serde_json::from_slice(&line) {
                Ok(Request::Campaign { office, .. }) => client.office = Some(office),
                Ok(Request::Withdraw { .. }) => {
                    self.release(client, table);
                    client.office = None;
                }
                Ok(Request::Stopped { .. }) => self.release(client, table),
                Ok(Request::Leader { office }) => {
                    client.send(&Reply::Office(status(&office, table)));
                    continue;
                }
                Ok(Request::Status) => {
                    client.send(&Reply::Status(Box::new(self.status())));
                    continue;
                }
                Ok(Request::PutState { office, token, bytes, offset, data }) => {
                    client.state.truncate(offset as usize);
                    client.state.extend_from_slice(&data.0);
                    if client.state.len() as u64 == bytes && !self.store(&office, token, &client.state, table) {
                        let (code, message) = ("stale-token".to_string(), String::new());
                        client.send(&Reply::Error(RequestError { code, message }));
                        continue;
                    }
                }
                Ok(Request::GetState { office, .. }) => {
                    client.send(&Reply::State { state: self.state(&office) });
                    continue;
                }
                _ => client.gone = true,
            }
            client.send(&Reply::Done);
        }
        if client.gone {
            self.release(client, table);
        }
    }

    /// Stores a state beside the table: a file with the token and the bytes. Returns false if the token is not current.
    fn store(&self, office: &str, token: u64, state: &[u8], table: &Table) -> bool {
        let is_held = table.offices.get(office).is_some_and(|grant| grant.token == token && grant.until > now());
        let bytes = [&token.to_le_bytes(), state].concat();
        is_held && fs::write(self.folder.join(format!("state-{office}")), bytes).is_ok()
    }

    fn state(&self, office: &str) -> Option<StatePart> {
        let bytes = fs::read(self.folder.join(format!("state-{office}"))).ok()?;
        let (token, data) = bytes.split_first_chunk::<8>()?;
        Some(StatePart {
            revision: 0,
            holder: String::new(),
            token: u64::from_le_bytes(*token),
            unix_ms: 0,
            bytes: data.len() as u64,
            crc32: 0,
            offset: 0,
            data: Base64(data.to_vec().into()),
        })
    }

    /// Grants, renews and revokes the office of a client.
    fn update_grant(&self, client: &mut Client, table: &mut Table) {
        let Some(office) = client.office.clone().filter(|_| !client.gone) else { return };
        let now = now();
        let grant = table.offices.entry(office.clone()).or_default();
        grant.candidates.insert(self.name.clone(), now);
        let alive = |seen: u64| seen + DOWN > now;
        let best = table
            .nodes
            .iter()
            .filter(|(name, (seen, _))| alive(*seen) && grant.candidates.get(*name).is_some_and(|said| alive(*said)));
        let is_best = best.max_by_key(|(_, (_, priority))| *priority).is_some_and(|(name, _)| *name == self.name);
        // With the rule disabled, the node takes itself for the best and does not wait for the end of a lease.
        let is_best = is_best || self.broken;
        let own = grant.holder == self.name && grant.process == std::process::id();
        let stays = is_best || office == "vault";
        match client.held {
            Some((token, _)) if !own || grant.token != token || grant.until <= now => {
                client.held = None;
                client.send(&Reply::Lost { office, token, reason: ChangeReason::Expired });
            }
            Some((token, asked)) if stays && !asked => {
                grant.until = now + LEASE;
                let held = self.lease(&office, token, grant.until);
                client.send(&Reply::Renewed { from: held.deadline - held.lease });
            }
            Some((token, false)) => {
                client.held = Some((token, true));
                client.send(&Reply::Stop { office, token, reason: ChangeReason::Preempted });
            }
            Some(_) => {}
            None => {
                let early = if self.broken { 2 * LEASE } else { 0 };
                if is_best && grant.until <= now + early && !(own && grant.until > now) {
                    (grant.holder, grant.process) = (self.name.clone(), std::process::id());
                    (grant.token, grant.until) = (grant.token + 1, now + LEASE);
                    client.held = Some((grant.token, false));
                    client.send(&Reply::Held(self.lease(&office, grant.token, grant.until)));
                }
            }
        }
    }

    fn release(&self, client: &mut Client, table: &mut Table) {
        if let (Some(office), Some((token, _))) = (&client.office, client.held.take())
            && let Some(grant) = table.offices.get_mut(office)
            && grant.token == token
        {
            grant.until = 0;
        }
    }

    fn lease(&self, office: &str, token: u64, until: u64) -> Lease {
        let real = i128::from(until - MARGIN);
        let deadline = Timestamp((real + real * i128::from(self.ppm) / 1_000_000) as u64);
        let (lease, stop) = (Duration::from_nanos(LEASE), Duration::ZERO);
        Lease { office: office.to_string(), token, deadline, lease, stop }
    }

    fn status(&self) -> Status {
        Status {
            cluster: "toy".to_string(),
            node: self.name.clone(),
            algorithm: "none".to_string(),
            arbiter: "raft".to_string(),
            arbiter_leader: None,
            term: 1,
            current: true,
            paused: false,
            missing_founders: Vec::new(),
            members: members(&self.folder),
            offices: Vec::new(),
            counters: Vec::new(),
            certificate: None,
            host: Vec::new(),
            realtime: None,
            next_office: None,
            disk: None,
        }
    }
}

fn status(office: &str, table: &Table) -> OfficeStatus {
    let grant = table.offices.get(office);
    OfficeStatus {
        office: office.to_string(),
        mode: Mode::Exclusive,
        holder: grant.filter(|grant| grant.until > now()).map(|grant| grant.holder.clone()),
        address: None,
        token: grant.map(|grant| grant.token).unwrap_or_default(),
        since_unix_ms: 0,
        reason: ChangeReason::Vacant,
        current: true,
    }
}

impl Client {
    fn send(&mut self, reply: &Reply) {
        let mut line = serde_json::to_vec(reply).unwrap_or_default();
        line.push(b'\n');
        self.gone |= self.stream.write_all(&line).is_err();
    }
}
