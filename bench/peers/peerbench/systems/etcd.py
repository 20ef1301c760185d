"""etcd: a server and `etcdctl lock` on every host."""

import os
import signal
import subprocess
import sys
import urllib.request

from ..network import send
from .base import WORKER, NotReady, System


def start_etcd(host, hosts, fast):
    """Starts a member of an etcd cluster on this host; also the store of Patroni."""
    peers = ",".join(f"{other.name}=http://{other.address}:2380" for other in hosts)
    command = ["etcd", "--name", host.name, "--data-dir", os.path.join(host.folder, "etcd")]
    command += ["--initial-cluster", peers, "--initial-cluster-state", "new", "--logger", "zap"]
    command += ["--listen-peer-urls", f"http://{host.address}:2380"]
    command += ["--initial-advertise-peer-urls", f"http://{host.address}:2380"]
    command += ["--listen-client-urls", f"http://{host.address}:2379"]
    command += ["--advertise-client-urls", f"http://{host.address}:2379"]
    if fast:
        command += ["--heartbeat-interval", "10", "--election-timeout", "100"]
    host.start("etcd", command)


def is_etcd_ready(host):
    try:
        with urllib.request.urlopen(f"http://{host.address}:2379/health", timeout=1) as answer:
            return b'"true"' in answer.read()
    except OSError:
        return False


class Etcd(System):
    name = "etcd"
    needs = ("etcd", "etcdctl")
    packages = ("etcd-server", "etcd-client")
    ready_seconds = 30

    @property
    def ttl(self):
        return 1 if self.is_fast else 10

    def settings(self):
        intervals = "10 ms and 100 ms" if self.is_fast else "100 ms and 1 s"
        return f"etcdctl lock --ttl {self.ttl}, heartbeat and election timeout {intervals}"

    def give_up(self, fault):
        return 40

    def start_server(self, host):
        start_etcd(host, self.network.hosts, self.is_fast)
        host.processes["server"] = host.processes["etcd"]

    def are_servers_ready(self):
        return all(is_etcd_ready(host) for host in self.network.hosts)

    def start_agent(self, host):
        command = ["etcdctl", "--endpoints", f"http://{host.address}:2379", "lock", "--ttl", str(self.ttl), "work"]
        host.start("agent", [*command, WORKER, self.name, host.name, self.recorder.path], environment={"ETCDCTL_API": "3"})

    def repair(self, host):
        """Also starts the other waiting clients again: an `etcdctl lock` that loses its lease while it waits keeps
        waiting, but is no candidate any more."""
        super().repair(host)
        acting = self.recorder.current(self.name)
        for other in self.agents():
            if other is not host and acting is not None and other.name != acting.host:
                self._end_agent(other)
                self.start_agent(other)

    def wait_ready(self):
        try:
            super().wait_ready()
        except NotReady as problem:
            print(f"etcd: {problem}; all clients are started again", file=sys.stderr)
            for host in self.agents():
                send(host.pids_of(WORKER), signal.SIGKILL)
                self._end_agent(host)
            super().wait_ready()

    def _end_agent(self, host):
        """Lets a client give its lease back, if it still can."""
        agent = host.processes["agent"]
        agent.terminate()
        try:
            agent.wait(5)
        except subprocess.TimeoutExpired:
            agent.kill()
            agent.wait()

    def is_standing_by(self, host):
        """Every agent has written its key, and those of former ones are gone."""
        command = ["etcdctl", "--endpoints", f"http://{host.address}:2379", "get", "work/", "--prefix", "--keys-only"]
        keys = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ, ETCDCTL_API="3"))
        return len(keys.stdout.split()) == self.agent_hosts and host.is_running("agent")
