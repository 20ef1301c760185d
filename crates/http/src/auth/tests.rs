use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use axum::http::HeaderValue;

use super::*;

fn file(tokens: &str, mode: u32) -> Result<Tokens, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tokens.toml");
    fs::write(&path, tokens).expect("the folder is ours");
    fs::set_permissions(&path, Permissions::from_mode(mode)).expect("the file is ours");
    Tokens::read(&path).map_err(|error| error.to_string())
}

fn entry(name: &str, right: &str, sha256: &str) -> String {
    format!("[[token]]\nname = \"{name}\"\nright = \"{right}\"\nsha256 = \"{sha256}\"\n")
}

fn new_token() -> NewToken {
    add_token(None, "x", TokenRight::Read).expect("random bits")
}

fn peer(address: &str) -> Peer {
    Peer { address: address.parse().expect("an address"), certificate: None }
}

fn bearer(token: &str) -> HeaderMap {
    let value = HeaderValue::try_from(format!("Bearer {token}")).expect("plain text");
    HeaderMap::from_iter([(header::AUTHORIZATION, value)])
}

fn authenticator(tokens: Tokens, anonymous: Anonymous) -> Authenticator {
    Authenticator { tokens: RwLock::new(tokens), anonymous, certificate_right: Right::Campaign }
}

#[test]
fn a_token_has_its_name_and_right() {
    let [campaign, operate, read] = [0; 3].map(|_| new_token());
    let text = entry("jobs", "campaign", &campaign.sha256)
        + &entry("ops", "operate", &operate.sha256)
        + &entry("eye", "read", &read.sha256);
    let authenticator = authenticator(file(&text, 0o600).expect("it is valid"), Anonymous::None);
    let right_of = |token: &NewToken| {
        let caller = authenticator.caller(&peer("192.0.2.1"), &bearer(&token.secret)).expect("it is known");
        (caller.name.to_string(), caller.require(Right::Campaign).is_ok(), caller.require(Right::Operate).is_ok())
    };
    assert_eq!(right_of(&campaign), ("token:jobs".to_string(), true, false));
    assert_eq!(right_of(&operate), ("token:ops".to_string(), true, true));
    assert_eq!(right_of(&read), ("token:eye".to_string(), false, false));
}

#[test]
fn an_unknown_token_is_refused_even_where_anonymous_callers_are_not() {
    let authenticator = authenticator(Tokens::default(), Anonymous::Operate);
    let code = |headers: &HeaderMap| authenticator.caller(&peer("127.0.0.1"), headers).map_err(|error| error.code);
    assert_eq!(code(&bearer("wrong")), Err(Code::Unauthorized));
    assert_eq!(code(&bearer(&"x".repeat(10_000))), Err(Code::Unauthorized));
    let basic = HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_static("Basic eDp5"))]);
    assert_eq!(code(&basic), Err(Code::Unauthorized));
    assert_eq!(code(&HeaderMap::new()).expect("anonymous").right, Some(Right::Operate));
}

#[test]
fn only_callers_on_this_host_are_anonymous() {
    let authenticator = authenticator(Tokens::default(), Anonymous::Campaign);
    for (address, is_allowed) in [("127.0.0.1", true), ("::1", true), ("::ffff:127.0.0.1", true), ("10.0.0.1", false)] {
        assert_eq!(authenticator.caller(&peer(address), &HeaderMap::new()).is_ok(), is_allowed, "{address}");
    }
}

#[test]
fn a_certificate_has_its_right_and_a_token_beats_it() {
    let token = new_token();
    let tokens = file(&entry("ops", "operate", &token.sha256), 0o600).expect("it is valid");
    let authenticator = authenticator(tokens, Anonymous::None);
    let peer = Peer { certificate: Some("certificate:x".into()), ..peer("10.0.0.1") };
    let plain = authenticator.caller(&peer, &HeaderMap::new()).expect("it has a certificate");
    assert_eq!((&*plain.name, plain.right), ("certificate:x", Some(Right::Campaign)));
    assert_eq!(authenticator.caller(&peer, &bearer(&token.secret)).expect("known").right, Some(Right::Operate));
}

#[test]
fn a_token_file_that_others_can_read_is_refused() {
    for mode in [0o640, 0o604, 0o644, 0o620] {
        let error = file("", mode).err().expect("it is exposed");
        assert!(error.contains("tokens.toml") && error.contains(&format!("{mode:o}")), "{error}");
    }
    assert!(file("", 0o400).is_ok());
}

#[test]
fn errors_of_a_token_file_name_the_problem_and_no_secret() {
    let good = "0".repeat(64);
    for (text, expected) in [
        (entry("", "read", &good), "token 1: `name` must have"),
        (entry("a b", "read", &good), "token 1: `name` must have"),
        (entry("a", "read", &good).repeat(2), "token 2: `name` occurs twice"),
        (entry("a", "read", "hustings_secret"), "token 1: `sha256` must be 64"),
        (entry("a", "read", &"é".repeat(32)), "token 1: `sha256` must be 64"),
        (entry("a", "all", &good), "unknown variant `all`"),
        ("[[token]]\nsecret = \"hustings_secret\"".to_string(), "unknown field `secret`"),
        ("x".repeat(300_000), "longer than 262144 bytes"),
        ((0..257).map(|index| entry(&format!("t{index}"), "read", &good)).collect(), "more than 256 tokens"),
    ] {
        let error = file(&text, 0o600).err().expect("it is not valid");
        assert!(error.contains(expected) && !error.contains("hustings_secret"), "{error}");
    }
}

#[test]
fn a_new_token_hides_its_secret_from_debug_output() {
    let token = new_token();
    assert!(!format!("{token:?}").contains(&token.secret));
    assert!(token.secret.len() == 9 + 64 && token.secret.starts_with("hustings_"));
}

#[test]
fn tokens_are_added_to_a_private_file_that_stays_valid() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tokens.toml");
    let first = add_token(Some(&path), "jobs", TokenRight::Campaign).expect("it is created");
    let second = add_token(Some(&path), "ops", TokenRight::Operate).expect("it is added");
    let mode = fs::metadata(&path).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let authenticator = authenticator(Tokens::read(&path).expect("it is valid"), Anonymous::None);
    let caller = |token: &NewToken| authenticator.caller(&peer("::1"), &bearer(&token.secret)).expect("it is known");
    assert_eq!((&*caller(&first).name, caller(&first).right), ("token:jobs", Some(Right::Campaign)));
    assert_eq!((&*caller(&second).name, caller(&second).right), ("token:ops", Some(Right::Operate)));
    let before = fs::read_to_string(&path).expect("it is text");
    assert!(!before.contains(&first.secret), "the file has hashes only");
    for name in ["jobs", "", "a b", "a\"\nright = \"operate\""] {
        assert!(add_token(Some(&path), name, TokenRight::Read).is_err(), "{name:?}");
    }
    assert_eq!(fs::read_to_string(&path).expect("it is text"), before, "nothing was written");
}
