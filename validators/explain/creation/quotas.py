"""ResourceQuotas and LimitRanges of the namespace: do they admit all pods of the job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal

from kubeflow_volcano.cluster.objects import Object, Ref, has_ended
from kubeflow_volcano.cluster.pods.quantities import Amounts, amounts, pod_requests, readable, total
from kubeflow_volcano.text import few
from kubeflow_volcano.validators.explain.model import Finding, Role, Situation, finding

_QUOTAS = "resourcequotas"
LIMIT_RANGES = "limitranges"
_MOST_HOLDERS = 4
_Held = list[tuple[Object, Amounts]]
Defaults = tuple[Mapping[str, str], Mapping[str, str]]
"""Requests and limits of containers that set none."""
_MUST_BE_SET = frozenset({"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"})
"""What every container must set where a quota limits it; a limit alone counts as its request."""


def quotas(situation: Situation) -> Iterator[Finding]:
    """ResourceQuotas without room for the pods that do not exist yet.

    Rules: apiserver/pkg/admission/plugin/resourcequota (controller.go), and pkg/quota/v1/evaluator/core/pods.go
    (Constraints, podComputeUsageHelper) of Kubernetes, v1.22 to v1.37; resources of a whole pod (spec.resources) count
    from v1.32 on, where its gate is on.
    """
    missing = _missing(situation)
    if not missing:
        return
    each = [(_counted(with_defaults(role.template["spec"], _defaults(situation))), n) for role, n in missing.values()]
    for item in situation.facts.all(_QUOTAS):
        if item["spec"].get("scopes") or item["spec"].get("scopeSelector"):
            continue  # counts only some pods; a refusal reports it
        hard, used = amounts(item.get("status", {}).get("hard")), amounts(item.get("status", {}).get("used"))
        over = {
            name: amount
            for name, amount in total({key: held * n for key, held in one.items()} for one, n in each).items()
            if name in hard and used.get(name, Decimal(0)) + amount > hard[name]
        }
        if over:
            gang = situation.minimum - len(situation.pods)
            found = _over(Ref.of(item), over, hard, used, situation)
            yield replace(found, blocks=any(_least(name, gang, each) > hard[name] - used.get(name, 0) for name in over))
        if unset := _unset(missing, _defaults(situation), hard):
            yield finding(
                "QuotaNeedsRequests",
                f"{Ref.of(item)} limits {', '.join(sorted(unset))}, which containers of the job do not set: the API "
                "server refuses such pods.",
                needed="requests and limits for every resource that a quota of the namespace limits.",
                todo="set them in the pod template, or create a LimitRange with defaults in the namespace.",
                objects=[Ref.of(item)],
            )


def exhausted_quotas(situation: Situation, name: str) -> Iterator[Finding]:
    """ResourceQuotas that admit no further object; `name` is their name for its kind, such as `count/jobs.batch`."""
    for item in situation.facts.all(_QUOTAS):
        hard, used = amounts(item.get("status", {}).get("hard")), amounts(item.get("status", {}).get("used"))
        if name in hard and used.get(name, Decimal(0)) + 1 > hard[name]:
            yield _over(Ref.of(item), {name: Decimal(1)}, hard, used, situation)


def _over(ref: Ref, over: Amounts, hard: Amounts, used: Amounts, situation: Situation) -> Finding:
    def shown(name: str, amount: Decimal) -> str:
        return readable(name.removeprefix("requests.").removeprefix("limits."), amount)

    numbers = "; ".join(
        f"{name}: {shown(name, amount)} more needed, {shown(name, used.get(name, Decimal(0)))} of "
        f"{shown(name, hard[name])} used"
        for name, amount in over.items()
    )
    mine, others = _holders(over, situation)
    own = total(held for _, held in mine)
    never = [name for name, amount in over.items() if amount + own.get(name, Decimal(0)) > hard[name]]
    idle = [pod for pod, _ in others if not pod["spec"].get("nodeName")]
    if never:
        less = f"request less {', '.join(never)}"
    elif idle:
        waiting = few([_title(pod) for pod in idle], _MOST_HOLDERS)
        less = (
            f"see why what holds it waits for a node itself, and delete its job if it is no longer needed ({waiting})"
        )
    else:
        less = "wait until other pods end"
    return finding(
        "QuotaTooSmall",
        f"{ref} has no room for what is still to be created: {numbers}.",
        needed="room in every quota of the namespace for all pods of the job and the objects that create them.",
        todo=f"{less}, or raise the quota.",
        objects=[ref],
        commands=[f"kubectl -n {ref.namespace} describe resourcequota {ref.name}"],
        details=[
            f"{_title(pod)} holds {', '.join(f'{shown(name, amount)} {name}' for name, amount in held.items())}"
            f"{'' if pod['spec'].get('nodeName') else ' and has no node'}"
            for pod, held in [*others, *mine][:_MOST_HOLDERS]
        ],
    )


def _holders(names: Iterable[str], situation: Situation) -> tuple[_Held, _Held]:
    """The job's own pods and those of others that a quota counts for one of the names, the largest first."""
    own = {pod["metadata"]["uid"] for pod in situation.pods}
    found: tuple[_Held, _Held] = ([], [])
    for pod in situation.facts.objects.get("pods", ()):
        if pod["metadata"].get("namespace") == situation.job.ref.namespace and not has_ended(pod):
            counted = _counted(pod["spec"])
            if held := {name: counted[name] for name in names if counted.get(name)}:
                found[pod["metadata"]["uid"] not in own].append((pod, held))
    for items in found:
        items.sort(key=lambda item: max(item[1].values()), reverse=True)
    return found


def _title(pod: Object) -> str:
    owner = next(iter(pod["metadata"].get("ownerReferences") or ()), None)
    of = f" of {owner['kind']} {owner['name']}" if owner else ""
    return f"Pod {pod['metadata']['name']}{of}"


def _counted(spec: Object) -> dict[str, Decimal]:
    """What such a pod adds to a quota's usage, by the quota's names."""
    requests, limits_ = _whole(spec)
    one = {f"requests.{name}": amount for name, amount in requests.items()}
    one |= {name: requests[name] for name in ("cpu", "memory") if name in requests}
    one |= {f"limits.{name}": amount for name, amount in limits_.items()}
    return one | {"pods": Decimal(1), "count/pods": Decimal(1)}


def _unset(missing: Mapping[str, tuple[Role, int]], defaults: Defaults, hard: Amounts) -> set[str]:
    """CPU and memory entries of the quota that some container does not set."""
    unset: set[str] = set()
    for role, _ in missing.values():
        spec = with_defaults(role.template["spec"], defaults)
        if any((spec.get("resources") or {}).values()):
            continue  # then no container has to (IsPodLevelResourcesSet)
        for container in (*spec["containers"], *spec["initContainers"]):
            given = container["resources"]
            known = {f"{kind}.{name}" for kind in ("requests", "limits") for name in given[kind]} | {*given["requests"]}
            unset |= {name for name in hard if name in _MUST_BE_SET and name not in known}
    return unset


def _least(name: str, count: int, each: Iterable[tuple[Amounts, int]]) -> Decimal:
    """What so many pods add at least: those of a gang start without the others that a quota refuses."""
    smallest = sorted(one.get(name, Decimal(0)) for one, number in each for _ in range(number))
    return sum(smallest[: max(count, 0)], Decimal(0))


def _missing(situation: Situation) -> Mapping[str, tuple[Role, int]]:
    """Roles that still lack pods, each with how many, by name."""
    missing = situation.job.wanted - len(situation.pods)
    if missing <= 0:
        return {}
    if not situation.pods:
        return {role.name: (role, role.replicas) for role in situation.job.roles if role.replicas}
    # Not every kind shows which ones are missing: the last roles are counted instead.
    found: dict[str, tuple[Role, int]] = {}
    for role in reversed(situation.job.roles):
        count = min(role.replicas, missing)
        if count:
            found[role.name] = (role, count)
        missing -= count
    return found


def _whole(spec: Object) -> tuple[Amounts, Amounts]:
    """Requests and limits of the pod: its own where it has some, else those of its containers."""
    own = spec.get("resources") or {}
    ceilings = amounts(own.get("limits"))
    requests = {**ceilings, **pod_requests(spec), **amounts(own.get("requests"))}
    return requests, {**pod_requests(_only_limits(spec)), **ceilings}


def _only_limits(spec: Object) -> Object:
    def cut(items: list[Object] | None) -> list[Object]:
        return [
            {**item, "resources": {"requests": (item.get("resources") or {}).get("limits") or {}}}
            for item in items or ()
        ]

    return {"containers": cut(spec.get("containers")), "initContainers": cut(spec.get("initContainers"))}


def _defaults(situation: Situation) -> Defaults:
    return default_resources(situation.facts.objects.get(LIMIT_RANGES, ()))


def default_resources(ranges: Iterable[Object]) -> Defaults:
    """Default requests and limits of containers by the LimitRanges of a namespace."""
    items = [limit for item in ranges for limit in item["spec"].get("limits") or () if limit.get("type") == "Container"]
    requests = {name: text for item in items for name, text in (item.get("defaultRequest") or {}).items()}
    ceilings = {name: text for item in items for name, text in (item.get("default") or {}).items()}
    return {**ceilings, **requests}, ceilings


def with_defaults(spec: Object, defaults: Defaults) -> Object:
    """The spec of a pod whose containers have the defaults for what they do not set."""
    requests, ceilings = defaults

    def fill(container: Object) -> Object:
        own = container.get("resources") or {}
        limit = {**ceilings, **(own.get("limits") or {})}
        request = {**requests, **(own.get("limits") or {}), **(own.get("requests") or {})}
        return {**container, "resources": {"limits": limit, "requests": request}}

    return {**spec, **{key: [fill(item) for item in spec.get(key) or ()] for key in ("containers", "initContainers")}}


def limit_ranges(situation: Situation) -> Iterator[Finding]:
    """Containers that a LimitRange of the namespace does not admit.

    Rule: PodValidateLimitFunc of plugin/pkg/admission/limitranger of Kubernetes, v1.22 to v1.37.
    """
    if not _missing(situation):
        return
    for item in situation.facts.all(LIMIT_RANGES):
        for limit in item["spec"].get("limits") or ():
            for role in situation.job.roles:
                for text in _outside(limit, with_defaults(role.template["spec"], _defaults(situation))):
                    yield finding(
                        "OutsideLimits",
                        f"{Ref.of(item)} does not admit pods of {role.name}: {text}.",
                        needed="requests and limits within every LimitRange of the namespace.",
                        todo="change the resources in the pod template, or change the LimitRange.",
                        objects=[Ref.of(item)],
                    )


def _outside(limit: Object, spec: Object) -> Iterator[str]:
    if limit.get("type") == "Pod":
        yield from _beyond(limit, "the pod", *_whole(spec))
    elif limit.get("type") == "Container":
        for container in spec.get("containers") or ():
            resources = container["resources"]
            asked, ceiling = amounts(resources.get("requests")), amounts(resources.get("limits"))
            yield from _beyond(limit, f"container {container['name']}", asked, ceiling)


def _beyond(limit: Object, who: str, asked: Amounts, ceiling: Amounts) -> Iterator[str]:
    for name, least in amounts(limit.get("min")).items():
        if asked.get(name, Decimal(0)) < least:
            yield f"{who} requests {readable(name, asked.get(name, Decimal(0)))} {name}, min {readable(name, least)}"
    for name, most in amounts(limit.get("max")).items():
        if name not in ceiling or ceiling[name] > most:
            found = f"a limit of {readable(name, ceiling[name])}" if name in ceiling else "no limit of"
            yield f"{who} has {found} {name}, max {readable(name, most)}"
    for name, ratio in amounts(limit.get("maxLimitRequestRatio")).items():
        if asked.get(name) and name in ceiling and ceiling[name] / asked[name] > ratio:
            yield f"{who} has a {name} limit of more than {ratio} times its request"
