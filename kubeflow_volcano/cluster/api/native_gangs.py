"""Gangs of Kubernetes itself on a cluster: whether its programs have them, as far as the API shows it.

Of Kubernetes v1.37.2. An API server serves PodGroup in scheduling.k8s.io/v1beta1 only with the feature gate (Workload
and PodGroup in pkg/registry/scheduling/rest), and no beta version by default. A scheduler without the gate places pods
of a group one by one; a controller manager without it never removes the finalizer of PodGroups
(pkg/controller/scheduling/podgroupprotection). Their gates are flags of their pods where they are pods at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.go_flags import values_of
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.problems import Problem

GATE = "GenericWorkload"
PROGRAMS = ("kube-scheduler", "kube-controller-manager")
"""The programs that need the gate beside the API server; the label `component` of their pods."""

_VERSION, _KIND = "scheduling.k8s.io/v1beta1", "PodGroup"
_EARLIER = tuple(f"scheduling.k8s.io/{name}" for name in ("v1alpha3", "v1alpha2", "v1alpha1"))
_LABEL = "component"
_OFF_UNTIL = 37
"""The newest minor of which it is known that the gate is off by default (pkg/features/kube_features.go)."""
_MINOR = re.compile(r"v?1\.(\d+)")
_TRUE = frozenset({"1", "t", "true"})
_START = (
    f"start kube-apiserver with --feature-gates={GATE}=true --runtime-config={_VERSION}=true, and "
    f"{' and '.join(PROGRAMS)} with --feature-gates={GATE}=true"
)


@dataclass(frozen=True, slots=True)
class NativeGangs:
    """What a cluster shows of its own gangs.

    `served`: PodGroup is, in the version that schedulers read. `others` are the versions of that API group that serve
    Workloads or PodGroups where it is not. `gates` has each of `PROGRAMS` whose pods show whether its gate is on.
    """

    server: str
    served: bool
    others: tuple[str, ...] = ()
    gates: Mapping[str, bool] = field(default_factory=dict)

    @property
    def unread(self) -> tuple[str, ...]:
        """The programs of which nothing shows whether their gate is on."""
        return tuple(name for name in PROGRAMS if name not in self.gates)


def native_gangs(cluster: Cluster, control_plane: Iterable[Object]) -> NativeGangs:
    """What this cluster shows; `control_plane` are pods, those of kube-system among them.

    Raises:
        ApiError: discovery does not answer.
    """
    server = cluster.version["gitVersion"]
    served = _KIND in cluster.kinds(_VERSION)
    others = () if served else tuple(name for name in _EARLIER if {_KIND, "Workload"} & {*cluster.kinds(name)})
    return NativeGangs(server, served, others, dict(_gates(control_plane, server)))


def unmet(found: NativeGangs) -> Iterator[tuple[str, Problem]]:
    """Each reason why gangs of Kubernetes do not work there, with its problem; what is not known is none."""
    if not found.served:
        instead = f"; it serves {', '.join(found.others)}" if found.others else ""
        yield (
            "NotServed",
            Problem(
                f"Kubernetes {found.server} does not serve PodGroup of {_VERSION}{instead}.",
                f"Kubernetes 1.{_OFF_UNTIL} or later with its feature gate {GATE} on.",
                f"{_START}; or choose another gang scheduler.",
            ),
        )
    for name, is_on in found.gates.items() if found.served else ():
        if not is_on:
            yield (
                "GateOff",
                Problem(
                    f"{name} of Kubernetes {found.server} runs without the feature gate {GATE}.",
                    "the gate that the API server has: the scheduler places gangs by it, and the controller manager "
                    "lets PodGroups be deleted.",
                    f"start {name} with --feature-gates={GATE}=true.",
                ),
            )


def _gates(pods: Iterable[Object], server: str) -> Iterator[tuple[str, bool]]:
    said: dict[str, list[bool | None]] = {}
    for pod in pods:
        name = (pod["metadata"].get("labels") or {}).get(_LABEL)
        if name in PROGRAMS and pod["metadata"].get("namespace") == "kube-system":
            container = pod["spec"]["containers"][0]
            words = [str(word) for key in ("command", "args") for word in container.get(key) or ()]
            said.setdefault(name, []).append(_gate(words, server))
    for name, states in said.items():
        if False in states:
            yield name, False
        elif None not in states:
            yield name, True


def _gate(words: list[str], server: str) -> bool | None:
    """Whether a command line switches the gate on; None where its defaults decide and are not known."""
    stated = dict(item.partition("=")[::2] for item in values_of("--feature-gates", words))
    if GATE in stated:
        return stated[GATE].strip().lower() in _TRUE
    minor = _MINOR.match(server)
    known = minor and int(minor[1]) <= _OFF_UNTIL and not {"AllAlpha", "AllBeta"} & {*stated}
    return False if known else None
