"""Cases 6, 14, 15, 17, 19: objects that others change, take or delete under the roll-out, and what is half there."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from kubeflow_volcano.apply.result import Action
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.readiness import State
from kubeflow_volcano.cluster.watch.waiting import wait_ready
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.settings.settings import Settings, parse
from tests.faults.kit import assert_told
from tests.faults.proxy import Asked, Fault, FaultProxy, status
from tests.faults.rolling import assert_whole, crd, obj, outcomes, run
from tests.integration.breaking import bad, judge, made, pods_of, settle, turned_off, vanish
from tests.integration.rolling import roll_out
from tests.waiting import until

pytestmark = pytest.mark.cluster

ADMISSION = Ref("apps/v1", "Deployment", "volcano-system", "volcano-admission")
SERVICE = Ref("v1", "Service", "volcano-system", "volcano-admission-service")
MODIFIED = 'Operation cannot be fulfilled on configmaps "main-0": the object has been modified'


@pytest.mark.fault(6)
def test_twenty_conflicts_in_a_row_are_outlived(
    behind: tuple[FaultProxy, Cluster], cluster: Cluster, objects: list[Object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubeflow_volcano.cluster.api.connection._LONGEST_DELAY", 0.2)
    proxy, spoilt = behind
    conflict = status(409, "Conflict", MODIFIED)

    def plan(asked: Asked) -> Fault | None:
        wanted = asked.method == "PATCH" and "/configmaps/main-0?" in asked.path
        return conflict if wanted and len(proxy.spoilt) < 20 else None

    proxy.plan = plan
    assert not run(spoilt, objects).problems
    assert len(proxy.spoilt) == 20
    assert_whole(cluster, objects)


@pytest.mark.long
@pytest.mark.fault(6)
def test_conflicts_without_end_are_told_in_bounded_time_and_healed_by_the_next_run(
    behind: tuple[FaultProxy, Cluster], cluster: Cluster, objects: list[Object]
) -> None:
    proxy, spoilt = behind
    conflict = status(409, "Conflict", MODIFIED)
    proxy.plan = lambda asked: conflict if asked.method == "PATCH" and "/configmaps/main-0?" in asked.path else None
    result = run(spoilt, objects, 8)
    assert outcomes(result, Action.FAILED) == {"ConfigMap main-0"}
    assert_told(result.problems, "main-0", "has been modified")
    assert not run(cluster, objects).problems
    assert_whole(cluster, objects)


@pytest.mark.long
@pytest.mark.fault(12)
def test_a_webhook_whose_backend_is_down_is_its_workload_s_failure_and_no_pass(
    kubeconfig: Path, cluster: Cluster
) -> None:
    with turned_off(cluster, ADMISSION):
        until(lambda: judge(kubeconfig, "B3", read_only=False, seconds=1)["B3"][0] != "pass")
        found = judge(kubeconfig, "B3", "B4", "F1", read_only=False, seconds=1)
        alone = judge(kubeconfig, "B4", read_only=False, seconds=1)
    assert bad(found) == {"F1": "ScaledToZero"}
    assert found["B3"] == found["B4"] == ("skip", "ConsequenceOf")
    assert alone["B4"][0] in {"fail", "skip"}
    until(lambda: bad(judge(kubeconfig, "B3", "B4", "F1", read_only=False, seconds=1)) == {})


@pytest.mark.fault(14)
def test_a_crd_whose_names_another_has_is_named_with_it_and_waited_for_no_longer(
    cluster: Cluster, objects: list[Object]
) -> None:
    group = next(item for item in objects if item["kind"] == "CustomResourceDefinition")["spec"]["group"]
    name, group = (
        objects[0]["metadata"]["name"],
        next(item["spec"]["group"] for item in objects if item["kind"] == "CustomResourceDefinition"),
    )
    first, second = crd("plum", group), crd("prune", group)
    for item in (first, second):
        item["spec"]["names"]["shortNames"] = ["pl"]
    waits = obj("Prune", "one", name, f"{group}/v1")
    with made(cluster, first):
        until(lambda: "Established" in str(cluster.get(Ref.of(first))))
        result = run(cluster, [*objects, second, waits], 3600)
        assert outcomes(result, Action.HELD) == {"Prune one"}
        assert_told(result.problems, f"prunes.{group}", '"pl" is already in use')
    assert not run(cluster, [*objects, second, waits]).problems  # the name is free now
    assert_whole(cluster, [*objects, second, waits])
    vanish(cluster, cluster.get(Ref.of(second)) or second)


@pytest.mark.fault(15)
def test_a_deployment_that_is_deleted_while_it_is_waited_for_is_told_as_that(
    cluster: Cluster, objects: list[Object]
) -> None:
    assert not run(cluster, objects).problems
    deployment = Ref.of(objects[-1])
    cluster.patch(deployment, {"spec": {"replicas": 1}})
    waits = threading.Event()

    def delete() -> None:
        waits.wait(60)
        cluster.delete(deployment, uid=(cluster.get(deployment) or {})["metadata"]["uid"])

    helper = threading.Thread(target=delete)
    helper.start()
    try:
        answer = wait_ready(cluster, [deployment], Deadline(60), lambda _line: waits.set())[deployment]
    finally:
        waits.set()
        helper.join()
    assert (answer.state, answer.reason) == (State.FAILED, "Vanished")
    assert deployment.name in answer.message
    assert not run(cluster, objects).problems
    assert_whole(cluster, objects)


@pytest.mark.long
@pytest.mark.fault(15)
def test_a_crd_that_is_deleted_in_the_middle_is_told_and_comes_back_with_the_next_run(
    behind: tuple[FaultProxy, Cluster], cluster: Cluster, objects: list[Object]
) -> None:
    proxy, spoilt = behind
    definition = next(Ref.of(item) for item in objects if item["kind"] == "CustomResourceDefinition")
    deleted: list[str] = []

    def plan(asked: Asked) -> None:
        if asked.method == "PATCH" and "/apples/" in asked.path and not deleted:
            deleted.append(asked.path)
            vanish(cluster, cluster.get(definition) or {})

    proxy.plan = plan
    result = run(spoilt, objects, 60)
    assert deleted
    assert_told(result.problems, "Apple")
    assert not run(cluster, objects).problems
    assert_whole(cluster, objects)


@pytest.mark.fault(17)
def test_a_crd_larger_than_an_annotation_may_be_is_applied(cluster: Cluster, objects: list[Object]) -> None:
    definition = next(item for item in objects if item["kind"] == "CustomResourceDefinition")
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"] = {f"field{number}": {"type": "string", "description": "x" * 1000} for number in range(300)}
    assert not run(cluster, objects).problems
    assert_whole(cluster, objects)
    live = cluster.get(Ref.of(definition)) or {}
    assert len(str(live["spec"])) > 262_144
    assert "kubectl.kubernetes.io/last-applied-configuration" not in live["metadata"].get("annotations", {})


@pytest.fixture(scope="module")
def settings(kubeconfig: Path) -> Settings:
    """As they were when the cluster was installed."""
    upstream = kubeconfig.parent / "upstream"
    return parse(
        {
            "volcano_source": str(upstream / "volcano/installer/volcano-development.yaml"),
            "kustomize_binary": str(kubeconfig.parent / "bin/kustomize"),
            "kubeflow_components": ["volcano"],
            "kubeflow_wait_timeout_seconds": 240,
        }
    )


@pytest.mark.long
@pytest.mark.fault(19)
def test_webhooks_that_a_partial_installation_left_are_found_and_repaired(
    kubeconfig: Path, cluster: Cluster, settings: Settings
) -> None:
    for ref in (SERVICE, ADMISSION):
        vanish(cluster, cluster.get(ref) or {})
    until(lambda: not pods_of(cluster, ADMISSION))
    try:
        found = judge(kubeconfig, "B6", "B4", "B3", read_only=False)
        assert bad(found) == {"B6": "NoService"}
    finally:
        result = roll_out(cluster, settings, (settings.component("volcano"),), check=False, progress=silent)
    assert not result.problems
    settle(cluster, ADMISSION)
    until(lambda: bad(judge(kubeconfig, "B6", "B4", "B3", "F1", read_only=False)) == {})
    assert not roll_out(cluster, settings, (settings.component("volcano"),), check=False, progress=silent).changed
