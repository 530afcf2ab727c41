"""The questions of the plan that settings, catalog and sums answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.plan.findings import Finding, Verdict
from kubeflow_volcano.rollout.plan.resources import Claimed, Requests
from kubeflow_volcano.rollout.plan.sizes import LIMIT, Sized
from kubeflow_volcano.rollout.settings.kubernetes_range import require_kubernetes
from kubeflow_volcano.rollout.settings.settings import Settings

__all__ = ["GB", "judge_kubernetes", "judge_resources", "judge_sizes"]

GB = 1000**3


def judge_kubernetes(settings: Settings) -> Finding:
    """Whether release and components are made for the Kubernetes that is planned for."""
    wanted = settings.plan.kubernetes
    title = f"Versions that go with Kubernetes {wanted}"
    try:
        warnings = require_kubernetes(settings, wanted)
    except InvalidInput as error:
        details = tuple(problem.found for problem in error.problems)
        first = error.problems[0]
        return Finding("kubernetes", title, Verdict.FAIL, "not all do.", details, first.needed, first.todo)
    if warnings:
        return Finding(
            "kubernetes",
            title,
            Verdict.WARN,
            "not all parts were made for it.",
            warnings,
            "versions that were tested together.",
            "rehearse the roll-out on that Kubernetes first.",
        )
    return Finding("kubernetes", title, Verdict.PASS, f"Kubeflow {settings.release.version} and its parts do.")


def judge_sizes(found: Sequence[Sized]) -> Finding:
    """Objects that a client-side apply could not keep; here all are applied server-side, so that none is a problem."""
    return Finding(
        "client-side-apply",
        "Objects too large for client-side kubectl apply",
        Verdict.PASS,
        f"{len(found)} beyond {LIMIT} bytes; the roll-out applies server-side, which has no such limit."
        if found
        else f"none beyond {LIMIT} bytes.",
        tuple(f"{item.ref}: {item.size} bytes" for item in found),
    )


def judge_resources(settings: Settings, requests: Requests, claims: Sequence[Claimed]) -> Iterator[Finding]:
    """What is asked for, against what the inventory says that the cluster has at least."""
    plan = settings.plan
    storage = sum((claim.size for claim in claims), Decimal(0))
    for name, unit, asked, least in (
        ("cpu", "CPUs", requests.cpu, plan.minimum_cpu),
        ("memory_gb", "GB of memory", requests.memory / GB, plan.minimum_memory_gb),
        ("storage_gb", "GB of storage", storage / GB, plan.minimum_storage_gb),
    ):
        ident, title = f"resources-{name.partition('_')[0]}", f"Sum of requests: {unit}"
        found = f"{asked:.1f} {unit} are asked for, plan_minimum_{name} is {least}."
        if asked <= least:
            yield Finding(ident, title, Verdict.PASS, found)
        else:
            yield Finding(
                ident,
                title,
                Verdict.WARN,
                found,
                needed=f"a cluster with {asked:.1f} {unit} to spare.",
                todo=f"set plan_minimum_{name} to what the cluster has, or leave components out (kubeflow_exclude).",
            )
