"""NPUs of Ascend where the vendor's plugin of Volcano places them: numbers that a machine can give, and HCCS rings.

Rules: judgeNodeAndTaskNPU and initSelectNodeInf of internal/ascend910/asend910old/module910x8/task.go and node.go of
ascend-for-volcano, v3.0.0 to v5.0.0-RC3, and get910CardHandlerName of internal/npu/factory.go in MindCluster, which has
it since: on machines with accelerator-type module, also where a job names none, a pod gets 1, 2 or 4 NPUs of one ring
of four, or all 8. Versions from 26.0 on are not judged: they have policies of jobs for that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.pods.quantities import pod_requests
from kubeflow_volcano.cluster.volcano import VENDORS
from kubeflow_volcano.text import counted, few
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.explain.model import VOLCANO, Finding, Situation, finding
from kubeflow_volcano.validators.explain.placement.filters import refusals
from kubeflow_volcano.validators.explain.placement.nodes import Node, nodes_with_pods
from kubeflow_volcano.validators.explain.placement.pod_sets import wish_of
from kubeflow_volcano.validators.explain.scheduling.volcano import configuration

_NPU, _KIND = "huawei.com/Ascend910", "accelerator-type"
_MODULE, _RING, _ALL = "module", 4, 8
_POLICY = "huawei.com/schedule_policy"
_WITH_POLICIES = 26
_ID = re.compile(r"Ascend910-(\d+)")
_COMMANDS = (f"kubectl get nodes -L {_KIND},servertype",)


def npus(situation: Situation) -> Iterator[Finding]:
    """A number of NPUs that the plugin refuses for a pod, and nodes whose free ones are not in one ring."""
    if not _is_judged(situation.facts):
        return
    asking = [pod for pod in situation.unplaced if _number(pod) and _kind(pod, situation) == _MODULE]
    wrong = [pod for pod in asking if _number(pod) not in {1, 2, _RING, _ALL}]
    if wrong:
        yield finding(
            "NpuNumber",
            f"{counted(len(wrong), 'pod')} of the gang request {_number(wrong[0])} {_NPU}: on machines with two HCCS "
            "rings of 4 the vendor's plugin refuses the whole job.",
            needed=f"1, 2, 4 or 8 {_NPU} for a pod.",
            todo=f"request such a number, or name other machines by nodeSelector {_KIND}.",
            objects=[Ref.of(pod) for pod in wrong],
            commands=_COMMANDS,
        )
        return
    nodes = nodes_with_pods(situation.facts)
    for pod in asking[:1]:
        wish = wish_of(pod, situation)
        homes = [node for node in nodes if not refusals(wish, node, nodes)]
        free = {node.name: _free_by_ring(node) for node in homes}
        if homes and all(rings and not _fits(_number(pod), rings) for rings in free.values()):
            lines = [f"{name} has {' and '.join(map(str, rings or ()))} free" for name, rings in sorted(free.items())]
            yield finding(
                "NpuTopology",
                f"{Ref.of(pod)} requests {_number(pod)} {_NPU} of one HCCS ring, and no node has as many free in one "
                f"(as computed from the annotations of pods): {few(lines)}.",
                needed="all 8 of a node, free." if _number(pod) == _ALL else f"{_number(pod)} free NPUs of one ring.",
                todo="wait until other pods end, or request fewer NPUs for a pod.",
                objects=[Ref.of(pod)],
                commands=_COMMANDS,
            )


def _is_judged(facts: Facts) -> bool:
    """Whether the scheduler has the plugin, in a version whose rules are known."""
    chosen = None if facts.unread.keys() & {"deployments.apps", "configmaps"} else configuration(facts)
    names = [VENDORS.match(name) for name in (chosen.plugins if chosen else ())]
    versions = [re.match(r"\d+", name["version"] or "") for name in names if name]
    return any(found and int(found[0]) < _WITH_POLICIES for found in versions)


def _number(pod: Object) -> int:
    return int(pod_requests(pod["spec"]).get(_NPU, 0)) if pod["spec"].get("schedulerName") == VOLCANO else 0


def _kind(pod: Object, situation: Situation) -> str:
    """The kind of machine that the plugin takes for the pod; empty where a policy decides."""
    for holder in (situation.group or {}, pod):
        if _POLICY in ((holder.get("metadata") or {}).get("annotations") or {}):
            return ""
    return str((pod["spec"].get("nodeSelector") or {}).get(_KIND, _MODULE))


def _free_by_ring(node: Node) -> tuple[int, int] | None:
    """Free NPUs of each ring; None where it is not such a machine, or pods do not say of all that are in use."""
    told = [str((pod["metadata"].get("annotations") or {}).get(_NPU) or "") for pod in node.pods]
    used = {int(number) for text in told for number in _ID.findall(text)}
    known = len(used) == node.used.get(_NPU, 0) and used <= {*range(_ALL)}
    if not known or node.allocatable.get(_NPU) != _ALL or node.labels.get(_KIND, _MODULE) != _MODULE:
        return None
    left = sum(number < _RING for number in used)
    return _RING - left, _RING - (len(used) - left)


def _fits(number: int, rings: tuple[int, int]) -> bool:
    return sum(rings) == _ALL if number == _ALL else max(rings) >= number
