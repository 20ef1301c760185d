//! One node's part in an election, whatever the algorithm.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use hustings_algorithms::runs::{Envelope, Runs};
use hustings_protocol::{Change, Effect, Event, Id, NodeInfo, Peers, Protocol, Recorder, Role, SplitMix64, Timer};

use super::erased::{DynProtocol, Encoded, encode};
use super::{Action, MessageError, SharedState, TimerToken};
use crate::member::MemberRank;

/// Where a participant puts its actions, and where it gets random numbers.
pub(super) struct ActionSink<'a> {
    /// The serial number of the election.
    pub(super) election: u64,
    pub(super) rng: &'a mut SplitMix64,
    pub(super) actions: &'a mut Vec<Action>,
}

/// How many messages a node may send to itself in response to one event. Algorithms need only a few.
const MAX_SELF_MESSAGES: u32 = 1 << 16;

/// One node's part in an election.
#[derive(Clone)]
pub(super) struct Participant {
    /// The rules. They follow from the configured algorithm and the candidates.
    runs: Arc<Runs<DynProtocol>>,
    state: <Runs<DynProtocol> as Protocol>::State,
    info: NodeInfo<MemberRank>,
    ids: Vec<Id>,
    role: Role,
}

/// Participants of elections by one algorithm among the same candidates. Their rules are the same.
impl PartialEq for Participant {
    fn eq(&self, other: &Self) -> bool {
        (&self.state, &self.info, &self.ids, self.role) == (&other.state, &other.info, &other.ids, other.role)
    }
}

impl Eq for Participant {}

impl Hash for Participant {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.state, &self.info, &self.ids, self.role).hash(state);
    }
}

impl Participant {
    /// The participant for the candidate at `index`.
    pub(super) fn new(runs: Runs<DynProtocol>, candidates: &[MemberRank], index: usize, shared: &SharedState) -> Self {
        let rank = candidates[index];
        let state = runs.resume(shared.counter(), shared.incarnation);
        let info = NodeInfo { rank, index: index as u32, size: candidates.len() as u32, peers: Peers::Unknown(0) };
        let ids = candidates.iter().map(|one| one.id).collect();
        Participant { runs: Arc::new(runs), state, info, ids, role: Role::Undecided }
    }

    fn handle(&mut self, event: Event<Envelope<Encoded>>, sink: &mut ActionSink<'_>) {
        let own = self.info.rank.id;
        let mut events = VecDeque::from([event]);
        let mut effects = Vec::new();
        for _ in 0..MAX_SELF_MESSAGES {
            let Some(event) = events.pop_front() else { return };
            let mut cx = Recorder::new(&self.info, &mut *sink.rng, &mut effects);
            self.runs.handle(&mut self.state, event, &mut cx);
            for effect in effects.drain(..) {
                self.role = self.role.after(&effect);
                match effect {
                    Effect::SendDirect(to, message) if to == own => {
                        events.push_back(Event::Direct { from: own, message });
                    }
                    Effect::SendDirect(to, message) => sink.actions.push(Action::Send { to, bytes: encode(&message) }),
                    Effect::SetTimer(ticks, timer) => {
                        sink.actions
                            .push(Action::SetTimer { ticks, token: TimerToken { election: sink.election, timer } });
                    }
                    // `Runs` sends by id only. Roles were handled above, and facts are for observers.
                    _ => {}
                }
            }
        }
    }

    /// Starts the election. All candidates are assumed up.
    pub(super) fn start(&mut self, sink: &mut ActionSink<'_>) {
        self.handle(Event::Change(Change::Reachable(self.ids.as_slice().into())), sink);
    }

    /// A message arrived.
    pub(super) fn handle_message(
        &mut self,
        from: Id,
        bytes: &[u8],
        sink: &mut ActionSink<'_>,
    ) -> Result<(), MessageError> {
        let message = self.runs.inner().decode(bytes)?;
        self.handle(Event::Direct { from, message }, sink);
        Ok(())
    }

    /// A timer is due.
    pub(super) fn handle_timer(&mut self, timer: Timer, sink: &mut ActionSink<'_>) {
        self.handle(Event::Timer(timer), sink);
    }

    /// The leader that the node names. A faulty peer can make it name somebody who is not a candidate; such a name is
    /// dropped.
    pub(super) fn leader(&self) -> Option<Id> {
        self.role.leader(self.info.rank).filter(|leader| self.ids.binary_search(leader).is_ok())
    }

    /// The counter of its view.
    pub(super) fn view(&self) -> u64 {
        self.runs.epoch(&self.state).0
    }
}
