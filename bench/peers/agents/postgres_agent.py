#!/usr/bin/python3
"""postgres_agent.py CONNECTION SERIES HOST FIFO READY: works while its session holds an advisory lock of PostgreSQL.

The lock belongs to the session, so the agent stops the work when the connection ends.
"""

import select
import sys
import time

import psycopg2

from child import Worker, stand_by

LOCK = 1
RETRY = 0.05


def hold(connection, worker):
    """Works until the connection ends. The server sends nothing else to an idle session."""
    worker.start()
    select.select([connection], [], [])
    worker.stop()


def main():
    connect, series, host, fifo, ready = sys.argv[1:]
    worker = Worker(series, host, fifo)
    while True:
        connection = None
        try:
            connection = psycopg2.connect(connect)
            connection.autocommit = True
            stand_by(ready)
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_lock(%s)", (LOCK,))
            hold(connection, worker)
        except psycopg2.Error as error:
            print(error, file=sys.stderr, flush=True)
            time.sleep(RETRY)
        finally:
            if connection is not None:
                connection.close()


main()
