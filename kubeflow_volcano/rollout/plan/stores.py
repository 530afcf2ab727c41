"""What the plan says about stores outside of the cluster: where the data goes, and what is not installed."""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.rollout.plan.findings import Finding, Verdict
from kubeflow_volcano.rollout.settings.pods.stores import KATIB, PIPELINES
from kubeflow_volcano.rollout.settings.settings import Settings


def judge_stores(settings: Settings) -> Iterator[Finding]:
    """Where Pipelines and Katib keep their data; nothing where that is in the cluster."""
    given, names = settings.database, settings.database.names
    chosen = {part.name for part in settings.components}
    places = {PIPELINES: f"{names.pipelines}, {names.cache} and {names.metadata}", KATIB: names.katib}
    if details := tuple(f"{name}: {text}" for name, text in places.items() if name in chosen and given):
        kept = "their claims stay" if given.moved else "nor are their claims"
        found = f"{given.host}:{given.port} has the data; the servers in the cluster are not installed, {kept}."
        yield Finding("database", "Database outside of the cluster", Verdict.PASS, found, details)
