"""What a run compares with the cluster, when manifests and API server name an object differently."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kubeflow_volcano.apply.result import Action, ObjectOutcome
from kubeflow_volcano.cluster.api.discovery import Resource
from kubeflow_volcano.cluster.api.errors import NotServed
from kubeflow_volcano.cluster.applied_objects import Place
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.settings.settings import parse
from kubeflow_volcano.rollout.stale import handling
from kubeflow_volcano.rollout.stale.find import Stale, Survey
from kubeflow_volcano.rollout.stale.in_use import InUse

SCOPES = {"CompositeController": False, "ConfigMap": True}


def served(api_version: str, kind: str) -> Resource:
    if kind not in SCOPES:
        raise NotServed(api_version, kind)
    return Resource(api_version, kind, kind.lower(), namespaced=SCOPES[kind])


def text(kind: str, namespace: str = "") -> Object:
    return new_object("v1", kind, "a", namespace)


@pytest.mark.parametrize(
    ("declared", "place"),
    [
        (text("CompositeController", "kubeflow"), Place("", "CompositeController", "", "a")),
        (text("ConfigMap"), Place("", "ConfigMap", "default", "a")),
        (text("ConfigMap", "kubeflow"), Place("", "ConfigMap", "kubeflow", "a")),
        (text("Unknown", "kubeflow"), Place("", "Unknown", "kubeflow", "a")),
    ],
)
def test_a_declared_object_is_looked_for_where_the_api_server_has_it(
    monkeypatch: pytest.MonkeyPatch, declared: Object, place: Place
) -> None:
    """Upstream gives its CompositeController a namespace, and some ConfigMaps none; neither is stale."""
    compared: list[Any] = []

    def look(_cluster: object, _inventory: object, places: Any, **_: Any) -> Survey:
        compared.extend(places)
        return Survey((), frozenset(), {})

    monkeypatch.setattr(handling, "find_stale", look)
    monkeypatch.setattr(handling, "read_inventory", lambda _: {})
    engine: Any = SimpleNamespace(
        cluster=SimpleNamespace(resource=served), parts={}, deadline=Deadline(5), progress=silent
    )
    prepared: Any = SimpleNamespace(
        settings=parse({}),
        scope=SimpleNamespace(parts=(), wired=(), components=()),
        desired=SimpleNamespace(parts={"pipelines": (declared,)}),
        whole=False,
    )
    handling.StaleObjects(engine, prepared)
    assert compared == [place]


GUARDED = Ref("v1", "Namespace", "", "kubeflow")
PLAIN = Ref("v1", "ConfigMap", "kubeflow", "old")
OPERATOR = Ref("apps/v1", "Deployment", "kubeflow", "training-operator")


class Stand:
    """A run with two stale objects, whose namespace is in use or not."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, *, used: bool, jobs: tuple[Ref, ...] = (), **variables: Any
    ) -> None:
        self.removed: list[Ref] = []
        self.outcomes: list[ObjectOutcome] = []
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []
        refs = (GUARDED, PLAIN, OPERATOR) if jobs else (GUARDED, PLAIN)
        items = tuple(Stale(ref, {"metadata": {"uid": ref.name}}, "training-operator", "1") for ref in refs)
        monkeypatch.setattr(handling, "running_jobs", lambda _: jobs)
        held = {GUARDED: InUse("it still has 1 object: Deployment training-operator", "delete it")} if used else {}
        monkeypatch.setattr(handling, "find_stale", lambda *_, **__: Survey(items, frozenset(), {}))
        monkeypatch.setattr(handling, "read_inventory", lambda _: {})
        monkeypatch.setattr(handling, "find_in_use", lambda *_: held)
        monkeypatch.setattr(handling, "Removal", self._removal)
        engine: Any = SimpleNamespace(
            cluster=None,
            parts={},
            deadline=Deadline(5),
            progress=silent,
            check=False,
            result=lambda: SimpleNamespace(outcomes=self.outcomes),
            add_outcome=self.outcomes.append,
            add_problem=self.problems.append,
            add_warning=self.warnings.append,
        )
        prepared: Any = SimpleNamespace(
            settings=parse(variables),
            scope=SimpleNamespace(parts=(), wired=(), components=()),
            desired=SimpleNamespace(parts={}),
            whole=True,
        )
        stale = handling.StaleObjects(engine, prepared)
        stale.prune()
        stale.warn()

    def _removal(self, *_: object, **__: object) -> Any:
        done: list[ObjectOutcome] = []

        def run(objects: dict[Ref, Object]) -> None:
            self.removed.extend(objects)
            done.extend(ObjectOutcome(ref, Action.REMOVED, None, None) for ref in objects)

        return SimpleNamespace(run=run, outcomes=done, problems=[], kept={})


NAMED: dict[str, Any] = {"kubeflow_prune": True, "kubeflow_prune_named": [str(GUARDED)]}


def test_a_named_object_in_which_something_lives_is_refused_and_the_rest_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    stand = Stand(monkeypatch, used=True, **NAMED)
    assert stand.removed == [PLAIN]
    (problem,) = stand.problems
    assert "Deployment training-operator" in problem.found
    assert not stand.warnings


def test_a_named_object_that_is_empty_goes_after_what_was_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    stand = Stand(monkeypatch, used=False, **NAMED)
    assert stand.removed == [PLAIN, GUARDED]
    assert stand.problems == stand.warnings == []


@pytest.mark.parametrize("used", [True, False])
def test_only_an_object_in_which_nothing_lives_is_offered_for_removal(
    monkeypatch: pytest.MonkeyPatch, *, used: bool
) -> None:
    stand = Stand(monkeypatch, used=used)
    assert stand.removed == []
    offered = [warning for warning in stand.warnings if "kubeflow_prune_named" in warning.todo]
    assert bool(offered) is not used


def test_an_operator_that_left_the_inventory_stays_while_jobs_run(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = (Ref("kubeflow.org/v1", "TFJob", "team", "mnist"),)
    stand = Stand(monkeypatch, used=False, jobs=jobs, kubeflow_prune=True, kubeflow_components=["local-path"])
    assert stand.removed == []
    (problem,) = stand.problems
    assert str(jobs[0]) in problem.found
    assert "uninstall_components: [training-operator]" in problem.todo


def test_a_workload_of_an_operator_that_stays_is_removed_whatever_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = (Ref("kubeflow.org/v1", "TFJob", "team", "mnist"),)
    stand = Stand(monkeypatch, used=False, jobs=jobs, kubeflow_prune=True, kubeflow_components=["training-operator"])
    assert OPERATOR in stand.removed
    assert stand.problems == []
