"""keepalived: VRRP on every host, an address that moves, and the worker started by the notify scripts."""

import json
import os
import signal
import socket
import subprocess
import threading
import time

from ..network import SUBNET, send
from .base import AGENTS, System

ADDRESS = f"{SUBNET}.100"
CONFIGURATION = """\
global_defs {{
    router_id {name}
    script_user root
    vrrp_version 3
}}
vrrp_instance work {{
    state BACKUP
    nopreempt
    interface eth0
    virtual_router_id 51
    priority {priority}
    advert_int {interval}
    virtual_ipaddress {{
        {address}/24
    }}
    notify_master "{switch} start"
    notify_backup "{switch} stop"
    notify_fault "{switch} stop"
    notify_stop "{switch} stop"
}}
"""


class AddressWatch:
    """Who says that it has the address now, as its neighbours learn it: by gratuitous ARP."""

    ETH_P_ARP = 0x0806

    def __init__(self):
        self.seen = []
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(self.ETH_P_ARP))
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        address = socket.inet_aton(ADDRESS)
        while True:
            frame = self._socket.recv(2048)
            if frame[28:32] == address:
                self.seen.append((time.monotonic(), frame[22:28].hex(":")))

    def first_other(self, mac, since):
        return next((at for at, who in list(self.seen) if at >= since and who != mac), None)


class Keepalived(System):
    name = "keepalived"
    needs = ("keepalived",)
    packages = ("keepalived",)

    @property
    def interval(self):
        return 0.02 if self.is_fast else 1

    def settings(self):
        return f"VRRPv3, advert_int {self.interval} s, nopreempt"

    def give_up(self, fault):
        return 20

    def prepare(self):
        self._watch = AddressWatch()
        for host in self.network.hosts:
            pidfile = os.path.join(host.folder, "worker.pid")
            switch = f"{AGENTS}/switch-worker {self.recorder.path} {pidfile} {self.name} {host.name}"
            text = CONFIGURATION.format(
                name=host.name, priority=100 + host.number, interval=self.interval, address=ADDRESS, switch=switch
            )
            with open(os.path.join(host.folder, "keepalived.conf"), "w", encoding="ascii") as file:
                file.write(text)

    def start_server(self, host):
        """The agent is the server: there is nothing else."""

    def start_agent(self, host):
        files = [os.path.join(host.folder, name) for name in ("keepalived.conf", "parent.pid", "vrrp.pid")]
        for path in files[1:]:
            if os.path.exists(path):
                os.remove(path)
        command = ["keepalived", "--dont-fork", "--log-console", "--vrrp"]
        command += ["--use-file", files[0], "--pid", files[1], "--vrrp_pid", files[2]]
        host.start("agent", command)
        self._started = time.monotonic()

    def holder_pids(self, host):
        """The process that speaks VRRP first: when its parent dies before it, it still says goodbye."""
        return sorted(host.pids_of("keepalived.conf"), reverse=True)

    def _interface(self, host):
        show = ["ip", "-j", "-n", host.namespace, "address", "show", "dev", "eth0"]
        return json.loads(subprocess.run(show, capture_output=True, check=True).stdout)[0]

    def _has_address(self, host):
        return any(entry["local"] == ADDRESS for entry in self._interface(host)["addr_info"])

    def further_rows(self, host, start, fault):
        """The address itself: when its neighbours learn that it has moved, and whether the old host has it, too."""
        moved = self._watch.first_other(self._interface(host)["address"], start)
        row = {"series": f"{self.name}-address", "failover_ms": None, "waited_s": self.give_up(None)}
        if moved is not None:
            row["failover_ms"] = round((moved - start) * 1000, 2)
            # The kernel of a host that is really dead would not keep the address either.
            row["old_still_acts"] = None if fault == "host killed" else self._has_address(host)
        return [row]

    def repair(self, host):
        send(host.pids(), signal.SIGKILL)
        host.processes["agent"].wait()
        if self._has_address(host):  # keepalived had no chance to remove it
            delete = ["ip", "-n", host.namespace, "address", "del", f"{ADDRESS}/24", "dev", "eth0"]
            subprocess.run(delete, check=True)
        self.start_agent(host)

    def are_servers_ready(self):
        return True

    def is_standing_by(self, host):
        """It takes part once it has listened for as long as a master may be silent."""
        return host.is_running("agent") and time.monotonic() > self._started + 4 * self.interval + 0.5
