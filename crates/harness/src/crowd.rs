//! Programs that want an office, one on each node, and what they are told.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Instant;

use super::TrialError;
use super::processes::{Cluster, PATIENCE};
use hustings_cluster::api::{Reply, Request};
use hustings_cluster::clock::{Clock, Moment};

/// The office that is fought for.
pub(super) const OFFICE: &str = "trial";

/// Somebody was told that it holds the office.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Held {
    /// On which node.
    pub(super) node: usize,
    /// With which token.
    pub(super) token: u64,
    /// When it was told.
    pub(super) at: Moment,
}

/// What a program on a node heard.
struct Word {
    node: usize,
    /// Which of all programs: on a node that is started again there is another one.
    program: usize,
    at: Moment,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    /// It may act until then, with this token.
    Acts(u64, Moment),
    /// It was asked to stop, and said at once that it had.
    Stopped(u64),
    /// It does not hold the office any more.
    Lost(u64),
    /// It hears no more: its node is gone.
    Deaf,
}

/// The programs, and what they heard.
pub(super) struct Crowd {
    words: Receiver<Word>,
    sender: Sender<Word>,
    programs: usize,
    /// Of each token, who was told first that it holds the office with it, and until when that one may act.
    tenures: BTreeMap<u64, Tenure>,
}

struct Tenure {
    held: Held,
    program: usize,
    until: Moment,
    /// Nothing will come after this that lets it act longer.
    over: bool,
}

impl Crowd {
    /// A program on each node.
    pub(super) fn new(cluster: &Cluster) -> Result<Self, TrialError> {
        let (sender, words) = channel();
        let mut crowd = Crowd { words, sender, programs: 0, tenures: BTreeMap::new() };
        (0..cluster.size()).try_for_each(|node| crowd.join(cluster, node))?;
        Ok(crowd)
    }

    /// A program on a node campaigns until its connection ends.
    pub(super) fn join(&mut self, cluster: &Cluster, node: usize) -> Result<(), TrialError> {
        let mut client = cluster.client(node)?;
        client.send(&Request::Campaign { office: OFFICE.to_string(), mode: None })?;
        let words = self.sender.clone();
        self.programs += 1;
        let program = self.programs;
        thread::spawn(move || {
            // Nobody listens any more: then this is over, too.
            let say = |what| words.send(Word { node, program, at: Clock::new().now(), what }).is_ok();
            while let Ok(reply) = client.next(None) {
                let heard = match reply {
                    Reply::Held(holding) | Reply::Renewed(holding) => say(What::Acts(holding.token, holding.deadline)),
                    Reply::Lost { token, .. } => say(What::Lost(token)),
                    Reply::Stop { office, token, .. } => {
                        say(What::Stopped(token)) && client.send(&Request::Stopped { office, token }).is_ok()
                    }
                    _ => true,
                };
                if !heard {
                    return;
                }
            }
            say(What::Deaf);
        });
        Ok(())
    }

    /// Who holds the office, as far as anybody was told by now.
    pub(super) fn holder(&mut self, cluster: &Cluster) -> Result<Held, TrialError> {
        while let Ok(word) = self.words.try_recv() {
            self.note(&word);
        }
        self.until(cluster, "nobody held the office", |crowd| {
            crowd.tenures.values().next_back().filter(|tenure| !tenure.over).map(|tenure| tenure.held)
        })
    }

    /// The first who was told of a greater token than this.
    pub(super) fn next_holder(&mut self, cluster: &Cluster, after: u64) -> Result<Held, TrialError> {
        self.until(cluster, "nobody held the office", |crowd| {
            crowd.tenures.range(after + 1..).next().map(|(_, tenure)| tenure.held)
        })
    }

    /// Waits until a holder knows that it is none any more: until when it was allowed to act.
    pub(super) fn end_of(&mut self, cluster: &Cluster, old: Held) -> Result<Moment, TrialError> {
        self.until(cluster, "the old holder did not hear that it lost the office", |crowd| {
            crowd.tenures.get(&old.token).filter(|tenure| tenure.over).map(|tenure| tenure.until)
        })
    }

    /// Listens until there is an answer.
    fn until<T>(
        &mut self,
        cluster: &Cluster,
        what: &str,
        answer: impl Fn(&Crowd) -> Option<T>,
    ) -> Result<T, TrialError> {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(answer) = answer(self) {
                return Ok(answer);
            }
            let left = end.saturating_duration_since(Instant::now());
            let word = self.words.recv_timeout(left).map_err(|_| TrialError::Late {
                what: what.to_string(),
                seconds: PATIENCE.as_secs(),
                folder: cluster.folder().display().to_string(),
            })?;
            self.note(&word);
        }
    }

    fn note(&mut self, word: &Word) {
        let Word { node, program, at, what } = *word;
        match what {
            What::Acts(token, until) => {
                let fresh = || Tenure { held: Held { node, token, at }, program, until, over: false };
                let tenure = self.tenures.entry(token).or_insert_with(fresh);
                tenure.until = tenure.until.max(until);
            }
            What::Stopped(token) => {
                if let Some(tenure) = self.tenures.get_mut(&token) {
                    (tenure.until, tenure.over) = (tenure.until.min(at), true);
                }
            }
            What::Lost(token) => {
                if let Some(tenure) = self.tenures.get_mut(&token) {
                    tenure.over = true;
                }
            }
            What::Deaf => {
                let its_own = self.tenures.values_mut().filter(|tenure| tenure.program == program);
                its_own.for_each(|tenure| tenure.over = true);
            }
        }
    }
}
