//! The floating IP address, between hosts that are network namespaces.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::{Group, MEMBERS, Programs, block, unit_value, wait_until};
use hustings_harness::process::hustings_command;

/// Hosts in network namespaces of their own, joined by a bridge in another one. They have the addresses of the page's
/// first cluster.
struct Hosts {
    prefix: String,
    made: Vec<String>,
}

fn ip(args: &[&str]) -> Result<String, String> {
    let Output { status, stdout, stderr } =
        Command::new("ip").args(args).output().map_err(|error| format!("cannot run ip: {error}"))?;
    match status.success() {
        true => Ok(String::from_utf8_lossy(&stdout).into_owned()),
        false => Err(format!("ip {}: {}", args.join(" "), String::from_utf8_lossy(&stderr).trim())),
    }
}

impl Hosts {
    /// Without the permission to make a namespace, says why.
    fn new() -> Result<Hosts, String> {
        let mut hosts = Hosts { prefix: format!("recipe{}", std::process::id()), made: Vec::new() };
        let switch = hosts.add("s")?;
        hosts.connect(&switch).expect("a namespace that was made can be used");
        Ok(hosts)
    }

    fn connect(&mut self, switch: &str) -> Result<(), String> {
        ip(&["-n", switch, "link", "add", "name", "switch", "type", "bridge"])?;
        ip(&["-n", switch, "link", "set", "switch", "up"])?;
        for (index, member) in MEMBERS.iter().enumerate() {
            let (host, port) = (self.add(member)?, port(member));
            ip(&["-n", switch, "link", "add", "name", &port, "type", "veth", "peer", "name", "eth0", "netns", &host])?;
            ip(&["-n", switch, "link", "set", &port, "master", "switch", "up"])?;
            ip(&["-n", &host, "address", "add", &format!("10.0.0.{}/24", index + 1), "dev", "eth0"])?;
            ip(&["-n", &host, "link", "set", "eth0", "up"])?;
            ip(&["-n", &host, "link", "set", "lo", "up"])?;
        }
        Ok(())
    }

    fn add(&mut self, member: &str) -> Result<String, String> {
        let name = self.name(member);
        ip(&["netns", "add", &name])?;
        self.made.push(name.clone());
        Ok(name)
    }

    /// The namespace of a member.
    fn name(&self, member: &str) -> String {
        format!("{}{member}", self.prefix)
    }

    /// A command on a member's host.
    fn on(&self, member: &str, command: &Command) -> Command {
        let mut inside = Command::new("ip");
        inside.args(["netns", "exec", &self.name(member)]).arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => inside.env(name, value),
                None => inside.env_remove(name),
            };
        }
        inside
    }

    /// The members whose hosts have the floating address.
    fn with_address(&self) -> Vec<&'static str> {
        let has_address = |member: &&&str| {
            let addresses = ip(&["-n", &self.name(member), "-o", "address", "show", "dev", "eth0"]);
            addresses.expect("the namespace is there").contains(" 10.0.0.100/24 ")
        };
        MEMBERS.iter().filter(has_address).copied().collect()
    }

    /// Waits until exactly one host has the address, and it satisfies a condition.
    fn wait_for_address(&self, what: &str, is_right: impl Fn(&str) -> bool) -> &'static str {
        wait_until(what, || match self.with_address()[..] {
            [one] if is_right(one) => Some(one),
            _ => None,
        })
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in &self.made {
            // One that cannot be removed must not keep the others.
            let _ = ip(&["netns", "del", name]);
        }
    }
}

/// The switch's end of a member's cable.
fn port(member: &str) -> String {
    format!("port-{member}")
}

fn init(programs: &Programs) -> PathBuf {
    let folder = programs.path("shop");
    let mut init = hustings_command(programs.path("hustings"));
    init.arg("init").arg(&folder);
    for (index, member) in MEMBERS.iter().enumerate() {
        init.arg("--node").arg(format!("{member}=10.0.0.{}:7401", index + 1));
    }
    let output = init.output().expect("start the binary");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder
}

fn transfer(programs: &Programs, folder: &Path, from: &str, to: &str) {
    let mut transfer = hustings_command(programs.path("hustings"));
    transfer.args(["transfer", "address", "--wait", "30s", "--to", to, "--config"]);
    let output = transfer.arg(folder.join(from).join("hustings.toml")).output().expect("start the binary");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_floating_address_is_on_one_host_after_every_kind_of_end() {
    let hosts = match Hosts::new() {
        Ok(hosts) => hosts,
        Err(problem) => {
            return crate::common::skip(&format!("the floating address needs network namespaces: {problem}"));
        }
    };
    let programs = Programs::new();
    // Nobody listens to it here, and not every host has it.
    programs.write("arping", "echo \"$*\" >> @/announcements");
    let folder = init(&programs);
    let unit = block("### A floating IP address", "ini");
    let start = |member: &str, command: &Command, log: &str| {
        Group::start(&mut hosts.on(member, command), &folder.join(member).join(log))
    };
    let mut nodes = Vec::new();
    for member in MEMBERS {
        let mut node = hustings_command(programs.path("hustings"));
        node.args(["node", "--config"]).arg(folder.join(member).join("hustings.toml"));
        nodes.push(start(member, &node, "node.log"));
    }
    for member in MEMBERS {
        wait_until("the node is up", || folder.join(member).join("hustings.sock").exists().then_some(()));
    }
    let run = |member: &str| {
        let command = programs.adapt(&unit_value(&unit, "ExecStart"), &folder.join(member));
        start(member, &programs.shell(&format!("exec {command}")), "address.log")
    };
    let mut runs: Vec<Group> = MEMBERS.map(run).into_iter().collect();
    let first = hosts.wait_for_address("a host has the address", |_| true);
    wait_until("it is announced", || programs.lines("announcements").first().cloned());
    let second = *MEMBERS.iter().find(|member| **member != first).expect("there are three");
    transfer(&programs, &folder, first, second);
    hosts.wait_for_address("the address has moved", |member| member == second);

    // A hard death: nobody runs the hook, and systemd cleans up.
    let index = MEMBERS.iter().position(|member| *member == second).expect("it is a member");
    drop(runs.remove(index));
    wait_until("another host has the address, too", || (hosts.with_address().len() == 2).then_some(()));
    let stop = unit_value(&unit, "ExecStopPost");
    let stop = programs.shell(stop.strip_prefix('-').expect("its failure does not matter"));
    let status = hosts.on(second, &stop).status().expect("start a shell");
    assert!(status.success(), "{status}");
    let third = hosts.wait_for_address("one host has the address", |member| member != second);

    // A host that is cut off removes the address by itself, too late for the hook before the lease ends.
    ip(&["-n", &hosts.name("s"), "link", "set", &port(third), "down"]).expect("the port is there");
    hosts.wait_for_address("the last host has the address", |member| member != second && member != third);
}
