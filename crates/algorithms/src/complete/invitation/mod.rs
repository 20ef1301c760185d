//! Invitation: every node first leads a group of its own; groups that learn of each other merge under the greatest
//! leader.
//!
//! - **Source**: H. Garcia-Molina, 1982; Adams, §5.1 ("if it has a higher ID it invites the other node(s)").
//! - **Needs** that every node knows all ranks. No bound on delays: `T` and `M` are first guesses, and timeouts that
//!   prove too short double.
//! - **Guarantees** that each node is in a group whose leader it names, and that groups which can reach each other
//!   become one under the greatest live node. Partitions are noticed only with a `period`.
//! - **Messages**, with all up and one starter: 7(n-1), that is 2(n-1) each of `areyoucoordinator` and `yes`, n-1 each
//!   of `invitation`, `accept` and `ready`; 5(n-1) if the starter is the greatest.
//!
//! Decided where the texts are silent:
//!
//! - A node that is started or called, or that loses its leader, founds a group of its own. The starter calls the
//!   others. A called leader answers and schedules its own call, 2(2T+M) ticks later for each id above it. So the
//!   greatest calls first, and the others are invited before their turn.
//! - A leader that knows of other leaders after its wait invites them if it is above all of them. Otherwise it waits,
//!   for a limited time, to be invited. A node that accepts forwards the invitation to its own group. No node accepts a
//!   leader below its present one.
//! - A leader calls only nodes outside its group. A call says whether its sender has lost a leader. The receiver then
//!   checks its own leader (`areyoucoordinator` too), and leaves it if there is no answer.
//! - With `period=K`, leaders call and members check their leader every K ticks; a member leaves after three questions
//!   without an answer. This traffic is periodic and does not count for `quiescent`.
//!
//! Specified in `docs/model.md#invitation`.

mod message;
mod rules;

use alloc::{vec, vec::Vec};
use core::marker::PhantomData;
use core::num::NonZeroU64;

use hustings_protocol::Rank;

use self::rules::Rules;
use super::{COMPLETE, Timeouts};
use crate::{
    About, Algorithm, Assumptions, Case, CheckCase, Cost, Instance, Setting, Source, Synchrony, Tolerates, Winner,
};

/// The algorithm, for the catalogue.
#[derive(Debug)]
pub struct Invitation;

crate::params! {
    /// The parameters of invitation.
    pub struct InvitationParams {
        "expected travel time of a message in ticks" "T" as travel: NonZeroU64 = NonZeroU64::MIN,
        "expected handling time of a message in ticks" "M" as handling: u64 = 0,
        "ticks between periodic calls of leaders and checks of members; 0: off" period: u64 = 0,
    }
}

impl Algorithm for Invitation {
    type Params = InvitationParams;
    type Protocol<R: Rank> = Rules<R>;

    const ABOUT: About = About {
        name: "invitation",
        summary: "every node leads a group of its own; groups that find each other merge under the greater leader",
        assumptions: Assumptions { synchrony: Synchrony::Asynchronous, ..COMPLETE.assumptions },
        tolerates: Tolerates { partitions: true, with: &["period=20"], ..COMPLETE.tolerates },
        costs: &[
            Cost::exactly(Case::Best, "5(n-1)", |n| (5 * (n - 1)) as f64),
            Cost::exactly(Case::Average, "(7 - 2/n)(n-1)", |n| (7.0 - 2.0 / n as f64) * (n - 1) as f64),
            Cost::exactly(Case::Worst, "7(n-1)", |n| (7 * (n - 1)) as f64),
        ],
        checks: &[
            CheckCase::quick("-n 3 --timing patient"),
            CheckCase::quick("-n 3 --timing patient --initiators every-subset"),
            CheckCase::quick("-n 3 --timing patient --crashes 1"),
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
        let timeouts = Timeouts::new(setting, params.travel, params.handling);
        Rules { timeouts, period: params.period, rank: PhantomData }
    }

    /// The starters call, and the greatest if it is not among them; all answer; the greatest invites all.
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
