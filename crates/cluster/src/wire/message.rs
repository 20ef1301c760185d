//! The vocabulary between nodes.

use hustings_protocol::Id;
use serde::{Deserialize, Serialize};

use super::RaftMessage;
use crate::api::{Cause, Refusal, Request};
use crate::config::{Policy, office_name};

/// More than a cluster has members, or a member stands for offices.
pub(crate) const MAX_LIST_LEN: usize = 20_000;

/// What one node says to another.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Message {
    /// "I am here", and what rides on it.
    Heartbeat(Heartbeat),
    /// What the sender is and wants.
    Candidacy(Candidacy),
    /// From the arbiter's leader: who is up.
    View(Vec<Id>),
    /// Of the raft library.
    Raft(RaftMessage),
    /// Of an election among the candidates with this key.
    Election {
        /// See [`crate::election::key`].
        key: u64,
        /// An envelope of the algorithm in runs.
        bytes: Vec<u8>,
    },
    /// To the arbiter's leader: all offices that the sender was elected for, and does not hold.
    Claims(Vec<Claim>),
    /// From the arbiter's leader to a holder: stop, somebody else is to have it.
    StepDown {
        /// The office.
        office: String,
        /// The token that the holder has.
        token: u64,
        /// Why.
        cause: Cause,
    },
    /// From the arbiter's leader to a holder: do not stand for this office for a while.
    PauseCampaign {
        /// The office.
        office: String,
    },
    /// From a holder to the arbiter's leader: its work has stopped.
    SteppedDown {
        /// The office.
        office: String,
        /// The token that it had.
        token: u64,
        /// Why it stopped, if nobody asked it to.
        cause: Cause,
    },
    /// From the arbiter's leader: are you ready to take this office over?
    ReadinessRequest {
        /// The office.
        office: String,
    },
    /// The answer.
    ReadinessResponse {
        /// The office.
        office: String,
        /// Whether the sender stands for it and is well.
        is_ready: bool,
    },
    /// A program's request that only the arbiter's leader can see to.
    ForwardedRequest(ForwardedRequest),
    /// The answer.
    ForwardedResponse {
        /// The number of the question.
        number: u64,
        /// What came of it.
        result: Result<(), Refusal>,
    },
    /// To the arbiter's leader: the sender's connection to this member has ended, too.
    PeerDown(Id),
    /// Passed on for one who has no connection to the receiver.
    Relay {
        /// Who says it.
        from: Id,
        /// In which of its incarnations.
        incarnation: u64,
        /// To whom.
        to: Id,
        /// A message.
        bytes: Vec<u8>,
    },
    /// To the arbiter's leader: how far has the log come?
    ReadIndexRequest {
        /// The sender's count.
        number: u64,
    },
    /// From the arbiter's leader to the voters: who is still with it in this term?
    PollRequest {
        /// The term.
        term: u64,
        /// The leader's count.
        poll: u64,
    },
    /// The sender is.
    PollResponse {
        /// The term.
        term: u64,
        /// The leader's count.
        poll: u64,
    },
    /// From the arbiter's leader: so far, at some moment after the question.
    ReadIndexResponse {
        /// The number of the question.
        number: u64,
        /// The last entry that was committed.
        committed: u64,
    },
    /// From the arbiter's leader: the receiver's disk is not the one that its votes were kept on.
    UnknownDisk,
    /// The sender leaves in good order: what it held it has given up.
    Leave,
}

/// "I am here."
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Heartbeat {
    /// The sender's count of its heartbeats to the receiver.
    pub number: u64,
    /// From the arbiter's leader.
    pub leader: Option<LeaderHeartbeat>,
    /// To the arbiter's leader.
    pub follower: Option<FollowerHeartbeat>,
}

/// What the arbiter's leader adds to a heartbeat. It asks for an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LeaderHeartbeat {
    /// Its term.
    pub term: u64,
    /// What the receiver may take for committed.
    pub commit: u64,
    /// The round of heartbeats that this one belongs to.
    pub round: u64,
    /// The greatest number of the receiver's heartbeats after which a majority was still with this leader.
    pub confirmed: u64,
}

/// What a follower adds to a heartbeat.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FollowerHeartbeat {
    /// The leader's term.
    pub term: u64,
    /// The round that this answers.
    pub round: u64,
    /// How much of the log the sender has acted on.
    pub applied: u64,
}

/// What a node is and wants.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Candidacy {
    /// Which start of the node this is.
    pub incarnation: u64,
    /// Which disk it has.
    pub store_id: u64,
    /// 0 to 100.
    pub health: u8,
    /// How long its configuration lets a lease run until it is over for certain, in microseconds.
    pub lease_at_arbiter_us: u64,
    /// The offices that it stands for.
    pub offices: Vec<String>,
}

/// An office that somebody was elected for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Claim {
    /// The office.
    pub office: String,
    /// What kind the claimant's configuration takes it for.
    pub policy: Policy,
}

/// A program's request, passed on.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ForwardedRequest {
    /// The asker's count.
    pub number: u64,
    /// The request, as JSON: its form is that of the socket.
    pub request: String,
}

impl ForwardedRequest {
    /// A request, passed on under this number.
    pub fn new(number: u64, request: &Request) -> Self {
        ForwardedRequest { number, request: serde_json::to_string(request).expect("a request is plain data") }
    }

    /// The request.
    pub fn parse(&self) -> Result<Request, DecodeError> {
        serde_json::from_str(&self.request).map_err(|_| DecodeError)
    }
}

/// Bytes that are no message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("these bytes are no message of this version")]
pub struct DecodeError;

impl Message {
    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("messages are plain data")
    }

    /// From bytes, all of them.
    pub fn decode(bytes: &[u8]) -> Result<Message, DecodeError> {
        let (message, rest) = postcard::take_from_bytes::<Message>(bytes).map_err(|_| DecodeError)?;
        if rest.is_empty() && message.is_valid() { Ok(message) } else { Err(DecodeError) }
    }

    /// Whether no list is too long, and every office has a name that an office may have: what peers say of offices gets
    /// into the table, which must fit a frame.
    fn is_valid(&self) -> bool {
        let is_office = |name: &str| office_name(name).is_ok();
        match self {
            Message::Candidacy(candidacy) => {
                candidacy.offices.len() <= MAX_LIST_LEN && candidacy.offices.iter().all(|name| is_office(name))
            }
            Message::View(members) => members.len() <= MAX_LIST_LEN,
            Message::Claims(claims) => {
                claims.len() <= MAX_LIST_LEN && claims.iter().all(|claim| is_office(&claim.office))
            }
            Message::StepDown { office, .. }
            | Message::PauseCampaign { office }
            | Message::SteppedDown { office, .. }
            | Message::ReadinessRequest { office }
            | Message::ReadinessResponse { office, .. } => is_office(office),
            // What an operator asks for is looked up in the table; what is relayed is read where it arrives.
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_said_is_what_is_record_contact() {
        let heartbeat =
            Heartbeat { number: 7, leader: None, follower: Some(FollowerHeartbeat { term: 3, round: 9, applied: 5 }) };
        let forwarded = ForwardedRequest::new(5, &Request::Resign { office: "leader".to_string() });
        assert_eq!(forwarded.parse(), Ok(Request::Resign { office: "leader".to_string() }));
        for message in [
            Message::Heartbeat(heartbeat),
            Message::View(vec![Id(1), Id(3)]),
            Message::ForwardedRequest(forwarded),
            Message::Leave,
        ] {
            let bytes = message.encode();
            assert_eq!(Message::decode(&bytes), Ok(message));
        }
        assert!(Message::Heartbeat(heartbeat).encode().len() < 10, "a heartbeat is small");
    }

    #[test]
    fn more_than_a_message_is_none() {
        let mut bytes = Message::Leave.encode();
        bytes.push(0);
        assert_eq!(Message::decode(&bytes), Err(DecodeError));
        let long = Message::View(vec![Id(1); MAX_LIST_LEN + 1]).encode();
        assert_eq!(Message::decode(&long), Err(DecodeError));
    }

    #[test]
    fn what_is_no_name_of_an_office_is_not_record_contact() {
        let with = |name: &str| {
            let office = name.to_string();
            let (offices, token, cause) = (vec!["leader".to_string(), office.clone()], 7, Cause::Resigned);
            let policy = Policy { mode: Default::default(), preempt: Default::default() };
            vec![
                Message::Candidacy(Candidacy {
                    incarnation: 1,
                    store_id: 1,
                    health: 100,
                    lease_at_arbiter_us: 0,
                    offices,
                }),
                Message::Claims(vec![Claim { office: office.clone(), policy }]),
                Message::StepDown { office: office.clone(), token, cause },
                Message::PauseCampaign { office: office.clone() },
                Message::SteppedDown { office: office.clone(), token, cause },
                Message::ReadinessRequest { office: office.clone() },
                Message::ReadinessResponse { office, is_ready: true },
            ]
        };
        for message in with(&"x".repeat(63)) {
            assert_eq!(Message::decode(&message.encode()), Ok(message));
        }
        for name in ["", "A", "a b", "../a", &"x".repeat(64)] {
            for message in with(name) {
                assert_eq!(Message::decode(&message.encode()), Err(DecodeError), "{message:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(message) = Message::decode(&bytes) {
                prop_assert_eq!(Message::decode(&message.encode()), Ok(message));
            }
        }
    }
}
