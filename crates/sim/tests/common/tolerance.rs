//! What algorithms claim to survive by themselves, and what they need for it.

use hustings_algorithms::Initiators;

use crate::common::sweep::{Case, Subject, Tally, splits};

/// How long after the last fault everybody is started again. By then all timeouts are over.
const LATER: u64 = 400;

/// A case of the algorithm by itself, with what it needs to keep its promises.
pub(crate) fn by_itself(subject: &Subject) -> Case {
    let with = subject.about.tolerates.with;
    let case = with.iter().fold(Case::of(subject), |case, param| case.with("-p", param));
    // What asks now and then never ends.
    if with.is_empty() { case } else { case.with("--until", 2500) }
}

/// The same with start signals for everybody when it is all over: those whose leader is gone have to be told somehow,
/// and the others ignore it.
pub(crate) fn started_again(subject: &Subject, case: Case, size: u32, last: u64) -> Case {
    let first = match subject.about.initiators {
        Initiators::All => size,
        Initiators::LowestLive => 1,
    };
    let first = (0..first).map(|at| format!("{at}"));
    let again = (0..size).map(|at| format!("{at}@{}", last + LATER));
    case.with("--initiators", first.chain(again).collect::<Vec<_>>().join(","))
}

/// A crash of any node at any tick, and its recovery, as far as that is claimed.
pub(crate) fn crashes(subject: &Subject, case: &Case, size: u32, last: u64, tally: &mut Tally) {
    let tolerates = subject.about.tolerates;
    if !tolerates.crashes {
        return;
    }
    for (at, tick) in (0..size).flat_map(|at| (0..=last).map(move |tick| (at, tick))) {
        let crashed = case.clone().with("--crash", format!("{at}@{tick}"));
        tally.add(subject, &started_again(subject, crashed.clone(), size, tick));
        for later in [1, 2, 3, 6, 30].into_iter().filter(|_| tolerates.recoveries) {
            let back = crashed.clone().with("--recover", format!("{at}@{}", tick + later));
            tally.add(subject, &started_again(subject, back, size, tick + later));
        }
    }
}

/// Any partition at any tick, and its healing, if that is claimed.
pub(crate) fn partitions(subject: &Subject, case: &Case, size: u32, last: u64, tally: &mut Tally) {
    if !subject.about.tolerates.partitions {
        return;
    }
    for split in splits(size) {
        for tick in 0..=last {
            let parted = case.clone().with("--partition", format!("{split}@{tick}"));
            tally.add(subject, &started_again(subject, parted.clone(), size, tick));
            for later in [1, 4, 15, 60] {
                let healed = parted.clone().with("--heal", format!("all@{}", tick + later));
                tally.add(subject, &started_again(subject, healed, size, tick + later));
            }
        }
    }
}
