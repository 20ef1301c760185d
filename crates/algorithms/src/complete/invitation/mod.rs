//! Invitation: everybody leads a group of its own at first; groups that hear of each other merge under the greater
//! leader.
//!
//! - **Assumes** that everybody knows everybody's rank. It needs no bound on time: `T` and `M` say how long to wait
//!   before going on, and waits that prove too short double.
//! - **Promises** that each node is in a group whose leader it names, and that groups which can reach each other become
//!   one, under the greatest live node. Through crashes and recoveries always; through partitions, which it notices
//!   only by calling now and then, with a `period`.
//! - **Comes from** H. Garcia-Molina, 1982; Adams §5.1 ("if it has a higher ID it invites the other node(s)").
//! - **Costs**, with all up and one starter, 7(n-1): 2(n-1) `areyoucoordinator` and `yes`, n-1 each of `invitation`,
//!   `accept` and `ready`; 5(n-1) if the starter is the greatest.
//!
//! How it goes, where the texts leave room:
//!
//! - A node that is started, called, or has lost its leader founds a group of its own and leads it. The starter calls
//!   the others; whoever is called and leads answers, and will call in its turn, the higher the sooner: 2(2T+M) ticks
//!   later for each id above it. So the greatest calls first, and the rest are invited before their time has come.
//! - A leader that knows of others after its wait invites them if it is above them all, and else waits to be invited,
//!   but not for ever. Whoever accepts passes the invitation on to its own group. Nobody accepts a leader below the
//!   one it has.
//! - A leader calls only those that are not in its group. A call says whether its sender has lost a leader: others then
//!   ask their own whether it is there (`areyoucoordinator` too), and leave it if it is not.
//! - With `period=K`, every K ticks leaders call and members ask for their leader, which they leave after three
//!   questions without an answer. Such calls and their answers are periodic: they do not count for `quiescent`.

mod message;
mod rules;

use alloc::{vec, vec::Vec};
use core::marker::PhantomData;
use core::num::NonZeroU64;

use hustings_protocol::Rank;

use self::rules::Rules;
use super::{COMPLETE, Waits};
use crate::{About, Algorithm, Assumptions, Case, Cost, Instance, Setting, Source, Synchrony, Tolerates, Winner};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct Invitation;

crate::params! {
    /// The parameters of invitation.
    pub struct InvitationParams {
        "for how many ticks a message is expected to travel" "T" as travel: NonZeroU64 = NonZeroU64::MIN,
        "how many ticks it is expected to take to handle a message" "M" as handling: u64 = 0,
        "every how many ticks leaders call others and members ask for their leader; 0: never" period: u64 = 0,
    }
}

impl Algorithm for Invitation {
    type Params = InvitationParams;
    type Protocol<R: Rank> = Rules<R>;

    const ABOUT: About = About {
        name: "invitation",
        summary: "everybody leads a group of its own; groups that hear of each other merge under the greater leader",
        assumptions: Assumptions { synchrony: Synchrony::Asynchronous, ..COMPLETE.assumptions },
        tolerates: Tolerates { partitions: true, with: &["period=20"], ..COMPLETE.tolerates },
        costs: &[
            Cost::exactly(Case::Best, "5(n-1)", |n| (5 * (n - 1)) as f64),
            Cost::exactly(Case::Average, "(7 - 2/n)(n-1)", |n| (7.0 - 2.0 / n as f64) * (n - 1) as f64),
            Cost::exactly(Case::Worst, "7(n-1)", |n| (7 * (n - 1)) as f64),
        ],
        source: Source {
            authors: "H. Garcia-Molina, 1982",
            title: "Elections in a distributed computing system, IEEE Transactions on Computers C-31(1)",
            text: "Adams",
        },
        winner: Winner::GreatestInTheEnd,
        ..COMPLETE
    };

    fn protocol<R: Rank>(params: &InvitationParams, setting: &Setting<'_, R>) -> Rules<R> {
        let waits = Waits::new(setting, params.travel, params.handling);
        Rules { waits, period: params.period, rank: PhantomData }
    }

    /// The starters call, and the greatest if it is not one of them; all answer; the greatest invites all.
    fn expect(params: &InvitationParams, instance: &Instance<'_>) -> Option<Vec<u64>> {
        let (others, starters) = (instance.size() - 1, instance.initiators.len() as u64);
        if starters == 0 {
            return Some(vec![0; 5]);
        }
        let is_greatest = |&at: &u32| u64::from(instance.order[at as usize]) == others;
        let callers = starters + u64::from(!instance.initiators.iter().any(is_greatest));
        (params.period == 0).then(|| vec![callers * others, callers * others, others, others, others])
    }
}
