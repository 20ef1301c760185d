//! Keeps web pages out.
//!
//! A browser sends what a page asks it to, from its user's host and with its user's certificate. What a page cannot
//! change are headers: `Origin` and `Sec-Fetch-Site` say that a page asks, and `Host` has the page's own name if that
//! name was made to resolve to this node. The check is the same for every caller, so that it depends on nothing else.

use std::net::IpAddr;
use std::sync::{PoisonError, RwLock};

use axum::http::{HeaderMap, HeaderName, header};

use crate::error::{ApiError, Code};

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// How much of a name a message quotes.
const MAX_SHOWN_CHARS: usize = 80;

/// The names that the API answers to, beside addresses and `localhost`.
pub(crate) struct Hosts {
    /// `http.allowed-hosts`, in lower case. Their pages may use the API.
    allowed: Vec<String>,
    /// The name in the member's address.
    member: String,
    /// The names in the certificate of the API, which may be replaced.
    certificate: RwLock<Vec<String>>,
}

impl Hosts {
    /// `address` is that of the member, `HOST:PORT`.
    pub(crate) fn new(allowed: &[String], address: &str, certificate: Vec<String>) -> Hosts {
        let member = host_of(address).trim_end_matches('.').to_ascii_lowercase();
        Hosts { allowed: allowed.to_vec(), member, certificate: RwLock::new(certificate) }
    }

    /// The API has another certificate from now on, with these names.
    pub(crate) fn set_certificate(&self, names: Vec<String>) {
        *self.certificate.write().unwrap_or_else(PoisonError::into_inner) = names;
    }

    /// Fails if a web page of another site sent the request, or may have.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        for host in headers.get_all(header::HOST) {
            let host = host.to_str().unwrap_or("?");
            if !self.answers_to(host_of(host)) {
                let shown: String = host.chars().take(MAX_SHOWN_CHARS).collect();
                return refused(&format!(
                    "the `Host` header is `{shown}`, which is no name of this node that `http.allowed-hosts` lists"
                ));
            }
        }
        for origin in headers.get_all(header::ORIGIN) {
            let origin = origin.to_str().unwrap_or_default();
            let host = origin.split_once("://").map_or("", |(_, rest)| host_of(rest)).to_ascii_lowercase();
            if !self.allowed.contains(&host) {
                return refused("the request has an `Origin` header that `http.allowed-hosts` does not list");
            }
        }
        // Browsers also say so where they send no `Origin`. `none` is an address that the user typed.
        let is_own = |site: &[u8]| site == b"same-origin" || site == b"none";
        if headers.get(FETCH_SITE).is_some_and(|site| !is_own(site.as_bytes())) {
            return refused("a page of another site sent the request");
        }
        Ok(())
    }

    fn answers_to(&self, name: &str) -> bool {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        let is_literal = name.parse::<IpAddr>().is_ok() || name == "localhost" || name.is_empty();
        is_literal
            || name == self.member
            || self.allowed.contains(&name)
            || self.certificate.read().unwrap_or_else(PoisonError::into_inner).iter().any(|known| covers(known, &name))
    }
}

/// Whether a name in a certificate is this name, or `*.` and what follows its first part.
fn covers(known: &str, name: &str) -> bool {
    match known.strip_prefix("*.") {
        Some(parent) => name.split_once('.').is_some_and(|(_, rest)| rest.eq_ignore_ascii_case(parent)),
        None => known.eq_ignore_ascii_case(name),
    }
}

/// What is before the port. IPv6 addresses are in brackets.
fn host_of(authority: &str) -> &str {
    match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    }
}

fn refused(what: &str) -> Result<(), ApiError> {
    Err(ApiError::new(Code::Forbidden, format!("{what}: web pages may not use this API")))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn hosts() -> Hosts {
        let certificate = vec!["node.example".to_string(), "*.nodes.example".to_string()];
        Hosts::new(&["api.example".to_string()], "A.Example:7400", certificate)
    }

    fn check(name: HeaderName, value: &'static str) -> Result<(), Code> {
        let headers = HeaderMap::from_iter([(name, HeaderValue::from_static(value))]);
        hosts().check(&headers).map_err(|error| error.code)
    }

    #[test]
    fn addresses_and_names_of_the_node_are_answered() {
        let own = ["127.0.0.1:7480", "10.0.0.1", "localhost:7480", "[::1]:7480", "LOCALHOST", "localhost."];
        let named = ["api.example", "API.Example:443", "a.example:7480", "node.example", "b.nodes.example:1"];
        for host in own.into_iter().chain(named) {
            assert_eq!(check(header::HOST, host), Ok(()), "{host}");
        }
        let foreign = ["evil.example", "evil.example:7480", "127.0.0.1.evil.example", "x.api.example"];
        for host in foreign.into_iter().chain(["nodes.example", "a.b.nodes.example", "node.example.evil"]) {
            assert_eq!(check(header::HOST, host), Err(Code::Forbidden), "{host}");
        }
        let (local, foreign) = (HeaderValue::from_static("localhost"), HeaderValue::from_static("evil.example"));
        let both = HeaderMap::from_iter([(header::HOST, local)]);
        assert!(hosts().check(&both).is_ok());
        let mut both = both;
        both.append(header::HOST, foreign);
        assert!(hosts().check(&both).is_err(), "each one counts");
    }

    #[test]
    fn a_dot_at_the_end_of_a_name_does_not_matter() {
        let hosts = Hosts::new(&[], "a.example.:7400", Vec::new());
        for host in ["a.example:7480", "a.example.:7480"] {
            let headers = HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(host))]);
            assert!(hosts.check(&headers).is_ok(), "{host}");
        }
    }

    #[test]
    fn only_pages_of_allowed_hosts_may_ask() {
        for origin in ["https://api.example", "http://API.example:8080"] {
            assert_eq!(check(header::ORIGIN, origin), Ok(()), "{origin}");
        }
        for origin in ["null", "", "http://127.0.0.1:7480", "https://evil.example", "https://a.example", "api.example"]
        {
            assert_eq!(check(header::ORIGIN, origin), Err(Code::Forbidden), "{origin}");
        }
        for site in ["same-origin", "none"] {
            assert_eq!(check(FETCH_SITE, site), Ok(()), "{site}");
        }
        for site in ["cross-site", "same-site", "later"] {
            assert_eq!(check(FETCH_SITE, site), Err(Code::Forbidden), "{site}");
        }
    }

    #[test]
    fn a_new_certificate_has_other_names() {
        let hosts = hosts();
        let headers = |host| HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(host))]);
        hosts.set_certificate(vec!["new.example".to_string()]);
        assert!(hosts.check(&headers("new.example")).is_ok());
        assert!(hosts.check(&headers("node.example")).is_err());
    }
}
