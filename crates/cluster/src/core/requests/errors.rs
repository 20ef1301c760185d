//! Why requests are refused. Codes are stable; sentences are for people.

use super::Known;
use crate::api::RequestError;
use crate::config::Mode;
use crate::core::context::Context;
use crate::core::table::MAX_STATES;

pub(super) fn refusal(code: &str, message: String) -> RequestError {
    RequestError { code: code.to_string(), message }
}

pub(in crate::core) fn not_held(office: &str) -> RequestError {
    refusal("not-held", format!("nobody holds the office `{office}`"))
}

/// The office has another mode than the one that a client asked for; `is_configured`: which is the one in this node's
/// configuration.
pub(super) fn other_mode(office: &str, actual: Mode, is_configured: bool) -> RequestError {
    let (actual, wanted) = match actual {
        Mode::Exclusive => ("exclusive", "fenced"),
        Mode::Fenced => ("fenced", "exclusive"),
    };
    let change = format!(
        ", because it is held with a {actual} grant; it becomes {wanted}, as this node's configuration says, when a \
         member with that configuration is granted it next"
    );
    refusal("other-mode", format!("the office `{office}` is {actual}{}", if is_configured { &change } else { "" }))
}

pub(in crate::core) fn held_by_another(office: &str) -> RequestError {
    refusal("held-by-another", format!("another program holds the office `{office}`, and is still connected"))
}

/// Nobody reads this but the audit log.
pub(in crate::core) fn disconnected() -> RequestError {
    refusal("disconnected", "the program is gone; what it asked for may still take effect".to_string())
}

pub(in crate::core) fn stale_token() -> RequestError {
    refusal("stale-token", "the office is not held with this token any more".to_string())
}

pub(in crate::core) fn unknown_member(name: &str) -> RequestError {
    refusal("unknown-member", format!("there is no member `{name}`"))
}

pub(in crate::core) fn not_ready(name: &str, office: &str) -> RequestError {
    refusal("not-ready", format!("`{name}` is down, unhealthy, or not a candidate for the office `{office}`"))
}

pub(in crate::core) fn busy(office: &str) -> RequestError {
    refusal("busy", format!("a handover of the office `{office}` is already in progress"))
}

pub(in crate::core) fn membership_busy() -> RequestError {
    refusal("busy", "another membership change is in progress".to_string())
}

pub(in crate::core) fn timed_out(office: &str) -> RequestError {
    refusal(
        "timed-out",
        format!(
            "the office `{office}` was not handed over in time; `hustings leader {office}` shows the current holder"
        ),
    )
}

pub(in crate::core) fn went_elsewhere(office: &str) -> RequestError {
    refusal("elsewhere", format!("the office `{office}` went to another node in the meantime"))
}

pub(in crate::core) fn paused() -> RequestError {
    refusal("paused", "elections are paused; `hustings resume` resumes them".to_string())
}

pub(super) fn too_many_requests() -> RequestError {
    refusal("busy", "too many requests of this client are pending".to_string())
}

pub(super) fn no_live_majority(voters: usize, down: &[String]) -> RequestError {
    let message = format!(
        "this would leave {voters} voters without a majority that is up: {} would be needed but is down; `--force` \
         changes the membership nevertheless",
        down.join(", ")
    );
    refusal("no-live-majority", message)
}

pub(in crate::core) fn last_voter(name: &str) -> RequestError {
    refusal("last-voter", format!("`{name}` is the only voter; without it, the cluster could not decide anything"))
}

/// The code of [`moved`].
pub(in crate::core) const MOVED: &str = "moved";

/// What an observer's operators and programs ask for is not carried out.
pub(in crate::core) fn observer() -> RequestError {
    let message = "this node is an observer, which changes nothing in the cluster: ask a node that is a voter (an \
                   elector or a witness)";
    refusal("observer", message.to_string())
}

/// The coordinator hands its role over before it carries out the request. The node that forwarded the request sends it
/// to the next one.
pub(in crate::core) fn moved() -> RequestError {
    refusal(MOVED, "another member is about to coordinate the cluster; try again".to_string())
}

/// The coordinator changed, and nobody knows what became of the request.
pub(in crate::core) fn unknown_outcome() -> RequestError {
    refusal("timed-out", "the arbiter's leader changed meanwhile; the request may have taken effect".to_string())
}

pub(in crate::core) fn no_majority() -> RequestError {
    refusal("no-majority", "this node reaches no leader of the arbiter: there may be no majority".to_string())
}

/// Why this node can neither forward a request nor confirm an answer: its own disk, or no majority.
pub(super) fn no_leader(known: &Known<'_>, context: &Context<'_>) -> RequestError {
    if let Some(failure) = known.arbiter.disk_failure() {
        let problem = failure.describe(context.now);
        return refusal("disk", format!("this node's disk does not take writes: {problem}"));
    }
    let table = known.arbiter.table();
    let failing = known.arbiter.voters().into_iter().filter(|id| context.liveness.has_failing_disk(*id));
    let names: Vec<String> = failing.map(|id| table.member_name(id)).collect();
    let mut refusal = no_majority();
    if !names.is_empty() {
        refusal.message += &format!("; the disks of these members do not take writes: {}", names.join(", "));
    }
    refusal
}

pub(in crate::core) fn no_arbiter() -> RequestError {
    refusal("no-arbiter", "this cluster has no arbiter (arbiter = \"none\"), which this request needs".to_string())
}

pub(super) fn no_states() -> RequestError {
    refusal(
        "not-available",
        "this cluster's arbiter keeps no states of offices (arbiter = \"none\"); set arbiter = \"raft\"".to_string(),
    )
}

pub(super) fn no_state(office: &str) -> RequestError {
    refusal("no-state", format!("no holder of `{office}` has stored a state"))
}

pub(in crate::core) fn state_too_large(bytes: u64, limit: u64) -> RequestError {
    let message = format!("a state of {bytes} bytes is larger than {limit}, the maximum (`limits.state`)");
    refusal("too-large", message)
}

pub(in crate::core) fn no_room_for_state(bytes: u64, others: u64, limit: u64) -> RequestError {
    let message = format!(
        "there is no room for a state of {bytes} bytes: the other offices' states take {others} of {limit} bytes \
         (`limits.state-total`), and at most {MAX_STATES} offices have one"
    );
    refusal("no-room", message)
}

pub(in crate::core) fn damaged_state() -> RequestError {
    refusal("failed", "the state was damaged on its way; nothing has changed".to_string())
}

pub(super) fn state_timed_out() -> RequestError {
    let message = "the arbiter's leader did not answer in time; the state is either the former or the new one";
    refusal("timed-out", message.to_string())
}

/// A state was sent as a whole, without an answer, and then again.
pub(super) fn state_uncertain(refusal: RequestError) -> RequestError {
    let message = "no answer came at first, and then this one";
    let message = format!("{message}: {}; the state is either the former or the new one", refusal.message);
    RequestError { code: "timed-out".to_string(), message }
}

pub(in crate::core) fn state_superseded() -> RequestError {
    refusal("busy", "another state of the office is being stored; this one is discarded".to_string())
}
