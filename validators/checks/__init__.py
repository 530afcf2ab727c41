"""All checks: a folder for each family, and in it for each topic a module with the checks and what they judge by."""

from __future__ import annotations

from kubeflow_volcano.validators.core.check import Check, checks_below

CHECKS: tuple[Check, ...] = checks_below(__name__, __path__)
"""Every check, by id."""
