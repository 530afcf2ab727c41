"""Levels of Pod Security on a real API server: its own word is heard before the first change, and the way out works."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.cluster.admission.pod_security import ENFORCE
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout import run
from kubeflow_volcano.rollout.desired import desired
from kubeflow_volcano.rollout.requirements.pod_security import refused_pods
from kubeflow_volcano.rollout.scope import Scope
from kubeflow_volcano.rollout.settings.settings import parse
from tests.integration.breaking import space
from tests.integration.rolling import own_sources

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

KUBEFLOW = Ref("v1", "Namespace", "", "kubeflow")
OPERATOR = Ref("apps/v1", "Deployment", "kubeflow", "training-operator")


def labelled(level: str | None) -> dict[str, Any]:
    return {"metadata": {"labels": {ENFORCE: level}}}


def test_a_level_that_refuses_declared_pods_is_refused_until_its_label_admits_them(
    cluster: Cluster, kubeconfig: Path
) -> None:
    settings = parse(own_sources(kubeconfig) | {"kubeflow_components": ["training-operator"]})
    scope = Scope((settings.component("training-operator"),))
    before = cluster.get(OPERATOR)
    try:
        cluster.patch(KUBEFLOW, labelled("restricted"))
        with pytest.raises(InvalidInput) as refused:
            run.roll_out(cluster, settings, scope, check=False, progress=silent)
        (problem,) = refused.value.problems
        assert "restricted:latest" in problem.found
        assert str(OPERATOR) in problem.found
        assert cluster.get(OPERATOR) == before
        assert f"{ENFORCE}=baseline " in problem.todo
        cluster.patch(KUBEFLOW, labelled("baseline"))
        assert not run.roll_out(cluster, settings, scope, check=True, progress=silent).problems
    finally:
        cluster.patch(KUBEFLOW, labelled(None))


def test_a_namespace_to_be_made_is_judged_where_another_has_its_level(cluster: Cluster, kubeconfig: Path) -> None:
    absent = "kubeflow-absent"
    settings = parse(own_sources(kubeconfig) | {"kubeflow_namespace_labels": {ENFORCE: "restricted"}})
    (operator,) = [
        obj
        for obj in desired(settings, [settings.component("training-operator")], silent).parts["training-operator"]
        if obj["kind"] == "Deployment"
    ]
    operator["metadata"]["namespace"] = absent
    made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": absent, "labels": {ENFORCE: "restricted"}}}
    parts = {"training-operator": [made, operator]}
    said: list[str] = []
    with space(cluster, **{ENFORCE: "restricted"}):
        (problem,) = refused_pods(cluster, settings.namespace_labels, parts, said.append)
        assert absent in problem.found
        assert not said
    assert cluster.get(KUBEFLOW._replace(name=absent)) is None
    assert [*refused_pods(cluster, {}, {"training-operator": [operator]}, said.append)] == []
    assert not said
