//! TLS: the server's certificate, and those of clients.

use std::process::Command;

use super::client::Api;
use super::{append, write_tokens};
use crate::common::tool_is_there;
use crate::processes::Cluster;

/// Asks over TLS with curl.
fn curl(cluster: &Cluster, port: u16, more: &[&str]) -> (String, String) {
    let folder = cluster.folder().join("a");
    // The node's certificate is for this name.
    let name = "1.a.test.hustings.internal";
    let asked = Command::new("curl")
        .current_dir(folder)
        .args(["-sS", "--max-time", "20", "--cacert", "authority.crt", "-w", "\n%{http_code}"])
        .args(["--resolve", &format!("{name}:{port}:127.0.0.1")])
        .args(more)
        .arg(format!("https://{name}:{port}/v1/cluster"))
        .output()
        .expect("curl can be started");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it is text");
    (text(asked.stdout), text(asked.stderr))
}

#[test]
fn clients_need_a_certificate_of_the_authority_or_a_token_over_tls() {
    if !tool_is_there("curl", "apt-get install curl") {
        return;
    }
    // The node's own certificate serves as the server's, and as a client's.
    let tls = "[http.tls]\ncertificate = \"node.crt\"\nkey = \"node.key\"\n";
    let mutual = format!("{tls}client-authority = \"authority.crt\"");
    let (cluster, port) = start(&mutual);
    let (refused, _) = curl(&cluster, port, &[]);
    assert!(refused.ends_with("\n000"), "without a certificate there is no connection: {refused}");
    let (answer, error) = curl(&cluster, port, &["--cert", "node.crt", "--key", "node.key"]);
    assert!(answer.contains("\"cluster\":\"test\"") && answer.ends_with("\n200"), "{answer} {error}");
    drop(cluster);

    let mut token = String::new();
    let (cluster, port) = start_with(&format!("tokens = \"tokens.toml\"\n{tls}"), |cluster| {
        token = write_tokens(&cluster.folder().join("a/tokens.toml")).0;
    });
    let (refused, error) = curl(&cluster, port, &[]);
    assert!(refused.contains("unauthorized") && refused.ends_with("\n401"), "{refused} {error}");
    let (answer, error) = curl(&cluster, port, &["-H", &format!("Authorization: Bearer {token}")]);
    assert!(answer.ends_with("\n200"), "{answer} {error}");
    // Plain HTTP is not understood there.
    let plain = Api { port, token: None, session: None };
    assert!(super::client::is_closed_by_server(plain.connect()));
}

#[test]
fn a_reload_replaces_tokens_and_certificates() {
    if !tool_is_there("curl", "apt-get install curl") {
        return;
    }
    let tls = "[http.tls]\ncertificate = \"node.crt\"\nkey = \"node.key\"\n";
    let mut old = String::new();
    let (cluster, port) = start_with(&format!("tokens = \"tokens.toml\"\n{tls}"), |cluster| {
        old = write_tokens(&cluster.folder().join("a/tokens.toml")).0;
    });
    let code = |token: &str, more: &[&str]| {
        let header = format!("Authorization: Bearer {token}");
        let (answer, error) = curl(&cluster, port, &[&["-H", header.as_str()], more].concat());
        (answer.rsplit('\n').next().unwrap_or_default().to_string(), error)
    };
    assert_eq!(code(&old, &[]).0, "200");
    let kept = cluster.folder().join("a/authority.crt.kept");
    std::fs::copy(cluster.folder().join("a/authority.crt"), &kept).expect("the folder is ours");

    let new = write_tokens(&cluster.folder().join("a/tokens.toml")).0;
    for step in ["begin", "switch", "finish"] {
        let mut rotate = crate::processes::hustings();
        rotate.args(["members", "rotate-authority", step, "--dir"]).arg(cluster.folder());
        assert!(rotate.output().expect("it starts").status.success(), "{step}");
    }
    let reload = |line: &str| {
        let count = || cluster.log("a").matches(line).count();
        let before = count();
        cluster.signal("a", rustix::process::Signal::HUP);
        cluster.wait_until(line, || (count() > before).then_some(()));
    };
    reload("reloaded; new connections use");
    assert_eq!((code(&old, &[]).0, code(&new, &[]).0), ("401".to_string(), "200".to_string()));
    let (outdated, error) = code(&new, &["--cacert", "authority.crt.kept"]);
    assert_eq!(outdated, "000", "the authority of before signed nothing of this: {error}");

    // One bad file, and nothing is reloaded.
    std::fs::write(cluster.folder().join("a/tokens.toml"), "nonsense").expect("the folder is ours");
    reload("nothing was reloaded, and nothing changes: the token file");
    assert_eq!(code(&new, &[]).0, "200");
}

fn start(http: &str) -> (Cluster, u16) {
    start_with(http, |_| {})
}

fn start_with(http: &str, prepare: impl FnOnce(&Cluster)) -> (Cluster, u16) {
    let mut cluster = Cluster::new(&["a"], &[]);
    let port = crate::loopback::free_ports(1)[0];
    append(&cluster.config("a"), &format!("\n[http]\nlisten = \"127.0.0.1:{port}\"\n{http}\n"));
    prepare(&cluster);
    cluster.start(&["a"]);
    cluster.wait_for_agreement(&["a"], |_| true);
    (cluster, port)
}
