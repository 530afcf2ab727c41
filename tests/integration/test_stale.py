"""Objects that nothing declares any more, on a real cluster: named by every run, removed when asked, by UID."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.apply.result import Action, ApplyResult
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.applied_objects import APPLIED_OBJECTS, parse
from kubeflow_volcano.cluster.metadata import FIELD_MANAGER
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout import run
from kubeflow_volcano.rollout.scope import scope_of
from kubeflow_volcano.rollout.settings.settings import parse as parse_settings
from tests.integration.rolling import own_sources
from tests.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

NAME = "kfv-test-stale"
GROUP = "stale.kubeflow-volcano.test"


def made(api_version: str, kind: str, namespace: str = "", name: str = NAME, **more: Any) -> Object:
    return new_object(api_version, kind, name, namespace, **more)


ROLE = made("rbac.authorization.k8s.io/v1", "ClusterRole", rules=[])
SETTINGS = made("v1", "ConfigMap", "kubeflow", data={"a": "1"})
SPACE = made("v1", "Namespace")
SPACE["metadata"]["labels"] = {GROUP: "true"}
HOOKS = made(
    "admissionregistration.k8s.io/v1",
    "ValidatingWebhookConfiguration",
    webhooks=[
        {
            "name": "podgroups.stale.kubeflow-volcano.test",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Fail",
            "clientConfig": {
                "service": {"namespace": "volcano-system", "name": "volcano-admission-service", "path": "/gone"}
            },
            "rules": [
                {
                    "apiGroups": ["scheduling.volcano.sh"],
                    "apiVersions": ["v1beta1"],
                    "operations": ["CREATE"],
                    "resources": ["podgroups"],
                }
            ],
        }
    ],
)
CRD = made(
    "apiextensions.k8s.io/v1",
    "CustomResourceDefinition",
    name=f"relics.{GROUP}",
    spec={
        "group": GROUP,
        "names": {"kind": "Relic", "plural": "relics"},
        "scope": "Cluster",
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
)
OTHERS = made("v1", "ConfigMap", "kubeflow", f"{NAME}-of-others", data={"a": "1"})
PLANTED = (ROLE, SETTINGS, SPACE, HOOKS, CRD)


@pytest.fixture
def planted(cluster: Cluster) -> Iterator[dict[Ref, str]]:
    """Objects as an earlier version of this project would have left them, and one of others; UIDs by object."""
    uids = {}
    for obj in PLANTED:
        uids[Ref.of(obj)] = cluster.apply(obj, manager=FIELD_MANAGER)["metadata"]["uid"]
    uids[Ref.of(OTHERS)] = cluster.apply(OTHERS, manager="kubectl")["metadata"]["uid"]
    yield uids
    for ref, uid in uids.items():
        cluster.delete(ref, uid=uid)
    until(lambda: all(cluster.get(ref) is None for ref in uids), 60)


def roll(cluster: Cluster, variables: dict[str, Any], *, check: bool = False, **more: Any) -> ApplyResult:
    settings = parse_settings(variables | more)
    return run.roll_out(cluster, settings, scope_of(settings), check=check, progress=silent)


def removed(done: ApplyResult) -> set[Ref]:
    return {item.ref for item in done.outcomes if item.action is Action.REMOVED}


def test_stale_objects_are_named_and_removed_when_asked(
    cluster: Cluster, installed: dict[str, Any], planted: dict[Ref, str]
) -> None:
    hooks, crd, space = Ref.of(HOOKS), Ref.of(CRD), Ref.of(SPACE)

    foretold = roll(cluster, installed, check=True)
    assert removed(foretold) == {hooks}
    assert all(cluster.get(ref) for ref in planted)

    done = roll(cluster, installed)
    assert not done.problems
    assert removed(done) == {hooks}
    assert cluster.get(hooks) is None
    warned = "\n".join(map(str, done.warnings))
    assert "3 objects " in warned
    assert "-e '{\"kubeflow_prune\": true}'" in warned
    assert f'kubeflow_prune_named: ["Namespace {NAME}"]' in warned

    relic = cluster.apply(made(f"{GROUP}/v1", "Relic"), manager="people")
    pruned = roll(cluster, installed, kubeflow_prune=True)
    assert removed(pruned) == {Ref.of(ROLE), Ref.of(SETTINGS)}
    assert f"Relic {NAME}" in "\n".join(map(str, pruned.warnings))
    assert cluster.get(crd)
    assert cluster.get(space)

    cluster.delete(Ref.of(relic), uid=relic["metadata"]["uid"])
    rest = roll(cluster, installed, kubeflow_prune=True, kubeflow_prune_named=[str(space)])
    assert removed(rest) == {crd, space}
    assert not rest.warnings
    kept = cluster.get(Ref.of(OTHERS)) or {}
    assert kept["metadata"]["uid"] == planted[Ref.of(OTHERS)]
    assert not roll(cluster, installed, kubeflow_prune=True).changed


def test_what_a_roll_out_brought_is_recorded_with_uids(cluster: Cluster, installed: dict[str, Any]) -> None:
    roll(cluster, installed)
    data = (cluster.get(APPLIED_OBJECTS) or {})["data"]
    brought = parse(data["volcano"])
    scheduler = Ref("apps/v1", "Deployment", "volcano-system", "volcano-scheduler")
    live = cluster.get(scheduler) or {}
    assert brought.objects[scheduler] == live["metadata"]["uid"]
    assert brought.version == parse_settings(installed).volcano.version
    assert all(brought.objects.values())


@pytest.fixture
def installed(kubeconfig: Path) -> dict[str, Any]:
    """The variables with which the cluster was installed."""
    storage = kubeconfig.parent / "upstream/local-path-provisioner/deploy/local-path-storage.yaml"
    return own_sources(kubeconfig) | {"local_path_source": str(storage), "volcano_version": "1.10.0"}
