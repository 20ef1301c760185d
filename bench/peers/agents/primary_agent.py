#!/usr/bin/python3
"""primary_agent.py CONNECTION SERIES HOST FIFO READY: acts whenever the PostgreSQL server of its own host accepts writes.

Patroni's leader is a PostgreSQL primary, so an act is a write that the server has accepted, followed by the same line as
that of `worker`. A server that did not accept the previous write begins a new series of acts.
"""

import os
import random
import sys
import time

import psycopg2

from child import stand_by

INTERVAL = 0.005


class Primary:
    def __init__(self, connect):
        self._connect = connect
        self._connection = None

    def accepts_write(self):
        """Whether the server is a primary and has accepted a write."""
        try:
            if self._connection is None:
                self._connection = psycopg2.connect(self._connect)
                self._connection.autocommit = True
            with self._connection.cursor() as cursor:
                cursor.execute("SELECT pg_is_in_recovery()")
                if cursor.fetchone()[0]:
                    return False
                cursor.execute("CREATE TABLE IF NOT EXISTS acts (number bigint)")
                cursor.execute("INSERT INTO acts VALUES (1)")
            return True
        except psycopg2.Error:
            self._connection = None
            return False


def main():
    connect, series, host, fifo, ready = sys.argv[1:]
    acts = os.open(fifo, os.O_WRONLY)
    primary, period = Primary(connect), None
    stand_by(ready)
    while True:
        if primary.accepts_write():
            period = period or random.randrange(2**40)
            os.write(acts, f"{series} {host} {period} -\n".encode())
        else:
            period = None
        time.sleep(INTERVAL)


main()
