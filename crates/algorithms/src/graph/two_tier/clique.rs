//! One member's side of a leadership clique.
//!
//! - **Formed** by a leader: `invite` to each subordinate; each of them sends a `ping` to the leader and to the
//!   subordinates after it on the roll, so that every pair is verified once; with its last `pong` it sends `confirm`.
//! - **Failover**: the subordinate that notices the leader's loss (the first live one of the roll does) sends `failed`
//!   to its fellows; those who know it too answer `agree`, the others look for themselves first, with a `ping` to the
//!   leader. With the last answer it leads, and forms a clique of its own.
//! - **Several at once**: a claim yields to one for a newer roll, or of a greater rank for the same one.
//! - **Silence** (mail that a short partition swallowed, a fellow that lost its memory) is met by asking again, and in
//!   the end by doing without: a leader strikes off who does not answer, a claimant leaves it to a full election.

use alloc::{sync::Arc, vec::Vec};

use hustings_protocol::{Context, Id, Rank, Timer};

use super::choice::Gone;
use super::roll::{Number, Roll};
use super::{Message, Rules};

/// How often something is asked again before the silent one is given up.
const MAX_TRIES: u8 = 3;

/// One member's side of a clique.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Clique<R: Rank> {
    roll: Arc<Roll<R>>,
    duty: Duty,
    /// Whose answers are missing: the leader's missing `confirm`s, a subordinate's `pong`s, a claimant's `agree`s.
    awaited: Vec<Id>,
    tries: u8,
    /// The timer that counts.
    token: u32,
}

/// What a member is busy with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Duty {
    /// It leads.
    Leads,
    /// It stands by.
    StandsBy,
    /// The leader is gone, and another subordinate is the first one to say so.
    Waits,
    /// It wants to follow the leader, which is gone.
    Tolerates,
    /// This one says that the leader is gone; it looks for itself.
    Checks(Id),
    /// It has agreed that this one follows the leader.
    Agreed(Id),
}

/// What comes of an event, beside messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(super) enum Verdict {
    /// Nothing.
    Nothing,
    /// The clique stands: all pairs are verified, and everybody has what the leader knows.
    Stands,
    /// This subordinate leads from now on, and needs a clique of its own.
    TakesOver,
    /// The leader has to look whether its subordinates are still the right ones.
    Review,
    /// The clique is beyond repair: only an election helps.
    Elect,
}

impl<R: Rank> Clique<R> {
    /// The leader's side of a new clique.
    pub(super) fn form<C: Context<Rules<R>>>(roll: Roll<R>, token: u32, rules: &Rules<R>, cx: &mut C) -> Self {
        let awaited = roll.fellows(roll.leader.id()).collect();
        let mut clique = Clique { roll: Arc::new(roll), duty: Duty::Leads, awaited, tries: 0, token };
        clique.invite(rules, cx);
        clique
    }

    /// A subordinate's side; `None` if the roll does not name it. One that names another leader, or none, gives this
    /// one time to announce itself.
    pub(super) fn join<C: Context<Rules<R>>>(
        roll: Arc<Roll<R>>,
        named: Option<R>,
        token: u32,
        rules: &Rules<R>,
        cx: &mut C,
    ) -> Option<Self> {
        let awaited = roll.to_verify(cx.rank().id())?;
        let is_announced = named == Some(roll.leader);
        let mut clique = Clique { roll, duty: Duty::StandsBy, awaited, tries: 0, token };
        if !is_announced {
            clique.wait(rules.announcement, cx);
        }
        clique.ping(rules, cx);
        Some(clique)
    }

    /// Its leader leads by an election of everybody now: what it knows stays, who stands by is settled later.
    pub(super) fn disband(&mut self, leader: R) {
        let Roll { number, ref knowledge, .. } = *self.roll;
        let (knowledge, subordinates) = (Arc::clone(knowledge), Vec::new());
        self.roll = Arc::new(Roll { number, leader, predecessor: None, subordinates, knowledge });
        self.duty = Duty::Leads;
        self.awaited.clear();
    }

    pub(super) fn roll(&self) -> &Arc<Roll<R>> {
        &self.roll
    }

    pub(super) fn token(&self) -> u32 {
        self.token
    }

    pub(super) fn leads(&self) -> bool {
        self.duty == Duty::Leads
    }

    /// Whether it stands by, and has neither claimed to follow the leader nor agreed that somebody else does.
    pub(super) fn stands_by(&self) -> bool {
        matches!(self.duty, Duty::StandsBy | Duty::Waits)
    }

    /// Whether all pairs are verified, as far as this member has to know.
    pub(super) fn is_complete(&self) -> bool {
        self.awaited.is_empty() && matches!(self.duty, Duty::Leads | Duty::StandsBy)
    }

    /// The subordinates that are not gone, this one left out.
    pub(super) fn live_fellows(&self, own: Id, gone: &Gone) -> Vec<R> {
        let is_live = |rank: &R| rank.id() != own && !gone.contains(rank.id());
        self.roll.subordinates.iter().copied().filter(is_live).collect()
    }

    /// The same roll once more, from a leader that has not heard the answer.
    pub(super) fn invited_again<C: Context<Rules<R>>>(&self, rules: &Rules<R>, cx: &mut C) {
        if self.awaited.is_empty() {
            cx.send_direct(self.roll.leader.id(), Message::Confirm(self.roll.number));
        } else {
            self.ping(rules, cx);
        }
    }

    /// A word from another member; invitations, refusals and pings are the caller's.
    pub(super) fn hear<C: Context<Rules<R>>>(
        &mut self,
        from: Id,
        message: &Message<R>,
        gone: &Gone,
        rules: &Rules<R>,
        cx: &mut C,
    ) -> Verdict {
        match *message {
            Message::Pong(number) => self.hear_pong(from, number, cx),
            Message::Confirm(number) => self.answered(from, number, Duty::Leads, cx),
            Message::Agree(number) => self.answered(from, number, Duty::Tolerates, cx),
            Message::Failed(number) => self.hear_claim(from, number, gone, rules, cx),
            Message::Diffused(_) | Message::Invite(_) | Message::Ping(_) | Message::Decline(_) => Verdict::Nothing,
        }
    }

    /// An answer to one who has this duty. It counts once, and the last one ends the wait.
    fn answered<C: Context<Rules<R>>>(&mut self, from: Id, number: Number, duty: Duty, cx: &mut C) -> Verdict {
        // One that has not been invited yet hears all the same.
        let is_meant = number == self.roll.number || duty == Duty::StandsBy && number == self.roll.number.unknown();
        if !is_meant || self.duty != duty {
            return Verdict::Nothing;
        }
        let Some(place) = self.awaited.iter().position(|id| *id == from) else { return Verdict::Nothing };
        self.awaited.remove(place);
        self.go_on(cx)
    }

    /// Somebody hears this member.
    fn hear_pong<C: Context<Rules<R>>>(&mut self, from: Id, number: Number, cx: &mut C) -> Verdict {
        let is_leaders = from == self.roll.leader.id() && number == self.roll.number;
        if matches!(self.duty, Duty::Checks(_)) && is_leaders {
            // The leader is there: whoever says otherwise is mistaken, or would like to lead.
            self.duty = Duty::StandsBy;
        }
        self.answered(from, number, Duty::StandsBy, cx)
    }

    /// What the end of a wait leads to.
    fn go_on<C: Context<Rules<R>>>(&mut self, cx: &mut C) -> Verdict {
        if !self.awaited.is_empty() {
            return Verdict::Nothing;
        }
        match self.duty {
            Duty::Leads => Verdict::Stands,
            Duty::Tolerates => Verdict::TakesOver,
            Duty::StandsBy => {
                cx.send_direct(self.roll.leader.id(), Message::Confirm(self.roll.number));
                Verdict::Nothing
            }
            Duty::Waits | Duty::Checks(_) | Duty::Agreed(_) => Verdict::Nothing,
        }
    }

    /// Somebody says that the leader is gone.
    fn hear_claim<C: Context<Rules<R>>>(
        &mut self,
        from: Id,
        number: Number,
        gone: &Gone,
        rules: &Rules<R>,
        cx: &mut C,
    ) -> Verdict {
        let leader = self.roll.leader.id();
        if from == leader {
            // It says good-bye.
            return if self.stands_by() { self.claim(gone, rules, cx) } else { Verdict::Nothing };
        }
        match self.duty {
            // The claim is for a leader that was before this one.
            Duty::Leads => Verdict::Nothing,
            Duty::Tolerates if (self.roll.number, Some(cx.rank())) > (number, rules.roster.rank(from)) => {
                Verdict::Nothing
            }
            Duty::Tolerates | Duty::Waits | Duty::Agreed(_) => self.agree(from, number, rules, cx),
            Duty::StandsBy | Duty::Checks(_) if gone.contains(leader) => self.agree(from, number, rules, cx),
            Duty::StandsBy => {
                self.wait_for(Duty::Checks(from), rules, cx);
                cx.send_direct(leader, Message::Ping(self.roll.number));
                Verdict::Nothing
            }
            Duty::Checks(_) => Verdict::Nothing,
        }
    }

    fn agree<C: Context<Rules<R>>>(&mut self, with: Id, number: Number, rules: &Rules<R>, cx: &mut C) -> Verdict {
        cx.send_direct(with, Message::Agree(number));
        self.awaited.clear();
        self.wait_for(Duty::Agreed(with), rules, cx);
        Verdict::Nothing
    }

    /// Asks the others to agree that the leader is gone.
    pub(super) fn claim<C: Context<Rules<R>>>(&mut self, gone: &Gone, rules: &Rules<R>, cx: &mut C) -> Verdict {
        let fellows = self.roll.fellows(cx.rank().id()).filter(|id| !gone.contains(*id));
        self.awaited = fellows.collect();
        self.duty = Duty::Tolerates;
        self.tries = 0;
        self.ask(rules, cx);
        self.go_on(cx)
    }

    /// It is known now who is gone. A leader that was gone and is back changes nothing: it may have lost its memory.
    pub(super) fn look<C: Context<Rules<R>>>(&mut self, gone: &Gone, rules: &Rules<R>, cx: &mut C) -> Verdict {
        let leader_is_gone = gone.contains(self.roll.leader.id());
        match self.duty {
            Duty::Leads => Verdict::Review,
            Duty::Tolerates => {
                self.awaited.retain(|id| !gone.contains(*id));
                self.go_on(cx)
            }
            Duty::Checks(claimant) if leader_is_gone && !gone.contains(claimant) => {
                self.agree(claimant, self.roll.number, rules, cx)
            }
            Duty::Agreed(claimant) if !gone.contains(claimant) => Verdict::Nothing,
            Duty::StandsBy | Duty::Checks(_) if !leader_is_gone => Verdict::Nothing,
            Duty::StandsBy | Duty::Waits | Duty::Checks(_) | Duty::Agreed(_) => self.notice(gone, rules, cx),
        }
    }

    /// The leader is gone: the first live subordinates say so, the others give them time.
    fn notice<C: Context<Rules<R>>>(&mut self, gone: &Gone, rules: &Rules<R>, cx: &mut C) -> Verdict {
        let own = cx.rank().id();
        let mut live = self.roll.subordinates.iter().map(|rank| rank.id()).filter(|id| !gone.contains(*id));
        if live.by_ref().take(rules.noticing).any(|id| id == own) {
            return self.claim(gone, rules, cx);
        }
        self.wait_for(Duty::Waits, rules, cx);
        Verdict::Nothing
    }

    /// A timer is due. Says also who is to be taken for gone, because it does not answer. The node names this leader.
    pub(super) fn time_out<C: Context<Rules<R>>>(
        &mut self,
        token: u32,
        named: Option<R>,
        gone: &mut Gone,
        rules: &Rules<R>,
        cx: &mut C,
    ) -> Verdict {
        if token != self.token {
            return Verdict::Nothing;
        }
        match self.duty {
            Duty::Leads if self.awaited.is_empty() => Verdict::Nothing,
            Duty::Leads | Duty::Tolerates if self.tries < MAX_TRIES => {
                self.tries += 1;
                if self.leads() {
                    self.invite(rules, cx)
                } else {
                    self.ask(rules, cx)
                }
                Verdict::Nothing
            }
            Duty::Leads => {
                self.awaited.iter().for_each(|id| gone.insert(*id));
                Verdict::Review
            }
            Duty::Tolerates => Verdict::Elect,
            Duty::Checks(claimant) => {
                gone.insert(self.roll.leader.id());
                self.agree(claimant, self.roll.number, rules, cx)
            }
            // Whoever should have led by now does not.
            Duty::Waits | Duty::Agreed(_) => self.claim(gone, rules, cx),
            // The leader reaches this one, but its announcement does not.
            Duty::StandsBy if named != Some(self.roll.leader) => Verdict::Elect,
            Duty::StandsBy => Verdict::Nothing,
        }
    }

    fn wait_for<C: Context<Rules<R>>>(&mut self, duty: Duty, rules: &Rules<R>, cx: &mut C) {
        self.duty = duty;
        self.tries = 0;
        self.wait(rules.patience, cx);
    }

    fn wait<C: Context<Rules<R>>>(&mut self, ticks: u64, cx: &mut C) {
        self.token = self.token.wrapping_add(1);
        cx.set_timer(ticks, Timer { kind: Rules::<R>::TIMER, token: self.token });
    }

    fn invite<C: Context<Rules<R>>>(&mut self, rules: &Rules<R>, cx: &mut C) {
        if self.awaited.is_empty() {
            return;
        }
        self.wait(rules.patience, cx);
        for id in rules.roster.in_order(self.awaited.clone()) {
            cx.send_direct(id, Message::Invite(Arc::clone(&self.roll)));
        }
    }

    fn ping<C: Context<Rules<R>>>(&self, rules: &Rules<R>, cx: &mut C) {
        for id in rules.roster.in_order(self.awaited.clone()) {
            cx.send_direct(id, Message::Ping(self.roll.number));
        }
    }

    fn ask<C: Context<Rules<R>>>(&mut self, rules: &Rules<R>, cx: &mut C) {
        self.wait(rules.patience, cx);
        for id in rules.roster.in_order(self.awaited.clone()) {
            cx.send_direct(id, Message::Failed(self.roll.number));
        }
    }
}
