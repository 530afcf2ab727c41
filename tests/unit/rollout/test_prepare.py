"""What stands in the way is told before the first change, all of it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kubeflow_volcano.cluster.applied_objects import Brought
from kubeflow_volcano.cluster.metadata import FIELD_MANAGER
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout import prepare as room
from kubeflow_volcano.rollout.desired import Desired
from kubeflow_volcano.rollout.images.rename.rewrite import Rewritten, rewrite
from kubeflow_volcano.rollout.prepare import prepare
from kubeflow_volcano.rollout.scope import Scope, scope_of
from kubeflow_volcano.rollout.settings.settings import parse
from kubeflow_volcano.rollout.storage import default_class
from tests.unit.rollout.queues.queue_stand import Store, queue


def test_every_reason_is_told_at_once_and_nothing_is_changed(
    api: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    api.on("GET", "/version", api.reply(body={"gitVersion": "v1.20.0"}))
    settings = parse(
        {
            "kubeflow_release": "1.9.1",
            "kubeflow_source": "/absent",
            "volcano_source": "/missing",
            "local_path_storage_mode": "existing",
        }
    )
    with pytest.raises(InvalidInput) as caught:
        prepare(api.connect(), settings, scope_of(settings), check=False, progress=silent)
    text = str(caught.value)
    for words in ("1.20", "no /absent", "kubeflow_source", "no /missing", "volcano_source"):
        assert words in text
    assert {request.method for request in api.requests} == {"GET"}


def test_a_queue_that_may_not_go_is_told_before_another_component_is_rolled_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store: Any = Store()
    store.version = {"gitVersion": "v1.30.2"}
    store.put(queue("a"))
    found = Desired({"volcano": ()}, Rewritten({}, ()), ())
    monkeypatch.setattr(room, "desired", lambda *_: found)
    monkeypatch.setattr(room, "refused_namespaces", lambda *_: [])
    monkeypatch.setattr(room, "foreign_components", lambda *_, **__: [])
    settings = parse({"volcano_queues": [{"name": "a", "state": "absent"}]})
    scope = Scope((settings.volcano,))
    with pytest.raises(InvalidInput, match="rollout-queues does not"):
        prepare(store, settings, scope, check=False, progress=silent)
    store.made_here("a")
    assert prepare(store, settings, scope, check=False, progress=silent).parts == {"volcano": ()}


def test_an_entry_of_ceded_fields_about_no_object_is_refused_before_the_first_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store: Any = Store()
    store.version = {"gitVersion": "v1.30.2"}
    found = Desired({"volcano": ()}, Rewritten({}, ()), ())
    monkeypatch.setattr(room, "desired", lambda *_: found)
    monkeypatch.setattr(room, "refused_namespaces", lambda *_: [])
    monkeypatch.setattr(room, "foreign_components", lambda *_, **__: [])
    entry = {"kind": "Deployment", "name": "absent", "paths": ["/spec/replicas"]}
    settings = parse({"kubeflow_ceded_fields": [entry], "kubeflow_components": ["volcano"]})
    with pytest.raises(InvalidInput, match=r"kubeflow_ceded_fields\[0\] .*Deployment absent"):
        prepare(store, settings, Scope(settings.components), check=False, progress=silent)


def test_images_that_are_gone_are_refused_with_every_other_reason_before_the_first_change(
    api: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.on("GET", "/version", api.reply(body={"gitVersion": "v1.20.0"}))
    gone = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "ml-pipeline", "namespace": "kubeflow"},
        "spec": {"template": {"spec": {"containers": [{"name": "a", "image": "gcr.io/ml-pipeline/frontend:2.0.5"}]}}},
    }
    settings = parse({"kubeflow_release": "1.8.1", "kubeflow_components": ["pipelines"]})
    images = rewrite({"pipelines": (gone,)}, settings.mirror)
    found = Desired(dict.fromkeys((part.name for part in settings.components), ()), images, ())
    monkeypatch.setattr(room, "passwords_of_cluster", lambda *_: {})
    monkeypatch.setattr(room, "desired", lambda *_: found)
    monkeypatch.setattr(room, "unmet_needs", lambda *_: [])
    monkeypatch.setattr(room, "refused_namespaces", lambda *_: [])
    monkeypatch.setattr(room, "foreign_components", lambda *_, **__: [])
    monkeypatch.setattr(default_class, "require_usable", lambda *_: None)
    monkeypatch.setattr(room, "validate_queues", lambda *_: None)
    with pytest.raises(InvalidInput) as caught:
        prepare(api.connect(), settings, scope_of(settings), check=False, progress=silent)
    assert "1.20" in str(caught.value)
    assert "gcr.io/ml-pipeline/frontend:2.0.5" in str(caught.value)
    assert "kubeflow_exclude: [pipelines]" in str(caught.value)
    assert {request.method for request in api.requests} == {"GET"}


def test_storage_of_others_needs_a_default_class(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    found: Any = SimpleNamespace(parts={"training-operator": ()}, images=Rewritten({}, ()))
    monkeypatch.setattr(room, "refused_namespaces", lambda *_: [])
    monkeypatch.setattr(room, "missing_rights", lambda *_, **__: ())
    monkeypatch.setattr(default_class, "require_usable", lambda _cluster, _settings, objects: asked.append(objects))
    for variables in ({"kubeflow_existing": ["local-path"]}, {"local_path_storage_mode": "existing"}):
        settings = parse(variables)
        cluster: Any = None
        room._cluster_problems(  # noqa: SLF001  one of its questions
            cluster, settings, Scope(settings.components), found, check=False, progress=silent
        )
    assert asked == [()]


OPERATOR = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "training-operator", "namespace": "n"}}


@pytest.mark.parametrize(("check", "live", "applied"), [(True, None, 0), (True, OPERATOR, 1), (False, None, 1)])
def test_check_mode_does_not_count_the_wiring_of_an_operator_that_is_still_to_come(
    check: bool,  # noqa: FBT001  a column of the table
    live: Any,
    applied: int,
) -> None:
    settings = parse({})
    found: Any = SimpleNamespace(parts={"training-operator": (OPERATOR,)}, namespaces=())
    cluster: Any = SimpleNamespace(get=lambda _ref: live)
    scope = Scope((), (settings.component("training-operator"),))

    parts = room._parts(cluster, scope, found, (), check=check)  # noqa: SLF001  the rule that keeps --check honest

    assert len(parts["training-operator"]) == applied


SPACE: Any = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n", "uid": "uid-n"}}
OURS = {"manager": FIELD_MANAGER, "operation": "Apply", "fieldsV1": {}}


@pytest.mark.parametrize(
    ("live", "brought", "sent"),
    [
        (None, (), True),
        (SPACE | {"metadata": SPACE["metadata"] | {"managedFields": [OURS]}}, (), True),
        (SPACE, ("uid-n",), True),
        (SPACE, (), False),
    ],
    ids=["absent", "applied", "recorded", "of others"],
)
def test_a_namespace_that_no_manifest_has_is_left_as_it_is_if_others_made_it(
    live: Any,
    brought: tuple[str, ...],
    sent: bool,  # noqa: FBT001  a column of the table
) -> None:
    part = parse({}).component("training-operator")
    found: Any = SimpleNamespace(parts={part.name: (SPACE, OPERATOR)}, namespaces=(Ref.of(SPACE),))
    cluster: Any = SimpleNamespace(get=lambda _ref: live)
    parts = room._parts(cluster, Scope((part,)), found, brought, check=False)  # noqa: SLF001  the rule itself
    assert (SPACE in parts[part.name]) is sent
    assert OPERATOR in parts[part.name]


@pytest.mark.parametrize(
    ("live", "recorded", "sent"),
    [
        (None, "", True),
        (SPACE, "", False),
        (SPACE, "kubeflow-namespace", False),
        (SPACE, "profiles", True),
    ],
    ids=["absent", "of a run that was killed", "of a component outside", "its own"],
)
def test_a_run_of_some_components_keeps_what_the_others_declare_of_a_namespace(
    live: Any,
    recorded: str,
    sent: bool,  # noqa: FBT001  a column of the table
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings, ref = parse({}), Ref.of(SPACE)
    scope = Scope((settings.component("profiles"),))
    monkeypatch.setattr(room, "read_inventory", lambda _: {recorded: Brought("1", {ref: "uid-n"})} if recorded else {})
    planned = Desired({"profiles": (SPACE, OPERATOR)}, Rewritten({}, ()), (), (ref,))
    cluster: Any = SimpleNamespace(get=lambda _ref: live)

    found = room._without_others(cluster, scope, planned)  # noqa: SLF001  the rule itself

    assert found.parts["profiles"] == ((SPACE, OPERATOR) if sent else (OPERATOR,))
    assert (found.namespaces == (ref,)) is sent
    assert planned.parts["profiles"] == (SPACE, OPERATOR)
