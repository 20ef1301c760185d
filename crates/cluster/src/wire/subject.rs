//! What a message is about: for traces.

use super::{Candidacy, Claims, Message};
use crate::core::table::OfficeName;

/// What a message is about. A number is 0 if the message has none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Subject {
    pub(crate) office: Option<OfficeName>,
    pub(crate) term: u64,
    pub(crate) token: u64,
}

impl Subject {
    fn of_term(term: u64) -> Self {
        Subject { term, ..Subject::default() }
    }

    fn of_office(office: &OfficeName, token: u64) -> Self {
        Subject { office: Some(office.clone()), token, ..Subject::default() }
    }

    /// The office of a list that has only one.
    fn of_only<'a>(mut offices: impl Iterator<Item = &'a OfficeName>) -> Self {
        let first = offices.next().filter(|_| offices.next().is_none());
        Subject { office: first.cloned(), ..Subject::default() }
    }
}

impl Message {
    /// What the message is about. This copies no text.
    pub(crate) fn subject(&self) -> Subject {
        match self {
            Message::Heartbeat(heartbeat) => {
                let leader = heartbeat.leader.map(|leader| leader.term);
                let follower = || heartbeat.follower.map(|follower| follower.term);
                Subject::of_term(leader.or_else(follower).unwrap_or(0))
            }
            Message::Raft(message) => Subject::of_term(message.term()),
            Message::DiskMark(reached) => Subject::of_term(reached.term),
            Message::PollRequest { term, .. } | Message::PollResponse { term, .. } => Subject::of_term(*term),
            Message::Candidacy(Candidacy { added, removed, .. }) => Subject::of_only(added.iter().chain(removed)),
            Message::Claims(Claims { added, removed, .. }) => {
                Subject::of_only(added.iter().map(|claim| &claim.office).chain(removed))
            }
            Message::StepDown { office, token, .. } | Message::SteppedDown { office, token, .. } => {
                Subject::of_office(office, *token)
            }
            Message::StatePiece(piece) => Subject::of_office(&piece.office, piece.token),
            Message::PauseCampaign { office }
            | Message::ReadinessRequest { office }
            | Message::ReadinessResponse { office, .. } => Subject::of_office(office, 0),
            _ => Subject::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::ChangeReason;
    use crate::wire::{Heartbeat, LeaderHeartbeat};

    #[test]
    fn a_message_says_what_it_is_about() {
        let leader = Some(LeaderHeartbeat { term: 7, commit: 1, round: 1, confirmed: 1 });
        let heartbeat = Message::Heartbeat(Heartbeat { number: 0, leader, follower: None });
        assert_eq!((heartbeat.kind().name(), heartbeat.subject()), ("heartbeat", Subject::of_term(7)));
        let office = OfficeName::from("billing");
        let stop = Message::StepDown { office: office.clone(), token: 9, cause: ChangeReason::Preempted };
        assert_eq!((stop.kind().name(), stop.subject()), ("step-down", Subject::of_office(&office, 9)));
        let claims = |removed| Message::Claims(Claims { replaces_all: false, added: vec![], removed }).subject().office;
        assert_eq!(claims(vec![office.clone()]), Some(office.clone()));
        assert_eq!(claims(vec![office, "cron".into()]), None, "it is about several");
    }
}
