//! A keeper: stores states of offices through one node, with the tokens of their holders, and reads them back.
//!
//! A state is made from a number that is used once, so that whoever reads it knows which one it is, and whether it is
//! one state as a whole.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use hustings_cluster::api::{Base64, MAX_PUT_PART_BYTES, Reply, Request};

use crate::clock;
use crate::history::{Event, StoreOutcome};
use crate::reader::ask;
use crate::rng::Rng;
use crate::shared::Shared;
use crate::socket::Socket;

/// How often a keeper stores or reads a state.
const INTERVAL: Duration = Duration::from_millis(250);
/// How long a keeper waits for an answer: its node may be frozen.
const TIMEOUT: Duration = Duration::from_secs(2);
/// How many states it stores at most before it reads one: the checker counts on a read soon.
const MAX_STORED: u32 = 2;
/// The size of states. One of the largest takes a dozen entries of the log, and a reply has room for it.
const BYTES: (u64, u64) = (16, 200 << 10);

/// Starts a keeper.
pub(crate) fn start(
    shared: &Arc<Shared>,
    node: String,
    socket: PathBuf,
    offices: Vec<String>,
    rng: Rng,
) -> io::Result<JoinHandle<()>> {
    let shared = Arc::clone(shared);
    std::thread::Builder::new().name(format!("{node}.keeper")).spawn(move || {
        let mut keeper = Keeper { shared: &shared, node, offices, rng, stored: 0 };
        while !shared.is_over() {
            if let Ok(mut socket) = Socket::connect(&socket) {
                // Whatever the error, the keeper connects again.
                let _ = keeper.work(&mut socket);
            }
            shared.wait(INTERVAL);
        }
    })
}

struct Keeper<'a> {
    shared: &'a Shared,
    node: String,
    offices: Vec<String>,
    rng: Rng,
    /// How many states it has stored since it last read one.
    stored: u32,
}

impl Keeper<'_> {
    fn work(&mut self, socket: &mut Socket) -> io::Result<()> {
        while !self.shared.is_over() {
            let office = self.offices[self.rng.below(self.offices.len() as u64) as usize].clone();
            let stores = self.rng.percent(40) && self.stored < MAX_STORED;
            match self.shared.recorder.last_token(&office).filter(|_| stores) {
                Some(token) => {
                    self.stored += 1;
                    self.store(socket, office, token)?;
                }
                None => {
                    self.stored = 0;
                    self.read(socket, office)?;
                }
            }
            self.shared.wait(INTERVAL);
        }
        Ok(())
    }

    /// Stores the next state. What becomes of it is recorded even if there is no answer.
    fn store(&mut self, socket: &mut Socket, office: String, token: u64) -> io::Result<()> {
        let number = self.shared.next_state();
        let data = state(number, self.rng.log_uniform(BYTES.0, BYTES.1) as usize);
        let began = clock::now();
        let stored = put(socket, &office, token, &data);
        let outcome = match &stored {
            Ok(Reply::Done) => StoreOutcome::Done,
            Ok(Reply::Error(error)) if error.code == "stale-token" => StoreOutcome::Refused,
            _ => StoreOutcome::Unknown,
        };
        let (node, at) = (self.node.clone(), clock::now());
        self.shared.recorder.record(&Event::Stored { node, office, token, number, outcome, began, at });
        stored.map(drop)
    }

    fn read(&mut self, socket: &mut Socket, office: String) -> io::Result<()> {
        let began = clock::now();
        let request = Request::GetState { office: office.clone(), offset: 0 };
        // What no majority confirms is an error, and proves nothing.
        if let Reply::State { state } = ask(socket, &request, TIMEOUT)? {
            let number =
                state.as_ref().map(|part| number(&part.data.0).filter(|_| part.data.0.len() as u64 == part.bytes));
            let token = state.map_or(0, |part| part.token);
            let (node, at) = (self.node.clone(), clock::now());
            let is_damaged = number == Some(None);
            let number = number.flatten();
            self.shared.recorder.record(&Event::StateRead { node, office, token, number, is_damaged, began, at });
        }
        Ok(())
    }
}

/// Sends a state in parts. Returns the last answer.
fn put(socket: &mut Socket, office: &str, token: u64, data: &[u8]) -> io::Result<Reply> {
    let mut reply = Reply::Done;
    for (index, part) in data.chunks(MAX_PUT_PART_BYTES).enumerate() {
        let request = Request::PutState {
            office: office.to_string(),
            token,
            bytes: data.len() as u64,
            offset: (index * MAX_PUT_PART_BYTES) as u64,
            data: Base64(part.to_vec().into()),
        };
        reply = ask(socket, &request, TIMEOUT)?;
        if reply != Reply::Done {
            break;
        }
    }
    Ok(reply)
}

/// The state with this number: the number, its length, and bytes that follow from them.
fn state(number: u64, length: usize) -> Vec<u8> {
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.extend((length as u64).to_le_bytes());
    bytes.extend((bytes.len()..length).map(|index| filler(number, index)));
    bytes
}

fn filler(number: u64, index: usize) -> u8 {
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (index % 8 * 8)) as u8 ^ (index >> 3) as u8
}

/// The number of a state; `None` if it is not one state as a whole.
fn number(bytes: &[u8]) -> Option<u64> {
    let number = u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?);
    let length = u64::from_le_bytes(bytes.get(8..16)?.try_into().ok()?);
    let is_whole = length == bytes.len() as u64
        && bytes.iter().enumerate().skip(16).all(|(index, byte)| *byte == filler(number, index));
    is_whole.then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_known_by_its_bytes_and_every_damage_shows() {
        for length in [16, 17, 1000] {
            let whole = state(7, length);
            assert_eq!((whole.len(), number(&whole)), (length, Some(7)));
            assert_eq!(number(&whole[..length - 1]), None);
            for index in [9, length - 1] {
                let mut damaged = whole.clone();
                damaged[index] ^= 1;
                assert_eq!(number(&damaged), None, "{length}, {index}");
            }
        }
        let mixed = [&state(7, 1000)[..500], &state(8, 1000)[500..]].concat();
        assert_eq!(number(&mixed), None);
    }
}
