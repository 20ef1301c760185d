//! A network namespace for every node, joined by a bridge in another one.
//!
//! A silent link is a filter at the receiver that drops the packets of one sender. The link of a node that is isolated
//! from all others is set down instead. A slow link carries few bits a second. Neither nftables nor netem is needed.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;

use super::{Link, Links};
use crate::cleanup::own_name;

const PORT: u16 = 7400;
/// The number of the filter for packets of the first node.
const FIRST_FILTER: usize = 100;

/// The namespaces; see the module. They are removed when this is dropped.
pub(crate) struct Namespaces {
    prefix: String,
    nodes: usize,
    links: Links,
    made: Vec<String>,
}

impl Namespaces {
    /// Creates namespaces whose names come from this process's id.
    pub(crate) fn new(nodes: usize) -> io::Result<Self> {
        let mut namespaces = Namespaces { prefix: own_name(), nodes, links: Links::open(nodes), made: Vec::new() };
        let switch = namespaces.switch();
        namespaces.add(&switch)?;
        run("ip", &["-n", &switch, "link", "add", "name", "switch", "type", "bridge"])?;
        run("ip", &["-n", &switch, "link", "set", "switch", "up"])?;
        for node in 0..nodes {
            namespaces.plug_in(&switch, node)?;
        }
        Ok(namespaces)
    }

    fn plug_in(&mut self, switch: &str, node: usize) -> io::Result<()> {
        let (name, port) = (self.name(node), port(node));
        self.add(&name)?;
        run("ip", &["-n", switch, "link", "add", &port, "type", "veth", "peer", "name", "eth0", "netns", &name])?;
        run("ip", &["-n", switch, "link", "set", &port, "master", "switch", "up"])?;
        let own = format!("{}/24", self.address(node).ip());
        run("ip", &["-n", &name, "address", "add", &own, "dev", "eth0"])?;
        run("ip", &["-n", &name, "link", "set", "eth0", "up"])?;
        run("ip", &["-n", &name, "link", "set", "lo", "up"])?;
        run("tc", &["-n", &name, "qdisc", "add", "dev", "eth0", "clsact"])
    }

    fn add(&mut self, name: &str) -> io::Result<()> {
        run("ip", &["netns", "add", name])?;
        self.made.push(name.to_string());
        Ok(())
    }

    fn switch(&self) -> String {
        format!("{}s", self.prefix)
    }

    /// The namespace of a node.
    pub(crate) fn name(&self, node: usize) -> String {
        format!("{}n{}", self.prefix, node + 1)
    }

    /// The address of a node.
    pub(crate) fn address(&self, node: usize) -> SocketAddr {
        SocketAddr::from((host(node), PORT))
    }

    /// Sets all links.
    pub(crate) fn set_links(&mut self, links: &Links) -> io::Result<()> {
        for node in 0..self.nodes {
            self.set_cable(links, node)?;
            self.set_speed(links, node)?;
            for from in links.others(node) {
                let dropped = |links: &Links| !links.get(from, node).carries();
                match (dropped(&self.links), dropped(links)) {
                    (false, true) => self.filter(from, node)?,
                    (true, false) => self.unfilter(from, node)?,
                    _ => {}
                }
            }
        }
        self.links = links.clone();
        Ok(())
    }

    fn set_cable(&self, links: &Links, node: usize) -> io::Result<()> {
        let state = match (self.links.is_isolated(node), links.is_isolated(node)) {
            (false, true) => "down",
            (true, false) => "up",
            _ => return Ok(()),
        };
        run("ip", &["-n", &self.switch(), "link", "set", &port(node), state])
    }

    fn set_speed(&self, links: &Links, node: usize) -> io::Result<()> {
        let slowest = |links: &Links| {
            let slow = |to| if let Link::Slow(delay) = links.get(node, to) { Some(delay) } else { None };
            links.others(node).filter_map(slow).max()
        };
        let name = self.name(node);
        match (slowest(&self.links), slowest(links)) {
            (before, after) if before == after => Ok(()),
            (_, Some(delay)) => {
                // At this rate a full packet of 12,000 bits takes as long as the delay.
                let rate = format!("{}bit", 12_000_000 / delay.max(1));
                let queue = ["burst", "1600", "latency", "2s"];
                let shape = ["-n", &name, "qdisc", "replace", "dev", "eth0", "root", "tbf", "rate", &rate];
                run("tc", &[&shape[..], &queue[..]].concat())
            }
            (_, None) => run("tc", &["-n", &name, "qdisc", "del", "dev", "eth0", "root"]),
        }
    }

    /// Drops packets that arrive at a node from another one.
    fn filter(&self, from: usize, at: usize) -> io::Result<()> {
        // If the frame is IPv4 (bytes 12 and 13) and from that address (bytes 26 to 29), the result is 2, which drops
        // it; otherwise -1, which continues as if there were no filter.
        let source = u32::from(host(from));
        let program = format!("6,40 0 0 12,21 0 3 2048,32 0 0 26,21 0 1 {source},6 0 0 2,6 0 0 4294967295");
        let number = (FIRST_FILTER + from).to_string();
        let place = ["-n", &self.name(at), "filter", "add", "dev", "eth0", "ingress", "prio", &number];
        run("tc", &[&place[..], &["bpf", "da", "bytecode", &program]].concat())
    }

    fn unfilter(&self, from: usize, at: usize) -> io::Result<()> {
        let number = (FIRST_FILTER + from).to_string();
        run("tc", &["-n", &self.name(at), "filter", "del", "dev", "eth0", "ingress", "prio", &number])
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for name in &self.made {
            // One that cannot be removed must not keep the others.
            let _ = run("ip", &["netns", "del", name]);
        }
    }
}

fn port(node: usize) -> String {
    format!("port{}", node + 1)
}

fn host(node: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, 0, node as u8 + 1)
}

fn run(program: &str, arguments: &[&str]) -> io::Result<()> {
    let output = Command::new(program).args(arguments).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("`{program} {}` failed: {}", arguments.join(" "), said.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a datagram from one node arrives at another.
    fn arrives(namespaces: &Namespaces, from: usize, to: usize) -> bool {
        // Address resolution needs both directions, so a silent way back is noticed as well.
        let route = ["-n", &namespaces.name(from), "neigh", "flush", "all"];
        run("ip", &route).expect("flushed");
        let counter = || {
            let name = namespaces.name(to);
            let output = Command::new("ip").args(["netns", "exec", &name, "cat", "/proc/net/snmp"]).output();
            String::from_utf8(output.expect("ip runs").stdout).expect("text")
        };
        let before = udp_received(&counter());
        let target = format!("echo x > /dev/udp/{}/9", host(to));
        let send = ["netns", "exec", &namespaces.name(from), "bash", "-c", &target];
        run("ip", &send).expect("sent");
        let deadline = std::time::Instant::now() + std::time::Duration::from_millis(400);
        while std::time::Instant::now() < deadline {
            if udp_received(&counter()) > before {
                return true;
            }
        }
        false
    }

    /// The number of datagrams for ports without a listener.
    fn udp_received(snmp: &str) -> u64 {
        let line = snmp.lines().filter(|line| line.starts_with("Udp:")).nth(1).expect("a line of numbers");
        line.split_whitespace().nth(2).and_then(|word| word.parse().ok()).expect("a number")
    }

    #[test]
    fn silences_and_heals_links_in_each_direction() {
        // Without root there are no namespaces to test.
        let Ok(mut namespaces) = Namespaces::new(2) else { return };
        assert!(arrives(&namespaces, 0, 1) && arrives(&namespaces, 1, 0));
        let mut links = Links::open(2);
        links.worsen(0, 1, Link::Silent);
        namespaces.set_links(&links).expect("set");
        assert!(!arrives(&namespaces, 0, 1));
        assert!(arrives(&namespaces, 1, 0));
        links.worsen(1, 0, Link::Silent);
        namespaces.set_links(&links).expect("set");
        assert!(!arrives(&namespaces, 1, 0));
        namespaces.set_links(&Links::open(2)).expect("set");
        assert!(arrives(&namespaces, 0, 1) && arrives(&namespaces, 1, 0));
        let mut slow = Links::open(2);
        slow.worsen(0, 1, Link::Slow(20));
        namespaces.set_links(&slow).expect("set");
        assert!(arrives(&namespaces, 0, 1));
        namespaces.set_links(&Links::open(2)).expect("set");
        let names = namespaces.made.clone();
        drop(namespaces);
        let left = Command::new("ip").args(["netns", "list"]).output().expect("ip runs").stdout;
        let left = String::from_utf8(left).expect("text");
        assert!(names.iter().all(|name| !left.contains(name.as_str())), "{left}");
    }
}
