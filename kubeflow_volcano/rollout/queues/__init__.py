"""Volcano's queues: open, close, drain and delete them as the inventory declares."""
