"""PostgreSQL: one server, and on every other host a program that holds an advisory lock."""

import glob
import os
import subprocess

from .base import AGENTS, PYTHON, System, wait_until

# The newest version that Debian has installed.
BIN = max(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4]), default="/usr/lib/postgresql/15/bin")
VERSION = BIN.split("/")[4]
KEEPALIVE = "keepalives_idle=1 keepalives_interval=1 keepalives_count=2 tcp_user_timeout=3000"


def start_lock_agent(host, connection, series, fifo, ready):
    program = [PYTHON, os.path.join(AGENTS, "postgres_agent.py"), connection]
    host.start("agent", [*program, series, host.name, fifo, ready])


class Postgres(System):
    name = "PostgreSQL-lock"
    hosts = 4
    needs = (f"{BIN}/postgres", "/usr/lib/python3/dist-packages/psycopg2/__init__.py")
    packages = (f"postgresql-{VERSION}", "python3-psycopg2")
    # The only server is on a host of its own; there is nothing else on the holder's host.
    faults = ("holder killed", "host frozen", "cut off")

    def settings(self):
        return "one server, TCP keepalive 1 s × 2, idle_session_timeout 0" if self.is_fast else "one server, defaults"

    def give_up(self, fault):
        return 10 if fault != "holder killed" else 20

    def prepare(self):
        data = self._data()
        run = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
        init = [f"{BIN}/initdb", "-D", data, "-A", "trust", "-U", "postgres"]
        subprocess.run([*run, *init], check=True, stdout=subprocess.DEVNULL, cwd=self.network.folder)
        with open(os.path.join(data, "pg_hba.conf"), "a", encoding="ascii") as file:
            file.write("host all all 10.77.0.0/24 trust\n")

    def _data(self):
        return os.path.join(self.network.hosts[3].folder, "data")

    def start_server(self, host):
        if host.number != 4:
            return
        command = [f"{BIN}/postgres", "-D", self._data(), "-h", host.address, "-k", host.folder]
        if self.is_fast:
            for name, value in (("idle", 1), ("interval", 1), ("count", 2)):
                command += ["-c", f"tcp_keepalives_{name}={value}"]
            command += ["-c", "tcp_user_timeout=3000"]
        host.start("server", command, user="postgres")

    def are_servers_ready(self):
        server = self.network.hosts[3]
        ready = subprocess.run([f"{BIN}/pg_isready", "-q", "-h", server.address], check=False)
        return ready.returncode == 0

    def repair(self, host):
        agent = host.processes["agent"]
        agent.kill()
        agent.wait()
        if os.path.exists(self.ready_file(host)):
            os.remove(self.ready_file(host))
        self.start_agent(host)

    def start_agent(self, host):
        server = self.network.hosts[3]
        connection = f"host={server.address} user=postgres dbname=postgres " + (KEEPALIVE if self.is_fast else "")
        start_lock_agent(host, connection, self.name, self.recorder.path, self.ready_file(host))
        wait_until("the agent", lambda: os.path.exists(self.ready_file(host)), 10)
