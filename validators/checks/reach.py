"""Family A: is the API server there and of the right age, and are there nodes to work with."""

from __future__ import annotations

from decimal import Decimal

from kubernetes.utils.quantity import parse_quantity

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.readiness import State, assess
from validators.facts import Facts
from validators.model import Outcome, Rule, Severity, check, errored, failed, passed, warned

__all__ = ["CHECKS"]

API_SERVER = Ref("v1", "Service", "default", "kubernetes")

# What the gang smoke test asks for at most (checks.md, 4.4): less than this free, and it cannot tell anything.
_NEED_CPU, _NEED_MEMORY = "200m", "400Mi"


@check("A1", "api-server", severity=Severity.BLOCKER)
def api_server(facts: Facts) -> Outcome:
    """The API server is ready and its version fits the release.

    /readyz must answer ok three times in a row, and the server's minor version must lie within the range that the
    chosen Kubeflow release was tested with. Choose a release that fits the server, or upgrade the server.
    """
    facts.demand("readyz")
    bounds = facts.expectations.kubernetes
    release = facts.expectations.release
    expected = f"/readyz answers ok 3 times; Kubernetes {bounds} for Kubeflow {release}"
    observed = {"server_version": facts.server_version, "readyz": list(facts.ready_answers)}
    sick = [answer for answer in facts.ready_answers if answer != "ok"]
    if sick:
        return failed(
            "NotReady",
            f"{len(sick)} of {len(facts.ready_answers)} answers of /readyz were not ok: {sick[0]}",
            expected=expected,
            observed=observed,
            objects=(API_SERVER,),
            todo="see which part of the API server is not ready.",
            commands=("kubectl get --raw '/readyz?verbose'",),
        )
    if not bounds.covers(facts.server_version):
        return failed(
            "VersionOutsideRange",
            f"Kubeflow {release} was tested on Kubernetes {bounds}, the server is {facts.server_version}.",
            expected=expected,
            observed=observed,
            objects=(API_SERVER,),
            todo="choose a release that fits (--release), or another Kubernetes version.",
        )
    message = f"/readyz answered ok {len(facts.ready_answers)} times; {facts.server_version} lies within {bounds}."
    return passed(message, objects=(API_SERVER,), observed=observed)


@check("A4", "nodes", severity=Severity.BLOCKER, needs=(Rule("list", "", "nodes"), Rule("list", "", "pods")))
def nodes(facts: Facts) -> Outcome:
    """Every node is healthy and one at least takes pods.

    Ready, no pressure on memory, disk or processes, network available; the nodes that take pods must have room for
    the probes. `kubectl describe node` names the condition and its cause; `kubectl uncordon` lets a node take pods.
    """
    all_nodes = facts.all("nodes")
    states = {item["metadata"]["name"]: assess(item) for item in all_nodes}
    sick = [name for name, state in states.items() if state.state is not State.READY]
    names = ", ".join(sick)
    if sick or not all_nodes:
        return failed(
            states[sick[0]].reason if sick else "NoNodes",
            " ".join(states[name].message for name in sick) or "the cluster has no node.",
            expected="every node Ready without pressure, at least one node",
            observed={name: states[name].reason for name in sick},
            objects=tuple(Ref.of(item) for item in all_nodes if item["metadata"]["name"] in sick),
            todo="repair what the node's condition names." if sick else "join a node.",
            commands=tuple(f"kubectl describe node {name}" for name in sick),
        )
    cordoned = [item["metadata"]["name"] for item in all_nodes if item["spec"].get("unschedulable")]
    taking = [item for item in all_nodes if not item["spec"].get("unschedulable")]
    refs = tuple(Ref.of(item) for item in all_nodes)
    names = ", ".join(cordoned)
    commands = tuple(f"kubectl uncordon {name}" for name in cordoned)
    if not taking:
        return failed(
            "AllCordoned",
            f"all {len(all_nodes)} nodes are cordoned: {names}.",
            expected="at least one node that takes pods",
            objects=refs,
            todo="uncordon a node.",
            commands=commands,
        )
    if short := _short_of_room(taking, facts):
        return short
    if cordoned:
        return warned(
            "Cordoned",
            f"{len(cordoned)} of {len(all_nodes)} nodes are cordoned: {names}.",
            expected="no cordoned node",
            objects=tuple(ref for ref in refs if ref.name in cordoned),
            todo="uncordon them when their maintenance is over.",
            commands=commands,
        )
    simulated = len(facts.simulated_nodes)
    told = f", {simulated} of them simulated" if simulated else ""
    return passed(f"{len(all_nodes)} nodes are Ready and take pods{told}.", objects=refs)


def _short_of_room(taking: list[Object], facts: Facts) -> Outcome | None:
    names = {item["metadata"]["name"] for item in taking}
    try:
        free = {
            resource: sum(parse_quantity(item["status"].get("allocatable", {}).get(resource, "0")) for item in taking)
            - sum(_requested(pod, resource) for pod in facts.all("pods") if pod["spec"].get("nodeName") in names)
            for resource in ("cpu", "memory")
        }
    except ValueError as error:
        return errored("BadQuantity", f"a quantity cannot be read: {error}.", todo="correct the object that states it.")
    if free["cpu"] >= parse_quantity(_NEED_CPU) and free["memory"] >= parse_quantity(_NEED_MEMORY):
        return None
    return failed(
        "NoRoom",
        f"the nodes that take pods have {free['cpu']} CPU and {free['memory']} bytes of memory left to request.",
        expected=f"at least {_NEED_CPU} CPU and {_NEED_MEMORY} memory",
        observed={"free_cpu": str(free["cpu"]), "free_memory_bytes": str(free["memory"])},
        objects=tuple(Ref.of(item) for item in taking),
        todo="remove pods or add a node.",
    )


def _requested(pod: Object, resource: str) -> Decimal:
    if pod["status"].get("phase") in {"Succeeded", "Failed"}:
        return Decimal(0)
    requests = (item.get("resources", {}).get("requests", {}) for item in pod["spec"]["containers"])
    return sum((parse_quantity(item.get(resource, "0")) for item in requests), Decimal(0))


CHECKS = (api_server, nodes)
