"""C11: what earlier roll-outs left, by the record on the cluster."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.applied_objects import APPLIED_OBJECTS, Brought, serialize
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.checks.workloads.stale import STALE, StaleObjects, nothing_stale
from kubeflow_volcano.validators.core.outcome import Status
from kubeflow_volcano.validators.core.rights import Rule
from tests.samples.facts import facts, obj

HOME = obj("Namespace", APPLIED_OBJECTS.namespace)
KEPT = Ref("v1", "Service", "kubeflow", "kept")
OLD = Ref("v1", "Service", "kubeflow", "old")
AGAIN = Ref("v1", "Service", "kubeflow", "again")
GONE = Ref("v1", "Service", "kubeflow", "gone")
CLAIM = Ref("v1", "PersistentVolumeClaim", "kubeflow", "data")


def judged(found: StaleObjects | None) -> Any:
    return nothing_stale(facts(known={STALE: found}))


def test_what_is_left_is_named_with_its_version_and_what_to_run() -> None:
    outcome = judged(StaleObjects({OLD: "1.8.1"}, frozenset({KEPT})))
    assert (outcome.status, outcome.objects) == (Status.WARN, (OLD,))
    assert "1 of 1.8.1" in outcome.message
    assert '{"kubeflow_prune": true}' in outcome.todo


def test_a_cluster_without_leftovers_passes_and_one_without_a_record_is_skipped() -> None:
    assert judged(StaleObjects({}, frozenset({KEPT}))).status is Status.PASS
    assert judged(None).status is Status.SKIP
    assert judged(StaleObjects({}, frozenset())).status is Status.SKIP


def test_a_right_that_is_missing_is_an_error_with_the_rule() -> None:
    outcome = judged(StaleObjects({}, frozenset({KEPT}), (Rule("get", "", "services", "kubeflow"),)))
    assert (outcome.status, outcome.reason) == (Status.ERROR, "Forbidden")
    assert "resources: ['services']" in outcome.todo


def wrote(api: Any, brought: Brought) -> None:
    kinds = ((kind, plural) for kind, plural in (("ConfigMap", "configmaps"), ("Service", "services")))
    core = [{"kind": kind, "name": plural, "namespaced": True} for kind, plural in kinds]
    api.on("GET", "/api/v1", api.reply(body={"resources": core}))
    path = f"/api/v1/namespaces/{APPLIED_OBJECTS.namespace}/configmaps/{APPLIED_OBJECTS.name}"
    data = {"kserve": serialize(brought), "edited": "{"}
    api.on("GET", path, api.reply(body={"metadata": {"name": APPLIED_OBJECTS.name}, "data": data}))


def exists(api: Any, ref: Ref, uid: str) -> None:
    body: Object = {"metadata": {"name": ref.name, "uid": uid}}
    api.on("GET", f"/api/v1/namespaces/{ref.namespace}/services/{ref.name}", api.reply(body=body))


def test_only_the_recorded_objects_themselves_count(api: Any) -> None:
    left = {OLD: "u", AGAIN: "u", GONE: "u", CLAIM: "u"}
    wrote(api, Brought("1.9.1", {KEPT: "k"}, {"1.8.1": left}))
    exists(api, OLD, "u")
    exists(api, AGAIN, "of others")
    found = STALE.fetch(api.connect(), facts(HOME))
    assert found == StaleObjects({OLD: "1.8.1"}, frozenset({KEPT}))


@pytest.mark.parametrize("objects", [(), (HOME,)])
def test_no_record_is_no_leftover(api: Any, objects: tuple[Object, ...]) -> None:
    core = [{"kind": "ConfigMap", "name": "configmaps", "namespaced": True}]
    api.on("GET", "/api/v1", api.reply(body={"resources": core}))
    assert STALE.fetch(api.connect(), facts(*objects)) is None
