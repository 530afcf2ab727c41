"""What is refused before the first change."""

from __future__ import annotations

import re
from typing import Any, cast

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.applied_objects import Brought
from kubeflow_volcano.cluster.namespaces import Obstacle
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.rollout.settings.settings import Settings, parse
from kubeflow_volcano.rollout.stale.find import Stale
from kubeflow_volcano.rollout.uninstall import requirements

CLAIM = Ref("v1", "PersistentVolumeClaim", "kubeflow", "mysql")


def inventory(*names: str, version: str = "1.9.1") -> dict[str, Brought]:
    return {name: Brought(version, {Ref("v1", "ConfigMap", "n", name): "u"}) for name in names}


def settings(*components: str, **more: Any) -> Settings:
    return parse({"kubeflow_profile": "full", "uninstall_components": list(components), **more})


def refused(given: Settings, *names: str) -> list[str]:
    brought = requirements.brought_components(given, inventory(*names))
    return [f"{problem.found} {problem.todo}" for problem in requirements.dependents(given, brought)]


def test_a_component_that_others_need_is_refused_with_the_list_that_works() -> None:
    there = ("istio-crds", "istio-namespace", "istio", "dex", "katib", "volcano")
    (text,) = refused(settings("istio"), *there)
    assert "istio-crds is needed" in text
    assert "katib" in text.partition("which would stay")[0]
    listed = text.partition("uninstall_components: [")[2].partition("]")[0].split(", ")
    assert refused(settings(*listed), *there) == []


def test_a_requirement_through_others_counts() -> None:
    (text,) = refused(settings("istio-crds"), "istio-crds", "istio-namespace", "istio", "dex", "katib")
    assert "istio-crds is needed" in text
    assert "katib" in text


def test_a_component_takes_the_parts_of_it_that_are_components_of_their_own() -> None:
    assert settings("istio").uninstall.components == ("istio-crds", "istio-namespace", "istio")


def test_what_is_not_there_needs_nothing() -> None:
    assert refused(settings("istio"), "istio-crds", "istio-namespace", "istio") == []


def test_what_replaces_volcano_is_needed_in_its_place() -> None:
    given = settings("scheduler-plugins", gang_scheduling_scheduler="scheduler-plugins", kubeflow_profile="training")
    (text,) = refused(given, "scheduler-plugins", "training-operator")
    assert re.search("scheduler-plugins .*by training-operator", text)


def test_without_gang_scheduling_volcano_is_not_needed() -> None:
    given = settings("volcano", gang_scheduling_scheduler="none", kubeflow_profile="training")
    assert refused(given, "volcano", "training-operator") == []


def test_a_name_that_no_component_has_is_refused_and_one_that_is_gone_is_not() -> None:
    known = inventory("volcano")
    (problem,) = requirements.unknown_components(settings("katibb"), known)
    assert "mean katib?" in problem.found
    assert [*requirements.unknown_components(settings("katib"), known)] == []


class Api:
    """A cluster that has these objects, applied by that manager."""

    def __init__(self, manager: str, *refs: Ref) -> None:
        self.manager = manager
        self.refs = refs

    def get(self, ref: Ref) -> dict[str, Any] | None:
        entry = {"manager": self.manager, "operation": "Apply"}
        return {"metadata": {"managedFields": [entry]}} if ref in self.refs else None


CONTROLLER = Ref("apps/v1", "Deployment", "kubeflow", "katib-controller")


@pytest.mark.parametrize(("manager", "number"), [("kubeflow-volcano", 1), ("helm", 0)])
def test_a_component_that_no_run_recorded_is_refused_if_it_is_ours(manager: str, number: int) -> None:
    api: Any = Api(manager, CONTROLLER)
    problems = [*requirements.unrecorded(api, settings("katib"), inventory("volcano"))]
    assert len(problems) == number
    assert [*requirements.unrecorded(api, settings("katib"), inventory("katib"))] == []


def test_data_of_others_is_refused_and_what_is_gone_already_is_not() -> None:
    api: Any = Api("people", CLAIM)
    (problem,) = requirements.foreign_data(api, (), [str(CLAIM), "PersistentVolumeClaim kubeflow/gone"])
    assert str(CLAIM) in problem.found
    ours = (Stale(CLAIM, {}, "pipelines", "1.9.1"),)
    assert [*requirements.foreign_data(api, ours, [str(CLAIM)])] == []


def test_of_secrets_only_the_first_user_s_is_data() -> None:
    theirs, first = Ref("v1", "Secret", "kubeflow", "theirs"), Ref("v1", "Secret", "kubeflow-volcano", "first-user")
    api: Any = Api("people", theirs, first)
    (problem,) = requirements.foreign_data(api, (), [str(theirs), str(first)])
    assert str(theirs) in problem.found


def test_namespaces_that_would_not_go_are_told_with_the_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    away = Ref("apiregistration.k8s.io/v1", "APIService", "", "v1beta1.metrics.k8s.io")
    ours = Ref("apiregistration.k8s.io/v1", "APIService", "", "v1.ours")
    held = [Obstacle(ref, f"{ref} is not available", "start it.") for ref in (away, ours)]
    monkeypatch.setattr(requirements, "obstacles", lambda *_: held)
    space = Ref("v1", "Namespace", "", "kubeflow")
    going = [
        Stale(ref, {"metadata": {"name": ref.name, "uid": ref.name}}, "volcano", "1.10.0") for ref in (space, ours)
    ]
    (problem,) = requirements.lasting_namespaces(cast("Cluster", None), going)
    assert (str(away) in problem.found, "kubeflow" in problem.found) == (True, True)
    assert [*requirements.lasting_namespaces(cast("Cluster", None), going[1:])] == []


def test_jobs_that_run_and_pods_of_a_scheduler_that_goes_are_refused() -> None:
    job = Ref("kubeflow.org/v1", "PyTorchJob", "team", "train")
    problem = requirements.running([job], {"volcano": ["Pod team/a"]})
    assert problem is not None
    assert str(job) in problem.found
    assert re.search(r"Pod team/a \(.*volcano\)", problem.found)
    assert "uninstall_running_jobs: allow" in problem.todo
    assert requirements.running([], {"volcano": []}) is None
