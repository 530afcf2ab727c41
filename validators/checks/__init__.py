"""All checks: a folder for each family, and in it for each topic a module with the checks and what they judge by."""

from __future__ import annotations

from kubeflow_volcano.validators.checks.acceptance import acceptance
from kubeflow_volcano.validators.checks.gang import gang
from kubeflow_volcano.validators.checks.machinery import certificates, namespaces, served, webhook_answers, webhooks
from kubeflow_volcano.validators.checks.meta import meta
from kubeflow_volcano.validators.checks.network import access, account, dns, gateway, login, mesh, routes, sidecars
from kubeflow_volcano.validators.checks.operator import operator, trainer
from kubeflow_volcano.validators.checks.reach import (
    api_server,
    clock,
    images,
    legacy,
    node_facts,
    nodes,
    owners,
    versions,
)
from kubeflow_volcano.validators.checks.storage import classes, directories, own_volumes, volumes, writing
from kubeflow_volcano.validators.checks.volcano import aftermath, team_queues, volcano
from kubeflow_volcano.validators.checks.workloads import holdings, stale, warning_events, workloads
from kubeflow_volcano.validators.core.check import Check, natural

_TOPICS = (
    api_server,
    clock,
    nodes,
    node_facts,
    images,
    owners,
    versions,
    legacy,
    served,
    webhooks,
    webhook_answers,
    certificates,
    namespaces,
    holdings,
    workloads,
    warning_events,
    stale,
    classes,
    volumes,
    writing,
    own_volumes,
    directories,
    dns,
    routes,
    gateway,
    account,
    sidecars,
    access,
    login,
    mesh,
    volcano,
    aftermath,
    team_queues,
    operator,
    trainer,
    gang,
    meta,
    acceptance,
)

CHECKS: tuple[Check, ...] = tuple(
    sorted((item for topic in _TOPICS for item in topic.CHECKS), key=lambda item: natural(item.id))
)
"""Every check, by id."""
