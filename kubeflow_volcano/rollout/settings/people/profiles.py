"""Teams: `kubeflow_profiles`, each a profile with contributors, a ResourceQuota, a queue of Volcano, a priority class.

Rules: kfam/bindings.go of kubeflow/kubeflow v1.6.1 to v1.10.0 (names of bindings), pkg/quota/v1/evaluator/core of
Kubernetes (what a ResourceQuota counts by which name).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from kubeflow_volcano.catalog.gangs import VOLCANO
from kubeflow_volcano.catalog.operator import writes_default_queue
from kubeflow_volcano.catalog.schedulers import reads_queue_of_namespace
from kubeflow_volcano.cluster.pods.quantities import Amounts, amounts
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.settings.people.component import validate_component
from kubeflow_volcano.rollout.settings.queue_states import QueueState, wanted_states
from kubeflow_volcano.rollout.settings.user import UserSettings
from kubeflow_volcano.rollout.settings.volcano import SchedulingSettings, quantities

PROFILES = "profiles"
"""The component with the profile controller, whose part of a roll-out has the teams."""

_FIRST = "user-namespace"
_DEFAULT = "default"
"""The queue that Volcano makes itself."""
_SHARES = ("guarantee", "deserved", "capability")
_PLAIN = frozenset({"cpu", "memory", "ephemeral-storage"})
"""Resources that a ResourceQuota counts under their own name, too, which means their requests."""
_QUALIFIED = re.compile(r"(requests\.[^/]+|count|[^/]+\.storageclass\.storage\.k8s\.io)/.+")
"""Names with a slash by which a ResourceQuota counts anything."""
_SIDES = ("requests", "limits")
_DEFAULTS = {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}}
"""What containers get that say nothing of a resource which the quota counts."""


@dataclass(frozen=True, slots=True)
class Contributor:
    """A user who may work in a team's namespace; `role` is admin, edit or view."""

    user: str
    role: str = "edit"

    @property
    def binding(self) -> str:
        """The name that Kubeflow's access management gives to the binding."""
        return re.sub(r"[^a-z0-9]+", "-", f"user-{self.user}-clusterrole-{self.role}".lower())


@dataclass(frozen=True, slots=True)
class Profile:
    """A team: a profile and what is in its namespace, which has its name.

    `quota` is `hard` of a ResourceQuota. `container_defaults` are requests and limits of containers that have none;
    None follows from the quota. `queue` has fields of a queue of Volcano, and `name` if it is not the profile's; None
    leaves jobs in the queue default. `priority_class` likewise.
    """

    name: str
    owner: str
    contributors: tuple[Contributor, ...] = ()
    quota: Mapping[str, Any] = field(default_factory=dict)
    container_defaults: Mapping[str, Mapping[str, Any]] | None = None
    queue: Mapping[str, Any] | None = None
    priority_class: Mapping[str, Any] | None = None


def queue_of(profile: Profile) -> str:
    """The name of its queue; empty without one."""
    return "" if profile.queue is None else str(profile.queue.get("name", profile.name))


def priority_class_of(profile: Profile) -> str:
    """The name of its priority class; empty without one."""
    return "" if profile.priority_class is None else str(profile.priority_class.get("name", profile.name))


def counted_amounts(profile: Profile) -> dict[str, frozenset[str]]:
    """The resources of which a container has to name requests or limits, because the quota counts them.

    Rule: Constraints of the pod evaluator, pkg/quota/v1/evaluator/core of Kubernetes.
    """
    names = {name if "." in name else f"requests.{name}" for name in profile.quota}
    return {
        side: found
        for side, known in _DEFAULTS.items()
        if (found := frozenset(item for item in known if f"{side}.{item}" in names))
    }


def container_defaults_of(profile: Profile) -> dict[str, dict[str, str]]:
    """Requests and limits of containers that have none, without empty ones; a limit is a request, too, if none is.

    Rule: SetDefaults_LimitRangeItem, pkg/apis/core/v1 of Kubernetes.
    """
    if profile.container_defaults is None:
        given = {
            side: {item: _DEFAULTS[side][item] for item in sorted(items)}
            for side, items in counted_amounts(profile).items()
        }
    else:
        given = {side: quantities(items) for side in _SIDES if (items := profile.container_defaults.get(side))}
    if limits := given.get("limits"):
        given["requests"] = {**limits, **given.get("requests", {})}
    return given


def refused_without(profile: Profile) -> dict[str, list[str]]:
    """What each container has to name in this profile: counted by the quota, and without a default."""
    made = container_defaults_of(profile)
    left = {side: sorted(items - made.get(side, {}).keys()) for side, items in counted_amounts(profile).items()}
    return {side: items for side, items in left.items() if items}


def with_queues_of(
    scheduling: SchedulingSettings, profiles: Sequence[Profile], existing: Collection[str]
) -> SchedulingSettings:
    """The settings with the queues that only profiles declare; with a Volcano of others there are none."""
    declared = {item["name"] for item in scheduling.queues}
    made: dict[str, Mapping[str, Any]] = {}
    for item in profiles:
        name, fields = queue_of(item), _fields(item)
        if name and VOLCANO.name not in existing and name not in declared and (fields or name != _DEFAULT):
            made[name] = {**made.get(name, {}), **fields, "name": name}
    return replace(scheduling, queues=(*scheduling.queues, *made.values()), of_profiles=tuple(made))


def gives_queues(version: str, existing: Collection[str], operator: str) -> bool:
    """Whether Volcano of that version, if it is not one of others, gives jobs, of operators too, their team's queue.

    `operator` is the version of the training operator; empty without one.
    """
    return _reads_queues(version, existing) and not writes_default_queue(operator)


def _reads_queues(version: str, existing: Collection[str]) -> bool:
    return VOLCANO.name not in existing and reads_queue_of_namespace(version)


def queue_advice(
    profiles: Sequence[Profile], version: str, existing: Collection[str] = (), operator: str = "", *, by_policy: bool
) -> Iterator[str]:
    """What people in teams with a queue have to know; nothing without queues.

    Args:
        profiles: all teams.
        version: of Volcano.
        existing: components of others.
        operator: the version of the training operator; empty without one.
        by_policy: whether the API server gives jobs the queue of their team, by a policy of the roll-out.
    """
    teams = [f"{item.name} ({queue_of(item)})" for item in profiles if queue_of(item)]
    if not teams:
        return
    if by_policy:
        yield f"jobs that name no queue, or the queue default, get that of their team: {', '.join(teams)}"
    elif _reads_queues(version, existing):
        others = "Volcano's own Job has"
        if writes_default_queue(operator):
            others = (
                f"jobs of the training operator {operator}, which writes default itself, and Volcano's own Job have"
            )
        yield f"jobs that name no queue get that of their team: {', '.join(teams)}; {others} to name it"
    else:
        which = "a Volcano of others" if VOLCANO.name in existing else f"Volcano {version}"
        yield (
            f"{which} does not give jobs the queue of their team: {', '.join(teams)}. Jobs that name no queue are in "
            "the queue default"
        )


def validate_profiles(
    profiles: Sequence[Profile],
    scheduling: SchedulingSettings,
    first: UserSettings,
    *,
    chosen: Collection[str],
    existing: Collection[str],
    gang_scheduler: str,
) -> Iterator[Problem]:
    """Problems of the teams with these components; `scheduling` has no queues of profiles."""
    if not profiles:
        return
    yield from validate_component("kubeflow_profiles", PROFILES, "whose controller makes the namespaces", chosen)
    for name, count in Counter(item.name for item in profiles).items():
        if count > 1:
            yield Problem(f"kubeflow_profiles names {name} {count} times.", "every name once.", "rename or remove one.")
        if name == first.namespace and _FIRST in chosen:
            yield Problem(
                f"kubeflow_profiles names {name}, the first user's profile.",
                "other names: the first user's profile follows from kubeflow_user_email and kubeflow_user_namespace.",
                f"set kubeflow_user_namespace to another name, exclude {_FIRST}, or rename the profile.",
            )
    for item in profiles:
        yield from _validate_contributors(item)
        yield from _validate_quota(item)
        yield from _validate_container_defaults(item)
    yield from _validate_priority_classes(profiles, scheduling)
    queued = [item for item in profiles if item.queue is not None]
    if queued and (problem := _no_volcano(queued, chosen, existing, gang_scheduler)):
        yield problem
        return
    yield from _validate_queues(queued, scheduling, theirs=VOLCANO.name in existing)


def _validate_contributors(item: Profile) -> Iterator[Problem]:
    for name, count in Counter(other.binding for other in item.contributors).items():
        if count > 1:
            users = dict.fromkeys(other.user for other in item.contributors if other.binding == name)
            yield Problem(
                f"kubeflow_profiles: {item.name} has {', '.join(users)} {count} times with one role.",
                "every contributor once; Kubeflow names the binding after letters and digits of the address.",
                "remove all but one.",
            )
    if item.owner in {other.user for other in item.contributors}:
        yield Problem(
            f"kubeflow_profiles: {item.owner} owns {item.name} and is a contributor.",
            "other users as contributors: an owner may do everything in the namespace.",
            "remove the contributor.",
        )


def _validate_quota(item: Profile) -> Iterator[Problem]:
    for name in item.quota:
        if "/" in name and not _QUALIFIED.fullmatch(name):
            yield Problem(
                f"kubeflow_profiles: the quota of {item.name} has {name}, by which Kubernetes counts nothing.",
                f"requests.{name}: extended resources are counted by their requests.",
                f"rename it to requests.{name}.",
            )
    try:
        negative = [name for name, amount in amounts(quantities(item.quota)).items() if amount < 0]
    except ValueError as error:
        negative, text = [], str(error).rstrip(".")
        yield Problem(
            f"kubeflow_profiles: the quota of {item.name}: {text}.",
            'Kubernetes quantities, such as "4", "500m" and "16Gi".',
            "correct it.",
        )
    for name in negative:
        yield Problem(
            f"kubeflow_profiles: the quota of {item.name} is negative for {name}.", "0 or more.", "correct it."
        )


def _validate_container_defaults(item: Profile) -> Iterator[Problem]:
    """Problems of what containers get: amounts that are none, and those that a LimitRange or the quota refuses.

    Rule: validateLimitRange, pkg/apis/core/validation of Kubernetes.
    """
    where = f"kubeflow_profiles: container_defaults of {item.name}"
    try:
        made = {side: amounts(texts) for side, texts in container_defaults_of(item).items()}
        quota = amounts(quantities(item.quota))
    except ValueError as error:
        if item.container_defaults is not None:
            yield Problem(f"{where}: {str(error).rstrip('.')}.", 'quantities, such as "500m" and "1Gi".', "correct it.")
        return
    for name in sorted({name for given in made.values() for name, amount in given.items() if amount < 0}):
        yield Problem(f"{where} are negative for {name}.", "0 or more.", "correct it.")
    for side, given in made.items():
        for name, amount in given.items():
            most = quota.get(f"{side}.{name}", quota.get(name) if side == "requests" else None)
            if amount >= 0 and item.container_defaults is not None and most is not None and amount > most:
                yield Problem(
                    f"{where} have {_text(amount)} {name} as {side}, and the quota is {_text(most)}.",
                    "defaults that the quota admits: without, no pod that names none is ever created.",
                    "lower the default, or raise the quota.",
                )
    for name, amount in made.get("limits", {}).items():
        if (request := made["requests"][name]) > amount:
            yield Problem(
                f"{where} request {_text(request)} {name}, and limit it to {_text(amount)}.",
                "requests of at most the limit.",
                "lower the request, or raise the limit.",
            )


def _validate_priority_classes(profiles: Sequence[Profile], scheduling: SchedulingSettings) -> Iterator[Problem]:
    names = [priority_class_of(item) for item in profiles if item.priority_class is not None]
    others = {str(item["name"]) for item in scheduling.priority_classes}
    for name, count in Counter(names).items():
        if count > 1 or name in others:
            where = (
                "volcano_priority_classes and kubeflow_profiles declare" if name in others else "kubeflow_profiles has"
            )
            yield Problem(
                f"{where} the priority class {name}{'' if name in others else f' {count} times'}.",
                "one declaration of each: any job may use it, in every namespace.",
                "remove all but one.",
            )


def _no_volcano(
    queued: Sequence[Profile], chosen: Collection[str], existing: Collection[str], gang_scheduler: str
) -> Problem | None:
    what = "gang_scheduling_scheduler is " + gang_scheduler
    if gang_scheduler == VOLCANO.name:
        if VOLCANO.name in {*chosen, *existing}:
            return None
        what = "volcano is not installed by this inventory"
    return Problem(
        f"kubeflow_profiles: {', '.join(item.name for item in queued)} with a queue, and {what}.",
        "Volcano, which has queues.",
        "remove the queue, or install Volcano; kubeflow_existing: [volcano] is for one of others.",
    )


def _validate_queues(queued: Sequence[Profile], scheduling: SchedulingSettings, *, theirs: bool) -> Iterator[Problem]:
    states = wanted_states(scheduling.queues)
    for item in queued:
        name = queue_of(item)
        if theirs and _fields(item):
            yield Problem(
                f"kubeflow_profiles: {item.name} describes queue {name}, with volcano in kubeflow_existing.",
                "the name of a queue that exists there: no roll-out changes a Volcano of others.",
                f"keep queue: {{name: {name}}} only.",
            )
        elif name in states and _fields(item):
            yield Problem(
                f"volcano_queues and {item.name} in kubeflow_profiles describe queue {name}.",
                "one description of each queue.",
                f"keep queue: {{name: {name}}} in kubeflow_profiles, or remove the queue from volcano_queues.",
            )
        if states.get(name, QueueState.OPEN) is not QueueState.OPEN:
            yield Problem(
                f"kubeflow_profiles: {item.name} has queue {name}, which volcano_queues has as {states[name]}.",
                "a queue that accepts the jobs of the team.",
                f"give {item.name} another queue, or open {name}.",
            )
    described = Counter(queue_of(item) for item in queued if _fields(item))
    for name, count in described.items():
        if count > 1:
            yield Problem(
                f"kubeflow_profiles describes queue {name} {count} times.",
                "one description of each queue; other teams may name it.",
                f"keep queue: {{name: {name}}} only in all but one.",
            )
        elif name not in states:
            yield from _validate_shares(name, [item for item in queued if queue_of(item) == name])


def _validate_shares(queue: str, teams: Sequence[Profile]) -> Iterator[Problem]:
    """Problems of a queue whose teams may not use what it is to give them: pods would be refused one by one."""
    try:
        quotas = [_requests(amounts(quantities(item.quota))) for item in teams]
        fields = next(_fields(item) for item in teams if _fields(item))
        shares = {key: amounts(quantities(fields[key])) for key in _SHARES if key in fields}
    except ValueError:
        return  # reported elsewhere
    for key, share in shares.items():
        for name, amount in share.items():
            if any(name not in quota for quota in quotas):
                continue
            most = sum((quota[name] for quota in quotas), Decimal(0))
            if amount > most:
                names = ", ".join(item.name for item in teams)
                quota = f"the quota of {names} is" if len(teams) == 1 else f"the quotas of {names} are together"
                yield Problem(
                    f"kubeflow_profiles: queue {queue} has {_text(amount)} {name} as {key}, and {quota} {_text(most)}.",
                    "a queue that gives at most what the quota admits: Volcano would start gangs whose pods the API "
                    "server then refuses.",
                    f"lower {key} of the queue, or raise the quota.",
                )


def _requests(quota: Amounts) -> dict[str, Decimal]:
    """What the quota admits of each resource, by the names that queues use; the smaller one of two entries."""
    requests: dict[str, Decimal] = {}
    for name, amount in quota.items():
        resource = name.removeprefix("requests.")
        if resource != name or name in _PLAIN:
            requests[resource] = min(amount, requests.get(resource, amount))
    return requests


def _fields(item: Profile) -> dict[str, Any]:
    """What it says about its queue beside the name."""
    return {key: value for key, value in (item.queue or {}).items() if key != "name"}


def _text(amount: Decimal) -> str:
    return f"{amount:f}"
