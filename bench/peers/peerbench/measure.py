"""Measures one system with one setting: the same repetitions of the same faults."""

import json
import os
import shutil
import signal
import sys
import tempfile
import time

from .faults import FAULTS
from .network import Network
from .recorder import Recorder
from .systems import CASES
from .systems.base import NotReady, wait_until

# A system that did not recover this often is given up.
MAX_PROBLEMS = 2
# How long to wait for the other series of a system after the first one, in seconds.
FURTHER = 10
# Whoever acted this shortly before the end of the window has not been stopped.
STILL = 0.05
# The same for whoever has no successor. A busy machine may delay an act by more.
KEPT = 0.25


def overlap(acts, since, until):
    """What the old worker did after the successor's first act: how often, for how long (a frozen one: after it
    continued), and whether it was stopped."""
    if not acts:
        return {"overlap_acts": 0, "overlap_ms": 0.0, "old_still_acts": False}
    last = acts[-1].at
    return {
        "overlap_acts": len(acts),
        "overlap_ms": round((last - since) * 1000, 1),
        "old_still_acts": last > until - STILL,
    }


def wait_for_successors(system, recorder, known, deadline):
    """The first act of a new worker in every series, or None."""
    found = {}
    for series in system.series:
        found[series] = recorder.wait_for_other(series, known[series], deadline)
        if found[series]:
            # Whatever depends on the first series follows soon or not at all.
            deadline = min(deadline, found[series].at + FURTHER)
    return found


def holders(system, recorder):
    """The latest act in every series, once exactly one worker acts in each, and all workers until then."""
    system.wait_ready()
    recorder.forget()
    found = {}

    def are_known():
        found.update({series: recorder.snapshot(series) for series in system.series})
        return all(latest for latest, _ in found.values())

    wait_until(f"one worker of {system.name}", are_known, system.ready_seconds)
    return {series: pair[0] for series, pair in found.items()}, {series: pair[1] for series, pair in found.items()}


def repetition(system, fault, recorder):
    """One fault. Returns a row for every series."""
    old, known = holders(system, recorder)
    host = next(host for host in system.network.hosts if host.name == old[system.series[0]].host)
    act = fault.plan(system, host)
    start = time.monotonic()
    act()
    first = wait_for_successors(system, recorder, known, start + system.give_up(fault.name))
    waited = time.monotonic() - start
    kept = {series: bool(recorder.acts_of(old[series].worker, time.monotonic() - KEPT)) for series in system.series}
    time.sleep(system.window)
    thawed = time.monotonic() if fault.thaw(host) else start
    time.sleep(system.window)
    end = time.monotonic()
    rows = []
    for series in system.series:
        new, before = first[series], old[series]
        row = {"series": series, "failover_ms": None, "waited_s": round(waited)}
        row.update({"old_token": before.token, "old_host": before.host})
        if new is None:
            row["old_still_acts"] = kept[series]
        else:
            row.update({"failover_ms": round((new.at - start) * 1000, 2), "new_token": new.token, "new_host": new.host})
            row.update(overlap(recorder.acts_of(before.worker, new.at), max(new.at, thawed), end))
        rows.append(row)
    rows += system.further_rows(host, start, fault.name)
    fault.heal(host)
    system.repair(host)
    return rows


def repeat(system, recorder, name, options):
    """One fault, as often as the limits allow."""
    began = time.monotonic()
    for number in range(options.times):
        if number >= options.least and time.monotonic() - began > options.seconds:
            return
        rows = repetition(system, FAULTS[name], recorder)
        times = [row["failover_ms"] for row in rows]
        print(f"{system.name}, {system.setting}: {name} {number}: {times} ms", file=sys.stderr)
        yield from ({"fault": name, "number": number, **row} for row in rows)
        if not any(times):
            return  # it would take the whole limit again


def measure(system, recorder, options):
    """The rows of all faults, and what went wrong. A system that does not recover from one fault misses the rest of it."""
    rows, problems = [], []
    for name in options.fault or system.faults:
        try:
            for row in repeat(system, recorder, name, options):
                rows.append({"system": system.name, "setting": system.setting, **row})
        except NotReady as problem:
            problems.append(f"{name}: {problem}")
            print(f"{system.name}, {system.setting}: {problems[-1]}", file=sys.stderr)
            if len(problems) == MAX_PROBLEMS:
                break
    return rows, problems


def run_case(options):
    """Runs one case from start to end, and writes its rows to a file."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    system = CASES[options.case]()
    if options.hustings and hasattr(system, "program"):
        system.program = os.path.abspath(options.hustings)
    missing = [need for need in system.needs if shutil.which(need) is None and not os.path.exists(need)]
    if missing:
        print(f"SKIPPED: {system.name}: {', '.join(missing)} not found; README.md says how to get it", file=sys.stderr)
        sys.exit(4)
    folder = tempfile.mkdtemp(prefix=f"{options.prefix}-")
    os.chmod(folder, 0o755)
    network = None
    try:
        network = Network(options.prefix, folder, system.hosts)
        network.enter()
        system.network, system.recorder = network, Recorder(os.path.join(folder, "acts"))
        system.prepare()
        system.start()
        rows, problems = measure(system, system.recorder, options)
        case = {"system": system.name, "setting": system.setting, "settings": system.settings()}
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump({**case, "version": system.version(), "problems": problems, "rows": rows}, file)
    finally:
        if network is not None:
            network.close()
        if options.keep:
            print(f"logs: {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)
