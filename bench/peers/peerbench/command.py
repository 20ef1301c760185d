"""The command line."""

import argparse
import os
import sys

from . import measure, run, table
from .systems import CASES

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RESULTS = os.path.join(HERE, "results")
PAGE = os.path.normpath(os.path.join(HERE, "..", "..", "docs", "compare.md"))


def add_limits(parser):
    parser.add_argument("--hustings", metavar="PATH", help="the program to measure [default: hustings in $PATH]")
    parser.add_argument("--times", type=int, default=20, help="how often each fault is repeated, at most [default: 20]")
    parser.add_argument("--fault", action="append", help="only this fault; may be repeated")
    parser.add_argument("--keep", action="store_true", help="keep the logs of all processes")


def parser():
    top = argparse.ArgumentParser(prog="peers.py", description=__doc__)
    commands = top.add_subparsers(dest="command", required=True)
    full = commands.add_parser("run", help="measure, write results/ and the table in docs/compare.md")
    full.add_argument("--only", action="append", choices=list(CASES), help="only this case; nothing is written then")
    add_limits(full)
    case = commands.add_parser("case", help="measure one case (used by run)")
    case.add_argument("case", choices=list(CASES))
    case.add_argument("--out", required=True)
    case.add_argument("--prefix", required=True)
    case.add_argument("--least", type=int, default=1, help="how often each fault is repeated, even if it takes long")
    case.add_argument("--seconds", type=float, default=20, help="when to stop repeating a fault")
    add_limits(case)
    commands.add_parser("table", help="write the table in docs/compare.md from results/")
    commands.add_parser("check", help="fail if the table in docs/compare.md differs from results/")
    return top


def main():
    options = parser().parse_args()
    if options.command == "case":
        return measure.run_case(options)
    if options.command == "run":
        return run.run(options, RESULTS, PAGE)
    if options.command == "table":
        return table.write(RESULTS, PAGE)
    return table.check(RESULTS, PAGE)
