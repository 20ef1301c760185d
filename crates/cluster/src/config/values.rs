//! Validates single values: names, addresses, durations, keywords.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use hustings_algorithms::Goal;
use serde::Deserialize;
use serde::de::value::{Error as WordError, StrDeserializer};

use super::document::Text;
use super::error::{ConfigError, invalid, nearest};
use crate::election::{AlgorithmConfig, Algorithms};
use crate::member::Member;

pub(super) const NAME_RULE: &str = "a name has 1 to 63 characters of a-z, 0-9 and -, and no - at either end";
pub(super) const ADDRESS_RULE: &str =
    "an address is HOST:PORT: a host name or IP address (IPv6 in brackets) and a port from 1 to 65535";
const DURATION_RULE: &str = "a duration is a number with a unit: \"50ms\", \"15s\", \"1m 30s\"";
/// The longest socket path that the kernel accepts, without the terminating zero.
pub(crate) const MAX_SOCKET_PATH: usize = 107;

/// Whether the text is a DNS label in lower case.
pub(super) fn is_name(text: &str) -> bool {
    let inner = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
    (1..=63).contains(&text.len())
        && text.bytes().all(|byte| inner(&byte))
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// Checks the name of an office. The error says what is wrong.
pub(crate) fn office_name(text: &str) -> Result<(), String> {
    let fits = is_name(text);
    if fits { Ok(()) } else { Err(format!("`{}` is not a valid office name: {NAME_RULE}", text.escape_debug())) }
}

/// Checks the name and address of a member. Returns what is wrong.
pub(crate) fn member_problem(member: &Member) -> Option<String> {
    if !is_name(&member.name) {
        return Some(format!("`{}` is not a valid member name: {NAME_RULE}", member.name.escape_debug()));
    }
    let fits = is_address(&member.address);
    (!fits).then(|| format!("`{}` is not a valid address: {ADDRESS_RULE}", member.address.escape_debug()))
}

/// Fails unless the text is a DNS label in lower case.
pub(super) fn name(place: &str, text: &str) -> Result<String, ConfigError> {
    if is_name(text) { Ok(text.to_string()) } else { Err(invalid(place, text, NAME_RULE)) }
}

/// Whether the text is `host:port`.
pub(super) fn is_address(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    // `parse` also accepts a leading `+`.
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
    // Underscores are not allowed in host names, but container service names use them.
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let label = |label: &str| (1..=63).contains(&label.len()) && label.bytes().all(plain) && !label.starts_with('-');
    host.len() <= 253 && host.strip_suffix('.').unwrap_or(host).split('.').all(label)
}

/// Fails unless the text is `host:port`.
pub(super) fn address(place: &str, text: &str) -> Result<String, ConfigError> {
    if is_address(text) { Ok(text.to_string()) } else { Err(invalid(place, text, ADDRESS_RULE)) }
}

/// Fails unless the text is a plain `http://` URL.
pub(super) fn http(place: &str, text: &str) -> Result<String, ConfigError> {
    let plain = text.len() <= 2000 && text.bytes().all(|byte| byte.is_ascii_graphic());
    let host = text.strip_prefix("http://").and_then(|rest| rest.split(['/', '?', '#']).next());
    match host {
        Some(host) if plain && (is_address(host) || is_host(host)) => Ok(text.to_string()),
        _ => Err(invalid(place, text, "a URL is http://HOST[:PORT][/PATH], without spaces; the default port is 80")),
    }
}

/// Parses a duration with a unit.
pub(super) fn duration(key: &str, text: &Text) -> Result<Duration, ConfigError> {
    humantime::parse_duration(&text.text).map_err(|_| invalid(text.place(key), &text.text, DURATION_RULE))
}

/// Parses a size with a unit, from 1 byte to `max`.
pub(super) fn size(key: &str, given: Option<&Text>, default: u64, max: u64) -> Result<u64, ConfigError> {
    let Some(text) = given else { return Ok(default) };
    let (number, unit) = text.text.split_at(text.text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.text.len()));
    let factor = match unit.trim() {
        "B" => Some(1),
        "KiB" => Some(1 << 10),
        "MiB" => Some(1 << 20),
        _ => None,
    };
    let bytes = factor.zip(number.parse::<u64>().ok()).and_then(|(factor, number)| number.checked_mul(factor));
    match bytes.filter(|bytes| (1..=max).contains(bytes)) {
        Some(bytes) => Ok(bytes),
        None => {
            let problem =
                format!("expected a size from \"1B\" to \"{}MiB\", with the unit B, KiB or MiB: \"512KiB\"", max >> 20);
            Err(invalid(text.place(key), &text.text, problem))
        }
    }
}

/// A size in the largest unit that it is a multiple of.
pub(super) fn size_text(bytes: u64) -> String {
    match bytes {
        whole if whole.is_multiple_of(1 << 20) => format!("{}MiB", whole >> 20),
        whole if whole.is_multiple_of(1 << 10) => format!("{}KiB", whole >> 10),
        bytes => format!("{bytes}B"),
    }
}

/// Parses a keyword of an enum.
pub(super) fn word<'de, T: Deserialize<'de>>(place: &str, text: &'de str) -> Result<T, ConfigError> {
    T::deserialize(StrDeserializer::<WordError>::new(text)).map_err(|error| {
        // The beginning of the message repeats the value.
        let message = error.to_string();
        let allowed = message.rsplit_once("expected ").map_or("", |(_, allowed)| allowed);
        invalid(place, text, format!("expected {allowed}"))
    })
}

/// Checks that an algorithm exists and can elect a leader of a cluster.
pub(super) fn algorithm(
    place: &str,
    text: &str,
    params: Option<Vec<String>>,
    algorithms: &Algorithms,
) -> Result<AlgorithmConfig, ConfigError> {
    let choice = algorithms.choose(text, params);
    let Some(about) = choice.about() else {
        let known = algorithms.all().flat_map(|about| about.names());
        let suggestion =
            nearest(text, known).map(|suggestion| format!(" (did you mean `{suggestion}`?)")).unwrap_or_default();
        return Err(invalid(
            place,
            text,
            format!("there is no such algorithm{suggestion}; `hustings list` lists all of them"),
        ));
    };
    if about.elects_by_id() {
        return Ok(choice);
    }
    let problem = match about.goal {
        Goal::Estimate => "this algorithm estimates the number of nodes and elects no leader; try `bully`",
        Goal::Leader => {
            "this algorithm is for nodes without ids and elects a random one, but a cluster must elect its \
             highest-ranked member; try `bully`"
        }
    };
    Err(invalid(place, text, problem))
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
    fn urls_are_plain_http_with_a_host() {
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
