//! How many findings there are of each origin: what a paper prints is counted apart from what was derived for it here.

use super::{Finding, PaperComparison, Verdict};

/// Where what is compared comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Origin {
    /// A number or a step that the paper prints.
    Printed,
    /// A number that was derived from the paper's rules here, or a step of a run of ours.
    Derived,
    /// A value that is compared with nothing but the record of this version.
    Shown,
    /// A claim of the paper.
    Claim,
    /// A claim of ours.
    OwnClaim,
}

impl Origin {
    /// All origins, in the order of reports.
    pub const ALL: [Origin; 5] = [Origin::Printed, Origin::Derived, Origin::Shown, Origin::Claim, Origin::OwnClaim];

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Origin::Printed => "printed",
            Origin::Derived => "derived by us",
            Origin::Shown => "shown",
            Origin::Claim => "claims",
            Origin::OwnClaim => "claims of ours",
        }
    }
}

impl Finding {
    /// Where what is compared comes from.
    pub fn origin(&self) -> Origin {
        let is_claim = self.test.is_some();
        match (is_claim, self.is_printed) {
            (true, true) => Origin::Claim,
            (true, false) => Origin::OwnClaim,
            (false, true) => Origin::Printed,
            // A value without a record is open, and still compared with nothing else.
            (false, false) if self.published.is_none() && self.formula.is_none() => Origin::Shown,
            (false, false) => Origin::Derived,
        }
    }
}

/// The findings of this origin with this verdict.
pub fn tally(comparisons: &[PaperComparison], origin: Origin, verdict: Verdict) -> usize {
    let all = comparisons.iter().flat_map(PaperComparison::findings);
    all.filter(|finding| finding.origin() == origin && finding.verdict == verdict).count()
}
