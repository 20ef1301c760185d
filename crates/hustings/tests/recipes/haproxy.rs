//! The configuration of `contrib/haproxy`: a real HAProxy sends every connection to the host that leads.

use super::{Group, MEMBERS, has_tool, wait_until};
use crate::common;
use crate::loopback::free_ports;
use crate::processes::Cluster;

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use hustings_harness::process::hustings_command;

fn configuration() -> PathBuf {
    common::repository().join("contrib/haproxy/haproxy.cfg")
}

fn check(path: &Path) {
    let output = Command::new("haproxy").arg("-c").arg("-f").arg(path).output().expect("run haproxy");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "it warns: {}", String::from_utf8_lossy(&output.stderr));
}

/// The service of one host: it answers every connection with the host's name. It ends with the tests.
fn serve(name: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind a port");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            // Whoever asked may have gone.
            let _ = connection.write_all(name.as_bytes());
        }
    });
    port
}

/// Adds the API with its probes to the configuration of every member, and returns the ports of the probes.
fn enable_probes(cluster: &Cluster) -> Vec<u16> {
    let ports = free_ports(2 * MEMBERS.len());
    let (listen, probes) = ports.split_at(MEMBERS.len());
    for ((name, listen), probe) in MEMBERS.iter().zip(listen).zip(probes) {
        let mut file = OpenOptions::new().append(true).open(cluster.config(name)).expect("open a configuration");
        writeln!(file, "\n[http]\nlisten = \"127.0.0.1:{listen}\"\nprobe-listen = \"127.0.0.1:{probe}\"")
            .expect("write a configuration");
    }
    probes.to_vec()
}

/// Which host answers a client of the load balancer.
fn answer(port: u16) -> Option<String> {
    let mut text = String::new();
    TcpStream::connect(("127.0.0.1", port)).ok()?.read_to_string(&mut text).ok()?;
    (!text.is_empty()).then_some(text)
}

#[test]
fn haproxy_accepts_the_configuration() {
    if has_tool("haproxy", "-v", "haproxy") {
        check(&configuration());
    }
}

#[test]
fn haproxy_sends_connections_to_the_leader() {
    if !has_tool("haproxy", "-v", "haproxy") {
        return;
    }
    let mut cluster = Cluster::new(&MEMBERS, &[]);
    let probes = enable_probes(&cluster);
    cluster.start(&MEMBERS);
    let mut text = fs::read_to_string(configuration()).expect("read the configuration");
    for (index, (name, probe)) in MEMBERS.into_iter().zip(probes).enumerate() {
        let printed = format!("server {name} 10.0.0.{}:80 check port 7481", index + 1);
        assert!(text.contains(&printed), "{text}");
        text = text.replace(&printed, &format!("server {name} 127.0.0.1:{} check port {probe}", serve(name)));
    }
    let port = free_ports(1)[0];
    let path = cluster.folder().join("haproxy.cfg");
    fs::write(&path, text.replace("bind :8080", &format!("bind 127.0.0.1:{port}"))).expect("write a configuration");
    check(&path);
    let mut command = hustings_command("haproxy");
    let _haproxy = Group::start(command.arg("-db").arg("-f").arg(&path), &cluster.folder().join("haproxy.log"));
    let follows = |cluster: &Cluster, asked: &str| {
        let leader = cluster.run(asked, &["leader"]).out.trim().to_string();
        wait_until("HAProxy follows", || (answer(port)? == leader).then_some(()));
        leader
    };
    let first = follows(&cluster, "a");
    // Only the node dies; the service of its host would still answer.
    cluster.kill(&first);
    let other = MEMBERS.into_iter().find(|name| *name != first).expect("there are three");
    assert_ne!(follows(&cluster, other), first);
}
