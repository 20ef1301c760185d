"""ZooKeeper: a server and a program with kazoo's lock recipe on every host."""

import os
import socket

from .base import AGENTS, PYTHON, System

JAVA = ["java", "-Xmx128m", "-cp", "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar"]


class ZooKeeper(System):
    name = "ZooKeeper"
    needs = ("java", "/usr/share/java/zookeeper.jar", "/usr/lib/python3/dist-packages/kazoo/__init__.py")
    packages = ("zookeeper", "python3-kazoo")

    @property
    def tick(self):
        return 100 if self.is_fast else 2000

    @property
    def session(self):
        """Seconds; kazoo's default is 10."""
        return 0.5 if self.is_fast else 10

    def settings(self):
        return f"tickTime {self.tick} ms, syncLimit 5, session timeout {self.session} s, kazoo's Lock"

    def give_up(self, fault):
        return 45

    def prepare(self):
        # Counted in ticks. A follower has 20 s to join with both settings.
        limits = f"initLimit={20000 // self.tick}\nsyncLimit=5\n"
        servers = "".join(f"server.{h.number}={h.address}:2888:3888\n" for h in self.network.hosts)
        for host in self.network.hosts:
            data = os.path.join(host.folder, "data")
            os.mkdir(data)
            with open(os.path.join(data, "myid"), "w", encoding="ascii") as file:
                file.write(f"{host.number}\n")
            with open(os.path.join(host.folder, "zoo.cfg"), "w", encoding="ascii") as file:
                file.write(f"tickTime={self.tick}\n{limits}")
                file.write(f"dataDir={data}\nclientPort=2181\nclientPortAddress={host.address}\n{servers}")
                file.write("admin.enableServer=false\n4lw.commands.whitelist=srvr\n")

    def start_server(self, host):
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        host.start("server", [*JAVA, main, os.path.join(host.folder, "zoo.cfg")])

    def are_servers_ready(self):
        return all(self._mode(host) in ("leader", "follower") for host in self.network.hosts)

    def _mode(self, host):
        try:
            with socket.create_connection((host.address, 2181), timeout=1) as connection:
                connection.sendall(b"srvr")
                answer = connection.makefile("rb").read().decode("ascii", "replace")
        except OSError:
            return None
        modes = [line.split()[1] for line in answer.splitlines() if line.startswith("Mode:")]
        return modes[0] if modes else None

    def start_agent(self, host):
        program = [PYTHON, os.path.join(AGENTS, "zookeeper_agent.py"), f"{host.address}:2181", str(self.session)]
        host.start("agent", [*program, self.name, host.name, self.recorder.path, self.ready_file(host)])
