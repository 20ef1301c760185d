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
import signal
import sys
import time
import urllib.parse


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
        self._connect = lambda: connection(parts.hostname, parts.port, timeout=5)
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
        """How long the program may act."""
        return max(0.0, self._deadline - now()) if self.state in ("held", "stop") else 0.0

    def renew(self, wait_ms=0, stopped=None):
        """Renews the session, or opens it. Returns the state. Does not raise while the connection fails: the office is
        held until the last deadline, whether or not an answer arrives."""
        try:
            if self._session is None:
                return self._follow("campaign", {**self._campaign, "wait_ms": wait_ms})
            body = {"session": self._session, "wait_ms": wait_ms}
            if stopped is not None:
                body["stopped"] = stopped
            return self._follow("renew", body)
        except ApiError as error:
            if error.code == "unknown-session":
                self._session, self.state, self._deadline = None, "waiting", 0.0
                return self.state
            if error.status < 500 and error.status != 429:
                raise
        except (OSError, http.client.HTTPException):
            self._connection = None
        if self.state in ("held", "stop") and now() >= self._deadline:
            self.state = "lost"
        return self.state

    def confirm_stop(self):
        """Says that the work has stopped, after the state `stop`. The session campaigns on."""
        return self.renew(stopped=self.token)

    def resign(self):
        """Ends the session. The work has stopped."""
        if self._session is not None:
            self._post("resign", {"session": self._session})
            self._session, self.state, self._deadline = None, "resigned", 0.0

    def _follow(self, route, body):
        # The lease counts from here: before the request is sent.
        sent = now()
        reply = self._post(route, body)
        self._session, self.state, self.token = reply["session"], reply["state"], reply["token"]
        self.reason = reply["reason"]
        self._deadline = sent + (reply["lease_ms"] - reply["stop_ms"]) / 1000
        self.renew_after = reply["renew_ms"] / 1000
        return self.state

    def _post(self, route, body):
        if self._connection is None:
            self._connection = self._connect()
        # A request that waits needs a longer timeout.
        self._connection.timeout = 5 + body.get("wait_ms", 0) / 1000
        try:
            self._connection.request("POST", self._path + route, json.dumps(body), self._headers)
            response = self._connection.getresponse()
            reply = json.loads(response.read())
        except (OSError, http.client.HTTPException):
            self._connection.close()
            raise
        if response.status >= 400:
            raise ApiError(response.status, reply["error"]["code"], reply["error"]["message"])
        return reply


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
            time.sleep(session.renew_after)
    except KeyboardInterrupt:
        session.resign()
        print(session.state, session.token, flush=True)


if __name__ == "__main__":
    main()
