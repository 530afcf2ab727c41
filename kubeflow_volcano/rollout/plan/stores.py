"""What the plan says about stores: which passwords are random, where the data goes, and what is not installed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.rollout.account.stores import with_passwords
from kubeflow_volcano.rollout.plan.findings import Finding, Verdict
from kubeflow_volcano.rollout.settings.pods.stores import KATIB, PIPELINES, is_gateway
from kubeflow_volcano.rollout.settings.settings import Settings


def judge_stores(settings: Settings, objects: Iterable[Object] = ()) -> Iterator[Finding]:
    """Passwords of the servers in the cluster, and where Pipelines and Katib keep their data elsewhere."""
    if servers := with_passwords(objects, published=False):
        found = (
            "random on a new installation. A server that has its Secret, claim or volume already keeps its password; "
            "docs/stores.md says how to change it by hand."
        )
        yield Finding("store-passwords", "Passwords of databases and stores", Verdict.PASS, found, servers)
    yield from _judge_object_store(settings)
    given, names = settings.database, settings.database.names
    chosen = {part.name for part in settings.components}
    places = {PIPELINES: f"{names.pipelines}, {names.cache} and {names.metadata}", KATIB: names.katib}
    if details := tuple(f"{name}: {text}" for name, text in places.items() if name in chosen and given):
        kept = "their claims stay" if given.moved else "nor are their claims"
        found = f"{given.place} has the data; the servers in the cluster are not installed, {kept}."
        yield Finding("database", "Database outside of the cluster", Verdict.PASS, found, details)


def _judge_object_store(settings: Settings) -> Iterator[Finding]:
    given, title = settings.object_store, "Object store outside of the cluster"
    if not given:
        return
    found = f"{given.place} has artifacts and logs of pipelines; namespaces of profiles get its key."
    if is_gateway(settings.release):
        passed_on = f"{found} MinIO in the cluster keeps nothing and passes requests on to it."
        yield Finding("object-store", title, Verdict.PASS, passed_on)
    else:
        yield Finding(
            "object-store",
            title,
            Verdict.WARN,
            f"{found} With the store of this release, each namespace has a key that reads its own artifacts only.",
            needed="users of profiles who may read each other's artifacts.",
            todo="remove kubeflow_object_store, if they may not.",
        )
