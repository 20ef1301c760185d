"""The worker as a child of an agent: it dies with the agent, as work inside the agent's process would."""

import os
import subprocess


class Worker:
    def __init__(self, series, host, fifo):
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker")
        self._command = ["setpriv", "--pdeathsig", "KILL", program, series, host, fifo]
        self._process = None

    def start(self, token="-"):
        self.stop()
        self._process = subprocess.Popen(self._command, env=dict(os.environ, WORKER_TOKEN=str(token)))

    def stop(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def stand_by(path):
    """Tells the harness that this agent now waits for the lock."""
    with open(path, "w", encoding="ascii") as file:
        file.write("waiting\n")
