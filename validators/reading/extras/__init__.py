"""Facts that are more than a list of objects: each is fetched only for the checks that ask for it."""

from __future__ import annotations

from validators.reading.extras.access import own_access
from validators.reading.extras.admission import webhook_answers
from validators.reading.extras.certificates import certificates
from validators.reading.extras.clock import clocks
from validators.reading.extras.events import warning_events
from validators.reading.extras.holdings import holdings
from validators.reading.extras.model import Extra
from validators.reading.extras.operators import operator_access, operator_admission, operator_log
from validators.reading.extras.owners import managers
from validators.reading.extras.panics import volcano_previous_logs
from validators.reading.extras.pods import pod_notes
from validators.reading.extras.remaining import remaining
from validators.reading.extras.server import discovery, ready_answers
from validators.reading.extras.strangers import stranger_access
from validators.reading.extras.tls import tls_secrets
from validators.subjects.sign_in import sign_in
from validators.subjects.simulation import simulated_webhooks

__all__ = ["EXTRAS"]

_PODS = frozenset({"A6", "C2", "C3", "C4", "C5", "C6", "C7", "C8", "F1", "B3", "G4", "G10"})

EXTRAS = (
    Extra("simulated_webhooks", frozenset(), simulated_webhooks, "simulated-webhooks"),
    Extra("own_access", frozenset({"A2"}), own_access, "own-access"),
    Extra("clocks", frozenset({"A3"}), clocks, "clocks"),
    Extra("managers", frozenset({"A7"}), managers, "managers"),
    Extra("webhook_answers", frozenset({"B4"}), webhook_answers, "webhook-answers", changes_nothing=False),
    Extra("tls_secrets", frozenset({"B7"}), tls_secrets, "tls-secrets"),
    Extra("remaining", frozenset({"B8"}), remaining),
    Extra("ready_answers", frozenset({"A1"}), ready_answers, "readyz"),
    Extra("discovery", frozenset({"B1", "F2", "G4", "G10"}), discovery, "discovery"),
    Extra("certificates", frozenset({"B3"}), certificates, "certificates"),
    Extra("operator_access", frozenset({"G2", "G8"}), operator_access, "operator-access"),
    Extra("operator_log", frozenset({"G3", "G9"}), operator_log, "operator-log"),
    Extra(
        "operator_admission", frozenset({"G4", "G10"}), operator_admission, "operator-admission", changes_nothing=False
    ),
    Extra("holdings", frozenset({"C1"}), holdings, "holdings"),
    Extra("warning_events", frozenset({"C10"}), warning_events, "events"),
    Extra("volcano_previous_logs", frozenset({"F7"}), volcano_previous_logs, "volcano-logs"),
    Extra("sign_in", frozenset({"E4", "E5", "E8"}), sign_in, "sign-in"),
    Extra("stranger_access", frozenset({"E7"}), stranger_access, "stranger-access"),
    Extra("pod_notes", _PODS, pod_notes),
)
"""All of them. What stands in every report is fetched before the others, which may read it; those are independent."""
