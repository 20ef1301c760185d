#!/usr/bin/env python3
"""writer.py URL: the leader's work. Started by `hustings run`, it writes every 20 ms, with its token in every request.

A refusal means that another host leads by now. The writer then has nothing left to do, and ends with exit code 1.
"""

import os
import sys
import time
import urllib.error
import urllib.request


def write(url, token, value):
    request = urllib.request.Request(url, value.encode(), {"Hustings-Token": token}, method="PUT")
    with urllib.request.urlopen(request, timeout=5):
        pass


def main():
    url, token, node = sys.argv[1], os.environ["HUSTINGS_TOKEN"], os.environ["HUSTINGS_NODE"]
    number = 0
    while True:
        try:
            write(url, token, f"{node} {number}")
        except urllib.error.HTTPError as refusal:
            if refusal.code == 409:
                sys.exit(f"{node}: token {token} was refused: another host leads")
            raise
        number += 1
        time.sleep(0.02)


main()
