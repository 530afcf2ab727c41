"""Quotas and limits of the namespace: is there room for all pods of the job, and is each admitted.

Rules: plugin/pkg/admission/resourcequota and limitranger of Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.pods.quantities import Amounts, amounts, pod_requests, readable, total
from validators.explain.model import Finding, Role, Situation, finding

__all__ = ["limits", "no_more", "quota"]

_QUOTAS, _LIMITS = "resourcequotas", "limitranges"
_MUST_BE_SAID = frozenset({"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"})
"""What every container has to say where a quota limits it; a limit alone counts as its request."""


def quota(situation: Situation) -> Iterator[Finding]:
    """Quotas of the namespace that have no room for the pods that do not exist yet."""
    unmade = _unmade(situation)
    if not unmade:
        return
    asked = _asked(unmade, situation)
    for item in situation.facts.all(_QUOTAS):
        if item["spec"].get("scopes") or item["spec"].get("scopeSelector"):
            continue  # counts only some pods; a refusal says so itself
        hard, used = amounts(item.get("status", {}).get("hard")), amounts(item.get("status", {}).get("used"))
        over = {
            name: amount
            for name, amount in asked.items()
            if name in hard and used.get(name, Decimal(0)) + amount > hard[name]
        }
        if over:
            yield _over(Ref.of(item), over, hard, used)
        if silent := _silent(unmade, _defaults(situation), hard):
            yield finding(
                "QuotaNeedsRequests",
                f"{Ref.of(item)} limits {', '.join(sorted(silent))}, and containers of the job say nothing of it: such "
                "pods are refused.",
                needed="requests and limits for all that a quota of the namespace limits.",
                todo="set them in the pod template, or give the namespace a LimitRange with defaults.",
                objects=[Ref.of(item)],
            )


def no_more(situation: Situation, name: str) -> Iterator[Finding]:
    """Quotas of the namespace that let no more objects of one kind in, by the quota's name for them."""
    for item in situation.facts.all(_QUOTAS):
        hard, used = amounts(item.get("status", {}).get("hard")), amounts(item.get("status", {}).get("used"))
        if name in hard and used.get(name, Decimal(0)) + 1 > hard[name]:
            yield _over(Ref.of(item), {name: Decimal(1)}, hard, used)


def _over(ref: Ref, over: Amounts, hard: Amounts, used: Amounts) -> Finding:
    def shown(name: str, amount: Decimal) -> str:
        return readable(name.removeprefix("requests.").removeprefix("limits."), amount)

    numbers = "; ".join(
        f"{name}: {shown(name, amount)} more wanted, {shown(name, used.get(name, Decimal(0)))} of "
        f"{shown(name, hard[name])} used"
        for name, amount in over.items()
    )
    never = [name for name, amount in over.items() if amount > hard[name]]
    todo = f"ask for less {', '.join(never)}, or have the quota raised." if never else "let others end, or raise it."
    return finding(
        "QuotaTooSmall",
        f"{ref} has no room for what is still to be made: {numbers}.",
        needed="room in every quota of the namespace for all pods of the job, and for what they are made from.",
        todo=todo,
        objects=[ref],
        commands=[f"kubectl -n {ref.namespace} describe resourcequota {ref.name}"],
    )


def _silent(
    unmade: Mapping[str, tuple[Role, int]], defaults: tuple[Mapping[str, str], Mapping[str, str]], hard: Amounts
) -> set[str]:
    """Names of the quota for CPU and memory that some container leaves out."""
    found: set[str] = set()
    for role, _ in unmade.values():
        spec = _filled(role.template["spec"], defaults)
        for container in (*spec["containers"], *spec["initContainers"]):
            said = container["resources"]
            known = {f"{kind}.{name}" for kind in ("requests", "limits") for name in said[kind]} | {*said["requests"]}
            found |= {name for name in hard if name in _MUST_BE_SAID and name not in known}
    return found


def _unmade(situation: Situation) -> Mapping[str, tuple[Role, int]]:
    """Roles with fewer pods than replicas, by name; only where no pod or a known number of them is there."""
    missing = situation.job.wanted - len(situation.pods)
    if missing <= 0:
        return {}
    if not situation.pods:
        return {role.name: (role, role.replicas) for role in situation.job.roles if role.replicas}
    # Which are missing does not show in every kind; the last ones stand for them.
    found: dict[str, tuple[Role, int]] = {}
    for role in reversed(situation.job.roles):
        count = min(role.replicas, missing)
        if count:
            found[role.name] = (role, count)
        missing -= count
    return found


def _asked(unmade: Mapping[str, tuple[Role, int]], situation: Situation) -> dict[str, Decimal]:
    """What the pods will count for, in the names of a quota."""
    defaults = _defaults(situation)
    sums: list[Amounts] = []
    for role, count in unmade.values():
        spec = _filled(role.template["spec"], defaults)
        requests, limits_ = pod_requests(spec), pod_requests(_only_limits(spec))
        one = {f"requests.{name}": amount for name, amount in requests.items()}
        one |= {name: requests[name] for name in ("cpu", "memory") if name in requests}
        one |= {f"limits.{name}": amount for name, amount in limits_.items()}
        one |= {"pods": Decimal(1), "count/pods": Decimal(1)}
        sums.append({name: amount * count for name, amount in one.items()})
    return total(sums)


def _only_limits(spec: Object) -> Object:
    def cut(items: list[Object] | None) -> list[Object]:
        return [
            {**item, "resources": {"requests": (item.get("resources") or {}).get("limits") or {}}}
            for item in items or ()
        ]

    return {"containers": cut(spec.get("containers")), "initContainers": cut(spec.get("initContainers"))}


def _defaults(situation: Situation) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Requests and limits that a LimitRange gives to containers without any."""
    items = [
        limit
        for item in situation.facts.objects.get(_LIMITS, ())
        for limit in item["spec"].get("limits") or ()
        if limit.get("type") == "Container"
    ]
    requests = {name: text for item in items for name, text in (item.get("defaultRequest") or {}).items()}
    ceilings = {name: text for item in items for name, text in (item.get("default") or {}).items()}
    return {**ceilings, **requests}, ceilings


def _filled(spec: Object, defaults: tuple[Mapping[str, str], Mapping[str, str]]) -> Object:
    requests, ceilings = defaults

    def fill(container: Object) -> Object:
        own = container.get("resources") or {}
        limit = {**ceilings, **(own.get("limits") or {})}
        request = {**requests, **(own.get("limits") or {}), **(own.get("requests") or {})}
        return {**container, "resources": {"limits": limit, "requests": request}}

    return {**spec, **{key: [fill(item) for item in spec.get(key) or ()] for key in ("containers", "initContainers")}}


def limits(situation: Situation) -> Iterator[Finding]:
    """Containers that a LimitRange of the namespace does not admit."""
    if not _unmade(situation):
        return
    for item in situation.facts.all(_LIMITS):
        for limit in item["spec"].get("limits") or ():
            for role in situation.job.roles:
                for text in _outside(limit, _filled(role.template["spec"], _defaults(situation))):
                    yield finding(
                        "OutsideLimits",
                        f"{Ref.of(item)} does not admit pods of {role.name}: {text}.",
                        needed="requests and limits inside every LimitRange of the namespace.",
                        todo="change resources in the pod template, or have the LimitRange changed.",
                        objects=[Ref.of(item)],
                    )


def _outside(limit: Object, spec: Object) -> Iterator[str]:
    if limit.get("type") == "Pod":
        yield from _beyond(limit, "the pod", pod_requests(spec), pod_requests(_only_limits(spec)))
    elif limit.get("type") == "Container":
        for container in spec.get("containers") or ():
            resources = container["resources"]
            asked, ceiling = amounts(resources.get("requests")), amounts(resources.get("limits"))
            yield from _beyond(limit, f"container {container['name']}", asked, ceiling)


def _beyond(limit: Object, who: str, asked: Amounts, ceiling: Amounts) -> Iterator[str]:
    for name, least in amounts(limit.get("min")).items():
        if asked.get(name, Decimal(0)) < least:
            yield f"{who} asks for {readable(name, asked.get(name, Decimal(0)))} {name}, min {readable(name, least)}"
    for name, most in amounts(limit.get("max")).items():
        if name not in ceiling or ceiling[name] > most:
            found = readable(name, ceiling[name]) if name in ceiling else "no"
            yield f"{who} has {found} {name} as limit, max {readable(name, most)}"
    for name, ratio in amounts(limit.get("maxLimitRequestRatio")).items():
        if asked.get(name) and name in ceiling and ceiling[name] / asked[name] > ratio:
            yield f"{who} has a {name} limit more than {ratio} times its request"
