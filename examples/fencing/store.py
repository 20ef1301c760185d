#!/usr/bin/env python3
"""store.py FILE [--port N]: a store that is safe with fencing tokens.

PUT /value with the header `Hustings-Token: N` replaces the value, unless a higher token has already written; then the
answer is 409 and nothing changes. GET /value returns the value and the token of its writer. The highest token is stored
together with the value, so that a restart does not forget it. One JSON line on standard output for every write.
"""

import argparse
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MAX_BYTES = 65536


class Store:
    """A value, and the token of whoever wrote it. Both are in one file, which is replaced as a whole."""

    def __init__(self, path):
        self.path = path
        self.lock = threading.Lock()
        self.token, self.value = 0, ""
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                stored = json.load(file)
            self.token, self.value = stored["token"], stored["value"]

    def write(self, token, value):
        """The one comparison that fencing needs. It is made where the data is, under the lock that protects it."""
        with self.lock:
            accepted = token >= self.token
            if accepted:
                self._save(token, value)
                self.token, self.value = token, value
            print(json.dumps({"token": token, "accepted": accepted, "highest": self.token, "value": value}), flush=True)
            return accepted

    def _save(self, token, value):
        temporary = f"{self.path}.new"
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump({"token": token, "value": value}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self.path)


class Handler(BaseHTTPRequestHandler):
    store = None

    def do_GET(self):
        with self.store.lock:
            self._answer(200, {"token": self.store.token, "value": self.store.value})

    def do_PUT(self):
        try:
            token, length = int(self.headers["Hustings-Token"]), int(self.headers["Content-Length"])
        except (TypeError, ValueError):
            return self._answer(400, {"error": "the headers Hustings-Token and Content-Length must be whole numbers"})
        if not 0 <= length <= MAX_BYTES:
            return self._answer(413, {"error": f"the value is longer than {MAX_BYTES} bytes"})
        value = self.rfile.read(length).decode("utf-8", "replace")
        if self.store.write(token, value):
            return self._answer(200, {"token": token})
        return self._answer(409, {"error": "a newer leader has already written", "highest": self.store.token})

    def _answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("file")
    options.add_argument("--port", type=int, default=8085, help="on 127.0.0.1; 0 chooses one [default: 8085]")
    options = options.parse_args()
    Handler.store = Store(options.file)
    server = ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    print(json.dumps({"port": server.server_port}), flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
