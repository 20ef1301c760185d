//! The `[[member]]` blocks, and which of them the node itself is.

use hustings_protocol::Id;

use crate::config::MAX_MEMBERS;
use crate::config::document::{MemberDocument, Text};
use crate::config::error::{ConfigError, invalid, nearest};
use crate::config::values::{address, name};
use crate::member::{Member, Role};

/// Checks the `[[member]]` blocks. Returns the members ascending by id.
pub(in super::super) fn members(blocks: &[MemberDocument]) -> Result<Vec<Member>, ConfigError> {
    if blocks.len() > MAX_MEMBERS {
        return Err(invalid(
            "member",
            &format!("{} blocks", blocks.len()),
            format!("at most {MAX_MEMBERS} are allowed"),
        ));
    }
    let mut members = Vec::with_capacity(blocks.len());
    for (index, MemberDocument { id, name: given_name, address: given_address, priority, role }) in
        blocks.iter().enumerate()
    {
        let place = |key: &str| format!("member {}: {key}", index + 1);
        if *id == 0 {
            return Err(invalid(place("id"), "0", "ids start at 1"));
        }
        let name = name(&place("name"), given_name)?;
        let address = address(&place("address"), given_address)?;
        members.push(Member { id: Id(*id), name, address, priority: *priority, role: *role });
    }
    members.sort_by_key(|member| member.id);
    check_members(&members)?;
    Ok(members)
}

/// Fails if these members, ascending by id, do not form a valid cluster.
pub(in super::super) fn check_members(members: &[Member]) -> Result<(), ConfigError> {
    let Some(first) = members.first() else {
        return Err(ConfigError::Missing {
            key: "member",
            need: "add a [[member]] block for every member of the cluster",
        });
    };
    if let Some(pair) = members.windows(2).find(|pair| pair[0].id == pair[1].id) {
        let problem = format!("both `{}` and `{}` have it, but ids must be unique", pair[0].name, pair[1].name);
        return Err(invalid("member: id", &pair[0].id.to_string(), problem));
    }
    unique("member: name", members.iter().map(|member| member.name.as_str()))?;
    unique("member: address", members.iter().map(|member| member.address.as_str()))?;
    if !members.iter().any(|member| member.role == Role::Elector) {
        let problem = "no member can lead; at least one must be an elector";
        return Err(invalid("member: role", &first.role.to_string(), problem));
    }
    Ok(())
}

pub(super) fn unique<'a>(place: &str, values: impl Iterator<Item = &'a str>) -> Result<(), ConfigError> {
    let mut sorted: Vec<&str> = values.collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(invalid(place, pair[0], "it occurs twice, but it must be unique")),
        None => Ok(()),
    }
}

pub(super) fn own(node: Text, members: &[Member]) -> Result<&Member, ConfigError> {
    members.iter().find(|member| member.name == node.text).ok_or_else(|| {
        let names = || members.iter().map(|member| member.name.as_str());
        let suggestion = nearest(&node.text, names())
            .map(|suggestion| format!(" (did you mean `{suggestion}`?)"))
            .unwrap_or_default();
        let all = names().collect::<Vec<_>>().join(", ");
        invalid(node.place("node"), &node.text, format!("no member has this name{suggestion}; the members are {all}"))
    })
}
