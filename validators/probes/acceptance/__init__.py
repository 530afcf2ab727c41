"""Probes of acceptance: examples of the project are created, followed until they run or complete, and removed."""
