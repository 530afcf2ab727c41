"""A6 on literal facts: digests; what keeps images from arriving is with the workloads that wait for them."""

from __future__ import annotations

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.checks.reach.images import images_arrive
from kubeflow_volcano.validators.core.outcome import Status
from tests.samples.facts import facts, node, obj, pod

ONE, OTHER = f"sha256:{'1' * 64}", f"sha256:{'2' * 64}"


def pinned(runs: str, *, simulated: bool = False) -> Object:
    found = pod("kubeflow/a", metadata={"labels": {"rehearsal.kubeflow-volcano.io/simulated": ""} if simulated else {}})
    found["spec"]["containers"][0]["image"] = f"example/image@{ONE}"
    found["status"]["containerStatuses"][0]["imageID"] = runs
    return found


def test_a_container_that_runs_the_digest_that_it_asks_for_passes_and_is_counted() -> None:
    outcome = images_arrive(facts(pinned(f"mirror.example/image@{ONE}")))
    assert outcome.status is Status.PASS
    assert "1 container pinned" in outcome.message


def test_a_container_that_runs_another_digest_is_a_warning_with_both() -> None:
    outcome = images_arrive(facts(pinned(f"example/image@{OTHER}")))
    assert (outcome.status, outcome.reason) == (Status.WARN, "OtherDigest")
    assert ONE in outcome.message
    assert OTHER in outcome.message


@pytest.mark.parametrize("runs", ["", OTHER, "example/image:v1"])
def test_a_runtime_that_tells_no_digest_of_the_name_says_nothing(runs: str) -> None:
    outcome = images_arrive(facts(pinned(runs)))
    assert (outcome.status, "digest" in outcome.message) == (Status.PASS, False)


def test_simulated_pods_and_runtimes_with_digests_of_their_own_are_not_compared() -> None:
    assert images_arrive(facts(pinned(f"example/image@{OTHER}", simulated=True))).status is Status.PASS
    cri_o = node("n1", status={"nodeInfo": {"containerRuntimeVersion": "cri-o://1.30.0"}})
    assert images_arrive(facts(cri_o, pinned(f"example/image@{OTHER}"))).status is Status.PASS


def test_without_a_pod_on_a_node_there_is_nothing_to_look_at() -> None:
    assert images_arrive(facts(obj("Pod", "default/a", spec={"containers": []}))).status is Status.SKIP
