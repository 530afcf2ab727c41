"""Volcano and ResourceClaims: whether its scheduler looks at them at all.

Rules: plugin predicates of pkg/scheduler/plugins. Volcano before 1.12 has no code for claims. From 1.12 on its argument
predicate.DynamicResourceAllocationEnable decides, which is off unless it is set; from 1.15 on the feature gate
DynamicResourceAllocation is its default, which Kubernetes 1.35 locks to on. In 1.12 and 1.13 that gate is off unless it
is set (Kubernetes 1.32 and 1.33), and the plugin does nothing without it; v1.8.0 to v1.15.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.explain.model import VOLCANO, Finding, Situation, finding
from kubeflow_volcano.validators.explain.placement.dynamic_resources import entries, is_allocated
from kubeflow_volcano.validators.explain.scheduling.volcano import configuration, older
from kubeflow_volcano.validators.reading.devices import CLAIMS
from kubeflow_volcano.validators.subjects.gang.scheduler_configuration import flags, version

_ARGUMENT, _GATE = "predicate.DynamicResourceAllocationEnable", "DynamicResourceAllocation"
_SINCE, _GATE_ON_SINCE, _ON_SINCE = "1.12.0", "1.14.0", "1.15.0"


def claims_ignored(situation: Situation) -> Iterator[Finding]:
    """Pods with claims that Volcano places as if they had none; the kubelet does not start them."""
    pods = [pod for pod in situation.pods if pod["spec"].get("schedulerName") == VOLCANO and any(entries(pod))]
    if not pods:
        return
    facts, place = situation.facts, situation.facts.expectations.scheduler
    running = version(facts)
    if any(_has_devices(pod, facts) for pod in situation.placed):  # whatever its version says, it works
        return
    if lacking := _lacking(facts, running):
        yield finding(
            "ClaimsIgnored",
            f"Volcano {running} ignores the ResourceClaims of pods here: {lacking[0]}. It places them wherever the "
            "rest of their requests fits, and the kubelet starts no pod whose claims have no devices.",
            needed="a scheduler that gives claims their devices.",
            todo=f"{lacking[1]}; or request the devices as resources of a device plugin.",
            objects=[Ref.of(pods[0]), place],
            commands=[f"kubectl -n {place.namespace} get deployment {place.name} -o yaml"],
        )


def _has_devices(pod: Object, facts: Facts) -> bool:
    claims = (facts.get(CLAIMS, pod["metadata"]["namespace"], item.claim) for item in entries(pod) if item.claim)
    return any(claim and is_allocated(claim) for claim in claims)


def _lacking(facts: Facts, running: str) -> tuple[str, str] | None:
    """What Volcano lacks for claims, and what to do; None where it lacks nothing, or its version is unknown."""
    chosen = configuration(facts)
    if not running or chosen is None:
        return None
    if older(running, _SINCE):
        return f"only {_SINCE} and later know them", "upgrade Volcano to 1.15 or later, which has this switched on"
    arguments = chosen.plugins.get("predicates", {}).get("arguments") or {}
    switch = arguments.get(_ARGUMENT, not older(running, _ON_SINCE))
    if "predicates" not in chosen.plugins:
        return "its configuration lacks the plugin predicates", "add the plugin predicates to a tier"
    if str(switch).lower() not in {"true", "1", "t"}:
        return f"{_ARGUMENT} is not true", f"set the argument {_ARGUMENT}: true of the plugin predicates"
    gates = dict(item.partition("=")[::2] for item in flags(facts).get("--feature-gates", "").split(","))
    if gates.get(_GATE, str(not older(running, _GATE_ON_SINCE))).lower() != "true":
        return f"its feature gate {_GATE} is off", f"start the scheduler with --feature-gates={_GATE}=true"
    return None
