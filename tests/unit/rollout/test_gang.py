"""What is wired of each operator, and where there is nothing to wire."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout import gang
from kubeflow_volcano.rollout.settings import parse


def thing(kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}


RUNTIMES = [thing("ClusterTrainingRuntime", "torch"), thing("TrainingRuntime", "own")]
MANAGER = thing("Deployment", "kubeflow-trainer-controller-manager")
OPERATOR = thing("Deployment", "training-operator")
REST = [thing("Deployment", "jobset-controller-manager"), thing("Service", "training-operator")]


def test_the_training_operator_is_its_deployment() -> None:
    part = parse({}).component("training-operator")
    found = gang.wiring_of(part, [*REST, OPERATOR])
    assert (found.objects, found.deployment) == ((OPERATOR,), OPERATOR)


def test_what_stands_beside_the_operator_is_wired_with_it() -> None:
    lease = thing("Role", "training-operator-leader-election")
    lease["metadata"]["labels"] = {"app.kubernetes.io/managed-by": "kubeflow-volcano"}
    part = parse({}).component("training-operator")
    assert gang.wiring_of(part, [*REST, OPERATOR, lease]).objects == (OPERATOR, lease)


def test_the_trainer_is_its_runtimes() -> None:
    part = parse({"kubeflow_release": "26.03"}).component("trainer")
    found = gang.wiring_of(part, [*REST, *RUNTIMES, MANAGER])
    assert (list(found.objects), found.deployment) == (RUNTIMES, MANAGER)


def test_manifests_without_the_process_are_refused() -> None:
    part = parse({"kubeflow_release": "26.03"}).component("trainer")
    with pytest.raises(InvalidInput, match="kubeflow-trainer-controller-manager"):
        gang.wiring_of(part, [*REST, *RUNTIMES])


def test_without_an_operator_the_cluster_is_not_even_asked(api: Any) -> None:
    settings = parse({})
    without = replace(settings, components=tuple(part for part in settings.components if part.name == "volcano"))
    lines: list[str] = []
    cluster = api.connect()
    asked = len(api.requests)
    result = gang.wire_gang(cluster, without, check=False, progress=lines.append)
    assert (result.changed, result.problems) == (False, ())
    assert len(api.requests) == asked
    assert lines == ["no operator of training jobs is chosen: nothing to wire"]


@pytest.mark.parametrize(("live", "foreseen"), [(None, ()), (OPERATOR, (OPERATOR,))])
def test_a_dry_run_counts_an_operator_that_is_still_to_come_once(
    api: Any, monkeypatch: pytest.MonkeyPatch, live: Any, foreseen: Any
) -> None:
    wiring = gang.wiring_of(parse({}).component("training-operator"), [OPERATOR])
    cluster = api.connect()
    monkeypatch.setattr(cluster, "get", lambda _ref: live)
    assert gang._foreseeable(cluster, wiring) == foreseen  # noqa: SLF001  the rule that keeps --check honest
