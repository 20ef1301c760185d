#!/usr/bin/env python3
"""demo.py [--hustings PATH] [--mode exclusive|fenced]: shows what a fencing token is for.

Starts a cluster of three, `store.py`, and on two members `hustings run … writer.py`. Then everything on the leader's host
is frozen, as when a virtual machine is paused, and the other host takes over. Finally the old writer continues before
anything on its host can stop it, and writes. Exits with 0 if the store refused that write, and with 1 if it did not.
"""

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE = 60


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def descendants(pid):
    """A process and everything that it started, directly or not."""
    parents = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8") as file:
                parents[int(entry)] = int(file.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            pass  # it has ended
    found = [pid]
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found


class Demo:
    def __init__(self, hustings, mode, folder):
        self.hustings, self.folder = hustings, folder
        self.processes = {}
        self.writes = []
        self.arrived = threading.Condition()
        self.cluster = os.path.join(folder, "cluster")
        ports = free_ports(3)
        members = [word for name, port in zip("abc", ports) for word in ("--node", f"{name}=127.0.0.1:{port}")]
        subprocess.run([hustings, "init", self.cluster, *members], check=True, stdout=subprocess.DEVNULL)
        for name in "abc":
            path = os.path.join(self.cluster, name, "hustings.toml")
            with open(path, encoding="utf-8") as file:
                text = file.read()
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace('mode = "exclusive"', f'mode = "{mode}"'))

    def start(self, name, command, **options):
        log = open(os.path.join(self.folder, f"{name}.log"), "ab")
        self.processes[name] = subprocess.Popen(command, stderr=log, stdin=subprocess.DEVNULL, **options)
        log.close()
        return self.processes[name]

    def start_store(self):
        store = self.start("store", [sys.executable, f"{HERE}/store.py", f"{self.folder}/value", "--port", "0"],
                           stdout=subprocess.PIPE, text=True)
        self.url = f"http://127.0.0.1:{json.loads(store.stdout.readline())['port']}/value"
        threading.Thread(target=self._follow, args=(store.stdout,), daemon=True).start()

    def _follow(self, lines):
        for line in lines:
            with self.arrived:
                self.writes.append(json.loads(line))
                self.arrived.notify_all()

    def wait_for_write(self, what, is_it, after=-1):
        """The first write after this one of which this is true, with its number."""
        deadline = time.monotonic() + PATIENCE
        with self.arrived:
            while True:
                for number, write in enumerate(self.writes):
                    if number > after and is_it(write):
                        return number, write
                if not self.arrived.wait(deadline - time.monotonic()):
                    sys.exit(f"{what}: not within {PATIENCE} s; the logs are in {self.folder}")

    def start_host(self, name):
        self.start(f"node-{name}", [self.hustings, "node", "--config", f"{self.cluster}/{name}/hustings.toml"])

    def start_run(self, name):
        command = [self.hustings, "run", "work", "--socket", f"{self.cluster}/{name}/hustings.sock", "--"]
        self.start(f"run-{name}", [*command, sys.executable, f"{HERE}/writer.py", self.url])

    def pids(self, name):
        return [pid for role in ("node", "run") for pid in descendants(self.processes[f"{role}-{name}"].pid)]

    def writer(self, name):
        return descendants(self.processes[f"run-{name}"].pid)[-1]

    def close(self):
        for process in self.processes.values():
            for pid in descendants(process.pid):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            process.wait()


def play(demo):
    demo.start_store()
    for name in "abc":
        demo.start_host(name)
    for name in "ab":
        demo.start_run(name)
    _, first = demo.wait_for_write("the first write", lambda write: write["accepted"])
    leader, token = first["value"].split()[0], first["token"]
    print(f"{leader} leads with token {token} and writes")
    writer = demo.writer(leader)
    for pid in demo.pids(leader):
        os.kill(pid, signal.SIGSTOP)
    print(f"everything on the host of {leader} is frozen")
    number, second = demo.wait_for_write("a write by the successor", lambda write: write["token"] > token)
    print(f"{second['value'].split()[0]} leads with token {second['token']} and writes")
    os.kill(writer, signal.SIGCONT)
    print(f"the writer of {leader} continues, before anything can stop it")
    _, late = demo.wait_for_write("the late write", lambda write: write["token"] == token, after=number)
    if late["accepted"]:
        print(f"the store accepted its write with token {late['token']}, after token {second['token']} had written")
        return False
    print(f"the store refused its write with token {late['token']}: the highest is {late['highest']}")
    return True


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--hustings", default="hustings", metavar="PATH", help="the program [default: hustings in $PATH]")
    options.add_argument("--mode", choices=("exclusive", "fenced"), default="exclusive")
    options = options.parse_args()
    if shutil.which(options.hustings) is None:
        print(f"--hustings {options.hustings}: there is no such program", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="hustings-fencing-") as folder:
        demo = Demo(os.path.abspath(shutil.which(options.hustings)), options.mode, folder)
        try:
            return 0 if play(demo) else 1
        finally:
            demo.close()


if __name__ == "__main__":
    sys.exit(main())
