"""What keeps gang scheduling up on a cluster with others on it: rights, several pods, webhooks, off and on again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.apply.result import Action, ApplyResult
from kubeflow_volcano.catalog.gangs import VOLCANO
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.experiment.session import Options
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.gang.notifier import ANNOTATION as WOKEN
from kubeflow_volcano.rollout.gang.notifier import with_notifier
from kubeflow_volcano.rollout.gang.rights import is_allowed
from kubeflow_volcano.rollout.settings.settings import Settings, parse
from tests.integration.breaking import judge, made, patched, pods_of, settle, space
from tests.integration.rolling import own_sources, roll_out, wire_gang
from tests.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

RBAC = "rbac.authorization.k8s.io/v1"
ROLE = Ref(RBAC, "ClusterRole", "", "training-operator")
OPERATOR = Ref("apps/v1", "Deployment", "kubeflow", "training-operator")
SCHEDULER = Ref("apps/v1", "Deployment", "volcano-system", "volcano-scheduler")
CONTROLLERS = Ref("apps/v1", "Deployment", "volcano-system", "volcano-controllers")
ADMISSION = Ref("apps/v1", "Deployment", "volcano-system", "volcano-admission")
LEASES = {
    SCHEDULER: Ref("coordination.k8s.io/v1", "Lease", "volcano-system", "volcano"),
    CONTROLLERS: Ref("coordination.k8s.io/v1", "Lease", "volcano-system", "vc-controller-manager"),
    OPERATOR: Ref("coordination.k8s.io/v1", "Lease", "kubeflow", "1ca428e5.training-operator.kubeflow.org"),
}


@pytest.fixture(scope="module")
def variables(kubeconfig: Path) -> dict[str, Any]:
    """The manifests and the kustomize that come with the rehearsal cluster."""
    return own_sources(kubeconfig) | {"kubeflow_wait_timeout_seconds": 240}


@pytest.fixture
def settings(cluster: Cluster, variables: dict[str, Any]) -> Iterator[Settings]:
    """What the cluster is to be like, as it is again behind each test."""
    asked = parse(variables)
    yield asked
    apply(cluster, asked)
    assert not wire_gang(cluster, asked, check=False, progress=silent).problems
    for ref in (*LEASES, ADMISSION):
        settle(cluster, ref)
    assert not wire_gang(cluster, asked, check=False, progress=silent).changed


def apply(cluster: Cluster, asked: Settings, *, check: bool = False) -> ApplyResult:
    parts = [asked.component(name) for name in ("volcano", "training-operator")]
    done = roll_out(cluster, asked, parts, check=check, progress=silent)
    assert not done.problems
    return done


def wire(cluster: Cluster, asked: Settings, *, check: bool = False) -> ApplyResult:
    done = wire_gang(cluster, asked, check=check, progress=silent)
    assert not done.problems
    return done


def actions(done: ApplyResult) -> dict[str, str]:
    return {item.ref.kind: str(item.action) for item in done.outcomes if item.action is not Action.UNCHANGED}


def may_use_pod_groups(cluster: Cluster) -> bool:
    return is_allowed(cluster, "kubeflow", "training-operator", VOLCANO.group, "create")


@pytest.fixture
def without_podgroups(cluster: Cluster) -> Iterator[None]:
    """The operator's own role has lost the rule for PodGroups."""
    live = cluster.get(ROLE)
    assert live is not None
    rules = [rule for rule in live["rules"] if rule["apiGroups"] != ["scheduling.volcano.sh"]]
    assert len(rules) == len(live["rules"]) - 1
    with patched(cluster, ROLE) as patch:
        patch({"rules": rules})
        until(lambda: not may_use_pod_groups(cluster))
        yield


@pytest.mark.fault(37)
@pytest.mark.usefixtures("without_podgroups")
def test_rights_that_the_operator_has_lost_are_named_and_come_back_with_its_whole_roll_out(
    kubeconfig: Path, cluster: Cluster, settings: Settings
) -> None:
    assert judge(kubeconfig, "G2")["G2"] == ("fail", "Denied")
    for check in (True, False):
        with pytest.raises(InvalidInput, match=r"create.* podgroups\.scheduling\.volcano\.sh") as refusal:
            wire(cluster, settings, check=check)
        assert "without --tags" in refusal.value.problems[0].todo
    assert not may_use_pod_groups(cluster)

    assert actions(apply(cluster, settings)) == {"ClusterRole": "changed"}
    assert may_use_pod_groups(cluster)
    assert judge(kubeconfig, "G2")["G2"] == ("pass", "AsClaimed")
    assert not wire(cluster, settings).changed


def job(where: str, name: str) -> Object:
    container = {"name": "pytorch", "image": Options().pause_image, "resources": {"requests": {"cpu": "1m"}}}
    annotations = {"sidecar.istio.io/inject": "false"}
    template = {"metadata": {"annotations": annotations}, "spec": {"containers": [container]}}
    spec = {"pytorchReplicaSpecs": {"Worker": {"replicas": 1, "restartPolicy": "Never", "template": template}}}
    return new_object("kubeflow.org/v1", "PyTorchJob", name, where, spec=spec)


def schedulers(cluster: Cluster, where: str, name: str) -> set[str]:
    labels = f"training.kubeflow.org/job-name={name}"
    return {pod["spec"]["schedulerName"] for pod in cluster.list("v1", "Pod", namespace=where, labels=labels).items}


def groups(cluster: Cluster, where: str) -> set[str]:
    return {
        item["metadata"]["name"]
        for item in cluster.list("scheduling.volcano.sh/v1beta1", "PodGroup", namespace=where).items
    }


@pytest.mark.long
def test_gang_scheduling_goes_off_and_on_for_the_jobs_that_come_then(cluster: Cluster, settings: Settings) -> None:
    off = replace(settings, gang_scheduler="none")
    with space(cluster) as where:
        for name, asked, scheduler in (("off", off, "default-scheduler"), ("on", settings, "volcano")):
            before = cluster.get(OPERATOR)
            assert wire(cluster, asked).changed, f"{name}: {before}"
            settle(cluster, OPERATOR)
            assert not wire(cluster, asked).changed
            assert not apply(cluster, asked).changed
            with made(cluster, job(where, name)):
                until(partial(schedulers, cluster, where, name))
                assert schedulers(cluster, where, name) == {scheduler}
                assert groups(cluster, where) == ({name} if scheduler == "volcano" else set())


@pytest.mark.long
def test_a_flag_that_was_set_by_hand_goes_with_gang_scheduling(cluster: Cluster, settings: Settings) -> None:
    off = replace(settings, gang_scheduler="none")
    assert wire(cluster, off).changed
    by_hand = {"name": OPERATOR.name, "args": ["--gang-scheduler-name=volcano"]}
    path = {"spec": {"template": {"spec": {"containers": [by_hand]}}}}
    cluster.patch(OPERATOR, path, content_type="application/strategic-merge-patch+json")
    assert wire(cluster, off, check=True).changed
    assert wire(cluster, off).changed
    live = cluster.get(OPERATOR)
    assert live is not None
    assert "args" not in live["spec"]["template"]["spec"]["containers"][0]
    assert not wire(cluster, off).changed


def test_the_container_that_wakes_an_old_operator_touches_jobs_whose_gang_may_run(
    cluster: Cluster, settings: Settings
) -> None:
    """It acts as the account of the operator beside which it runs, which is a newer one here and does not sleep."""
    old: Object = {"name": OPERATOR.name, "image": "kubeflow/training-operator:v1-e1434f6"}
    text = {"kind": "Deployment", "metadata": {"name": OPERATOR.name}}
    text["spec"] = {"template": {"spec": {"containers": [old]}}}
    (asked,) = with_notifier([text], OPERATOR.name, "1.5.0", settings.volcano.version)
    container = asked["spec"]["template"]["spec"]["containers"][1]
    spec = {"serviceAccountName": "training-operator", "containers": [container], "terminationGracePeriodSeconds": 300}
    pod = cluster.create(new_object("v1", "Pod", "notifier", OPERATOR.namespace, spec=spec))
    try:
        until(lambda: running(cluster, Ref.of(pod)))
        with space(cluster) as where, made(cluster, job(where, "asleep")) as (item,):
            until(lambda: WOKEN in ((cluster.get(Ref.of(item)) or {})["metadata"].get("annotations") or {}))
    finally:
        cluster.delete(Ref.of(pod), uid=pod["metadata"]["uid"])
    until(lambda: cluster.get(Ref.of(pod)) is None)  # it ends when it is told to, not when it is made to


def running(cluster: Cluster, ref: Ref) -> bool:
    return ((cluster.get(ref) or {}).get("status") or {}).get("phase") == "Running"


def pod_refused(cluster: Cluster, where: str) -> str:
    """What the API server says to a new pod; empty where it takes it."""
    pod: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "asks", "namespace": where}}
    try:
        cluster.create(pod | {"spec": {"containers": [{"name": "c", "image": "c"}]}}, dry_run=True)
    except ApiError as error:
        return error.message
    return ""


@contextlib.contextmanager
def silenced(cluster: Cluster) -> Iterator[None]:
    """Volcano's admission is down."""
    with patched(cluster, ADMISSION) as patch:
        patch({"spec": {"replicas": 0}})
        until(lambda: not pods_of(cluster, ADMISSION), 60)
        yield


@pytest.mark.long
def test_while_the_admission_is_down_pods_start_unless_asked_otherwise(
    kubeconfig: Path, cluster: Cluster, variables: dict[str, Any], settings: Settings
) -> None:
    labels = {"kfv-test/ganged": "yes"}
    closed = parse({**variables, "volcano_pod_webhook_failure_policy": "Fail"})
    scoped = parse(
        {**variables, "volcano_pod_webhook_failure_policy": "Fail", "volcano_pod_webhook_namespace_labels": labels}
    )
    with space(cluster) as plain, space(cluster, **labels) as ganged:
        found = {}
        for name, asked in (("open", settings), ("closed", closed), ("scoped", scoped)):
            apply(cluster, asked)
            assert not apply(cluster, asked).changed
            with silenced(cluster):
                answers = tuple("failed calling webhook" in pod_refused(cluster, where) for where in (plain, ganged))
            found[name] = (answers, judge(kubeconfig, "B5")["B5"])
    assert found == {
        "open": ((False, False), ("pass", "AsClaimed")),
        "closed": ((True, True), ("warn", "StopsOthersPods")),
        "scoped": ((False, True), ("pass", "AsClaimed")),
    }


def leader(cluster: Cluster, ref: Ref) -> str:
    """Name of the pod that leads; empty where none does, or one that is gone."""
    lease = cluster.get(LEASES[ref])
    holder = ((lease or {}).get("spec") or {}).get("holderIdentity") or ""
    names = {pod["metadata"]["name"] for pod in pods_of(cluster, ref) if "deletionTimestamp" not in pod["metadata"]}
    return next((name for name in names if holder.startswith(f"{name}_")), "")


@pytest.mark.long
def test_of_several_pods_one_leads_and_another_takes_over(
    kubeconfig: Path, cluster: Cluster, variables: dict[str, Any], settings: Settings
) -> None:
    asked = parse({**variables, "volcano_replicas": 2, "gang_scheduling_operator_replicas": 2})
    would = actions(apply(cluster, asked, check=True))
    assert would["Deployment"] == "changed"
    assert apply(cluster, asked).changed
    assert not apply(cluster, asked).changed
    assert not wire(cluster, asked).changed
    until(lambda: all(len(pods_of(cluster, ref)) == 2 for ref in (*LEASES, ADMISSION)))
    until(lambda: all(leader(cluster, ref) for ref in LEASES))
    led = {ref: leader(cluster, ref) for ref in LEASES}
    for ref, name in led.items():
        (pod,) = (item for item in pods_of(cluster, ref) if item["metadata"]["name"] == name)
        cluster.delete(Ref.of(pod), uid=pod["metadata"]["uid"], grace_seconds=0)
    until(lambda: all(leader(cluster, ref) not in {"", led[ref]} for ref in LEASES))
    assert judge(kubeconfig, "H1", "G5", read_only=False)["G5"] == ("pass", "AsClaimed")
    kept = beside(cluster)
    assert [ref.kind for ref in kept] == ["PodDisruptionBudget"] * 4 + ["Role", "RoleBinding"]

    former = [item.ref for item in apply(cluster, settings, check=True).outcomes if item.action is Action.REMOVED]
    assert former == kept == beside(cluster)
    assert apply(cluster, settings).changed
    assert beside(cluster) == []
    for item in LEASES.values():
        live = cluster.get(item)
        assert live is not None
        cluster.delete(item, uid=live["metadata"]["uid"])


def beside(cluster: Cluster) -> list[Ref]:
    """What stands beside Deployments of several pods."""
    kinds = (("policy/v1", "PodDisruptionBudget"), (RBAC, "Role"), (RBAC, "RoleBinding"))
    labels = "app.kubernetes.io/managed-by=kubeflow-volcano"
    return [
        Ref(version, kind, item["metadata"]["namespace"], item["metadata"]["name"])
        for version, kind in kinds
        for item in cluster.list(version, kind, labels=labels).items
    ]
