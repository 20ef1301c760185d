"""Hosts in network namespaces of their own, joined by a bridge in another one. Nothing leaves them."""

import ctypes
import os
import signal
import subprocess
import time

CLONE_NEWNET = 0x40000000
SUBNET = "10.77.0"
OBSERVER = 250


def ip(*words):
    subprocess.run(["ip", *words], check=True)


class Host:
    """A simulated host: every process in its network namespace."""

    def __init__(self, network, number):
        self.network = network
        self.number = number
        self.name = f"h{number}"
        self.address = f"{SUBNET}.{number}"
        self.namespace = f"{network.prefix}-{self.name}"
        self.folder = os.path.join(network.folder, self.name)
        self.processes = {}
        os.mkdir(self.folder)
        os.chmod(self.folder, 0o777)

    def start(self, role, command, user=None, environment=None):
        """Starts a process on this host; what it prints goes to a log named after its role."""
        enter = ["nsenter", f"--net=/run/netns/{self.namespace}"]
        if user:
            enter += ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]
        with open(os.path.join(self.folder, f"{role}.log"), "ab") as log:
            self.processes[role] = subprocess.Popen(
                enter + command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=dict(os.environ, **(environment or {})),
            )
        return self.processes[role]

    def is_running(self, role):
        process = self.processes.get(role)
        return process is not None and process.poll() is None

    def pids(self):
        """All processes of this host, whoever started them."""
        wanted = os.stat(f"/run/netns/{self.namespace}").st_ino
        found = []
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    if os.stat(f"/proc/{entry}/ns/net").st_ino == wanted:
                        found.append(int(entry))
                except OSError:
                    pass  # it has ended
        return found

    def pids_of(self, program):
        """The processes of this host whose command line names the program."""
        found = []
        for pid in self.pids():
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    if program.encode() in file.read():
                        found.append(pid)
            except OSError:
                pass
        return found

    def cut(self):
        """Silently drops everything to and from this host. Its own interface stays up."""
        ip("-n", self.network.switch, "link", "set", f"port{self.number}", "nomaster")

    def heal(self):
        ip("-n", self.network.switch, "link", "set", f"port{self.number}", "master", "bridge")


class Network:
    """The hosts, the bridge between them and the observer's own namespace."""

    def __init__(self, prefix, folder, hosts):
        self.prefix = prefix
        self.folder = folder
        self.switch = f"{prefix}-switch"
        self.observer = f"{prefix}-observer"
        self.hosts = []
        ip("netns", "add", self.switch)
        ip("-n", self.switch, "link", "add", "bridge", "type", "bridge", "forward_delay", "0", "mcast_snooping", "0")
        ip("-n", self.switch, "link", "set", "bridge", "up")
        for number in range(1, hosts + 1):
            host = Host(self, number)
            self.hosts.append(host)
            self._attach(host.namespace, number)
        self._attach(self.observer, OBSERVER)

    def _attach(self, namespace, number):
        port = f"port{number}"
        ip("netns", "add", namespace)
        ip("-n", self.switch, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", namespace)
        ip("-n", self.switch, "link", "set", port, "master", "bridge", "up")
        ip("-n", namespace, "link", "set", "lo", "up")
        ip("-n", namespace, "address", "add", f"{SUBNET}.{number}/24", "dev", "eth0")
        ip("-n", namespace, "link", "set", "eth0", "up")

    def enter(self):
        """Moves this process into the observer's namespace, from where it reaches the hosts."""
        library = ctypes.CDLL(None, use_errno=True)
        with open(f"/run/netns/{self.observer}", "rb") as namespace:
            if library.setns(namespace.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")

    def close(self):
        """Ends every process of the hosts and removes the namespaces."""
        for host in self.hosts:
            for _ in range(50):
                pids = host.pids()
                send(pids, signal.SIGKILL)
                for process in host.processes.values():
                    process.poll()
                if not pids:
                    break
                time.sleep(0.02)
        remove_namespaces(self.prefix)


def send(pids, number):
    """Sends a signal to processes, some of which may have ended."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def remove_namespaces(prefix):
    names = os.listdir("/run/netns") if os.path.isdir("/run/netns") else []
    for name in names:
        if name.startswith(f"{prefix}-"):
            ip("netns", "delete", name)
