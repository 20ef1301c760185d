"""Patroni: PostgreSQL with streaming replication and etcd on every host. Two things are measured at once: which server
accepts writes, and who holds an advisory lock in the primary."""

import json
import os
import shutil
import signal
import urllib.request

from ..network import send
from .base import AGENTS, PYTHON, System, wait_until
from .etcd import is_etcd_ready, start_etcd
from .postgres import BIN, KEEPALIVE, VERSION, start_lock_agent

LOCK = "Patroni-lock"


class Patroni(System):
    name = "Patroni"
    needs = ("patroni", "etcd", f"{BIN}/postgres", "/usr/lib/python3/dist-packages/psycopg2/__init__.py")
    packages = ("patroni", "etcd-server", f"postgresql-{VERSION}", "python3-psycopg2")
    ready_seconds = 90
    window = 2.0

    @property
    def series(self):
        return [self.name, LOCK]

    @property
    def times(self):
        """ttl, loop_wait and retry_timeout, in seconds. The fast ones are the least that Patroni accepts."""
        return (20, 1, 3) if self.is_fast else (30, 10, 10)

    def settings(self):
        ttl, loop, retry = self.times
        keepalive = "TCP keepalive 1 s × 2" if self.is_fast else "TCP defaults"
        return f"ttl {ttl} s, loop_wait {loop} s, retry_timeout {retry} s, no watchdog, {keepalive}"

    def give_up(self, fault):
        return 40 if self.is_fast else 60

    def _configuration(self, host):
        ttl, loop, retry = self.times
        return {
            "scope": "work",
            "name": host.name,
            "restapi": {"listen": f"{host.address}:8008", "connect_address": f"{host.address}:8008"},
            "etcd3": {"hosts": [f"{other.address}:2379" for other in self.network.hosts]},
            "bootstrap": {
                "dcs": {
                    "ttl": ttl,
                    "loop_wait": loop,
                    "retry_timeout": retry,
                    "maximum_lag_on_failover": 1048576,
                    "postgresql": {"use_pg_rewind": True, "parameters": {"wal_log_hints": "on"}},
                },
                "initdb": [{"encoding": "UTF8"}, {"auth-local": "trust"}, {"auth-host": "trust"}],
            },
            "postgresql": {
                "listen": f"{host.address}:5432",
                "connect_address": f"{host.address}:5432",
                "data_dir": os.path.join(host.folder, "data"),
                "bin_dir": BIN,
                "pgpass": os.path.join(host.folder, "pgpass"),
                "authentication": {
                    "superuser": {"username": "postgres", "password": "local"},
                    "replication": {"username": "replicator", "password": "local"},
                },
                "pg_hba": ["local all all trust", "host all all 10.77.0.0/24 trust", "host replication all 10.77.0.0/24 trust"],
                # A replica may have received more from the old primary than the new one has.
                "remove_data_directory_on_rewind_failure": True,
                "remove_data_directory_on_diverged_timelines": True,
                "create_replica_methods": ["basebackup"],
                "basebackup": {"checkpoint": "fast"},
                "parameters": {"unix_socket_directories": host.folder, "shared_buffers": "16MB"},
            },
        }

    def prepare(self):
        for host in self.network.hosts:
            with open(os.path.join(host.folder, "patroni.yml"), "w", encoding="utf-8") as file:
                json.dump(self._configuration(host), file, indent=1)  # JSON is YAML

    def start_server(self, host):
        if not host.is_running("etcd"):
            start_etcd(host, self.network.hosts, fast=False)
        host.start("server", [PYTHON, "/usr/bin/patroni", os.path.join(host.folder, "patroni.yml")], user="postgres")

    def holder_pids(self, host):
        return [host.processes["server"].pid]

    def are_servers_ready(self):
        if not all(is_etcd_ready(host) for host in self.network.hosts):
            return False
        for host in self.network.hosts:
            try:
                with urllib.request.urlopen(f"http://{host.address}:8008/cluster", timeout=2) as answer:
                    members = json.load(answer)["members"]
            except (OSError, ValueError):
                continue
            roles = sorted(member["role"] for member in members)
            running = all(member["state"] in ("running", "streaming") for member in members)
            return roles == ["leader", "replica", "replica"] and running and not any(m.get("lag", 0) for m in members)
        return False

    def start_agent(self, host):
        addresses = ",".join(other.address for other in self.network.hosts)
        connection = f"host={addresses} user=postgres dbname=postgres target_session_attrs=read-write connect_timeout=2"
        connection += f" {KEEPALIVE}" if self.is_fast else ""
        start_lock_agent(host, connection, LOCK, self.recorder.path, self.ready_file(host))
        if not host.is_running("primary"):
            # Nothing waits for the disk here: it is about who accepts writes.
            local = f"host={host.folder} user=postgres dbname=postgres options='-c synchronous_commit=off'"
            program = [PYTHON, os.path.join(AGENTS, "primary_agent.py"), local]
            ready = os.path.join(host.folder, "primary.ready")
            host.start("primary", [*program, self.name, host.name, self.recorder.path, ready])

    def repair(self, host):
        """Replaces the old primary by a new copy, which takes less time than to repair it."""
        send(host.pids_of("patroni.yml"), signal.SIGKILL)
        postmaster = os.path.join(host.folder, "data", "postmaster.pid")
        if os.path.exists(postmaster):
            with open(postmaster, encoding="ascii") as file:
                send([int(file.readline())], signal.SIGQUIT)
        host.processes["server"].wait()
        wait_until("the end of PostgreSQL", lambda: not host.pids_of("postgres:"), 20)
        shutil.rmtree(os.path.join(host.folder, "data"), ignore_errors=True)
        super().repair(host)
