"""Family P, preflight: checks of hosts, each judged over the facts of all hosts at once."""

from __future__ import annotations

from kubeflow_volcano.validators.core.check import Check, checks_below

CHECKS: tuple[Check, ...] = checks_below(__name__, __path__)
"""Every check of hosts, by id."""
