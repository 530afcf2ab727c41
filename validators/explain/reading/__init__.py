"""Reads one job and the objects that its start depends on."""
