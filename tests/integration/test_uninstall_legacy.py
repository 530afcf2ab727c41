"""Leftovers of kube-batch, kfctl and ksonnet on a real cluster: they go by name, and nothing of others with them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from kubeflow_volcano.apply.result import Action
from kubeflow_volcano.catalog.gangs import VOLCANO
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.metadata import FIELD_MANAGER
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.settings.settings import parse
from kubeflow_volcano.rollout.uninstall.account import Uninstalled
from kubeflow_volcano.rollout.uninstall.legacy.run import remove_legacy
from tests.integration.test_uninstall import is_served, made
from tests.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

SPACE = "kfv-test-legacy"
OLD = "scheduling.incubator.k8s.io"
MARK = "scheduling.k8s.io/group-name"
KSONNET = {"labels": {"ksonnet.io/component": "argo"}}


def crd(group: str, kind: str, *, scope: str = "Namespaced", version: str = "v1alpha1") -> Object:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    plural = f"{kind.lower()}s"
    # Kubernetes asks this of groups of its own; CRDs of kube-batch are older than the rule.
    meta = {"annotations": {"api-approved.kubernetes.io": "unapproved"}} if group.endswith(".k8s.io") else {}
    defined = made(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        name=f"{plural}.{group}",
        spec={
            "group": group,
            "names": {"kind": kind, "plural": plural},
            "scope": scope,
            "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
        },
    )
    return marked(defined, **meta)


def marked(obj: Object, **meta: Any) -> Object:
    return obj | {"metadata": obj["metadata"] | meta}


def scheduled(name: str, group: str, scheduler: str) -> Object:
    spec = {"schedulerName": scheduler, "containers": [{"name": "a", "image": "a.invalid/a"}]}
    return marked(made("v1", "Pod", SPACE, name, spec=spec), annotations={MARK: group})


def deployed(name: str, image: str) -> Object:
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "a", "image": image}]}}
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": name}}, "template": template}
    return made("apps/v1", "Deployment", SPACE, name, spec=spec)


CRDS = (
    crd(OLD, "PodGroup"),
    crd(OLD, "Queue", scope="Cluster"),
    crd("kfdef.apps.kubeflow.org", "KfDef", version="v1"),
)
GROUP = made(f"{OLD}/v1alpha1", "PodGroup", SPACE, "job", spec={"minMember": 2, "queue": "kfv-test-legacy"})
FOREIGN = made(f"{OLD}/v1alpha1", "PodGroup", SPACE, "other", spec={"minMember": 1})
QUEUE = made(f"{OLD}/v1alpha1", "Queue", name="kfv-test-legacy", spec={"weight": 3})
KFDEF = made("kfdef.apps.kubeflow.org/v1", "KfDef", SPACE, "kf", spec={})
OPERATOR = deployed("kubeflow-operator", "aipipeline/kubeflow-operator:v1.2")
SCHEDULER = deployed("batch", "kubesigs/kube-batch:v0.5")
CLAIM = made(
    "v1",
    "PersistentVolumeClaim",
    SPACE,
    "data",
    spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}, "storageClassName": "none"},
)
THEIRS = (
    made("v1", "ConfigMap", SPACE, "theirs", data={"a": "1"}),
    FOREIGN,
    scheduled("waits", "job", "kube-batch"),
    scheduled("runs", "other", "other-scheduler"),
)
LEFT = (
    marked(made("v1", "Namespace", name=SPACE), **KSONNET),
    *CRDS,
    GROUP,
    QUEUE,
    marked(KFDEF, finalizers=["kfdef-finalizer.kfdef.apps.kubeflow.org"]),
    OPERATOR,
    SCHEDULER,
    marked(CLAIM, annotations={"kfctl.kubeflow.io/kfdef-instance": f"kf.{SPACE}"}),
    marked(made("v1", "Service", SPACE, "argo", spec={"ports": [{"port": 1}]}), **KSONNET),
    marked(made("v1", "ConfigMap", SPACE, "ours", data={"a": "1"}), **KSONNET),
)


@pytest.fixture
def planted(cluster: Cluster) -> Iterator[dict[Ref, tuple[str, str]]]:
    """All of it, with UIDs and resourceVersions of what is of others."""
    uids: dict[Ref, str] = {}
    for obj in (*LEFT, *THEIRS):
        ref = Ref.of(obj)
        until(partial(is_served, cluster, ref), 30)
        manager = FIELD_MANAGER if ref.name == "ours" else "kubectl-create"
        uids[ref] = cluster.apply(obj, manager=manager)["metadata"]["uid"]
    yield {Ref.of(obj): uid_and_content(cluster, Ref.of(obj)) for obj in THEIRS}
    new = [Ref(VOLCANO.api_version, "PodGroup", SPACE, "job"), Ref(VOLCANO.api_version, "Queue", "", QUEUE_NAME)]
    for ref in new:
        if live := cluster.get(ref):
            uids[ref] = live["metadata"]["uid"]
    for ref, uid in reversed(uids.items()):
        if live := cluster.get(ref):
            if ref.kind == "KfDef":
                cluster.patch(ref, {"metadata": {"finalizers": None}})
            cluster.delete(ref, uid=uid)
    until(lambda: all(cluster.get(ref) is None for ref in uids), 60)


QUEUE_NAME = QUEUE["metadata"]["name"]


def uid_and_content(cluster: Cluster, ref: Ref) -> tuple[str, str]:
    live = cluster.get(ref)
    assert live is not None, ref
    return live["metadata"]["uid"], str(live.get("spec") or live.get("data"))


def run(cluster: Cluster, *tools: str, check: bool = False, **more: Any) -> Uninstalled:
    variables = {"uninstall_legacy": list(tools), "uninstall_wait_seconds": 5, **more}
    return remove_legacy(cluster, parse(variables).uninstall, check=check, progress=silent)


def test_podgroups_of_kube_batch_become_those_of_volcano_and_the_rest_goes(
    cluster: Cluster, planted: dict[Ref, tuple[str, str]]
) -> None:
    would = run(cluster, "kube-batch", check=True)
    assert cluster.get(Ref(VOLCANO.api_version, "PodGroup", SPACE, "job")) is None
    done = run(cluster, "kube-batch")
    assert [(item.ref, item.action) for item in done.outcomes if item.action is Action.CREATED] == [
        (item.ref, item.action) for item in would.outcomes if item.action is Action.CREATED
    ]
    assert not done.problems, done.problems
    group = cluster.get(Ref(VOLCANO.api_version, "PodGroup", SPACE, "job"))
    assert group is not None
    assert (group["spec"]["minMember"], group["spec"]["queue"]) == (2, QUEUE_NAME)
    queue = cluster.get(Ref(VOLCANO.api_version, "Queue", "", QUEUE_NAME))
    assert queue is not None
    assert queue["spec"]["weight"] == 3
    for gone in (GROUP, QUEUE, SCHEDULER, CRDS[1]):
        assert cluster.get(Ref.of(gone)) is None, gone
    kept = {str(item.ref): item.why for item in done.kept}
    assert "other-scheduler" in kept[str(Ref.of(FOREIGN))]
    assert "1 object" in kept[str(Ref.of(CRDS[0]))]
    (note,) = done.notes
    assert f"Pod {SPACE}/waits" in note
    assert {ref: uid_and_content(cluster, ref) for ref in planted} == planted
    assert not run(cluster, "kube-batch").changed


@pytest.mark.long
def test_what_kfctl_and_ksonnet_left_goes_without_data_namespaces_and_what_a_roll_out_has_since(
    cluster: Cluster, planted: dict[Ref, tuple[str, str]]
) -> None:
    held = run(cluster, "kfctl", "ksonnet")
    assert cluster.get(Ref.of(OPERATOR)) is None  # before its KfDef, which it would clean up after
    (problem,) = held.problems
    assert re.search(f"KfDef {SPACE}/kf .*kfdef-finalizer", problem.found)
    assert f'uninstall_finalize: ["KfDef {SPACE}/kf"]' in problem.todo
    done = run(cluster, "kfctl", "ksonnet", uninstall_finalize=[f"KfDef {SPACE}/kf"])
    assert not done.problems, done.problems
    assert cluster.get(Ref.of(KFDEF)) is None
    assert cluster.get(Ref.of(CRDS[2])) is None
    assert cluster.get(Ref("v1", "Service", SPACE, "argo")) is None
    assert {item.cause for item in done.kept if item.ref.namespace in {"", SPACE}} == {"data", "namespace"}
    for stays in (CLAIM, SCHEDULER, GROUP, made("v1", "ConfigMap", SPACE, "ours")):
        assert cluster.get(Ref.of(stays)) is not None, stays
    assert {ref: uid_and_content(cluster, ref) for ref in planted} == planted
