#!/usr/bin/env python3
"""Failover of several leader election systems, measured on this machine. README.md explains it."""

import sys

from peerbench.command import main

sys.exit(main())
