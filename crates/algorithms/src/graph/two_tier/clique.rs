//! The state of one member of a leadership clique.
//!
//! - **Formation**: the leader sends `invite` to each subordinate. Each of them sends a `ping` to the leader and to the
//!   subordinates after it on the list, so that every pair is verified once. With its last `pong` it sends `confirm`.
//! - **Failover**: the first live subordinate that notices the loss of the leader sends `failed` to the others. Those
//!   that know of it answer `agree`; the others first send a `ping` to the leader. With the last answer the claimant
//!   leads, and forms a clique of its own.
//! - **Several claimants**: a claim yields to one for a newer clique, or of a greater rank for the same clique.
//! - **Silence** (a short partition lost a message, a subordinate lost its state): questions are repeated. In the end a
//!   leader replaces a silent subordinate, and a claimant starts a full election.

use alloc::{sync::Arc, vec::Vec};

use hustings_protocol::{Context, Id, Rank, Timer};

use super::choice::UnreachableMembers;
use super::membership::{CliqueNumber, Membership};
use super::{Message, Rules};

/// The number of repetitions before a silent member is given up.
const MAX_TRIES: u8 = 3;

/// The state of one member of a clique.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Clique<R: Rank> {
    membership: Arc<Membership<R>>,
    role: Role,
    /// The members whose answer is missing: `confirm` for the leader, `pong` for a subordinate, `agree` for a claimant.
    awaited: Vec<Id>,
    tries: u8,
    /// The token of the current timer.
    token: u32,
}

/// The current role of a member.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Role {
    /// It leads.
    Leader,
    /// It is a subordinate, ready to take over.
    Standby,
    /// The leader is unreachable, and another subordinate takes over first.
    Waiting,
    /// The leader is unreachable, and this subordinate claims to succeed it.
    Claiming,
    /// This member claims that the leader failed; the node checks that itself.
    Checking(Id),
    /// It has agreed that this member succeeds the leader.
    Agreed(Id),
}

/// What an event leads to, apart from messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(super) enum Next {
    /// Nothing.
    Nothing,
    /// The clique is formed: all pairs are verified, and all members store what the leader knows.
    Formed,
    /// This subordinate leads from now on, and needs a clique of its own.
    TakeOver,
    /// The leader has to review its subordinates.
    Review,
    /// The clique cannot be repaired: a full election is needed.
    Elect,
}

impl<R: Rank> Clique<R> {
    /// Forms a new clique; this node is the leader.
    pub(super) fn form<C: Context<Rules<R>>>(
        membership: Membership<R>,
        token: u32,
        rules: &Rules<R>,
        cx: &mut C,
    ) -> Self {
        let awaited = membership.other_subordinates(membership.leader.id()).collect();
        let mut clique = Clique { membership: Arc::new(membership), role: Role::Leader, awaited, tries: 0, token };
        clique.invite(rules, cx);
        clique
    }

    /// Joins a clique as a subordinate; `None` if it is not a member. A node that names another leader, or none, waits
    /// for the announcement of this one.
    pub(super) fn join<C: Context<Rules<R>>>(
        membership: Arc<Membership<R>>,
        named: Option<R>,
        token: u32,
        rules: &Rules<R>,
        cx: &mut C,
    ) -> Option<Self> {
        let awaited = membership.to_verify(cx.rank().id())?;
        let is_announced = named == Some(membership.leader);
        let mut clique = Clique { membership, role: Role::Standby, awaited, tries: 0, token };
        if !is_announced {
            clique.wait(rules.announcement, cx);
        }
        clique.ping(rules, cx);
        Some(clique)
    }

    /// The leader was elected by a full election: it keeps what it knows and chooses its subordinates later.
    pub(super) fn disband(&mut self, leader: R) {
        let Membership { number, ref knowledge, .. } = *self.membership;
        let (knowledge, subordinates) = (Arc::clone(knowledge), Vec::new());
        self.membership = Arc::new(Membership { number, leader, predecessor: None, subordinates, knowledge });
        self.role = Role::Leader;
        self.awaited.clear();
    }

    pub(super) fn membership(&self) -> &Arc<Membership<R>> {
        &self.membership
    }

    pub(super) fn token(&self) -> u32 {
        self.token
    }

    pub(super) fn leads(&self) -> bool {
        self.role == Role::Leader
    }

    /// Whether it is a subordinate that has neither claimed to succeed the leader nor agreed to another claim.
    pub(super) fn is_standby(&self) -> bool {
        matches!(self.role, Role::Standby | Role::Waiting)
    }

    /// Whether all pairs that this member has to verify are verified.
    pub(super) fn is_complete(&self) -> bool {
        self.awaited.is_empty() && matches!(self.role, Role::Leader | Role::Standby)
    }

    /// The reachable subordinates, except this node.
    pub(super) fn live_subordinates(&self, own: Id, unreachable: &UnreachableMembers) -> Vec<R> {
        let is_live = |rank: &R| rank.id() != own && !unreachable.contains(rank.id());
        self.membership.subordinates.iter().copied().filter(is_live).collect()
    }

    /// The leader repeats its invitation because it has not received the answer.
    pub(super) fn handle_repeated_invitation<C: Context<Rules<R>>>(&self, rules: &Rules<R>, cx: &mut C) {
        if self.awaited.is_empty() {
            cx.send_direct(self.membership.leader.id(), Message::Confirm(self.membership.number));
        } else {
            self.ping(rules, cx);
        }
    }

    /// Handles a message of another member, except invitations, refusals and pings, which the caller handles.
    pub(super) fn handle_message<C: Context<Rules<R>>>(
        &mut self,
        from: Id,
        message: &Message<R>,
        unreachable: &UnreachableMembers,
        rules: &Rules<R>,
        cx: &mut C,
    ) -> Next {
        match *message {
            Message::Pong(number) => self.handle_pong(from, number, cx),
            Message::Confirm(number) => self.handle_answer(from, number, Role::Leader, cx),
            Message::Agree(number) => self.handle_answer(from, number, Role::Claiming, cx),
            Message::Failed(number) => self.handle_claim(from, number, unreachable, rules, cx),
            Message::Diffused(_) | Message::Invite(_) | Message::Ping(_) | Message::Decline(_) => Next::Nothing,
        }
    }

    /// Handles an answer that is meant for this role. Each counts once, and the last one ends the wait.
    fn handle_answer<C: Context<Rules<R>>>(&mut self, from: Id, number: CliqueNumber, role: Role, cx: &mut C) -> Next {
        // A pong also counts from a node that has not been invited yet.
        let is_meant =
            number == self.membership.number || role == Role::Standby && number == self.membership.number.unknown();
        if !is_meant || self.role != role {
            return Next::Nothing;
        }
        let Some(place) = self.awaited.iter().position(|id| *id == from) else { return Next::Nothing };
        self.awaited.remove(place);
        self.advance(cx)
    }

    /// Handles a `pong`.
    fn handle_pong<C: Context<Rules<R>>>(&mut self, from: Id, number: CliqueNumber, cx: &mut C) -> Next {
        let is_leaders = from == self.membership.leader.id() && number == self.membership.number;
        if matches!(self.role, Role::Checking(_)) && is_leaders {
            // The leader is up: the claim was wrong.
            self.role = Role::Standby;
        }
        self.handle_answer(from, number, Role::Standby, cx)
    }

    /// Acts when no answer is missing any more.
    fn advance<C: Context<Rules<R>>>(&mut self, cx: &mut C) -> Next {
        if !self.awaited.is_empty() {
            return Next::Nothing;
        }
        match self.role {
            Role::Leader => Next::Formed,
            Role::Claiming => Next::TakeOver,
            Role::Standby => {
                cx.send_direct(self.membership.leader.id(), Message::Confirm(self.membership.number));
                Next::Nothing
            }
            Role::Waiting | Role::Checking(_) | Role::Agreed(_) => Next::Nothing,
        }
    }

    /// Handles the claim that the leader failed.
    fn handle_claim<C: Context<Rules<R>>>(
        &mut self,
        from: Id,
        number: CliqueNumber,
        unreachable: &UnreachableMembers,
        rules: &Rules<R>,
        cx: &mut C,
    ) -> Next {
        let leader = self.membership.leader.id();
        if from == leader {
            // The leader itself says that it retires.
            return if self.is_standby() { self.claim(unreachable, rules, cx) } else { Next::Nothing };
        }
        match self.role {
            // The claim is about an earlier leader.
            Role::Leader => Next::Nothing,
            Role::Claiming if (self.membership.number, Some(cx.rank())) > (number, rules.roster.rank(from)) => {
                Next::Nothing
            }
            Role::Claiming | Role::Waiting | Role::Agreed(_) => self.agree(from, number, rules, cx),
            Role::Standby | Role::Checking(_) if unreachable.contains(leader) => self.agree(from, number, rules, cx),
            Role::Standby => {
                self.wait_for(Role::Checking(from), rules, cx);
                cx.send_direct(leader, Message::Ping(self.membership.number));
                Next::Nothing
            }
            Role::Checking(_) => Next::Nothing,
        }
    }

    fn agree<C: Context<Rules<R>>>(&mut self, with: Id, number: CliqueNumber, rules: &Rules<R>, cx: &mut C) -> Next {
        cx.send_direct(with, Message::Agree(number));
        self.awaited.clear();
        self.wait_for(Role::Agreed(with), rules, cx);
        Next::Nothing
    }

    /// Asks the others to agree that the leader failed.
    pub(super) fn claim<C: Context<Rules<R>>>(
        &mut self,
        unreachable: &UnreachableMembers,
        rules: &Rules<R>,
        cx: &mut C,
    ) -> Next {
        let own = cx.rank().id();
        self.awaited = self.membership.other_subordinates(own).filter(|id| !unreachable.contains(*id)).collect();
        self.role = Role::Claiming;
        self.tries = 0;
        self.ask(rules, cx);
        self.advance(cx)
    }

    /// Handles an update of the unreachable members. A leader that was unreachable and is back changes nothing: it may
    /// have lost its state.
    pub(super) fn handle_unreachable<C: Context<Rules<R>>>(
        &mut self,
        unreachable: &UnreachableMembers,
        rules: &Rules<R>,
        cx: &mut C,
    ) -> Next {
        let leader_is_gone = unreachable.contains(self.membership.leader.id());
        match self.role {
            Role::Leader => Next::Review,
            Role::Claiming => {
                self.awaited.retain(|id| !unreachable.contains(*id));
                self.advance(cx)
            }
            Role::Checking(claimant) if leader_is_gone && !unreachable.contains(claimant) => {
                self.agree(claimant, self.membership.number, rules, cx)
            }
            Role::Agreed(claimant) if !unreachable.contains(claimant) => Next::Nothing,
            Role::Standby | Role::Checking(_) if !leader_is_gone => Next::Nothing,
            Role::Standby | Role::Waiting | Role::Checking(_) | Role::Agreed(_) => self.notice(unreachable, rules, cx),
        }
    }

    /// The leader is unreachable: the first live subordinates claim the succession, the others give them time.
    fn notice<C: Context<Rules<R>>>(&mut self, unreachable: &UnreachableMembers, rules: &Rules<R>, cx: &mut C) -> Next {
        let own = cx.rank().id();
        let mut live =
            self.membership.subordinates.iter().map(|rank| rank.id()).filter(|id| !unreachable.contains(*id));
        if live.by_ref().take(rules.noticing).any(|id| id == own) {
            return self.claim(unreachable, rules, cx);
        }
        self.wait_for(Role::Waiting, rules, cx);
        Next::Nothing
    }

    /// A timer is due. Adds members that do not answer to the unreachable ones. `named` is the leader that the node
    /// names.
    pub(super) fn handle_timeout<C: Context<Rules<R>>>(
        &mut self,
        token: u32,
        named: Option<R>,
        unreachable: &mut UnreachableMembers,
        rules: &Rules<R>,
        cx: &mut C,
    ) -> Next {
        if token != self.token {
            return Next::Nothing;
        }
        match self.role {
            Role::Leader if self.awaited.is_empty() => Next::Nothing,
            Role::Leader | Role::Claiming if self.tries < MAX_TRIES => {
                self.tries += 1;
                if self.leads() {
                    self.invite(rules, cx)
                } else {
                    self.ask(rules, cx)
                }
                Next::Nothing
            }
            Role::Leader => {
                self.awaited.iter().for_each(|id| unreachable.insert(*id));
                Next::Review
            }
            Role::Claiming => Next::Elect,
            Role::Checking(claimant) => {
                unreachable.insert(self.membership.leader.id());
                self.agree(claimant, self.membership.number, rules, cx)
            }
            // The member that should lead by now does not.
            Role::Waiting | Role::Agreed(_) => self.claim(unreachable, rules, cx),
            // The leader reaches this node, but its announcement does not.
            Role::Standby if named != Some(self.membership.leader) => Next::Elect,
            Role::Standby => Next::Nothing,
        }
    }

    fn wait_for<C: Context<Rules<R>>>(&mut self, role: Role, rules: &Rules<R>, cx: &mut C) {
        self.role = role;
        self.tries = 0;
        self.wait(rules.answer_timeout, cx);
    }

    fn wait<C: Context<Rules<R>>>(&mut self, ticks: u64, cx: &mut C) {
        self.token = self.token.wrapping_add(1);
        cx.set_timer(ticks, Timer { kind: Rules::<R>::TIMER, token: self.token });
    }

    fn invite<C: Context<Rules<R>>>(&mut self, rules: &Rules<R>, cx: &mut C) {
        if self.awaited.is_empty() {
            return;
        }
        self.wait(rules.answer_timeout, cx);
        for id in rules.roster.in_order(self.awaited.clone()) {
            cx.send_direct(id, Message::Invite(Arc::clone(&self.membership)));
        }
    }

    fn ping<C: Context<Rules<R>>>(&self, rules: &Rules<R>, cx: &mut C) {
        for id in rules.roster.in_order(self.awaited.clone()) {
            cx.send_direct(id, Message::Ping(self.membership.number));
        }
    }

    fn ask<C: Context<Rules<R>>>(&mut self, rules: &Rules<R>, cx: &mut C) {
        self.wait(rules.answer_timeout, cx);
        for id in rules.roster.in_order(self.awaited.clone()) {
            cx.send_direct(id, Message::Failed(self.membership.number));
        }
    }
}
