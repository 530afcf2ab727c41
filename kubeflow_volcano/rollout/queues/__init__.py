"""Volcano's queues: opened, closed, drained and removed as the inventory declares."""
