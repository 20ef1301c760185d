//! What single values may be: names, addresses, durations, words.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use hustings_algorithms::Goal;
use serde::Deserialize;
use serde::de::value::{Error as WordError, StrDeserializer};

use super::document::Text;
use super::error::{ConfigError, nearest, wrong};
use crate::election::{Algorithms, Choice};
use crate::member::Member;

pub(super) const A_NAME: &str = "allowed are 1 to 63 of a-z, 0-9 and -, with no - at either end";
pub(super) const AN_ADDRESS: &str =
    "allowed is HOST:PORT with a name or address as host, IPv6 in brackets, and a port from 1 to 65535";
const A_DURATION: &str = "allowed is a number with a unit: \"50ms\", \"15s\", \"1m 30s\"";
/// The room that the kernel has for the path of a socket, less the zero at its end.
pub(crate) const MAX_SOCKET_PATH: usize = 107;

/// Whether this is a DNS label in lower case.
pub(super) fn is_name(text: &str) -> bool {
    let inner = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
    (1..=63).contains(&text.len())
        && text.bytes().all(|byte| inner(&byte))
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// What is wrong with the name of an office, if anything is.
pub(crate) fn office_name(text: &str) -> Result<(), String> {
    let fits = is_name(text);
    if fits { Ok(()) } else { Err(format!("`{}` is no name of an office: {A_NAME}", text.escape_debug())) }
}

/// What is wrong with a member, if anything is.
pub(crate) fn member_problem(member: &Member) -> Option<String> {
    if !is_name(&member.name) {
        return Some(format!("`{}` is no name of a member: {A_NAME}", member.name.escape_debug()));
    }
    let fits = is_address(&member.address);
    (!fits).then(|| format!("`{}` is no address: {AN_ADDRESS}", member.address.escape_debug()))
}

/// Fails unless this is a DNS label in lower case.
pub(super) fn name(place: &str, text: &str) -> Result<String, ConfigError> {
    if is_name(text) { Ok(text.to_string()) } else { Err(wrong(place, text, A_NAME)) }
}

/// Whether this is `host:port`.
pub(super) fn is_address(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    // Not only digits are numbers to `parse`: it takes a sign too.
    let digits = (1..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit());
    digits && port.parse::<u16>().is_ok_and(|port| port > 0) && is_host(host)
}

fn is_host(host: &str) -> bool {
    if let Some(inner) = host.strip_prefix('[') {
        return inner.strip_suffix(']').is_some_and(|address| address.parse::<Ipv6Addr>().is_ok());
    }
    if host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return host.parse::<Ipv4Addr>().is_ok();
    }
    // Underscores are no part of host names, but of the service names of containers.
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let label = |label: &str| (1..=63).contains(&label.len()) && label.bytes().all(plain) && !label.starts_with('-');
    host.len() <= 253 && host.strip_suffix('.').unwrap_or(host).split('.').all(label)
}

/// Fails unless this is `host:port`.
pub(super) fn address(place: &str, text: &str) -> Result<String, ConfigError> {
    if is_address(text) { Ok(text.to_string()) } else { Err(wrong(place, text, AN_ADDRESS)) }
}

/// Fails unless this is an address of a page, without encryption.
pub(super) fn http(place: &str, text: &str) -> Result<String, ConfigError> {
    let plain = text.len() <= 2000 && text.bytes().all(|byte| byte.is_ascii_graphic());
    let host = text.strip_prefix("http://").and_then(|rest| rest.split(['/', '?', '#']).next());
    match host {
        Some(host) if plain && (is_address(host) || is_host(host)) => Ok(text.to_string()),
        _ => Err(wrong(place, text, "allowed is http://HOST:PORT/PATH, without blanks; the port is 80 if left out")),
    }
}

/// A time with its unit.
pub(super) fn duration(key: &str, text: &Text) -> Result<Duration, ConfigError> {
    humantime::parse_duration(&text.text).map_err(|_| wrong(text.place(key), &text.text, A_DURATION))
}

/// One of the words of a type.
pub(super) fn word<'de, T: Deserialize<'de>>(place: &str, text: &'de str) -> Result<T, ConfigError> {
    T::deserialize(StrDeserializer::<WordError>::new(text)).map_err(|error| {
        // The rest of the message repeats the value.
        let message = error.to_string();
        let allowed = message.rsplit_once("expected ").map_or("", |(_, allowed)| allowed);
        wrong(place, text, format!("allowed is {allowed}"))
    })
}

/// The algorithm of this name, which must be able to elect among the members of a cluster.
pub(super) fn algorithm(
    place: &str,
    text: &str,
    params: Option<Vec<String>>,
    algorithms: &Algorithms,
) -> Result<Choice, ConfigError> {
    let choice = algorithms.choose(text, params);
    let Some(about) = choice.about() else {
        let known = algorithms.all().flat_map(|about| about.names());
        let meant = nearest(text, known).map(|meant| format!("; the nearest is `{meant}`")).unwrap_or_default();
        return Err(wrong(place, text, format!("there is no such algorithm{meant}; `hustings list` shows all")));
    };
    if about.elects_by_id() {
        return Ok(choice);
    }
    let problem = match about.goal {
        Goal::Estimate => "it counts nodes and elects nobody; `bully` elects",
        Goal::Leader => {
            "it is for nodes without ids, and lets coins choose: the members of a cluster have ids and priorities, and \
             the best is to lead; `bully` elects it"
        }
    };
    Err(wrong(place, text, problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_dns_labels() {
        for good in ["a", "a-1", "7", &"x".repeat(63)] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "-a", "a-", "A", "a.b", "a b", "ä", "../a", &"x".repeat(64)] {
            assert!(!is_name(bad), "{bad}");
        }
    }

    #[test]
    fn addresses_are_host_and_port() {
        for good in ["127.0.0.1:1", "[::1]:65535", "db_1:7401", "Node-1.example.com.:80", "localhost:7401"] {
            assert!(is_address(good), "{good}");
        }
        for bad in [
            "",
            ":1",
            "a",
            "a:",
            "a:0",
            "a:65536",
            "a:+1",
            "a:1 ",
            "::1:80",
            "[::1]",
            "[::1",
            "[x]:1",
            "256.0.0.1:1",
            "1.2.3:4",
            "a..b:1",
            "-a:1",
            "a b:1",
            "a:1:2",
            ".:1",
            "user@host:1",
        ] {
            assert!(!is_address(bad), "{bad}");
        }
        assert!(!is_address(&format!("{}:1", vec!["a"; 200].join("."))));
    }

    #[test]
    fn pages_are_without_encryption_and_on_a_host() {
        for good in ["http://localhost", "http://[::1]:80/a?b", "http://10.0.0.1:8080/health"] {
            assert!(http("health.http", good).is_ok(), "{good}");
        }
        for bad in
            ["https://localhost", "http://", "http:///a", "http://a b", "http://a/\n", "localhost", "http://u@h/"]
        {
            assert!(http("health.http", bad).is_err(), "{bad}");
        }
    }
}
