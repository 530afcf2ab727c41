"""Experiments: each acts on the cluster for a moment, records what happened, and removes what it made. Never judges."""
