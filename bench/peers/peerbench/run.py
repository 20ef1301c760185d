"""A full run: every case in a process of its own. Cases that wait for seconds run side by side, the quick ones alone."""

import csv
import datetime
import itertools
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

from . import table
from .network import remove_namespaces
from .systems import CASES


class Lane(NamedTuple):
    """Cases that run one after the other, or side by side, and how many seconds each may repeat a fault."""

    cases: list
    together: bool
    seconds: float
    least: int


LANES = [
    # Their failover takes milliseconds, so nothing else may use the cores.
    Lane(["hustings", "hustings-fenced", "hustings-fast", "keepalived-fast", "postgres", "postgres-fast"], False, 10, 2),
    # About a second, nearly all of it waiting.
    Lane(["zookeeper-fast", "etcd-fast"], True, 22, 3),
    # Many seconds of waiting. A fault of Patroni takes a minute, so three clusters share the repetitions.
    Lane(["etcd", "zookeeper", "keepalived", *["patroni"] * 3, *["patroni-fast"] * 2], True, 30, 1),
]

COLUMNS = ["system", "setting", "series", "fault", "number", "failover_ms", "waited_s", "overlap_acts", "overlap_ms"]
COLUMNS += ["old_still_acts", "old_token", "new_token", "old_host", "new_host"]


class Case:
    """One case in a process of its own."""

    started = itertools.count()

    def __init__(self, name, folder, options, lane):
        self.name = name
        self.prefix = f"hp{os.getpid()}x{next(Case.started)}"
        self.out = os.path.join(folder, f"{self.prefix}.json")
        command = [sys.executable, sys.argv[0], "case", name, "--out", self.out, "--prefix", self.prefix]
        command += ["--times", str(options.times), "--least", str(lane.least), "--seconds", str(lane.seconds)]
        command += ["--hustings", options.hustings] if options.hustings else []
        command += [f"--fault={fault}" for fault in options.fault or []] + (["--keep"] if options.keep else [])
        self.process = subprocess.Popen(command)

    def result(self):
        """Its rows, or None if it failed or was skipped."""
        code = self.process.wait()
        remove_namespaces(self.prefix)
        if code != 0:
            print(f"{self.name}: no result, exit code {code}", file=sys.stderr)
            return None
        with open(self.out, encoding="utf-8") as file:
            return json.load(file)


def measure_lane(lane, chosen, folder, options):
    """The results of a lane's cases, by name; None for those that failed."""
    names = [name for name in lane.cases if name in chosen]
    if lane.together:
        cases = [Case(name, folder, options, lane) for name in names]
        return [(case.name, case.result()) for case in cases]
    return [(name, Case(name, folder, options, lane).result()) for name in names]


def merge(results):
    """One result per case: the repetitions of several clusters are numbered one after the other."""
    merged = {}
    for name, result in results:
        if result is None:
            continue
        if name not in merged:
            merged[name] = result
            continue
        merged[name]["problems"] += result["problems"]
        rows = merged[name]["rows"]
        offset = max((row["number"] for row in rows), default=-1) + 1
        rows += [{**row, "number": row["number"] + offset} for row in result["rows"]]
    return [merged[name] for name in CASES if name in merged]


def measure_all(options, folder):
    chosen = options.only or list(CASES)
    results = [result for lane in LANES for result in measure_lane(lane, chosen, folder, options)]
    return merge(results), [name for name, result in results if result is None]


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        models = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    with open("/etc/os-release", encoding="utf-8") as file:
        system = next(line.split('"')[1] for line in file if line.startswith("PRETTY_NAME"))
    return {"processor": models[0] if models else platform.machine(), "cores": os.cpu_count(), "system": system} | {
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 2),
    }


def write(results, folder, began, options):
    """The raw data: a row per repetition, and beside it what was measured where."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "peers.csv"), "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for result in results:
            writer.writerows(result["rows"])
    keys = ("system", "setting", "settings", "version", "problems")
    cases = [{key: result[key] for key in keys} for result in results]
    about = {"date": datetime.date.today().isoformat(), "minutes": round((time.monotonic() - began) / 60, 1)}
    about |= {"times": options.times, "lanes": [lane._asdict() for lane in LANES]}
    with open(os.path.join(folder, "peers.json"), "w", encoding="utf-8") as file:
        json.dump({**about, "machine": machine(), "cases": cases}, file, indent=1, ensure_ascii=False)
        file.write("\n")


def run(options, folder, page):
    if os.geteuid() != 0:
        print("needs root, because it creates network namespaces", file=sys.stderr)
        return 2
    if options.hustings and not shutil.which(options.hustings):
        print(f"--hustings {options.hustings}: there is no such program", file=sys.stderr)
        return 2
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        results, missing = measure_all(options, scratch)
    if options.only:
        print(table.text([row for result in results for row in result["rows"]]))
        return 1 if missing else 0
    write(results, folder, began, options)
    return table.write(folder, page) or (1 if missing else 0)
