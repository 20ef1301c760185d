"""Tests of the harness: `python3 -m unittest discover bench/peers`. None of them measures a time."""

import csv
import io
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from contextlib import redirect_stderr

from peerbench import run, statistics, table
from peerbench.measure import overlap
from peerbench.recorder import Act, Recorder, parse

HERE = os.path.dirname(os.path.abspath(__file__))


def row(**values):
    base = {"series": "etcd", "setting": "fast", "fault": "cut off", "failover_ms": 10.0, "waited_s": 40.0}
    return table.complete({**base, "old_still_acts": False, **values})


class Statistics(unittest.TestCase):
    def test_percentiles_are_values_that_occurred(self):
        values = [5, 1, 4, 2, 3]
        self.assertEqual([statistics.percentile(values, part) for part in (0.5, 0.9, 1.0)], [3, 5, 5])
        self.assertEqual(statistics.percentile([7], 0.5), 7)

    def test_times_have_three_digits(self):
        times = [2.07, 99.96, 302.3, 999.6, 9480, 20040]
        texts = ["2.1 ms", "100 ms", "302 ms", "1.00 s", "9.48 s", "20.0 s"]
        self.assertEqual([statistics.duration(time) for time in times], texts)

    def test_a_cell_tells_kept_from_nobody(self):
        self.assertEqual(statistics.failover_cell([]), "–")
        self.assertEqual(statistics.failover_cell([row(failover_ms=None)]), "none in 40 s (1)")
        self.assertEqual(statistics.failover_cell([row(failover_ms=None, old_still_acts=True)]), "kept (1)")
        mixed = statistics.failover_cell([row(), row(failover_ms=None)])
        self.assertEqual(mixed, "10.0 ms / 10.0 ms / 10.0 ms (1), 1 × none in 40 s")

    def test_an_overlap_is_counted_even_if_it_is_short(self):
        late = row(overlap_acts=1, overlap_ms=4.2)
        self.assertEqual(statistics.overlap_cell([row(), late]), "**1 of 2**, up to 4.2 ms")
        endless = row(overlap_acts=9, overlap_ms=600.0, old_still_acts=True)
        self.assertEqual(statistics.overlap_cell([row(), late, endless]), "**2 of 3**, 1 not stopped")
        self.assertEqual(statistics.overlap_cell([row(old_still_acts=None)]), "–")

    def test_tokens_that_do_not_increase_show(self):
        pairs = [row(old_token="4", new_token="7"), row(old_token="7", new_token="7"), row()]
        self.assertEqual(statistics.token_cell(pairs), "increased in 1 of 2")
        self.assertEqual(statistics.token_cell([row()]), "none")


class Overlap(unittest.TestCase):
    def test_it_is_counted_from_when_a_frozen_host_continued(self):
        acts = [Act(at, "s", "h1", "1", "-") for at in (12.001, 12.006)]
        found = overlap(acts, 12.0, 13.0)
        self.assertEqual(found, {"overlap_acts": 2, "overlap_ms": 6.0, "old_still_acts": False})
        self.assertTrue(overlap(acts, 12.0, 12.05)["old_still_acts"])
        self.assertEqual(overlap([], 12.0, 13.0)["overlap_acts"], 0)


class RealWorkers(unittest.TestCase):
    """Real worker processes and a real FIFO."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.recorder = Recorder(os.path.join(self.folder, "acts"))
        self.workers = []

    def tearDown(self):
        for worker in self.workers:
            worker.kill()
            worker.wait()
        shutil.rmtree(self.folder)

    def start(self, host, **environment):
        command = [os.path.join(HERE, "agents", "worker"), "series", host, self.recorder.path]
        self.workers.append(subprocess.Popen(command, env=dict(os.environ, **environment)))

    def test_the_next_worker_is_noticed_with_its_token(self):
        self.start("h1", WORKER_TOKEN="5")
        first = self.recorder.wait_for_other("series", set(), time.monotonic() + 20)
        self.assertEqual((first.host, first.token), ("h1", "5"))
        _, known = self.recorder.snapshot("series")
        self.start("h2")
        second = self.recorder.wait_for_other("series", known, time.monotonic() + 20)
        self.assertEqual((second.host, second.token), ("h2", "-"))
        # The first one was not stopped: that is an overlap.
        while not self.recorder.acts_of(first.worker, second.at):
            self.assertIsNone(self.workers[0].poll())
        self.assertEqual(self.recorder.wait_for_other("series", {first.worker, second.worker}, time.monotonic()), None)

    def test_torn_lines_are_not_acts(self):
        self.assertIsNone(parse("series h1", 0.0))
        self.assertEqual(parse("series h1 17 -", 1.5), Act(1.5, "series", "h1", "17", "-"))


class Page(unittest.TestCase):
    """The tables of docs/compare.md and the raw data belong together."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.page = os.path.join(self.folder, "page.md")
        for name in ("peers.csv", "peers.json"):
            shutil.copy(os.path.join(HERE, "results", name), self.folder)
        with open(self.page, "w", encoding="utf-8") as file:
            file.write(f"before\n{table.BEGIN}\n{table.END}\nafter\n")

    def tearDown(self):
        shutil.rmtree(self.folder)

    def check(self):
        with redirect_stderr(io.StringIO()):
            return table.check(self.folder, self.page)

    def test_a_table_that_was_written_passes_the_check(self):
        self.assertEqual(self.check(), 1)
        table.write(self.folder, self.page)
        self.assertEqual(self.check(), 0)
        with open(self.page, encoding="utf-8") as file:
            content = file.read()
        self.assertTrue(content.startswith("before\n") and content.endswith("\nafter\n"))

    def test_a_changed_number_fails_the_check(self):
        table.write(self.folder, self.page)
        path = os.path.join(self.folder, "peers.csv")
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        for changed in rows:
            changed["failover_ms"] = changed["failover_ms"] and str(float(changed["failover_ms"]) + 1000)
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, run.COLUMNS)
            writer.writeheader()
            writer.writerows(rows)
        self.assertEqual(self.check(), 1)

    def test_a_page_without_the_marks_is_refused(self):
        with open(self.page, "w", encoding="utf-8") as file:
            file.write("no marks\n")
        with self.assertRaises(SystemExit):
            self.check()

    def test_the_committed_page_has_the_committed_results(self):
        page = os.path.join(HERE, "..", "..", "docs", "compare.md")
        self.assertEqual(table.check(os.path.join(HERE, "results"), page), 0)


class RealFailover(unittest.TestCase):
    """One repetition of everything that is done to Hustings, in real namespaces."""

    def test_every_fault_moves_the_office_without_overlap(self):
        program = os.environ.get("HUSTINGS")
        if os.geteuid() != 0 or not program:
            if os.environ.get("HUSTINGS_REQUIRE_TOOLS") == "1":
                self.fail("needs root, and the program to measure in $HUSTINGS")
            print("SKIPPED: RealFailover needs root, and the program to measure in $HUSTINGS", file=sys.stderr)
            return
        command = [sys.executable, os.path.join(HERE, "peers.py"), "run", "--only", "hustings", "--times", "1"]
        ran = subprocess.run([*command, "--hustings", program], capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        cells = [line for line in ran.stdout.splitlines() if line.startswith("| Hustings |")]
        self.assertNotIn("none", cells[0])
        for name in ("holder killed", "host killed", "cut off"):
            column = 3 + ["holder killed", "host killed", "host frozen", "cut off"].index(name)
            self.assertEqual(cells[1].split("|")[column].strip(), "0 of 1", ran.stdout)
        self.assertIn("increased in 4 of 4", cells[1])


if __name__ == "__main__":
    unittest.main()
