//! The vocabulary between nodes.

use hustings_protocol::Id;
use serde::{Deserialize, Serialize};

use super::RaftMessage;
use crate::api::{Cause, Refusal, Request};
use crate::config::office_name;

/// More than a cluster has members, or a member stands for offices.
pub(crate) const MAX_LISTED: usize = 20_000;

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
    Yield {
        /// The office.
        office: String,
        /// The token that the holder has.
        token: u64,
        /// Why.
        why: Cause,
    },
    /// From the arbiter's leader to a holder: do not stand for this office for a while.
    Rest {
        /// The office.
        office: String,
    },
    /// From a holder to the arbiter's leader: its work has stopped.
    Yielded {
        /// The office.
        office: String,
        /// The token that it had.
        token: u64,
        /// Why it stopped, if nobody asked it to.
        why: Cause,
    },
    /// From the arbiter's leader: are you ready to take this office over?
    Prepare {
        /// The office.
        office: String,
    },
    /// The answer.
    Prepared {
        /// The office.
        office: String,
        /// Whether the sender stands for it and is well.
        ready: bool,
    },
    /// A program's request that only the arbiter's leader can see to.
    Ask(Ask),
    /// The answer.
    Answer {
        /// The number of the question.
        number: u64,
        /// What came of it.
        result: Result<(), Refusal>,
    },
    /// To the arbiter's leader: the sender's connection to this member has ended, too.
    Ended(Id),
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
    Read {
        /// The sender's count.
        number: u64,
    },
    /// From the arbiter's leader to the voters: who is still with it in this term?
    Poll {
        /// The term.
        term: u64,
        /// The leader's count.
        poll: u64,
    },
    /// The sender is.
    With {
        /// The term.
        term: u64,
        /// The leader's count.
        poll: u64,
    },
    /// From the arbiter's leader: so far, at some moment after the question.
    Sure {
        /// The number of the question.
        number: u64,
        /// The last entry that was committed.
        committed: u64,
    },
    /// From the arbiter's leader: the receiver's disk is not the one that its votes were kept on.
    Unknown,
    /// The sender leaves in good order: what it held it has given up.
    Farewell,
}

/// "I am here."
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Heartbeat {
    /// The sender's count of its heartbeats to the receiver.
    pub number: u64,
    /// From the arbiter's leader.
    pub lead: Option<Lead>,
    /// To the arbiter's leader.
    pub follow: Option<Follow>,
}

/// What the arbiter's leader adds to a heartbeat. It asks for an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Lead {
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
pub struct Follow {
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
    pub store: u64,
    /// 0 to 100.
    pub health: u8,
    /// How long its configuration lets a lease run until it is over for certain, in microseconds.
    pub waits_us: u64,
    /// The offices that it stands for.
    pub offices: Vec<String>,
}

/// An office that somebody was elected for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Claim {
    /// The office.
    pub office: String,
    /// What kind the claimant's configuration takes it for.
    pub wish: Wish,
}

/// What a claimant's configuration says of an office.
pub type Wish = crate::config::Policy;

/// A program's request, passed on.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Ask {
    /// The asker's count.
    pub number: u64,
    /// The request, as JSON: its form is that of the socket.
    pub request: String,
}

impl Ask {
    /// A request, passed on under this number.
    pub fn new(number: u64, request: &Request) -> Self {
        Ask { number, request: serde_json::to_string(request).expect("a request is plain data") }
    }

    /// The request.
    pub fn request(&self) -> Result<Request, Garbled> {
        serde_json::from_str(&self.request).map_err(|_| Garbled)
    }
}

/// Bytes that are no message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("these bytes are no message of this version")]
pub struct Garbled;

impl Message {
    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("messages are plain data")
    }

    /// From bytes, all of them.
    pub fn decode(bytes: &[u8]) -> Result<Message, Garbled> {
        let (message, rest) = postcard::take_from_bytes::<Message>(bytes).map_err(|_| Garbled)?;
        if rest.is_empty() && message.is_sound() { Ok(message) } else { Err(Garbled) }
    }

    /// Whether no list is too long, and every office has a name that an office may have: what peers say of offices gets
    /// into the table, which must fit a frame.
    fn is_sound(&self) -> bool {
        let is_office = |name: &str| office_name(name).is_ok();
        match self {
            Message::Candidacy(candidacy) => {
                candidacy.offices.len() <= MAX_LISTED && candidacy.offices.iter().all(|name| is_office(name))
            }
            Message::View(members) => members.len() <= MAX_LISTED,
            Message::Claims(claims) => {
                claims.len() <= MAX_LISTED && claims.iter().all(|claim| is_office(&claim.office))
            }
            Message::Yield { office, .. }
            | Message::Rest { office }
            | Message::Yielded { office, .. }
            | Message::Prepare { office }
            | Message::Prepared { office, .. } => is_office(office),
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
    fn what_is_said_is_what_is_heard() {
        let heartbeat = Heartbeat { number: 7, lead: None, follow: Some(Follow { term: 3, round: 9, applied: 5 }) };
        let ask = Ask::new(5, &Request::Resign { office: "leader".to_string() });
        assert_eq!(ask.request(), Ok(Request::Resign { office: "leader".to_string() }));
        for message in
            [Message::Heartbeat(heartbeat), Message::View(vec![Id(1), Id(3)]), Message::Ask(ask), Message::Farewell]
        {
            let bytes = message.encode();
            assert_eq!(Message::decode(&bytes), Ok(message));
        }
        assert!(Message::Heartbeat(heartbeat).encode().len() < 10, "a heartbeat is small");
    }

    #[test]
    fn more_than_a_message_is_none() {
        let mut bytes = Message::Farewell.encode();
        bytes.push(0);
        assert_eq!(Message::decode(&bytes), Err(Garbled));
        let long = Message::View(vec![Id(1); MAX_LISTED + 1]).encode();
        assert_eq!(Message::decode(&long), Err(Garbled));
    }

    #[test]
    fn what_is_no_name_of_an_office_is_not_heard() {
        let with = |name: &str| {
            let office = name.to_string();
            let (offices, token, why) = (vec!["leader".to_string(), office.clone()], 7, Cause::Resigned);
            let wish = Wish { mode: Default::default(), preempt: Default::default() };
            vec![
                Message::Candidacy(Candidacy { incarnation: 1, store: 1, health: 100, waits_us: 0, offices }),
                Message::Claims(vec![Claim { office: office.clone(), wish }]),
                Message::Yield { office: office.clone(), token, why },
                Message::Rest { office: office.clone() },
                Message::Yielded { office: office.clone(), token, why },
                Message::Prepare { office: office.clone() },
                Message::Prepared { office, ready: true },
            ]
        };
        for message in with(&"x".repeat(63)) {
            assert_eq!(Message::decode(&message.encode()), Ok(message));
        }
        for name in ["", "A", "a b", "../a", &"x".repeat(64)] {
            for message in with(name) {
                assert_eq!(Message::decode(&message.encode()), Err(Garbled), "{message:?}");
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
