//! The states that holders of offices store, and how a client reads and stores them, over a connection without a
//! campaign or watch.

use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{Base64, Client, ClientError, MAX_PUT_PART_BYTES, Reply, Request, RequestError};

/// How often a state that changes while it is read is read again.
const MAX_ATTEMPTS: usize = 20;

/// The state that a holder of an office has stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredState {
    /// Grows with every state that is stored.
    pub revision: u64,
    /// The name of the member that held the office.
    pub holder: String,
    /// The token that it held.
    pub token: u64,
    /// When it was stored, in milliseconds since 1970 by the arbiter's wall clock. For display only.
    pub unix_ms: u64,
    /// The state itself.
    pub data: Vec<u8>,
}

/// What is known about the state that a holder of an office has stored.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StateInfo {
    /// The name of the office.
    pub office: String,
    /// The size of the state.
    pub bytes: u64,
    /// The name of the member that held the office.
    pub holder: String,
    /// The token that it held.
    pub token: u64,
    /// Grows with every state that is stored.
    pub revision: u64,
    /// When it was stored, in milliseconds since 1970 by the arbiter's wall clock. For display only.
    pub unix_ms: u64,
}

/// A part of the state that a holder of an office has stored.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StatePart {
    /// Grows with every state that is stored. If it differs between two parts, they belong to different states.
    pub revision: u64,
    /// The name of the member that held the office.
    pub holder: String,
    /// The token that it held.
    pub token: u64,
    /// When it was stored, in milliseconds since 1970 by the arbiter's wall clock. For display only.
    pub unix_ms: u64,
    /// The size of the whole state.
    pub bytes: u64,
    /// The CRC-32 of the whole state.
    pub crc32: u32,
    /// Where this part begins.
    pub offset: u64,
    /// The bytes of this part.
    pub data: Base64,
}

impl Client {
    /// Reads the state of an office: what its holders had stored before this call began, or later. `None` if there is
    /// none. The timeout is that of each reply.
    pub fn get_state(&mut self, office: &str, timeout: Duration) -> Result<Option<StoredState>, ClientError> {
        for _ in 0..MAX_ATTEMPTS {
            let Some(first) = self.state_part(office, 0, timeout)? else { return Ok(None) };
            let StatePart { revision, holder, token, unix_ms, bytes, data, .. } = first;
            let mut state = StoredState { revision, holder, token, unix_ms, data: data.0.to_vec() };
            while (state.data.len() as u64) < bytes {
                match self.state_part(office, state.data.len() as u64, timeout)? {
                    Some(part) if part.revision == revision && !part.data.0.is_empty() => {
                        state.data.extend_from_slice(&part.data.0);
                    }
                    _ => break,
                }
            }
            if state.data.len() as u64 == bytes {
                return Ok(Some(state));
            }
        }
        let message = format!("the state of `{office}` changes faster than it can be read");
        Err(ClientError::Rejected(RequestError { code: "busy".to_string(), message }))
    }

    /// Stores a state for the next holders of an office. When this returns, a majority has stored it. The timeout is
    /// that of each reply.
    pub fn put_state(&mut self, office: &str, token: u64, data: &[u8], timeout: Duration) -> Result<(), ClientError> {
        let bytes = data.len() as u64;
        let mut offset = 0;
        loop {
            let end = data.len().min(offset + MAX_PUT_PART_BYTES);
            let part = Base64(Bytes::copy_from_slice(&data[offset..end]));
            let office = office.to_string();
            let request = Request::PutState { office, token, bytes, offset: offset as u64, data: part };
            match self.call(&request, Some(timeout))? {
                Reply::Done if end == data.len() => return Ok(()),
                Reply::Done => offset = end,
                Reply::Error(error) => return Err(ClientError::Rejected(error)),
                _ => return Err(ClientError::UnexpectedReply),
            }
        }
    }

    /// Deletes the state of an office: as its holder with this token, or without one as an operator. When this returns,
    /// a majority has recorded it.
    pub fn delete_state(&mut self, office: &str, token: Option<u64>, timeout: Duration) -> Result<(), ClientError> {
        match self.call(&Request::DeleteState { office: office.to_string(), token }, Some(timeout))? {
            Reply::Done => Ok(()),
            Reply::Error(error) => Err(ClientError::Rejected(error)),
            _ => Err(ClientError::UnexpectedReply),
        }
    }

    /// All states that holders of offices have stored, by office. The timeout is that of each reply.
    pub fn list_states(&mut self, timeout: Duration) -> Result<Vec<StateInfo>, ClientError> {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            match self.call(&Request::States { after }, Some(timeout))? {
                Reply::States { states, next } => {
                    all.extend(states);
                    after = next;
                }
                Reply::Error(error) => return Err(ClientError::Rejected(error)),
                _ => return Err(ClientError::UnexpectedReply),
            }
            if after.is_none() {
                return Ok(all);
            }
        }
    }

    fn state_part(&mut self, office: &str, offset: u64, timeout: Duration) -> Result<Option<StatePart>, ClientError> {
        let request = Request::GetState { office: office.to_string(), offset };
        match self.call(&request, Some(timeout))? {
            Reply::State { state } => Ok(state),
            Reply::Error(error) => Err(ClientError::Rejected(error)),
            _ => Err(ClientError::UnexpectedReply),
        }
    }
}
