"""Percentiles, and what a group of repetitions says in one cell of a table."""

import math


def percentile(values, fraction):
    """The smallest value that at least this fraction of the values does not exceed."""
    ordered = sorted(values)
    return ordered[max(math.ceil(fraction * len(ordered)) - 1, 0)]


def duration(milliseconds):
    """A time with three digits at most: `2.1 ms`, `302 ms`, `9.48 s`, `20.3 s`."""
    if milliseconds < 99.95:
        return f"{milliseconds:.1f} ms"
    if milliseconds < 999.5:
        return f"{milliseconds:.0f} ms"
    seconds = milliseconds / 1000
    return f"{seconds:.2f} s" if seconds < 9.995 else f"{seconds:.1f} s"


def failover_cell(rows):
    """p50, p90 and maximum, and how many repetitions they come from."""
    if not rows:
        return "–"
    times = [row["failover_ms"] for row in rows if row["failover_ms"] is not None]
    lost = [row for row in rows if row["failover_ms"] is None]
    waited = f"none in {lost[0]['waited_s']:g} s" if lost else ""
    if not times and all(row["old_still_acts"] for row in lost):
        return f"kept ({len(lost)})"
    if not times:
        return f"{waited} ({len(lost)})"
    cell = " / ".join(duration(value) for value in (percentile(times, 0.5), percentile(times, 0.9), max(times)))
    return f"{cell} ({len(times)})" + (f", {len(lost)} × {waited}" if lost else "")


def overlap_cell(rows):
    """In how many repetitions the old worker acted after the new one had, and for how long."""
    moved = [row for row in rows if row["failover_ms"] is not None and row["old_still_acts"] is not None]
    if not moved:
        return "–"
    late = [row for row in moved if row["old_still_acts"] or row["overlap_acts"]]
    if not late:
        return f"0 of {len(moved)}"
    cell = f"**{len(late)} of {len(moved)}**"
    unstopped = sum(1 for row in late if row["old_still_acts"])
    if unstopped:
        return f"{cell}, {'not stopped' if unstopped == len(late) else f'{unstopped} not stopped'}"
    return f"{cell}, up to {duration(max(row['overlap_ms'] for row in late))}"


def token_cell(rows):
    """Whether every successor had a greater token than its predecessor."""
    pairs = [(row["old_token"], row["new_token"]) for row in rows if row["failover_ms"] is not None]
    pairs = [(old, new) for old, new in pairs if old not in ("", "-") and new not in ("", "-")]
    if not pairs:
        return "none"
    rising = sum(1 for old, new in pairs if int(new) > int(old))
    return f"increased in {rising} of {len(pairs)}"
