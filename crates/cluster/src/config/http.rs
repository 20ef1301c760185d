//! `[http]`: the HTTP API of a node.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::document::Text;
use super::error::{ConfigError, invalid};
use super::read::path;
use super::values::word;
use crate::api::Right;

/// The default of `http.listen`.
const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 7480);
/// The largest `http.limits.connections` and `http.limits.watchers`. Each one is a file descriptor.
const MAX_CONNECTIONS: u32 = 20_000;
/// The largest `http.limits.sessions`. Each one is two file descriptors.
const MAX_SESSIONS: u32 = 5_000;
const MAX_REQUESTS_PER_SECOND: u32 = 1_000_000;
/// The most names in `http.allowed-hosts`, and the longest one. Each request is compared with all of them.
const MAX_ALLOWED_HOSTS: usize = 32;
const MAX_HOST_BYTES: usize = 253;

/// The HTTP API of a node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Http {
    /// The address of the API.
    pub listen: SocketAddr,
    /// The address for health checks and metrics, which needs no authentication; closed if absent.
    pub probe_listen: Option<SocketAddr>,
    /// The file with the bearer tokens, if any.
    pub tokens: Option<PathBuf>,
    /// What callers without a token or certificate may do.
    pub anonymous: Anonymous,
    /// Names that clients know this API by, such as that of a proxy before it; in lower case.
    pub allowed_hosts: Vec<String>,
    /// TLS; plain HTTP if absent.
    pub tls: Option<HttpTls>,
    /// How much clients may ask for.
    pub limits: HttpLimits,
}

/// What callers of the HTTP API without a token or certificate may do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Anonymous {
    /// Nothing.
    None,
    /// Read.
    Read,
    /// Read and campaign.
    Campaign,
    /// Everything.
    Operate,
}

impl Anonymous {
    /// The right, if there is one beyond reading.
    pub fn right(self) -> Option<Right> {
        match self {
            Anonymous::None | Anonymous::Read => None,
            Anonymous::Campaign => Some(Right::Campaign),
            Anonymous::Operate => Some(Right::Operate),
        }
    }
}

/// PEM files for TLS of the HTTP API.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct HttpTls {
    /// The server's certificate, with its chain.
    pub certificate: PathBuf,
    /// The server's private key.
    pub key: PathBuf,
    /// The authority of the clients' certificates. If it is set, every client must present one.
    pub client_authority: Option<PathBuf>,
    /// The right of clients with such a certificate.
    pub client_right: Right,
}

/// How much the clients of the HTTP API may ask for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct HttpLimits {
    /// The largest number of connections, watchers included.
    pub connections: usize,
    /// The largest number of watchers.
    pub watchers: usize,
    /// The largest number of campaigns.
    pub sessions: usize,
    /// The largest number of requests per second from one address.
    pub requests_per_second: u32,
}

impl Default for HttpLimits {
    fn default() -> Self {
        HttpLimits { connections: 1_024, watchers: 512, sessions: 256, requests_per_second: 1_000 }
    }
}

/// `[http]`, as written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct HttpDocument {
    pub(super) listen: Option<Text>,
    pub(super) probe_listen: Option<Text>,
    pub(super) tokens: Option<Text>,
    anonymous: Option<Anonymous>,
    #[serde(default)]
    allowed_hosts: Vec<String>,
    tls: Option<HttpTlsDocument>,
    #[serde(default)]
    limits: HttpLimitsDocument,
}

/// `[http.tls]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct HttpTlsDocument {
    certificate: Text,
    key: Text,
    client_authority: Option<Text>,
    client_right: Option<Text>,
}

/// `[http.limits]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct HttpLimitsDocument {
    connections: Option<u32>,
    watchers: Option<u32>,
    sessions: Option<u32>,
    requests_per_second: Option<u32>,
}

impl HttpDocument {
    /// Checks the values and fills in defaults. Relative paths are relative to the folder.
    pub(super) fn check(self, folder: &Path) -> Result<Http, ConfigError> {
        let place = self.listen.as_ref().map_or("http.listen", |text| text.place("http.listen")).to_string();
        let listen = self.listen.as_ref().map_or(Ok(DEFAULT_LISTEN), |text| socket_address("http.listen", text))?;
        let probe_listen =
            self.probe_listen.as_ref().map(|text| socket_address("http.probe-listen", text)).transpose()?;
        if probe_listen == Some(listen) {
            return Err(invalid("http.probe-listen", &listen.to_string(), "http.listen uses this address already"));
        }
        let tokens = self.tokens.map(|text| path(folder, "http.tokens", Some(text), "")).transpose()?;
        let tls = self.tls.map(|tls| tls.check(folder)).transpose()?;
        let is_authenticated = tokens.is_some() || tls.as_ref().is_some_and(|tls| tls.client_authority.is_some());
        let default = if is_authenticated { Anonymous::None } else { Anonymous::Campaign };
        let allowed_hosts = allowed_hosts(self.allowed_hosts)?;
        if let (Some(name), None, false) = (allowed_hosts.first(), self.anonymous, is_authenticated) {
            let problem = "whoever comes through a proxy on this host could campaign; set `http.tokens`, \
                           `http.tls.client-authority` or `http.anonymous`";
            return Err(invalid("http.allowed-hosts", name, problem));
        }
        let anonymous = self.anonymous.unwrap_or(default);
        if !listen.ip().is_loopback() {
            if !is_authenticated {
                let problem = "everybody on the network could campaign there; set `http.tokens` or \
                               `http.tls.client-authority`, or listen on a loopback address such as 127.0.0.1:7480";
                return Err(invalid(place, &listen.to_string(), problem));
            }
            if anonymous != Anonymous::None {
                let problem = format!("{listen} is not a loopback address, where only \"none\" is allowed");
                let given = word_of(anonymous);
                return Err(invalid("http.anonymous", given, problem));
            }
        }
        Ok(Http { listen, probe_listen, tokens, anonymous, allowed_hosts, tls, limits: self.limits.check()? })
    }
}

impl HttpTlsDocument {
    fn check(self, folder: &Path) -> Result<HttpTls, ConfigError> {
        let authority = self.client_authority.map(|text| path(folder, "http.tls.client-authority", Some(text), ""));
        let client_right = self.client_right.as_ref();
        Ok(HttpTls {
            certificate: path(folder, "http.tls.certificate", Some(self.certificate), "")?,
            key: path(folder, "http.tls.key", Some(self.key), "")?,
            client_authority: authority.transpose()?,
            client_right: client_right
                .map_or(Ok(Right::Campaign), |text| word(text.place("http.tls.client-right"), &text.text))?,
        })
    }
}

impl HttpLimitsDocument {
    fn check(&self) -> Result<HttpLimits, ConfigError> {
        let default = HttpLimits::default();
        let limit = |key: &str, given: Option<u32>, default: usize, max: u32| match given {
            None => Ok(default),
            Some(given) if (1..=max).contains(&given) => Ok(given as usize),
            Some(given) => {
                let problem = format!("expected a number from 1 to {max}");
                Err(invalid(format!("http.limits.{key}"), &given.to_string(), problem))
            }
        };
        let per_second = default.requests_per_second as usize;
        let per_second = limit("requests-per-second", self.requests_per_second, per_second, MAX_REQUESTS_PER_SECOND)?;
        Ok(HttpLimits {
            connections: limit("connections", self.connections, default.connections, MAX_CONNECTIONS)?,
            watchers: limit("watchers", self.watchers, default.watchers, MAX_CONNECTIONS)?,
            sessions: limit("sessions", self.sessions, default.sessions, MAX_SESSIONS)?,
            requests_per_second: per_second as u32,
        })
    }
}

/// Checks the names of `http.allowed-hosts`.
fn allowed_hosts(names: Vec<String>) -> Result<Vec<String>, ConfigError> {
    const KEY: &str = "http.allowed-hosts";
    if names.len() > MAX_ALLOWED_HOSTS {
        return Err(invalid(KEY, &names.len().to_string(), format!("expected at most {MAX_ALLOWED_HOSTS} names")));
    }
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
    for name in &names {
        if !(1..=MAX_HOST_BYTES).contains(&name.len()) || !name.bytes().all(is_plain) || name.ends_with('.') {
            return Err(invalid(KEY, name, "expected a name without a port, such as \"hustings.example.com\""));
        }
    }
    Ok(names.iter().map(|name| name.to_ascii_lowercase()).collect())
}

fn word_of(anonymous: Anonymous) -> &'static str {
    match anonymous {
        Anonymous::None => "none",
        Anonymous::Read => "read",
        Anonymous::Campaign => "campaign",
        Anonymous::Operate => "operate",
    }
}

/// Parses an address to listen on. A host name could resolve to an address that everybody reaches.
fn socket_address(key: &str, text: &Text) -> Result<SocketAddr, ConfigError> {
    match text.text.parse::<SocketAddr>() {
        Ok(address) if address.port() > 0 => Ok(address),
        _ => {
            let problem = "expected IP:PORT, an IP address (IPv6 in brackets) and a port from 1 to 65535";
            Err(invalid(text.place(key), &text.text, problem))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    const SMALL: &str = "cluster = \"shop\"\nnode = \"a\"\n[[member]]\nid = 1\nname = \"a\"\naddress = \"h:1\"\n";

    fn http(text: &str) -> Result<Http, String> {
        let config = Config::parse(&format!("{SMALL}\n[http]\n{text}"), Path::new("/f"));
        config.map_err(|error| error.to_string()).map(|config| config.http.expect("there is a block"))
    }

    #[test]
    fn an_empty_block_listens_on_loopback_for_campaigns() {
        let read = http("").expect("everything has a default");
        assert_eq!((read.listen, read.probe_listen), ("127.0.0.1:7480".parse().expect("it is one"), None));
        assert_eq!((read.anonymous, read.tls, read.limits), (Anonymous::Campaign, None, HttpLimits::default()));
        assert_eq!(Config::parse(SMALL, Path::new("/f")).expect("it is right").http, None);
    }

    #[test]
    fn a_token_file_or_a_client_authority_shuts_anonymous_callers_out() {
        assert_eq!(http("tokens = \"t\"").expect("it is right").anonymous, Anonymous::None);
        let tls = "[http.tls]\ncertificate = \"c\"\nkey = \"k\"\nclient-authority = \"a\"\nclient-right = \"operate\"";
        let read = http(tls).expect("it is right");
        assert_eq!(read.anonymous, Anonymous::None);
        let expected = HttpTls {
            certificate: "/f/c".into(),
            key: "/f/k".into(),
            client_authority: Some("/f/a".into()),
            client_right: Right::Operate,
        };
        assert_eq!(read.tls, Some(expected));
        assert_eq!(http("tokens = \"t\"\nanonymous = \"read\"").expect("loopback").anonymous, Anonymous::Read);
    }

    /// Behind a proxy, everybody seems to be on this host.
    #[test]
    fn names_of_a_proxy_need_authentication_or_a_decision() {
        let error = http("allowed-hosts = [\"API.example\"]").expect_err("anybody could campaign");
        assert!(error.starts_with("`http.allowed-hosts` is `api.example`: whoever comes through"), "{error}");
        for decided in ["anonymous = \"read\"", "tokens = \"t\""] {
            let read = http(&format!("{decided}\nallowed-hosts = [\"API.example\"]")).expect("it is decided");
            assert_eq!(read.allowed_hosts, ["api.example"]);
        }
    }

    #[test]
    fn refuses_a_public_address_without_authentication() {
        for open in ["0.0.0.0:7480", "[::]:7480", "10.0.0.1:7480"] {
            let error = http(&format!("listen = \"{open}\"")).expect_err(open);
            assert!(error.starts_with(&format!("`http.listen` is `{open}`: everybody on the network")), "{error}");
            let one_sided = format!("listen = \"{open}\"\n[http.tls]\ncertificate = \"c\"\nkey = \"k\"");
            assert!(http(&one_sided).expect_err(open).contains("client-authority"));
            let anonymous = format!("listen = \"{open}\"\ntokens = \"t\"\nanonymous = \"read\"");
            assert!(http(&anonymous).expect_err(open).contains("`http.anonymous` is `read`"));
            assert!(http(&format!("listen = \"{open}\"\ntokens = \"t\"")).is_ok());
            assert!(http(&format!("{one_sided}\nclient-authority = \"a\"")).is_ok());
        }
        assert!(http("listen = \"[::1]:7480\"").is_ok());
        assert!(http("listen = \"127.9.9.9:7480\"").is_ok());
    }

    #[test]
    fn errors_name_the_key_and_what_is_allowed() {
        for (text, expected) in [
            ("listen = \"localhost:7480\"", "`http.listen` is `localhost:7480`: expected IP:PORT"),
            ("listen = \"127.0.0.1:0\"", "`http.listen` is `127.0.0.1:0`: expected IP:PORT"),
            ("probe-listen = \"x\"", "`http.probe-listen` is `x`: expected IP:PORT"),
            ("probe-listen = \"127.0.0.1:7480\"", "`http.probe-listen` is `127.0.0.1:7480`: http.listen uses"),
            ("tokens = \"\"", "`http.tokens` is ``: expected a path"),
            ("[http.limits]\nsessions = 0", "`http.limits.sessions` is `0`: expected a number from 1 to 5000"),
            ("[http.limits]\nwatchers = 20001", "`http.limits.watchers` is `20001`: expected a number from 1 to"),
        ] {
            let error = http(text).expect_err(text);
            assert!(error.starts_with(expected), "{error}");
        }
        for name in ["", "a.example:80", "https://a.example", "a.example.", "*.example"] {
            let error = http(&format!("tokens = \"t\"\nallowed-hosts = [{name:?}]")).expect_err(name);
            assert!(error.starts_with(&format!("`http.allowed-hosts` is `{name}`: expected a name")), "{error}");
        }
        let many = vec!["\"a\""; MAX_ALLOWED_HOSTS + 1].join(",");
        let error = http(&format!("tokens = \"t\"\nallowed-hosts = [{many}]")).expect_err("too many");
        assert!(error.starts_with("`http.allowed-hosts` is `33`: expected at most 32 names"), "{error}");
        let right = "[http.tls]\ncertificate = \"c\"\nkey = \"k\"\nclient-right = \"all\"";
        assert!(http(right).expect_err(right).contains("expected `campaign` or `operate`"));
    }
}
