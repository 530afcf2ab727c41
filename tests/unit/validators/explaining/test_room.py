"""Nodes: which take a pod, and whether there is room for enough of them together."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from validators.explaining.testing import explained, group, member, node, reasons, tfjob

GPU = "nvidia.com/gpu"
TAINT = {"key": "gpu", "value": "true", "effect": "NoSchedule"}


def waiting(template: Object | None = None, *nodes: Object, workers: int = 1, cpu: str = "1") -> Any:
    """The answer for workers without a node, on these nodes and no others."""
    job = tfjob(workers=workers, cpu=cpu, template=template)
    pod = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    pods = [member(job, number, cpu=cpu, spec=pod | {"schedulerName": "volcano"}) for number in range(workers)]
    return explained(job, group(job, workers, phase="Inqueue"), *pods, *nodes, without=["n1", "n2"])


def gpus(count: str) -> dict[str, Any]:
    return {"containers": [{"name": "tensorflow", "resources": {"limits": {GPU: count}}}]}


@pytest.mark.parametrize(
    ("template", "where", "reason", "text"),
    [
        (None, node("a", taints=[TAINT]), "NoNodeFitsTaint", "has the taint gpu=true:NoSchedule"),
        (None, node("a", unschedulable=True), "NoNodeFitsCordoned", "is cordoned"),
        ({"nodeSelector": {"disk": "ssd"}}, node("a"), "NoNodeFitsSelector", "lacks the label disk=ssd"),
        (gpus("2"), node("a", allocatable={GPU: "1"}), "NoNodeFitsNever", f"{GPU}: asks for 2, 1 of 1 free"),
        (gpus("1"), node("a"), "NoNodeFitsNever", f"{GPU}: asks for 1, 0 of 0 free"),
        (
            {
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]}
                            ]
                        }
                    }
                }
            },
            node("a"),
            "NoNodeFitsAffinity",
            "is not zone In a,b",
        ),
    ],
)
def test_a_node_says_why_it_does_not_take_a_pod(template: Object, where: Object, reason: str, text: str) -> None:
    answer = waiting(template, where)
    assert reasons(answer) == [reason]
    assert text in answer.findings[0].details[0]
    assert "a:" in answer.findings[0].details[0]


def test_what_was_asked_for_makes_the_node_take_it() -> None:
    tolerant = {"tolerations": [{"key": "gpu", "operator": "Exists"}], "nodeSelector": {"disk": "ssd"}}
    answer = waiting(tolerant, node("a", taints=[TAINT], labels={"disk": "ssd"}))
    assert reasons(answer) == ["Unexplained"]


def test_a_node_that_is_not_ready_takes_nothing() -> None:
    gone = node("a")
    gone["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    assert reasons(waiting(None, gone)) == ["NoNodeFitsNotReady"]


def test_nodes_with_different_reasons_are_summed_up_and_listed() -> None:
    answer = waiting(gpus("1"), node("a", taints=[TAINT], allocatable={GPU: "4"}), node("b"), node("c"))
    found = answer.findings[0]
    assert found.reason == "NoNodeFits"
    assert "no room for nvidia.com/gpu (2 nodes), has the taint gpu=true:NoSchedule (1 node)" in found.problem.found
    assert [line.partition(":")[0] for line in found.details] == ["a", "b, c"]
    assert "tolerate the taint" in found.problem.todo


def test_the_whole_gang_needs_room_at_the_same_time() -> None:
    answer = waiting(None, node("a", cpu="2"), node("b", cpu="1"), workers=4)
    assert reasons(answer) == ["GangDoesNotFit"]
    found = answer.findings[0].problem
    assert "3 of the 4 pods that must be placed together find a node" in found.found
    assert "They ask for 4 cpu, 3 free on the 2 of 2 nodes" in found.found
    assert reasons(waiting(None, node("a", cpu="3"), node("b", cpu="1"), workers=4)) == ["Unexplained"]


def test_free_room_that_lies_on_too_many_nodes_is_told_from_too_little() -> None:
    answer = waiting(None, node("a", cpu="3"), node("b", cpu="3"), node("c", cpu="2"), workers=4, cpu="2")
    assert reasons(answer) == ["GangDoesNotFit"]
    assert "lies on too many nodes" in answer.findings[0].problem.found


def test_others_on_the_nodes_take_their_room() -> None:
    other = tfjob("other")
    job = tfjob(workers=2, cpu="3")
    around = [group(other, phase="Running"), member(other, 0, on="n1", cpu="2"), member(other, 1, on="n2", cpu="1")]
    answer = explained(job, group(job, 2, phase="Inqueue"), member(job, 0, cpu="3"), member(job, 1, cpu="3"), *around)
    assert reasons(answer) == ["GangDoesNotFit"]
    assert "1 of the 2" in answer.findings[0].problem.found
    ended = member(other, 0, on="n1", cpu="2", status={"phase": "Succeeded"})
    rest = [group(other, phase="Running"), ended, member(other, 1, on="n2", cpu="1")]
    free = explained(job, group(job, 2, phase="Inqueue"), member(job, 0, cpu="3"), member(job, 1, cpu="3"), *rest)
    assert reasons(free) == ["Unexplained"]


def test_pods_that_differ_in_their_tokens_alone_are_alike() -> None:
    job = tfjob(workers=2, cpu="5")
    pods = [member(job, n, cpu="5", spec={"volumes": [{"name": f"kube-api-access-{n}"}]}) for n in range(2)]
    answer = explained(job, group(job, 2, phase="Inqueue"), *pods)
    assert reasons(answer) == ["NoNodeFitsNever"]
    assert answer.findings[0].problem.found.startswith("2 pods of worker: none of 2 nodes")


def test_pods_that_are_held_back_are_judged_by_their_template() -> None:
    job = tfjob(workers=3, cpu="5")
    answer = explained(job, group(job, 3))
    assert reasons(answer) == ["NoNodeFitsNever"]
    assert "3 pods of Worker: none of 2 nodes" in answer.findings[0].problem.found


def test_a_gang_may_begin_without_the_pods_that_fit_nowhere() -> None:
    job = tfjob(workers=2)
    job["spec"]["tfReplicaSpecs"]["PS"] = {
        "replicas": 1,
        "template": {"spec": {"nodeSelector": {"disk": "ssd"}, "containers": []}},
    }
    assert reasons(explained(job, group(job, 3))) == ["NoNodeFitsSelector"]
    answer = explained(job, group(job, 2))
    assert next((item.reason, item.blocks) for item in answer.findings) == ("NoNodeFitsSelector", False)
    assert "GangDoesNotFit" not in reasons(answer)


def test_anti_affinity_within_the_gang_needs_a_node_each() -> None:
    rule = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "mnist"}}}
    apart = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}}
    job = tfjob(workers=3, template=apart)
    job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["metadata"] = {"labels": {"app": "mnist"}}
    answer = explained(job, group(job, 3))
    assert reasons(answer) == ["GangDoesNotFit"]
    assert "2 of the 3" in answer.findings[0].problem.found
    assert "GangDoesNotFit" not in reasons(explained(job, group(job, 3), node("n3")))


def test_pod_affinity_wants_company_unless_it_is_the_first_of_its_kind() -> None:
    def near(app: str) -> Object:
        rule = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}}}
        job = tfjob(template={"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}})
        job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["metadata"] = {"labels": {"app": "mnist"}}
        return job

    assert reasons(explained(near("cache"), group(near("cache")))) == ["NoNodeFitsPodAffinity"]
    assert reasons(explained(near("mnist"), group(near("mnist")))) == ["Unexplained"]


def test_a_host_port_is_there_once_on_a_node() -> None:
    port = {"containers": [{"name": "tensorflow", "ports": [{"hostPort": 2222}]}]}
    job = tfjob(workers=3, template=port)
    answer = explained(job, group(job, 3))
    assert reasons(answer) == ["GangDoesNotFit"]


def test_gates_keep_pods_from_every_scheduler() -> None:
    job = tfjob(workers=1)
    gated = member(job, 0, spec={"schedulingGates": [{"name": "example.com/approval"}]})
    answer = explained(job, group(job, 1, phase="Inqueue"), gated)
    assert reasons(answer) == ["Gated"]
    assert "example.com/approval" in answer.findings[0].problem.found
