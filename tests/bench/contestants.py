"""Who places gangs in the benchmark: a program with its arguments, and how a gang and its pods are written for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from kubeflow_volcano import foreign
from kubeflow_volcano.catalog.evictions.presets import UPSTREAM, with_preset
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.rehearsal.build.kept import Tools
from kubeflow_volcano.rollout.patches.volcano import CONFIGURATION
from tests.bench import daemons
from tests.places import ROOT

TUNED = ("--schedule-period=200ms", "--percentage-nodes-to-find=1", "--minimum-feasible-nodes=20")
"""The volcano_scheduler_flags that docs/gang-scheduling.md recommends."""

_MANIFESTS = ROOT / "kubeflow_volcano/catalog/scheduler_plugins/manifests"


@dataclass(frozen=True, slots=True)
class Contestant:
    """A scheduler: its program and the arguments below a plane's directory, and the schedulerName of its pods.

    A gang is a PodGroup of `api` with the spec that `group` makes of the number of members and a priority class;
    `joins` is what a pod has of the group with that name. Without an api there are only pods.
    """

    title: str
    program: str
    scheduler: str
    arguments: Callable[[Path, Tools], Sequence[str]]
    api: str = ""
    group: Callable[[int, str], Object] = lambda _members, _priority: {}
    joins: Callable[[str], Object] = lambda _name: {}


def volcano_objects(tools: Tools) -> list[Object]:
    """What Volcano's manifest installs."""
    manifest = tools.source("volcano.sh/volcano", "installer/volcano-development.yaml")
    return [obj for obj in foreign.parse(manifest.read_bytes(), str(manifest)) if obj]


def kinds_of_gangs(tools: Tools) -> list[Object]:
    """The CRDs of all contestants; Kubernetes' own gangs need none."""
    path = _MANIFESTS / "podgroups.yaml"
    objects = [*volcano_objects(tools), *foreign.parse(path.read_bytes(), str(path))]
    return [obj for obj in objects if obj and obj["kind"] == "CustomResourceDefinition"]


def _kubernetes(directory: Path, _tools: Tools) -> Sequence[str]:
    return daemons.scheduler(directory)


def _coscheduling(directory: Path, _tools: Tools) -> Sequence[str]:
    path = _MANIFESTS / "scheduler-config.yaml"
    (configuration,) = foreign.parse(path.read_bytes(), str(path))
    return daemons.second_scheduler(directory, configuration)


def _volcano(directory: Path, tools: Tools, flags: Iterable[str] = (), preset: str = UPSTREAM) -> Sequence[str]:
    text = next(
        obj["data"][CONFIGURATION] for obj in volcano_objects(tools) if CONFIGURATION in (obj.get("data") or {})
    )
    version = next(
        value
        for tool in tools.generation.tools
        for name, value in tool.stamps.items()
        if name.startswith("volcano.sh/")
    )
    (upstream,) = foreign.parse(text, CONFIGURATION)
    return [*daemons.volcano(directory, with_preset(preset, upstream, version.removeprefix("v"))), *flags]


def _of(priority: str) -> Object:
    return {"priorityClassName": priority} if priority else {}


REFERENCE, FLAGGED, PREEMPTING = "default", "tuned", "preempting"
_DEFAULT = Contestant("default scheduler", "kube-scheduler", "default-scheduler", _kubernetes)
_VOLCANO = Contestant(
    "Volcano",
    "vc-scheduler",
    "volcano",
    _volcano,
    "scheduling.volcano.sh/v1beta1",
    lambda members, priority: {"minMember": members, "queue": "default", **_of(priority)},
    lambda name: {"metadata": {"annotations": {"scheduling.k8s.io/group-name": name}}},
)


def contestants(flags: Sequence[str] = TUNED) -> Mapping[str, Contestant]:
    """All by their names in results, the reference first; `flags` are those of the tuned one.

    All are configured as upstream does it but for the two last ones: one has flags, the other the preset that evicts.
    """
    return {
        REFERENCE: _DEFAULT,
        "kubernetes": replace(
            _DEFAULT,
            title="Kubernetes' gangs",
            api="scheduling.k8s.io/v1beta1",
            group=lambda members, priority: {
                "schedulingPolicy": {"gang": {"minCount": members}},
                "disruptionMode": {"all": {}},
                **_of(priority),
            },
            joins=lambda name: {"spec": {"schedulingGroup": {"podGroupName": name}}},
        ),
        "scheduler-plugins": Contestant(
            "scheduler-plugins",
            "scheduler-plugins-scheduler",
            "scheduler-plugins-scheduler",
            _coscheduling,
            "scheduling.x-k8s.io/v1alpha1",
            lambda members, _priority: {"minMember": members},
            lambda name: {"metadata": {"labels": {"scheduling.x-k8s.io/pod-group": name}}},
        ),
        "volcano": _VOLCANO,
        FLAGGED: replace(_VOLCANO, title="Volcano, flags", arguments=partial(_volcano, flags=flags)),
        PREEMPTING: replace(_VOLCANO, title="Volcano, preset", arguments=partial(_volcano, preset="preemption")),
    }
