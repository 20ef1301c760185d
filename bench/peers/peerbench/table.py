"""The tables of docs/compare.md, made from the raw data."""

import csv
import json
import os
import sys

from .faults import FAULTS
from .statistics import failover_cell, overlap_cell, token_cell

BEGIN = "<!-- bench/peers: begin. Made by `peers.py table`; do not edit. -->"
END = "<!-- bench/peers: end -->"
TITLES = {
    "keepalived": "keepalived, notify script",
    "keepalived-address": "keepalived, the address",
    "PostgreSQL-lock": "PostgreSQL, advisory lock, one server",
    "Patroni": "Patroni, the primary accepts writes",
    "Patroni-lock": "PostgreSQL, advisory lock behind Patroni",
}


def number(text):
    return float(text) if text else None


def read(path):
    """The rows of a CSV file, with numbers as numbers."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        for column in ("failover_ms", "waited_s", "overlap_ms"):
            row[column] = number(row[column])
        row["overlap_acts"] = int(row["overlap_acts"] or 0)
        row["old_still_acts"] = {"True": True, "False": False}.get(row["old_still_acts"])
    return rows


def groups(rows):
    """Rows by series and setting, in their order."""
    found = {}
    for row in rows:
        found.setdefault((row["series"], row["setting"]), []).append(row)
    return found


def lines(rows, cell, last=None):
    """A table with a row per series and setting, and a column per fault."""
    titles = ["system", "setting", *FAULTS] + ([last[0]] if last else [])
    yield f"| {' | '.join(titles)} |"
    yield f"|---|---|{'---|' * (len(titles) - 2)}"
    for (series, setting), group in groups(rows).items():
        cells = [cell([row for row in group if row["fault"] == fault]) for fault in FAULTS]
        cells += [last[1](group)] if last else []
        yield f"| {TITLES.get(series, series)} | {setting} | {' | '.join(cells)} |"


def complete(row):
    """A row as the CSV file has it: columns that a case left out are empty."""
    defaults = {"overlap_acts": 0, "overlap_ms": 0.0, "old_still_acts": None, "old_token": "-", "new_token": "-"}
    return {**defaults, **row}


def text(rows):
    """Both tables."""
    rows = [complete(row) for row in rows]
    failover = "\n".join(lines(rows, failover_cell))
    overlap = "\n".join(lines(rows, overlap_cell, ("token", token_cell)))
    return (
        "**Failover**, p50 / p90 / maximum (repetitions), from just before the fault to the first act of the next "
        "holder. *Kept* means that the old holder goes on and has no successor; *none*, that nobody acts:\n\n"
        f"{failover}\n\n"
        "**Overlap**: in how many failovers the old worker acted after its successor's first act, and for how long "
        "(after a freeze: from when it continued). *Not stopped* means that it still did when the recording ended: 0.6 s "
        f"after that act, or 0.3 s after a frozen host continued (Patroni: 4 s and 2 s):\n\n{overlap}"
    )


def about(folder):
    """Where and when the raw data was measured, and with what."""
    with open(os.path.join(folder, "peers.json"), encoding="utf-8") as file:
        data = json.load(file)
    machine = data["machine"]
    yield (
        f"Measured on {data['date']} in {data['minutes']:g} minutes: {machine['processor']}, {machine['cores']} cores, "
        f"{machine['system']}, Linux {machine['kernel']}."
    )
    yield ""
    yield "| system | setting | what is set | version |\n|---|---|---|---|"
    for case in data["cases"]:
        yield f"| {case['system']} | {case['setting']} | {case['settings']} | {case['version']} |"


def generated(folder):
    rows = read(os.path.join(folder, "peers.csv"))
    return f"{BEGIN}\n\n{text(rows)}\n\n" + "\n".join(about(folder)) + f"\n\n{END}"


def split(page):
    """What is before and after the generated part, and that part."""
    with open(page, encoding="utf-8") as file:
        content = file.read()
    if content.count(BEGIN) != 1 or content.count(END) != 1:
        raise SystemExit(f"{page}: it must have each of these lines once:\n{BEGIN}\n{END}")
    before, rest = content.split(BEGIN)
    part, after = rest.split(END)
    return before, f"{BEGIN}{part}{END}", after


def write(folder, page):
    before, _, after = split(page)
    with open(page, "w", encoding="utf-8") as file:
        file.write(before + generated(folder) + after)
    return 0


def check(folder, page):
    if split(page)[1] == generated(folder):
        return 0
    print(f"{page}: its tables are not those of {folder}/peers.csv; `peers.py table` writes them", file=sys.stderr)
    return 1
