"""Hustings: `hustings node` and `hustings run` on every host."""

import json
import os
import re
import subprocess

from .base import WORKER, System

FAST = {"heartbeat": "20ms", "silence-floor": "60ms", "lease": "120ms"}


class Hustings(System):
    name = "Hustings"
    program = "hustings"

    @property
    def needs(self):
        return (self.program,)

    def settings(self):
        if self.is_fast:
            return ", ".join(f"{key} {value}" for key, value in FAST.items())
        return f"lease 300 ms, heartbeat 50 ms, mode {self.setting.split(',')[0]}"

    def version(self):
        return subprocess.run([self.program, "--version"], capture_output=True, text=True, check=True).stdout.strip()

    def give_up(self, fault):
        return 10

    def prepare(self):
        self.folder = os.path.join(self.network.folder, "cluster")
        members = [word for host in self.network.hosts for word in ("--node", f"{host.name}={host.address}:7401")]
        subprocess.run([self.program, "init", self.folder, *members], check=True, stdout=subprocess.DEVNULL)
        for host in self.network.hosts:
            path = self._config(host)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            if self.setting.startswith("fenced"):
                text = text.replace('mode = "exclusive"', 'mode = "fenced"')
            if self.is_fast:
                for key, value in FAST.items():
                    text = re.sub(rf'^{key} = "[^"]*"', f'{key} = "{value}"', text, flags=re.MULTILINE)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)

    def _config(self, host):
        return os.path.join(self.folder, host.name, "hustings.toml")

    def _socket(self, host):
        return os.path.join(self.folder, host.name, "hustings.sock")

    def start_server(self, host):
        host.start("server", [self.program, "node", "--config", self._config(host)])

    def start_agent(self, host):
        command = [self.program, "run", "work", "--socket", self._socket(host)]
        command += ["--status-file", self.ready_file(host)]
        host.start("agent", [*command, "--", WORKER, self.name, host.name, self.recorder.path])

    def is_standing_by(self, host):
        try:
            with open(self.ready_file(host), encoding="utf-8") as file:
                return json.load(file)["state"] in ("waiting", "running")
        except (OSError, ValueError):
            return False

    def are_servers_ready(self):
        """Every node sees every other."""
        for host in self.network.hosts:
            command = [self.program, "status", "--socket", self._socket(host), "--wait", "0s", "--format", "json"]
            status = subprocess.run(command, capture_output=True, text=True, check=False)
            if status.returncode != 0 or not all(member["up"] for member in json.loads(status.stdout)["members"]):
                return False
        return True
