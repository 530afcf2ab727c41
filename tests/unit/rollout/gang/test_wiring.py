"""What is wired of each operator, and where there is nothing to wire."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from kubeflow_volcano.apply.restart import RESTARTED_FOR
from kubeflow_volcano.apply.result import Action, ObjectOutcome
from kubeflow_volcano.catalog.gangs import VOLCANO
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.gang import wiring as gang
from kubeflow_volcano.rollout.settings.settings import parse


def thing(kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}


RUNTIMES = [thing("ClusterTrainingRuntime", "torch"), thing("TrainingRuntime", "own")]
MANAGER = thing("Deployment", "kubeflow-trainer-controller-manager")
OPERATOR = thing("Deployment", "training-operator")
OPERATOR["metadata"]["namespace"] = "kubeflow"
REST = [thing("Deployment", "jobset-controller-manager"), thing("Service", "training-operator")]


def test_the_training_operator_is_its_deployment() -> None:
    part = parse({}).component("training-operator")
    assert gang.wiring_objects(part, [*REST, OPERATOR]) == (OPERATOR,)


def test_what_stands_beside_the_operator_is_wired_with_it() -> None:
    lease = thing("Role", "training-operator-leader-election")
    bare = thing("ServiceAccount", "training-operator")
    for obj in (lease, bare):
        obj["metadata"]["labels"] = {"app.kubernetes.io/managed-by": "kubeflow-volcano"}
    part = parse({}).component("training-operator")
    assert gang.wiring_objects(part, [*REST, OPERATOR, lease, bare]) == (OPERATOR, lease)


def test_the_trainer_is_its_runtimes() -> None:
    part = parse({"kubeflow_release": "26.03"}).component("trainer")
    assert list(gang.wiring_objects(part, [*REST, *RUNTIMES, MANAGER])) == RUNTIMES
    assert gang.operator_deployment(part, [*REST, *RUNTIMES, MANAGER]) == MANAGER


def test_manifests_without_the_process_are_refused() -> None:
    part = parse({"kubeflow_release": "26.03"}).component("trainer")
    with pytest.raises(InvalidInput, match="kubeflow-trainer-controller-manager"):
        gang.operator_deployment(part, [*REST, *RUNTIMES])


NOON, LATER = "2026-11-22T12:00:00Z", "2026-11-22T12:00:01Z"


def live(image: str = "kubeflow/training-operator:v1-04f9f13", replicas: int = 1) -> Object:
    pod = {"containers": [{"name": "training-operator", "image": image}]}
    found = thing("Deployment", "training-operator")
    found["metadata"]["namespace"] = "kubeflow"
    labels = {"matchLabels": {"app": "training-operator"}}
    found["spec"] = {"replicas": replicas, "selector": labels, "template": {"spec": pod}}
    return found


def started(when: str, phase: str = "Running", **annotations: str) -> Object:
    found = thing("Pod", "training-operator-1")
    found["metadata"]["annotations"] = annotations or None
    found["status"] = {"startTime": when, "phase": phase}
    return found


@dataclass
class Operated:
    """What the restart needs of a run and its cluster: a CRD established at noon, and the operator's pods."""

    pods: list[Object]
    check: bool = True
    outcomes: list[ObjectOutcome] = field(default_factory=list)

    @property
    def cluster(self) -> Any:
        return self

    def get(self, ref: Ref) -> Object:
        assert ref.name == "podgroups.scheduling.volcano.sh"
        met = {"type": "Established", "status": "True", "lastTransitionTime": NOON}
        return {"metadata": {"uid": "uid-crd"}, "status": {"conditions": [met]}}

    def list(self, *_: object, **__: object) -> Any:
        return SimpleNamespace(items=tuple(self.pods))

    def apply(self, obj: Object, **_: object) -> Object:
        return obj

    def add_outcome(self, outcome: ObjectOutcome) -> None:
        self.outcomes.append(outcome)

    def wait(self, _refs: object) -> bool:
        return True

    def result(self) -> Any:
        return SimpleNamespace(outcomes=tuple(self.outcomes))

    progress = staticmethod(silent)


@pytest.mark.parametrize(
    ("pod", "restarted"),
    [
        (started(NOON), True),
        (started(LATER), False),
        (started(NOON, **{RESTARTED_FOR: "uid-crd"}), False),
        (started(NOON, **{RESTARTED_FOR: "another"}), True),
        (started(NOON, phase="Failed"), False),
    ],
    ids=["older", "younger", "restarted for it", "restarted for another", "evicted, and only a record"],
)
def test_an_operator_that_is_older_than_the_crd_is_restarted_once(pod: Object, restarted: bool) -> None:  # noqa: FBT001  a column of the table
    run: Any = Operated([pod])
    gang._restart_if_older(run, live(), VOLCANO)  # noqa: SLF001  the rule
    assert [item.action for item in run.outcomes] == ([Action.CHANGED] if restarted else [])


@pytest.mark.parametrize(
    ("after", "anew"),
    [(live(), False), (live(replicas=2), False), (live("kubeflow/training-operator:v1-855e096"), True)],
    ids=["the same", "one more pod", "another image"],
)
def test_check_mode_leaves_out_a_restart_only_where_the_pods_change_anyway(after: Object, anew: bool) -> None:  # noqa: FBT001  a column of the table
    run: Any = Operated([])
    role = ObjectOutcome(
        Ref("rbac.authorization.k8s.io/v1", "ClusterRole", "", "r"), Action.CREATED, None, thing("X", "r")
    )
    run.outcomes = [role, ObjectOutcome(Ref.of(after), Action.CHANGED, live(), after)]
    assert gang._is_changed(run, live()) is anew  # noqa: SLF001  the rule that keeps --check honest
    run.check = False
    assert gang._is_changed(run, live()) is False  # noqa: SLF001


def test_what_an_operator_looks_for_is_told_by_its_image_or_else_by_its_release() -> None:
    part = parse({}).component("training-operator")
    for image, looks in (("training-operator:v1.5.0", False), ("training-operator:v1.8.1", True), ("own:1", True)):
        assert gang._checks_crd_once(part, live(image)) is looks  # noqa: SLF001
    unnamed = live()
    unnamed["spec"]["template"]["spec"]["containers"][0]["name"] = "manager"
    assert gang._checks_crd_once(part, unnamed)  # noqa: SLF001
