//! The configuration of `contrib/nginx`: a real nginx before the API, and clients that use it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use hustings_harness::process::{Process, hustings_command};

use super::{HttpCluster, write_tokens};
use crate::common::{repository, tool_is_there};
use crate::loopback::free_ports;

const NAME: &str = "hustings.example.com";

/// A cluster of one, and an nginx before its API.
struct Proxied {
    http: HttpCluster,
    /// The token of a program.
    token: String,
    port: u16,
    _nginx: Process,
}

impl Proxied {
    fn start(allowed_hosts: &str) -> Proxied {
        let mut token = String::new();
        let http = HttpCluster::prepare(&["a"], &format!("tokens = \"tokens.toml\"\n{allowed_hosts}"), |cluster| {
            token = write_tokens(&cluster.folder().join("a/tokens.toml")).0;
        });
        let (port, folder) = (free_ports(1)[0], http.cluster.folder().join("a"));
        let path = |name: &str| folder.join(name).display().to_string();
        let mut site = fs::read_to_string(repository().join("contrib/nginx/hustings.conf")).expect("it is there");
        for (printed, here) in [
            ("127.0.0.1:7480", format!("127.0.0.1:{}", http.apis[0].port)),
            ("listen 443 ssl", format!("listen 127.0.0.1:{port} ssl")),
            ("/etc/ssl/certs/hustings.crt", path("node.crt")),
            ("/etc/ssl/private/hustings.key", path("node.key")),
        ] {
            assert_eq!(site.matches(printed).count(), 1, "{printed}\n{site}");
            site = site.replace(printed, &here);
        }
        let [pid, log, temporary] = ["nginx.pid", "nginx.log", "nginx"].map(path);
        fs::create_dir(&temporary).expect("the folder is ours");
        let folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let folders: String = folders.iter().map(|kind| format!("{kind}_temp_path {temporary}/{kind};\n")).collect();
        // The workers must be able to read their folders, which belong to whoever runs the tests.
        let text = format!(
            "daemon off;\nmaster_process off;\npid {pid};\nerror_log {log};\nevents {{}}\n\
             http {{\naccess_log off;\n{folders}{site}\n}}\n"
        );
        fs::write(path("nginx.conf"), text).expect("the folder is ours");
        let checked = Command::new("nginx").args(["-t", "-q", "-c", &path("nginx.conf"), "-e", &log]).output();
        let checked = checked.expect("it is there");
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
        let mut nginx = hustings_command("nginx");
        nginx.args(["-c", &path("nginx.conf"), "-e", &log]).stdout(Stdio::null()).stderr(Stdio::null());
        let nginx = Process::spawn(&mut nginx).expect("it can be started");
        let proxied = Proxied { http, token, port, _nginx: nginx };
        proxied.http.cluster.wait_until("nginx answers", || {
            let answer = proxied.curl("/livez", &[]);
            (!answer.is_empty() && !answer.ends_with("\n000")).then_some(())
        });
        proxied
    }

    fn command(&self, path: &str, more: &[&str]) -> Command {
        let mut curl = Command::new("curl");
        // The certificate is that of the node, for another name.
        curl.args(["-sSk", "--max-time", "60", "--resolve", &format!("{NAME}:{}:127.0.0.1", self.port)]).args(more);
        curl.arg(format!("https://{NAME}:{}{path}", self.port));
        curl
    }

    /// What curl gets through the proxy, and the status in a line of its own.
    fn curl(&self, path: &str, more: &[&str]) -> String {
        let output = self.command(path, &[&["-w", "\n%{http_code}"], more].concat()).output();
        String::from_utf8_lossy(&output.expect("curl can be started").stdout).into_owned()
    }
}

fn tools_are_there() -> bool {
    // It prints its version for `-v` alone, but starts for any option.
    let how = "apt-get install --no-install-recommends nginx-light";
    tool_is_there("nginx", how) && tool_is_there("curl", "apt-get install curl")
}

#[test]
fn a_node_behind_a_proxy_answers_to_its_name_and_knows_callers_by_their_tokens() {
    if !tools_are_there() {
        return;
    }
    let proxied = Proxied::start(&format!("allowed-hosts = [\"{NAME}\"]"));
    let bearer = format!("Authorization: Bearer {}", proxied.token);
    let answer = proxied.curl("/v1/cluster", &[]);
    assert!(answer.contains("unauthorized") && answer.ends_with("\n401"), "{answer}");
    let answer = proxied.curl("/v1/cluster", &["-H", &bearer]);
    assert!(answer.contains("\"cluster\":\"test\"") && answer.ends_with("\n200"), "{answer}");
    // A page of the proxy's own name may ask; another one may not.
    for (origin, status) in [(format!("https://{NAME}"), "200"), ("https://evil.example".to_string(), "403")] {
        let answer = proxied.curl("/v1/cluster", &["-H", &bearer, "-H", &format!("Origin: {origin}")]);
        assert!(answer.ends_with(status), "{origin}: {answer}");
    }
    let json = ["-H", &bearer, "-H", "Content-Type: application/json", "-d", "{\"wait_ms\":20000}"];
    let answer = proxied.curl("/v1/offices/job/campaign", &json);
    assert!(answer.contains("\"state\":\"held\"") && answer.ends_with("\n201"), "{answer}");

    // Events pass at once, without being collected.
    let mut watch = proxied.command("/v1/offices/job/watch", &["-N", "-H", &bearer]);
    let mut watch = Process::spawn(watch.stdout(Stdio::piped())).expect("curl can be started");
    let mut lines = BufReader::new(watch.take_stdout().expect("it is piped")).lines();
    let seen = lines.find(|line| line.as_ref().is_ok_and(|line| line == "event: office"));
    assert!(seen.is_some(), "the watch ended without an event");
}

#[test]
fn a_node_refuses_a_name_that_it_does_not_know() {
    if !tools_are_there() {
        return;
    }
    let proxied = Proxied::start("");
    let bearer = format!("Authorization: Bearer {}", proxied.token);
    let answer = proxied.curl("/v1/cluster", &["-H", &bearer]);
    assert!(answer.contains("http.allowed-hosts") && answer.ends_with("\n403"), "{answer}");
    assert!(proxied.http.apis[0].with_token(&proxied.token).get("/v1/cluster").status == 200);
}
