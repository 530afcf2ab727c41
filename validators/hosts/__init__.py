"""Judging hosts: facts of all of them at once, into findings that stand for many."""
