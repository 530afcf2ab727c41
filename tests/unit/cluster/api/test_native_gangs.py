"""Whether a cluster has gangs of Kubernetes itself: what is served, and the gates that its pods show."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.native_gangs import PROGRAMS, native_gangs, unmet
from kubeflow_volcano.cluster.objects import Object

SCHEDULER, MANAGER = PROGRAMS
BETA, ALPHA = "scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha2"


class Served:
    """The part of a cluster that this is known from."""

    def __init__(self, version: str, **kinds: Any) -> None:
        self.version = {"gitVersion": version}
        self._kinds = kinds

    def kinds(self, api_version: str) -> dict[str, None]:
        return dict.fromkeys(self._kinds.get(api_version.rpartition("/")[2], ()))


def program(name: str, *words: str, namespace: str = "kube-system") -> Object:
    return {
        "metadata": {"name": f"{name}-a", "namespace": namespace, "labels": {"component": name}},
        "spec": {"containers": [{"name": name, "command": [name, *words]}]},
    }


def found(version: str, *pods: Object, **kinds: Any) -> list[str]:
    return [reason for reason, _ in unmet(native_gangs(cast("Cluster", Served(version, **kinds)), pods))]


ON = "--feature-gates=Other=false,GenericWorkload=true"


@pytest.mark.parametrize(
    ("version", "kinds", "reasons"),
    [
        ("v1.37.2", {"v1beta1": ["PodGroup", "PriorityClass"]}, []),
        ("v1.37.2", {"v1beta1": ["PriorityClass"]}, ["NotServed"]),
        ("v1.36.1", {"v1alpha2": ["PodGroup"]}, ["NotServed"]),
        ("v1.30.2", {}, ["NotServed"]),
    ],
)
def test_only_the_version_that_schedulers_read_will_do(version: str, kinds: Any, reasons: list[str]) -> None:
    assert found(version, **kinds) == reasons


def test_an_earlier_version_is_named() -> None:
    served = native_gangs(cast("Cluster", Served("v1.36.1", v1alpha2=["PodGroup"])), ())
    assert served.others == (ALPHA,)
    ((_, problem),) = unmet(served)
    assert ALPHA in problem.found
    assert BETA in problem.todo


@pytest.mark.parametrize(
    ("version", "words", "gates"),
    [
        ("v1.37.2", [ON], {SCHEDULER: True}),
        ("v1.37.2", ["--feature-gates", "GenericWorkload=true"], {SCHEDULER: True}),
        ("v1.37.2", ["--feature-gates=GenericWorkload=false"], {SCHEDULER: False}),
        ("v1.37.2", [], {SCHEDULER: False}),
        ("v1.37.2", ["--feature-gates=AllBeta=true"], {}),
        ("v1.38.0", [], {}),
        ("v1.38.0-rc.1+k3s1", ["--feature-gates=GenericWorkload=false"], {SCHEDULER: False}),
    ],
)
def test_a_gate_is_its_flag_or_a_known_default(version: str, words: list[str], gates: dict[str, bool]) -> None:
    served = native_gangs(cast("Cluster", Served(version, v1beta1=["PodGroup"])), [program(SCHEDULER, *words)])
    assert served.gates == gates
    assert MANAGER in served.unread


def test_one_replica_without_the_gate_is_enough() -> None:
    pods = [program(SCHEDULER, ON), program(MANAGER, ON), program(MANAGER)]
    assert found("v1.37.2", *pods, v1beta1=["PodGroup"]) == ["GateOff"]
    assert found("v1.37.2", *pods[:2], v1beta1=["PodGroup"]) == []
    elsewhere = program(MANAGER, namespace="team-a")
    assert found("v1.37.2", *pods[:2], elsewhere, v1beta1=["PodGroup"]) == []
