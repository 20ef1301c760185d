//! Who calls, and what they may do.

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use axum::http::{HeaderMap, header};
use hustings_cluster::api::Right;
use hustings_cluster::config::Anonymous;
use hustings_host::input_file::{self, InputFileError};
use ring::digest::{SHA256, SHA256_OUTPUT_LEN, digest};
use serde::Deserialize;
use subtle::ConstantTimeEq;

use crate::error::{ApiError, Code};
use crate::rate::Payer;

/// The longest token file, in bytes.
const MAX_FILE_BYTES: u64 = 256 * 1024;
/// The largest number of tokens. Each request is compared with all of them.
const MAX_TOKENS: usize = 256;
/// The longest token that is looked at, in bytes.
const MAX_TOKEN_BYTES: usize = 512;
/// The name of callers on this host who present nothing.
const ANONYMOUS: &str = "loopback";
/// The beginning of every token that this program makes, so that scanners for leaked secrets find them.
const TOKEN_PREFIX: &str = "hustings_";

/// Why a token file cannot be used. It quotes nothing of the file.
#[derive(Debug, thiserror::Error)]
#[error("the token file {}: {problem}", .file.display())]
pub struct TokenFileError {
    file: PathBuf,
    problem: TokenProblem,
}

#[derive(Debug, thiserror::Error)]
enum TokenProblem {
    #[error(transparent)]
    File(#[from] InputFileError),
    #[error("it is not UTF-8 text")]
    NotText,
    #[error("{0}")]
    Toml(String),
    #[error("it has more than {MAX_TOKENS} tokens")]
    TooMany,
    #[error("token {number}: `{key}` {problem}")]
    Invalid { number: usize, key: &'static str, problem: &'static str },
}

/// The tokens that callers may present.
#[derive(Default)]
pub(crate) struct Tokens(Vec<Token>);

struct Token {
    caller: Arc<str>,
    right: Option<Right>,
    sha256: [u8; SHA256_OUTPUT_LEN],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenDocument {
    #[serde(default, rename = "token")]
    tokens: Vec<TokenEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenEntry {
    name: String,
    right: TokenRight,
    sha256: String,
}

/// What a token allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TokenRight {
    /// To read.
    Read,
    /// To read and to campaign.
    Campaign,
    /// Everything.
    Operate,
}

impl TokenRight {
    fn text(self) -> &'static str {
        match self {
            TokenRight::Read => "read",
            TokenRight::Campaign => "campaign",
            TokenRight::Operate => "operate",
        }
    }
}

impl Tokens {
    /// Reads the token file of this node.
    pub(crate) fn read(path: &Path) -> Result<Tokens, TokenFileError> {
        let text = text(input_file::read_secret(path, MAX_FILE_BYTES));
        let tokens = text.and_then(|text| Tokens::parse(&text));
        tokens.map_err(|problem| TokenFileError { file: path.to_path_buf(), problem })
    }

    fn parse(text: &str) -> Result<Tokens, TokenProblem> {
        // The library's message quotes the line, which may hold a secret by mistake; its first line does not.
        let document: TokenDocument =
            toml::from_str(text).map_err(|error| TokenProblem::Toml(error.message().to_string()))?;
        if document.tokens.len() > MAX_TOKENS {
            return Err(TokenProblem::TooMany);
        }
        let mut tokens: Vec<Token> = Vec::new();
        for (index, entry) in document.tokens.into_iter().enumerate() {
            let invalid = |key, problem| TokenProblem::Invalid { number: index + 1, key, problem };
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            if !(1..=64).contains(&entry.name.len()) || !entry.name.bytes().all(is_plain) {
                return Err(invalid("name", "must have 1 to 64 letters, digits, `-`, `_` and `.`"));
            }
            let caller: Arc<str> = format!("token:{}", entry.name).into();
            if tokens.iter().any(|other| other.caller == caller) {
                return Err(invalid("name", "occurs twice"));
            }
            let right = match entry.right {
                TokenRight::Read => None,
                TokenRight::Campaign => Some(Right::Campaign),
                TokenRight::Operate => Some(Right::Operate),
            };
            let rule = "must be 64 hexadecimal digits, as `hustings token` prints them";
            let sha256 = from_hex(&entry.sha256).ok_or_else(|| invalid("sha256", rule))?;
            tokens.push(Token { caller, right, sha256 });
        }
        Ok(Tokens(tokens))
    }

    /// The caller with this token. The time that it takes tells nothing about the tokens.
    fn find(&self, presented: &[u8]) -> Option<Caller> {
        let hash = digest(&SHA256, presented);
        let mut found = None;
        for token in &self.0 {
            if bool::from(token.sha256.ct_eq(hash.as_ref())) {
                found = Some(token);
            }
        }
        found.map(|token| Caller { name: token.caller.clone(), right: token.right })
    }
}

fn text(read: Result<Vec<u8>, InputFileError>) -> Result<String, TokenProblem> {
    String::from_utf8(read?).map_err(|_| TokenProblem::NotText)
}

fn from_hex(text: &str) -> Option<[u8; SHA256_OUTPUT_LEN]> {
    let mut bytes = [0; SHA256_OUTPUT_LEN];
    if text.len() != 2 * bytes.len() || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, index) in bytes.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(text.get(index..index + 2)?, 16).ok()?;
    }
    Some(bytes)
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A new bearer token, and what the token file stores of it.
pub struct NewToken {
    /// The secret. It is stored nowhere.
    pub secret: String,
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: String,
    /// The lines for the token file.
    pub entry: String,
}

/// Makes a token of 256 random bits, and adds it to a token file, if one is given.
pub fn add_token(file: Option<&Path>, name: &str, right: TokenRight) -> Result<NewToken, TokenFileError> {
    let shown = file.unwrap_or(Path::new("(none)"));
    let error = |problem| TokenFileError { file: shown.to_path_buf(), problem };
    let mut bytes = [0; 32];
    let io_error = |cause| error(InputFileError::Read(cause).into());
    getrandom::fill(&mut bytes).map_err(|cause| io_error(io::Error::other(cause)))?;
    let secret = format!("{TOKEN_PREFIX}{}", to_hex(&bytes));
    let sha256 = to_hex(digest(&SHA256, secret.as_bytes()).as_ref());
    let entry = format!("[[token]]\nname = {name:?}\nright = \"{}\"\nsha256 = \"{sha256}\"\n", right.text());
    // An invalid name, and one that is there already, are found before anything is written.
    let before = match file.map(|file| input_file::read_secret_of_service(file, MAX_FILE_BYTES)) {
        None => String::new(),
        Some(Err(InputFileError::Read(cause))) if cause.kind() == io::ErrorKind::NotFound => String::new(),
        Some(read) => text(read).map_err(error)?,
    };
    let separator = if before.is_empty() { "" } else { "\n" };
    Tokens::parse(&format!("{before}{separator}{entry}")).map_err(error)?;
    if let Some(file) = file {
        let opened = File::options().append(true).create(true).mode(0o600).open(file);
        let written = opened.and_then(|mut file| file.write_all(format!("{separator}{entry}").as_bytes()));
        written.map_err(io_error)?;
    }
    Ok(NewToken { secret, sha256, entry })
}

/// Prints the hash only: a secret must never reach a log.
impl fmt::Debug for NewToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewToken").field("sha256", &self.sha256).finish_non_exhaustive()
    }
}

/// The other end of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) address: IpAddr,
    /// The name in its certificate, if it presented one that the authority signed.
    pub(crate) certificate: Option<Arc<str>>,
}

/// Who sent a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Caller {
    /// `token:NAME`, `certificate:NAME` or `loopback`.
    pub(crate) name: Arc<str>,
    /// What it may do beyond reading.
    pub(crate) right: Option<Right>,
}

impl Caller {
    /// Whom its requests are charged to.
    pub(crate) fn payer(&self, peer: &Peer) -> Payer {
        match &*self.name {
            ANONYMOUS => Payer::stranger(peer.address),
            _ => Payer::Caller(self.name.clone()),
        }
    }

    /// Fails unless the caller has a right.
    pub(crate) fn require(&self, right: Right) -> Result<(), ApiError> {
        if self.right >= Some(right) {
            return Ok(());
        }
        let needed = match right {
            Right::Campaign => "campaign",
            Right::Operate => "operate",
        };
        let message = format!("`{}` may not do this: it needs the right `{needed}`", self.name);
        Err(ApiError::new(Code::Forbidden, message))
    }
}

/// Decides who calls.
pub(crate) struct Authenticator {
    /// Replaced when the node reloads.
    pub(crate) tokens: RwLock<Tokens>,
    pub(crate) anonymous: Anonymous,
    /// The right of callers with a certificate.
    pub(crate) certificate_right: Right,
}

impl Authenticator {
    /// The caller. A token decides, if there is one; then the certificate; then the rule for anonymous callers.
    pub(crate) fn caller(&self, peer: &Peer, headers: &HeaderMap) -> Result<Caller, ApiError> {
        if let Some(value) = headers.get(header::AUTHORIZATION) {
            let unknown = || ApiError::new(Code::Unauthorized, "the bearer token is not known");
            let presented = value.as_bytes();
            let (scheme, secret) = presented.split_at_checked(7).ok_or_else(unknown)?;
            if !scheme.eq_ignore_ascii_case(b"bearer ") || secret.len() > MAX_TOKEN_BYTES {
                return Err(unknown());
            }
            let tokens = self.tokens.read().unwrap_or_else(PoisonError::into_inner);
            return tokens.find(secret.trim_ascii()).ok_or_else(unknown);
        }
        if let Some(name) = &peer.certificate {
            return Ok(Caller { name: name.clone(), right: Some(self.certificate_right) });
        }
        if self.anonymous == Anonymous::None || !peer.address.to_canonical().is_loopback() {
            let message = "present a bearer token: `Authorization: Bearer TOKEN`";
            return Err(ApiError::new(Code::Unauthorized, message));
        }
        Ok(Caller { name: ANONYMOUS.into(), right: self.anonymous.right() })
    }
}

#[cfg(test)]
mod tests;
