"""Measures how long leader election takes to replace a lost holder, in several systems under the same faults."""
