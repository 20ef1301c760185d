//! Who may ask.
//!
//! A page of another site can make a browser send requests to loopback, and a name that points to loopback one moment
//! later (DNS rebinding) makes such a page look like ours. So requests must name a host that is an address or one of
//! ours, must not come from another origin, and must carry the token of this start, which only the printed address has.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderName, header};

/// The rules of a server.
#[derive(Debug)]
pub(super) struct Guard {
    port: u16,
    token: Option<String>,
    hosts: Vec<String>,
}

/// Why a request is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Refused {
    Host,
    Origin,
    Token,
}

/// The headers of every answer. Scripts, styles and requests may only come from and go to this server.
pub(super) const HEADERS: &[(&str, &str)] = &[
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("x-frame-options", "DENY"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-store"),
];

/// A new token: 128 random bits.
pub(super) fn token() -> std::io::Result<String> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

impl Guard {
    pub(super) fn new(address: SocketAddr, token: Option<String>, hosts: Vec<String>) -> Self {
        Guard { port: address.port(), token, hosts }
    }

    /// The name of the cookie. Ports share cookies, so the port is part of it.
    fn cookie(&self) -> String {
        format!("hustings-lab-{}", self.port)
    }

    /// The cookie to set for a request whose address has this query, if it has the token.
    ///
    /// It is strict: other ports of the host share cookies, and pages of other sites must not make a browser show the
    /// token to whoever listens there.
    pub(super) fn admission(&self, query: &str) -> Option<String> {
        let token = self.token.as_deref()?;
        let given = form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == "token")?.1;
        is_same(&given, token).then(|| format!("{}={token}; HttpOnly; SameSite=Strict; Path=/", self.cookie()))
    }

    /// Checks the host and the origin of a request.
    pub(super) fn check_origin(&self, headers: &HeaderMap) -> Result<(), Refused> {
        let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let host = text(header::HOST).filter(|host| self.is_own_host(host)).ok_or(Refused::Host)?;
        let is_own = |origin: &str| origin.strip_prefix("http://").is_some_and(|origin| origin == host);
        if text(header::ORIGIN).is_some_and(|origin| !is_own(origin)) {
            return Err(Refused::Origin);
        }
        let site = text(HeaderName::from_static("sec-fetch-site"));
        let mode = text(HeaderName::from_static("sec-fetch-mode"));
        // A link from elsewhere may open the page, but nothing from elsewhere may use it.
        match site {
            None | Some("same-origin" | "none") => Ok(()),
            Some(_) if mode == Some("navigate") => Ok(()),
            Some(_) => Err(Refused::Origin),
        }
    }

    /// Checks the token of a request.
    pub(super) fn check_token(&self, headers: &HeaderMap) -> Result<(), Refused> {
        let Some(token) = self.token.as_deref() else { return Ok(()) };
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let name = self.cookie();
        let is_ours = |cookie: &str| {
            cookie.trim().split_once('=').is_some_and(|(key, value)| key == name && is_same(value, token))
        };
        if cookies.flat_map(|value| value.split(';')).any(is_ours) { Ok(()) } else { Err(Refused::Token) }
    }

    /// An address cannot be rebound; a name must be known.
    fn is_own_host(&self, host: &str) -> bool {
        if let Ok(address) = host.parse::<SocketAddr>() {
            return address.port() == self.port;
        }
        if host.parse::<IpAddr>().is_ok() {
            return self.port == 80;
        }
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) => (name, port.parse().ok()),
            None => (host, Some(80)),
        };
        let is_known = name.eq_ignore_ascii_case("localhost")
            || self.hosts.iter().any(|known| known.eq_ignore_ascii_case(name) || known.eq_ignore_ascii_case(host));
        // A class may be behind a proxy with a name and a port of its own.
        is_known && (port == Some(self.port) || !self.hosts.is_empty())
    }
}

/// Compares in a time that does not depend on where they differ.
fn is_same(one: &str, other: &str) -> bool {
    one.len() == other.len() && one.bytes().zip(other.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn guard(hosts: &[&str]) -> Guard {
        let hosts = hosts.iter().map(ToString::to_string).collect();
        Guard::new("127.0.0.1:8080".parse().expect("an address"), Some("secret".to_string()), hosts)
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().expect("a value"))).collect()
    }

    #[test]
    fn only_addresses_and_known_names_are_hosts() {
        let asks = |guard: &Guard, host: &str| guard.check_origin(&headers(&[("host", host)]));
        for host in ["127.0.0.1:8080", "localhost:8080", "[::1]:8080", "10.0.0.7:8080"] {
            assert_eq!(asks(&guard(&[]), host), Ok(()), "{host}");
        }
        for host in ["evil.example:8080", "evil.example", "localhost", "localhost:81", "127.0.0.1:81", "", "127.0.0.1"]
        {
            assert_eq!(asks(&guard(&[]), host), Err(Refused::Host), "{host}");
        }
        assert_eq!(asks(&guard(&["lab.example"]), "lab.example:8080"), Ok(()));
        assert_eq!(asks(&guard(&["lab.example"]), "evil.example:8080"), Err(Refused::Host));
        assert_eq!(guard(&[]).check_origin(&HeaderMap::new()), Err(Refused::Host));
    }

    #[test]
    fn other_origins_are_refused() {
        let asks = |pairs: &[(&'static str, &str)]| {
            let mut all = headers(pairs);
            all.insert(header::HOST, HeaderValue::from_static("localhost:8080"));
            guard(&[]).check_origin(&all)
        };
        assert_eq!(asks(&[("origin", "http://localhost:8080"), ("sec-fetch-site", "same-origin")]), Ok(()));
        assert_eq!(asks(&[("sec-fetch-site", "none"), ("sec-fetch-mode", "navigate")]), Ok(()));
        assert_eq!(asks(&[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")]), Ok(()), "a link");
        assert_eq!(asks(&[("origin", "http://evil.example")]), Err(Refused::Origin));
        assert_eq!(asks(&[("origin", "null")]), Err(Refused::Origin));
        assert_eq!(asks(&[("origin", "http://localhost:81")]), Err(Refused::Origin));
        assert_eq!(asks(&[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")]), Err(Refused::Origin));
        assert_eq!(asks(&[("sec-fetch-site", "same-site"), ("sec-fetch-mode", "cors")]), Err(Refused::Origin));
    }

    #[test]
    fn the_token_admits_and_nothing_else() {
        let guard = guard(&[]);
        let cookie = guard.admission("token=secret").expect("it is the token");
        assert_eq!(cookie, "hustings-lab-8080=secret; HttpOnly; SameSite=Strict; Path=/");
        assert_eq!(guard.admission("token=secreT"), None);
        assert_eq!(guard.admission(""), None);
        assert_eq!(guard.check_token(&headers(&[("cookie", "a=b; hustings-lab-8080=secret")])), Ok(()));
        for wrong in ["hustings-lab-8080=secre", "hustings-lab-81=secret", "secret", ""] {
            assert_eq!(guard.check_token(&headers(&[("cookie", wrong)])), Err(Refused::Token), "{wrong}");
        }
        assert_eq!(guard.check_token(&HeaderMap::new()), Err(Refused::Token));
        assert_eq!((token().expect("random").len(), token().ok() == token().ok()), (32, false));
    }
}
