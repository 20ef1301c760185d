#!/usr/bin/python3
"""zookeeper_agent.py SERVER TIMEOUT SERIES HOST FIFO READY: works while it holds a lock in ZooKeeper.

Uses the lock recipe of kazoo as its documentation advises: a listener stops the work as soon as the connection is
suspended. The sequence number of the lock's node is passed on as the token.
"""

import queue
import sys

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import KazooException

from child import Worker, stand_by


def hold(lock, worker, states):
    """Works until the session is lost."""
    token = int(lock.node.rsplit("__", 1)[1])
    worker.start(token)
    while True:
        state = states.get()
        if state == KazooState.CONNECTED:
            worker.start(token)
        else:
            worker.stop()
            if state == KazooState.LOST:
                return


def main():
    server, timeout, series, host, fifo, ready = sys.argv[1:]
    states = queue.SimpleQueue()
    worker = Worker(series, host, fifo)
    client = KazooClient(hosts=server, timeout=float(timeout), connection_retry=dict(max_tries=-1, max_delay=0.2))
    client.add_listener(states.put)
    client.start(timeout=60)
    client.ensure_path("/leader")
    while True:
        lock = client.Lock("/leader", host)
        stand_by(ready)
        try:
            lock.acquire()
        except KazooException:
            continue
        while not states.empty():
            states.get()
        if client.connected:
            hold(lock, worker, states)


main()
