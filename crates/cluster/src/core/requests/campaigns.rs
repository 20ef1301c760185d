//! Which campaigns are accepted.

use super::Known;
use super::errors::{self, refusal};
use crate::api::RequestError;
use crate::config::{MAX_OFFICES, Mode};
use crate::core::context::Context;
use crate::core::{ClientId, LEADER};
use crate::member::Role;

/// Checks whether a client may campaign for an office.
pub(in crate::core) fn check_campaign(
    client: ClientId,
    office: &str,
    mode: Option<Mode>,
    known: &Known<'_>,
    context: &Context<'_>,
) -> Result<(), RequestError> {
    let (settings, local, table) = (context.settings, known.local_leases, known.arbiter.table());
    if let Err(problem) = crate::config::office_name(office) {
        return Err(refusal("bad-request", problem));
    }
    let role = settings.own_role(table);
    if role != Role::Elector {
        return Err(refusal("not-an-elector", format!("this node is a {role}, which never holds an office")));
    }
    let limit = settings.limits.campaigns;
    if local.campaign_count(client) >= limit {
        return Err(refusal(
            "too-many",
            format!("a connection may campaign for at most {limit} offices (`limits.campaigns`)"),
        ));
    }
    if !local.is_campaigning_for(office) && local.campaigned_offices() >= MAX_OFFICES {
        let message =
            format!("the clients of this node already campaign for {MAX_OFFICES} offices, which is the maximum");
        return Err(refusal("too-many", message));
    }
    if office != LEADER && !table.offices.contains(office) && table.remaining_capacity() == 0 {
        let message =
            format!("there are already {MAX_OFFICES} offices, which is the maximum, and all of them are held");
        return Err(refusal("too-many", message));
    }
    let actual = known.mode(office, context);
    match mode.filter(|mode| *mode != actual) {
        Some(wanted) => Err(errors::other_mode(office, actual, settings.policy(office).mode == wanted)),
        None => Ok(()),
    }
}
