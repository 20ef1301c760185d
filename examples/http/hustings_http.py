#!/usr/bin/env python3
"""A client of the Hustings HTTP API, in the standard library.

As a module:

    session = Session("http://127.0.0.1:7480", "backup")
    while True:
        session.renew()
        if session.may_act():
            work_a_little(session.token)

As a program it campaigns, prints one line for each change, and resigns on SIGTERM or Ctrl-C:

    hustings_http.py http://127.0.0.1:7480 backup
"""

import http.client
import json
import os
import queue
import signal
import sys
import threading
import time
import urllib.parse

# How long an answer may take, beside the time for which a request waits.
REQUEST_TIMEOUT = 5.0
# No connection, no answer, or one that is not the API's, as that of a proxy.
CONNECTION_ERRORS = (OSError, http.client.HTTPException, ValueError, KeyError, TypeError)


class ApiError(Exception):
    """An error that the API answered with."""

    def __init__(self, status, code, message):
        super().__init__(f"{message} ({code})")
        self.status = status
        self.code = code


def now():
    """Seconds on a clock that nobody sets, and that goes on while the host is suspended."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Session:
    """A campaign for an office. It opens when it is first renewed."""

    def __init__(self, url, office, token=None, ttl_ms=None):
        parts = urllib.parse.urlsplit(url)
        connection = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connect = lambda: connection(parts.hostname, parts.port)
        self._connection = None
        self._path = f"/v1/offices/{office}/"
        self._headers = {"Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._campaign = {} if ttl_ms is None else {"ttl_ms": ttl_ms}
        self._session = None
        self._deadline = 0.0
        self.state = "waiting"
        self.token = None
        self.reason = None
        self.renew_after = 0.2

    def may_act(self):
        """Whether the office is held, by this program's own clock."""
        return self.state == "held" and now() < self._deadline

    def seconds_left(self):
        """How long the program may act. Then it stops, for which it has the `stop` of the office."""
        return max(0.0, self._deadline - now()) if self.state in ("held", "stop") else 0.0

    def renew(self, wait_ms=0, stopped=None):
        """Renews the session, or opens it. Returns the state. Does not raise while the connection fails: the office is
        held until the last deadline, whether or not an answer arrives. Whatever happens, it returns by that deadline."""
        left = self.seconds_left()
        if left:
            # An answer is needed before the deadline.
            wait_ms = min(wait_ms, int(left * 500))
        body = {**self._campaign, "wait_ms": wait_ms}
        if self._session is not None:
            body = {"session": self._session, "wait_ms": wait_ms}
            if stopped is not None:
                body["stopped"] = stopped
        try:
            return self._follow("campaign" if self._session is None else "renew", body, left)
        except ApiError as error:
            if error.code == "unknown-session":
                self._session, self._deadline = None, 0.0
                self.state = "lost" if self.state in ("held", "stop") else "waiting"
            elif error.status < 500 and error.status != 429:
                raise
        except CONNECTION_ERRORS:
            pass
        if self.state in ("held", "stop") and now() >= self._deadline:
            self.state = "lost"
        return self.state

    def confirm_stop(self):
        """Says that the work has stopped, after the state `stop`. The session campaigns on."""
        return self.renew(stopped=self.token)

    def resign(self):
        """Ends the session. The work has stopped. Returns the state: `resigned`, or `lost` if nobody could be told, so that
        the office is free only after the session's `ttl_ms`."""
        if self._session is None:
            return self.state
        self.state = "lost"
        try:
            self._post("resign", {"session": self._session}, 0.0)
            self.state = "resigned"
        except ApiError as error:
            if error.code == "unknown-session":
                # It is over already.
                self.state = "resigned"
            elif error.status < 500 and error.status != 429:
                raise
        except CONNECTION_ERRORS:
            pass
        self._session, self._deadline = None, 0.0
        return self.state

    def _follow(self, route, body, left):
        # The lease counts from here: before the request is sent.
        sent = now()
        reply = self._post(route, body, left)
        self._session, self.state, self.token = reply["session"], reply["state"], reply["token"]
        self.reason = reply["reason"]
        self._deadline = sent + (reply["lease_ms"] - reply["stop_ms"]) / 1000
        self.renew_after = reply["renew_ms"] / 1000
        return self.state

    def _post(self, route, body, left):
        """Sends a request, and waits for the answer: for `left` seconds at most, if it is not 0."""
        # A request that waits needs a longer timeout.
        timeout = REQUEST_TIMEOUT + body.get("wait_ms", 0) / 1000
        connection, self._connection = self._connection or self._connect(), None
        answers = queue.Queue()

        def work():
            try:
                answers.put((exchange(connection, timeout, self._path + route, body, self._headers), None))
            except Exception as error:  # raised below
                connection.close()
                answers.put((None, error))

        # On a thread of its own: nothing that takes longer than expected, such as looking up a name, delays this one.
        threading.Thread(target=work, daemon=True).start()
        try:
            answer, error = answers.get(timeout=min(timeout, left) if left else timeout)
        except queue.Empty:
            raise TimeoutError("no answer in time") from None
        if error is not None:
            raise error
        status, reply = answer
        self._connection = connection
        if status >= 400:
            raise ApiError(status, reply["error"]["code"], reply["error"]["message"])
        return reply


def exchange(connection, timeout, path, body, headers):
    """One request and its answer."""
    connection.timeout = timeout
    if connection.sock is not None:
        connection.sock.settimeout(timeout)
    connection.request("POST", path, json.dumps(body), headers)
    response = connection.getresponse()
    return response.status, json.loads(response.read())


def main():
    if len(sys.argv) != 3:
        sys.exit(f"usage: {sys.argv[0]} URL OFFICE    (a bearer token is read from $HUSTINGS_TOKEN_FILE)")
    token = None
    if "HUSTINGS_TOKEN_FILE" in os.environ:
        with open(os.environ["HUSTINGS_TOKEN_FILE"], encoding="ascii") as file:
            token = file.read().strip()
    session = Session(sys.argv[1], sys.argv[2], token)

    def interrupted(*_):
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupted)
    said = None
    try:
        while True:
            state = session.renew()
            if (state, session.token) != said:
                said = (state, session.token)
                print(state, session.token, flush=True)
            if state == "stop":
                # A real program stops its work here, within session.seconds_left().
                session.confirm_stop()
            time.sleep(min(session.renew_after, session.seconds_left() or session.renew_after))
    except KeyboardInterrupt:
        session.resign()
        print(session.state, session.token, flush=True)


if __name__ == "__main__":
    main()
