"""Nodes: which take a pod, and whether there is room for enough of them together."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from tests.samples.jobs import SPACE, configured, explained, group, healthy, member, node, reasons, tfjob, vcjob

GPU = "nvidia.com/gpu"
TAINT = {"key": "gpu", "value": "true", "effect": "NoSchedule"}
NO_AFFINITY, NO_TAINTS = "predicate.NodeAffinityEnable: false", "predicate.TaintTolerationEnable: false"


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
        (gpus("2"), node("a", allocatable={GPU: "1"}), "NoNodeFitsNever", f"{GPU}: requests 2, 1 of 1 free"),
        (gpus("1"), node("a"), "NoNodeFitsAbsent", f"has no {GPU}"),
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
            "does not match zone In a,b",
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
    anywhere = {"tolerations": [{"operator": "Exists"}]}
    assert reasons(waiting(anywhere, gone)) == ["Unexplained"]


@pytest.mark.parametrize(
    ("predicates", "found"),
    [
        (f"{{name: predicates, arguments: {{{NO_TAINTS}}}}}", ["NoNodeFitsSelector"]),
        (f"{{name: predicates, arguments: {{{NO_AFFINITY}}}}}", ["NoNodeFitsTaint"]),
        (f"{{name: predicates, arguments: {{{NO_AFFINITY}, {NO_TAINTS}}}}}", ["Unexplained"]),
        ("{name: predicates, enablePredicate: false}", ["Unexplained"]),
        ("{name: nodeorder}", ["Unexplained"]),
    ],
)
def test_a_filter_that_is_switched_off_refuses_no_node(predicates: str, found: list[str]) -> None:
    conf = configured(f'actions: "enqueue, allocate"\ntiers: [{{plugins: [{{name: gang}}, {predicates}]}}]\n')
    assert reasons(waiting({"nodeSelector": {"disk": "ssd"}}, node("a", taints=[TAINT]), conf)) == found


def test_before_1_11_volcano_knows_without_a_filter_which_nodes_are_not_ready() -> None:
    conf = configured('actions: "enqueue, allocate"\ntiers: [{plugins: [{name: gang}]}]\n')
    gone = node("a")
    gone["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    assert reasons(waiting(None, gone, conf)) == ["NoNodeFitsNotReady"]


def served(*labels: str) -> Object:
    """The scheduler with --node-selector."""
    found = copy.deepcopy(next(item for item in healthy() if item["metadata"]["name"] == "volcano-scheduler"))
    container = found["spec"]["template"]["spec"]["containers"][0]
    container["args"] = [*(container.get("args") or ()), *(f"--node-selector={item}" for item in labels)]
    return found


def test_nodes_that_the_schedulers_own_flag_leaves_out_are_none() -> None:
    flag = served("pool:train")
    assert reasons(waiting(None, node("a"), node("b"), flag)) == ["NoNodeFitsLeftOut"]
    inside = node("c")
    inside["metadata"]["labels"] = {"pool": "train"}
    assert reasons(waiting(None, node("a"), inside, flag)) == ["Unexplained"]
    both = waiting(None, node("a", cpu="8"), inside | {"spec": {"unschedulable": True}}, flag)
    assert reasons(both) == ["NoNodeFits"]
    assert "--node-selector" in both.findings[0].problem.todo


def test_another_scheduler_knows_the_nodes_that_volcanos_flag_leaves_out() -> None:
    job = tfjob(workers=1)
    pod = member(job, 0, spec={"schedulerName": "default-scheduler", "nodeSelector": {"disk": "ssd"}})
    answer = explained(job, pod, node("a"), served("pool:train"), without=["n1", "n2"])
    assert "NoNodeFitsLeftOut" not in reasons(answer)


def test_nodes_with_different_reasons_are_summed_up_and_listed() -> None:
    answer = waiting(gpus("1"), node("a", taints=[TAINT], allocatable={GPU: "4"}), node("b"), node("c"))
    found = answer.findings[0]
    assert found.reason == "NoNodeFits"
    assert re.search(r"nvidia\.com/gpu \(2 nodes\), .* gpu=true:NoSchedule \(1 node\)", found.problem.found)
    assert [line.partition(":")[0] for line in found.details] == ["a", "b, c"]
    assert "tolerate the taint" in found.problem.todo


def test_the_whole_gang_needs_room_at_the_same_time() -> None:
    answer = waiting(None, node("a", cpu="2"), node("b", cpu="1"), workers=4)
    assert reasons(answer) == ["GangNeverFits"]
    found = answer.findings[0].problem
    for amounts in ("3 of the 4 pods", "4 cpu, 3 free", "2 of 2 nodes"):
        assert amounts in found.found
    assert reasons(waiting(None, node("a", cpu="3"), node("b", cpu="1"), workers=4)) == ["Unexplained"]


def test_free_room_that_lies_on_too_many_nodes_is_told_from_too_little() -> None:
    answer = waiting(None, node("a", cpu="3"), node("b", cpu="3"), node("c", cpu="2"), workers=4, cpu="2")
    assert reasons(answer) == ["GangNeverFits"]
    assert "too many nodes" in answer.findings[0].problem.found


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
    assert answer.findings[0].problem.found.startswith("2 pods of worker: ")


def test_pods_that_are_held_back_are_judged_by_their_template() -> None:
    job = tfjob(workers=3, cpu="5")
    answer = explained(job, group(job, 3))
    assert reasons(answer) == ["NoNodeFitsNever"]
    assert answer.findings[0].problem.found.startswith("3 pods of Worker: ")


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


def test_tasks_that_wait_for_others_to_run_do_not_fill_the_gang() -> None:
    job = vcjob(workers=1, minAvailable=1)
    first = job["spec"]["tasks"][0]
    first["template"]["spec"]["nodeSelector"] = {"disk": "ssd"}
    second = {**first, "name": "ps", "template": {"spec": {"containers": []}}}
    job["spec"]["tasks"].append(second)
    nowhere = [(item.reason, item.blocks) for item in explained(job, group(job, 1)).findings]
    assert ("NoNodeFitsSelector", False) in nowhere  # the other task may begin
    second["dependsOn"] = {"name": [first["name"]]}
    answer = explained(job, group(job, 1))
    assert [(item.reason, item.blocks) for item in answer.findings] == [("NoNodeFitsSelector", True)]


def test_anti_affinity_within_the_gang_needs_a_node_each() -> None:
    rule = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "mnist"}}}
    apart = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}}
    job = tfjob(workers=3, template=apart)
    job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["metadata"] = {"labels": {"app": "mnist"}}
    answer = explained(job, group(job, 3))
    assert reasons(answer) == ["GangNeverFits"]
    assert "2 of the 3" in answer.findings[0].problem.found
    assert "GangNeverFits" not in reasons(explained(job, group(job, 3), node("n3")))


def test_pods_that_do_not_exist_yet_are_kept_apart_from_those_of_their_role_that_do() -> None:
    """While an operator creates them, it is as clear that there are never enough nodes as it is afterwards."""
    rule = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "mnist"}}}
    apart = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}}
    job = tfjob(workers=4, template=apart)
    template = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]
    template["metadata"] = {"labels": {"app": "mnist"}}
    there = [member(job, number, spec=template["spec"]) for number in range(2)]
    for pod in there:
        pod["metadata"]["labels"] |= {"app": "mnist"}
    answer = explained(job, group(job, 4, phase="Inqueue"), *there)
    assert "GangNeverFits" in reasons(answer)
    found = next(item for item in answer.findings if item.reason == "GangNeverFits")
    assert "for 2 once" in found.problem.found


def test_pod_affinity_wants_company_unless_it_is_the_first_of_its_kind() -> None:
    def near(app: str) -> Object:
        rule = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}}}
        job = tfjob(template={"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}})
        job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["metadata"] = {"labels": {"app": "mnist"}}
        return job

    assert reasons(explained(near("cache"), group(near("cache")))) == ["NoNodeFitsPodAffinity"]
    assert reasons(explained(near("mnist"), group(near("mnist")))) == ["Unexplained"]


def near(*rules: Object) -> Object:
    """A template with these rules of podAffinity."""
    return {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(rules)}}}


def of_app(app: str, key: str = "kubernetes.io/hostname", **more: Any) -> Object:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **more}


def beside(template: Object, *others: Object) -> list[str]:
    """The answer for a worker with the labels app=mnist and rev=2, on n1 of zone a, with these pods around."""
    job = tfjob(workers=1, template=template)
    job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["metadata"] = {"labels": {"app": "mnist", "rev": "2"}}
    return reasons(explained(job, group(job, 1), *others, node("n1", labels={"zone": "a"}), without=["n2"]))


def other(on: str, labels: Object, space: str = "elsewhere", **rest: Any) -> Object:
    """A pod of somebody else on a node."""
    meta = {"name": f"other-{on}", "namespace": space, "uid": f"other-{on}", "labels": labels, **rest.pop("meta", {})}
    spec = {"nodeName": on, "containers": [], **rest}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": "Running"}}


def test_the_first_pod_of_its_kind_is_the_one_whose_like_matches_all_rules_in_no_domain() -> None:
    both = near(of_app("mnist"), of_app("mnist", "zone"))
    assert beside(both, other("n1", {"app": "cache"}, SPACE)) == ["Unexplained"]
    # It has the namespace and the label, on a node that is in no zone.
    assert beside(near(of_app("mnist", "zone")), other("n9", {"app": "mnist"}, SPACE), node("n9", cpu="0")) == [
        "Unexplained"
    ]
    assert beside(near(of_app("mnist", "rack"))) == ["NoNodeFitsPodAffinity"]


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        (of_app("cache"), ["NoNodeFitsPodAffinity"]),
        (of_app("cache", namespaceSelector={}), ["Unexplained"]),
        (of_app("cache", namespaces=["elsewhere"]), ["Unexplained"]),
        (of_app("cache", namespaceSelector={"matchLabels": {"team": "b"}}), ["Unexplained"]),
        (of_app("cache", namespaces=["elsewhere"], matchLabelKeys=["rev"]), ["NoNodeFitsPodAffinity"]),
        (of_app("cache", namespaces=["elsewhere"], mismatchLabelKeys=["rev"]), ["Unexplained"]),
    ],
)
def test_rules_of_affinity_are_about_the_namespaces_and_labels_that_they_name(rule: Object, found: list[str]) -> None:
    assert beside(near(rule), other("n1", {"app": "cache", "rev": "1"})) == found


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        (of_app("mnist"), ["NoNodeFitsPodAntiAffinity"]),
        (of_app("mnist", namespaceSelector={"matchLabels": {"team": "b"}}), ["Unexplained"]),
        (of_app("mnist", matchLabelKeys=["rev"]), ["Unexplained"]),
        (of_app("mnist", "rack"), ["Unexplained"]),
    ],
)
def test_rules_of_other_pods_keep_out_whom_they_name_in_domains_that_there_are(rule: Object, found: list[str]) -> None:
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}}
    assert beside({}, other("n1", {"app": "mnist", "rev": "1"}, SPACE, affinity=apart)) == found


@pytest.mark.parametrize(
    ("address", "found"),
    [("", ["NoNodeFitsHostPort"]), ("10.0.0.1", ["NoNodeFitsHostPort"]), ("10.0.0.2", ["Unexplained"])],
)
def test_a_host_port_is_taken_on_its_address(address: str, found: list[str]) -> None:
    def ports(address: str) -> list[Object]:
        return [{"name": "tensorflow", "ports": [{"hostPort": 2222, "hostIP": address}]}]

    assert beside({"containers": ports(address)}, other("n1", {}, containers=ports("10.0.0.1"))) == found


def test_a_host_port_is_there_once_on_a_node() -> None:
    port = {"containers": [{"name": "tensorflow", "ports": [{"hostPort": 2222}]}]}
    job = tfjob(workers=3, template=port)
    answer = explained(job, group(job, 3))
    assert reasons(answer) == ["GangNeverFits"]


def test_gates_keep_pods_from_every_scheduler() -> None:
    job = tfjob(workers=1)
    gated = member(job, 0, spec={"schedulingGates": [{"name": "example.com/approval"}]})
    answer = explained(job, group(job, 1, phase="Inqueue"), gated)
    assert reasons(answer) == ["Gated"]
    assert "example.com/approval" in answer.findings[0].problem.found


def test_a_resource_that_no_node_has_is_told_with_those_that_there_are() -> None:
    other = {"containers": [{"name": "tensorflow", "resources": {"limits": {"amd.com/gpu": "1"}}}]}
    answer = waiting(other, node("a", allocatable={GPU: "4"}), node("b"))
    assert reasons(answer) == ["NoNodeFitsAbsent"]
    found = answer.findings[0]
    assert re.search(rf"amd\.com/gpu; there are {GPU}$", found.details[-1])
    assert found.problem.todo.startswith("correct the name")


def test_a_gpu_node_that_is_full_is_nearer_than_nodes_without_gpus() -> None:
    other = tfjob("other")
    busy = member(other, 0, on="gpu", spec=gpus("4"))
    job = tfjob(workers=1, template=gpus("1"))
    pod = member(job, 0, spec=gpus("1"))
    gpu = node("gpu", allocatable={GPU: "4"})
    answer = explained(job, group(job, 1, phase="Inqueue"), pod, busy, gpu)
    assert reasons(answer) == ["NoNodeFits"]
    assert answer.findings[0].problem.todo.startswith("free ")


def test_a_node_that_is_full_of_pods_takes_no_more() -> None:
    answer = waiting(None, node("a", allocatable={"pods": "1"}), node("b", allocatable={"pods": "1"}), workers=3)
    assert reasons(answer) == ["GangNeverFits"]
    found = answer.findings[0]
    for amounts in ("3 pods, 2 free", "2 of 2 nodes"):
        assert amounts in found.problem.found
    assert found.details[-1] == "a, b: 4 cpu, 1 pods free"


def test_amounts_that_read_alike_are_told_apart() -> None:
    answer = waiting(None, node("a", cpu="3990m"), cpu="3991m")
    assert re.search(r"cpu: requests 4, 4 of 4 free .*\b0\.001\b", answer.findings[0].details[0])


def two_roles(job: Object, ps: Object, workers: int) -> list[Object]:
    """One PS and some workers that ask for a GPU each, without nodes; the job gets the PS, too."""
    job["spec"]["tfReplicaSpecs"]["PS"] = {"replicas": 1, "template": {"spec": {"containers": [ps]}}}
    role = {"labels": {"training.kubeflow.org/replica-type": "ps"}, "name": "mnist-ps-0", "uid": "ps"}
    return [
        member(job, 9, spec={"containers": [ps]}, metadata=role),
        *(member(job, n, spec=gpus("1")) for n in range(workers)),
    ]


def test_pods_of_a_gang_that_may_go_anywhere_leave_gpu_nodes_to_those_that_may_not() -> None:
    """The PS is larger and comes first by name; on the GPU node it would leave no CPU to the worker."""
    job = tfjob(workers=1)
    ps = {"name": "tensorflow", "resources": {"requests": {"cpu": "3"}}}
    pods = two_roles(job, ps, 1)
    pods[1]["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "2"}
    where = [node("a", allocatable={GPU: "1"}), node("b")]
    assert reasons(explained(job, group(job, 2, phase="Inqueue"), *pods, *where, without=["n1", "n2"])) == [
        "Unexplained"
    ]


def test_a_gang_of_several_roles_that_does_not_fit_tells_what_each_asks_for() -> None:
    job = tfjob(workers=2)
    pods = two_roles(job, {"name": "tensorflow", "resources": {"requests": {"cpu": "1"}}}, 2)
    where = [node("a", allocatable={GPU: "1"}), node("b")]
    answer = explained(job, group(job, 3, phase="Inqueue"), *pods, *where, without=["n1", "n2"])
    assert reasons(answer) == ["GangNeverFits"]
    assert "1 pod of ps: 1 cpu each" in answer.findings[0].details
    assert f"2 pods of worker: 1 {GPU} each" in answer.findings[0].details


def test_an_elastic_gang_begins_with_the_pods_that_fit() -> None:
    """Two of three are enough: the large one would take the room of both small ones."""
    job = tfjob(workers=3)
    pods = [member(job, 0, cpu="3"), member(job, 1), member(job, 2)]
    one = node("a", cpu="3")
    assert reasons(explained(job, group(job, 2, phase="Inqueue"), *pods, one, without=["n1", "n2"])) == ["Unexplained"]
    assert reasons(explained(job, group(job, 3, phase="Inqueue"), *pods, one, without=["n1", "n2"])) == [
        "GangNeverFits"
    ]


def test_a_role_that_the_gang_cannot_do_without_counts_by_itself() -> None:
    job = tfjob(workers=2)
    pods = two_roles(job, {"name": "tensorflow", "resources": {"requests": {"disk.example/ssd": "1"}}}, 0)
    pods += [member(job, 0), member(job, 1)]
    minimum: Object = {"minTaskMember": {"ps": 1, "worker": 1}}
    answer = explained(job, group(job, 2, phase="Inqueue", **minimum), *pods)
    assert reasons(answer) == ["NoNodeFitsAbsent"]
    free = explained(job, group(job, 2, phase="Inqueue"), *pods)
    assert reasons(free) == ["Unexplained"]


def test_pods_without_a_gang_are_not_told_to_start_together() -> None:
    job = tfjob(workers=3, cpu="4")
    pods = [member(job, n, cpu="4", spec={"schedulerName": "default-scheduler"}) for n in range(3)]
    answer = explained(job, *pods, without=["training-operator"])
    assert reasons(answer) == ["PodsNeverFit"]
    assert "2 of the 3 pods" in answer.findings[0].problem.found
    assert "minMember" not in answer.findings[0].problem.needed


def test_pods_of_a_bare_podgroup_have_no_role_and_are_alike_all_the_same() -> None:
    job = tfjob()
    bare = group(job, 2)
    del bare["metadata"]["ownerReferences"]
    pods = [member(job, n, cpu="9", metadata={"labels": {}}) for n in range(2)]
    answer = explained(bare, *pods)
    assert reasons(answer) == ["NoNodeFitsNever"]
    assert answer.findings[0].problem.found.startswith("2 pods such as mnist-worker-0: ")


def test_a_gang_that_runs_is_not_blocked_by_what_its_further_pods_lack() -> None:
    job = tfjob(workers=3, cpu="3")
    pods = [member(job, 0, on="n1", cpu="3"), member(job, 1, on="n2", cpu="3"), member(job, 2, cpu="3")]
    answer = explained(job, group(job, 2, phase="Running"), *pods, without=["volcano-scheduler"])
    assert not answer.blocked
    found = [(item.reason, item.blocks) for item in answer.findings]
    assert found == [("SchedulerMissing", False), ("RestWaits", False)]


def crowd(cpu: str = "3") -> list[Object]:
    """Pods of another job that leave 1 CPU on each of the two nodes."""
    other = tfjob("other")
    return [group(other, phase="Running"), member(other, 0, on="n1", cpu=cpu), member(other, 1, on="n2", cpu=cpu)]


def test_a_gang_that_others_keep_from_starting_waits_and_one_that_never_fits_does_not() -> None:
    job = tfjob(workers=4, cpu="2")
    (waits,) = explained(job, group(job, 4), *crowd()[:-1]).findings
    assert waits.reason == "GangDoesNotFit"
    assert waits.problem.todo.startswith("wait ")
    (all_wait,) = explained(job, group(job, 4), *crowd()).findings
    assert all_wait.reason == "NoNodeFitsInsufficient"
    larger = tfjob(workers=5, cpu="2")
    (never,) = explained(larger, group(larger, 5), *crowd()).findings
    assert never.reason == "GangNeverFits"
    assert "0 of the 5 pods" in never.problem.found
    assert "for 4 once" in never.problem.found
    assert "wait" not in never.problem.todo


def test_pods_of_daemon_sets_do_not_end() -> None:
    job = tfjob(workers=2, cpu="3")
    around = crowd("2")
    assert reasons(explained(job, group(job, 2), *around[:-1])) == ["GangDoesNotFit"]
    around[1]["metadata"]["ownerReferences"] = [{"kind": "DaemonSet", "name": "agent", "uid": "d"}]
    assert reasons(explained(job, group(job, 2), *around[:-1])) == ["GangNeverFits"]


def test_a_gang_larger_than_all_nodes_in_one_resource_never_fits() -> None:
    job = tfjob(workers=2)
    pods = two_roles(job, {"name": "tensorflow", "resources": {"requests": {"cpu": "3"}}}, 0)
    pods += [member(job, n, cpu="3") for n in range(2)]
    where = [node("a", cpu="4"), node("b", cpu="4")]
    answer = explained(job, group(job, 3, phase="Inqueue"), *pods, *where, without=["n1", "n2"])
    assert reasons(answer) == ["GangNeverFits"]


@pytest.mark.parametrize(
    ("template", "rule"),
    [
        ({"containers": [{"name": "t", "ports": [{"hostPort": 2222}]}]}, "host port 2222"),
        (
            {
                "affinity": {
                    "podAntiAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "a"}}}
                        ]
                    }
                }
            },
            "podAntiAffinity on kubernetes.io/hostname",
        ),
    ],
)
def test_one_pod_for_each_node_takes_more_nodes_and_not_smaller_requests(template: Object, rule: str) -> None:
    job = tfjob(workers=3, template=template)
    job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["metadata"] = {"labels": {"app": "a"}}
    (found,) = explained(job, group(job, 3)).findings
    assert found.reason == "GangNeverFits"
    assert f"{rule} keeps them apart" in found.problem.found
    assert f"add nodes, change {rule}" in found.problem.todo
    assert "requests" not in found.problem.todo


def spread(key: str, **more: Any) -> Object:
    """A job of 3 workers that spread over a label of nodes."""
    rule = {
        "topologyKey": key,
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "a"}},
        **more,
    }
    job = tfjob(workers=3, template={"topologySpreadConstraints": [rule]})
    job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["metadata"] = {"labels": {"app": "a"}}
    return job


def test_nodes_without_the_label_that_pods_spread_over_take_none() -> None:
    job = spread("zone")
    (found,) = explained(job, group(job, 3)).findings
    assert found.reason == "NoNodeFitsSpreadKey"
    assert "label zone" in found.problem.found
    assert found.problem.todo.startswith("label the nodes")
    assert reasons(explained(job, group(job, 3), *zones("a", "b"))) == ["Unexplained"]
    soft = spread("zone", whenUnsatisfiable="ScheduleAnyway")
    assert reasons(explained(soft, group(soft, 3))) == ["Unexplained"]


def zones(*names: str, **more: Any) -> list[Object]:
    return [node(f"n{number}", labels={"zone": name}, **more) for number, name in enumerate(names, start=1)]


def test_a_domain_without_room_keeps_the_others_from_taking_more() -> None:
    job = spread("zone")
    full = [node("n1", labels={"zone": "a"}), node("n2", cpu="0", labels={"zone": "b"})]
    (found,) = explained(job, group(job, 3), *full).findings
    assert found.reason == "GangNeverFits"
    assert "1 of the 3 pods" in found.problem.found
    assert "topologySpreadConstraints on zone" in found.problem.found
    assert reasons(explained(spread("zone", maxSkew=3), group(job, 3), *full)) == ["Unexplained"]
    missing = spread("zone", minDomains=3)
    assert reasons(explained(missing, group(missing, 3), *zones("a", "b"))) == ["GangNeverFits"]


def test_a_spread_counts_nodes_and_pods_as_its_policies_say() -> None:
    closed = [node("n1", labels={"zone": "a"}), node("n2", taints=[TAINT], labels={"zone": "b"})]
    honours = spread("zone", nodeTaintsPolicy="Honor")
    assert reasons(explained(spread("zone"), group(honours, 3), *closed)) == ["GangNeverFits"]
    assert reasons(explained(honours, group(honours, 3), *closed)) == ["Unexplained"]
    leaving = other("n1", {"app": "a"}, SPACE, meta={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    full = [node("n1", cpu="2", labels={"zone": "a"}), node("n2", cpu="1", labels={"zone": "b"})]
    assert reasons(explained(honours, group(honours, 3), *full, leaving)) == ["Unexplained"]
    everything = spread("zone", labelSelector={})
    assert reasons(explained(everything, group(everything, 3), *closed)) == ["Unexplained"]


def test_roles_that_no_node_accepts_for_the_same_reasons_are_one_finding() -> None:
    job = tfjob(workers=2, cpu="9")
    template = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]
    job["spec"]["tfReplicaSpecs"]["PS"] = {"replicas": 1, "template": template}
    (found,) = explained(job, group(job, 3)).findings
    assert found.problem.found.startswith("2 pods of Worker, 1 pod of PS: ")


def test_a_gang_whose_pods_all_wait_is_told_where_it_waits_in_vain() -> None:
    job = tfjob(workers=5, cpu="2")
    assert reasons(explained(job, group(job, 5), *crowd())) == ["GangNeverFits"]
    assert reasons(explained(job, group(job, 4), *crowd())) == ["NoNodeFitsInsufficient"]


def test_pods_that_spread_fill_their_domains_in_turn() -> None:
    job = spread("zone")
    job["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] = 8
    assert reasons(explained(job, group(job, 8), *zones("a", "b"))) == ["Unexplained"], "4 CPUs on each node"
    job["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] = 9
    assert reasons(explained(job, group(job, 9), *zones("a", "b"))) == ["GangNeverFits"]


def test_nodes_that_the_pods_do_not_tolerate_are_named_where_the_gang_would_fit_with_them() -> None:
    closed = [node(name, cpu="8", taints=[TAINT]) for name in ("b", "c")]
    (found,) = waiting(None, node("a", cpu="1970m"), *closed, workers=3).findings
    assert found.reason == "GangNeverFits"
    for amounts in ("3 cpu, 1.9 free", "1 of 3 nodes"):
        assert amounts in found.problem.found
    assert re.match("tolerate the taint .*; or add ", found.problem.todo)
    assert re.match("b, c: .*gpu=true:NoSchedule$", found.details[-1])
    (too_few,) = waiting(None, node("a", cpu="1"), *closed, workers=20).findings
    assert too_few.problem.todo.startswith("add nodes, ")
    assert re.match("b, c: .*gpu=true:NoSchedule$", too_few.details[-1])


def test_nodes_without_the_gpus_of_a_gang_are_not_opened_by_another_template() -> None:
    where = [node("a", allocatable={GPU: "1"}), node("b", taints=[TAINT])]
    (found,) = waiting(gpus("1"), *where, workers=2).findings
    assert found.reason == "GangNeverFits"
    assert found.problem.todo.startswith("add nodes, ")
    assert re.match("b: .*gpu=true:NoSchedule; .*nvidia.com/gpu", found.details[-1])
