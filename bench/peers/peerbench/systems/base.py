"""What a system under measurement provides."""

import os
import signal
import subprocess
import time

from ..network import send

AGENTS = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "agents"))
WORKER = os.path.join(AGENTS, "worker")
# Debian's Python, which finds the client libraries that Debian packages.
PYTHON = "/usr/bin/python3"


class NotReady(Exception):
    """The system did not become ready in time; the message says what was missing."""


def wait_until(what, is_true, seconds, pause=0.02):
    deadline = time.monotonic() + seconds
    while not is_true():
        if time.monotonic() > deadline:
            raise NotReady(f"{what}: not within {seconds} s")
        time.sleep(pause)


def package_version(*packages):
    """The versions of Debian packages, as one text."""
    found = []
    for package in packages:
        query = subprocess.run(
            ["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True, check=False
        )
        if query.returncode == 0:
            found.append(f"{package} {query.stdout}")
    return ", ".join(found)


class System:
    """Three hosts, each with a server and an agent: the client that holds the lock and starts the worker."""

    name = ""
    hosts = 3
    agent_hosts = 3
    needs = ()  # programs that must be installed
    packages = ()  # where they come from
    ready_seconds = 30
    # How long both are recorded after the successor's first act, and again after a frozen host continues.
    window = 0.3
    faults = ("holder killed", "host killed", "host frozen", "cut off")

    def __init__(self, setting):
        self.setting = setting
        self.is_fast = setting.endswith("fast")
        self.network = None
        self.recorder = None

    @property
    def series(self):
        """The names under which workers act; the first one tells where the holder is."""
        return [self.name]

    def give_up(self, fault):
        """How many seconds to wait for a successor."""
        return 60

    def settings(self):
        """The settings that matter, for the results."""
        raise NotImplementedError

    def version(self):
        return package_version(*self.packages)

    def prepare(self):
        """Writes configurations."""

    def start_server(self, host):
        raise NotImplementedError

    def start_agent(self, host):
        raise NotImplementedError

    def are_servers_ready(self):
        raise NotImplementedError

    def holder_pids(self, host):
        return [host.processes["agent"].pid]

    def is_standing_by(self, host):
        return os.path.exists(self.ready_file(host))

    def ready_file(self, host):
        return os.path.join(host.folder, "agent.ready")

    def agents(self):
        return self.network.hosts[: self.agent_hosts]

    def further_rows(self, host, start, fault):
        """What else is to be measured after this fault of this host at this time, as rows."""
        return []

    def start(self):
        for host in self.network.hosts:
            self.start_server(host)
        wait_until(f"servers of {self.name}", self.are_servers_ready, 120)
        for host in self.agents():
            self.start_agent(host)

    def repair(self, host):
        """Brings a host back after a fault, with a new agent."""
        agent = host.processes.get("agent")
        if agent is not None:
            agent.kill()
            agent.wait()
        send(host.pids_of(WORKER), signal.SIGKILL)
        if os.path.exists(self.ready_file(host)):
            os.remove(self.ready_file(host))
        if not host.is_running("server"):
            self.start_server(host)
        wait_until(f"servers of {self.name}", self._serve, self.ready_seconds)
        self.start_agent(host)

    def _serve(self):
        """Whether all servers are ready. One that has ended is started again, as a supervisor would."""
        for host in self.network.hosts:
            if "server" in host.processes and not host.is_running("server"):
                self.start_server(host)
        return self.are_servers_ready()

    def _stands_by(self, host):
        """Whether the agent waits. One that has given up, as a supervisor would see, is started again."""
        if not host.is_running("agent"):
            self.start_agent(host)
        return self.is_standing_by(host)

    def wait_ready(self):
        """Waits until every host stands by and one worker acts in every series."""
        wait_until(f"servers of {self.name}", self._serve, self.ready_seconds)
        for host in self.agents():
            wait_until(f"the agent on {host.name}", lambda host=host: self._stands_by(host), self.ready_seconds)
        for series in self.series:
            wait_until(f"one worker of {series}", lambda: self.recorder.current(series), self.ready_seconds)
