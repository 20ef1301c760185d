"""The observer: one FIFO to which all workers write, read and stamped by one thread with one clock."""

import os
import threading
import time
from collections import namedtuple

Act = namedtuple("Act", "at series host worker token")


def parse(line, at):
    """An act from a worker's line, or None if the line is torn."""
    words = line.split()
    return Act(at, *words) if len(words) == 4 else None


class Recorder:
    """All acts, in the order in which the kernel received them."""

    def __init__(self, path):
        self.path = path
        os.mkfifo(path)
        os.chmod(path, 0o666)
        # Open for writing as well, so that the FIFO never ends.
        self._fifo = os.open(path, os.O_RDWR)
        self._acts = []
        self._changed = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        rest = b""
        while True:
            data = os.read(self._fifo, 65536)
            at = time.monotonic()
            *lines, rest = (rest + data).split(b"\n")
            acts = [parse(line.decode("ascii", "replace"), at) for line in lines]
            with self._changed:
                self._acts.extend(act for act in acts if act)
                self._changed.notify_all()

    def snapshot(self, series, within=0.1):
        """The latest act if exactly one worker acts now, otherwise None; and all workers that have acted so far."""
        with self._changed:
            acts = [act for act in self._acts if act.series == series]
        since = time.monotonic() - within
        recent = [act for act in acts if act.at >= since]
        latest = recent[-1] if len({act.worker for act in recent}) == 1 else None
        return latest, {act.worker for act in acts}

    def current(self, series):
        return self.snapshot(series)[0]

    def wait_for_other(self, series, known, deadline):
        """The first act by a worker that is not known, or None if there is none until the deadline."""
        position = 0
        with self._changed:
            while True:
                for act in self._acts[position:]:
                    if act.series == series and act.worker not in known:
                        return act
                position = len(self._acts)
                left = deadline - time.monotonic()
                if left <= 0:
                    return None
                self._changed.wait(left)

    def acts_of(self, worker, since):
        with self._changed:
            return [act for act in self._acts if act.worker == worker and act.at >= since]

    def forget(self):
        """Drops all acts but the most recent ones."""
        since = time.monotonic() - 1.0
        with self._changed:
            self._acts = [act for act in self._acts if act.at >= since]
