"""CRDs are waited for by discovery, in either form; one that is late is looked at itself."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from kubeflow_volcano.cluster.deadline import Deadline
from kubeflow_volcano.cluster.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.readiness import Readiness, State
from kubeflow_volcano.rollout import served
from kubeflow_volcano.rollout.served import Served

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
News = queue.SimpleQueue[tuple[str, Readiness | ApiError]]


def crd(kind: str, **status: Any) -> Object:
    group = f"{kind.lower()}.io"
    versions = [{"name": "v1", "served": True}, {"name": "v2", "served": True}, {"name": "v0", "served": False}]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.lower()}s.{group}"},
        "spec": {"group": group, "names": {"kind": kind}, "versions": versions},
        **({"status": status} if status else {}),
    }


def told(*kinds: tuple[str, str]) -> dict[str, Any]:
    """The aggregated answer of a server that serves these (group, version)."""
    groups: dict[str, list[Any]] = {}
    for group, version in kinds:
        kind = group.partition(".")[0].capitalize()
        resource = {"resource": "x", "responseKind": {"kind": kind}, "scope": "Namespaced"}
        groups.setdefault(group, []).append({"version": version, "resources": [resource]})
    items = [{"metadata": {"name": name}, "versions": versions} for name, versions in groups.items()]
    return {"kind": "APIGroupDiscoveryList", "items": items}


@pytest.fixture
def news() -> News:
    return queue.SimpleQueue()


@pytest.fixture
def start(api: Any, news: News) -> Iterator[Any]:
    started: list[Served] = []

    def go(*crds: Object, seconds: float = 10) -> Served:
        by_ref = {Ref.of(obj): obj for obj in crds}
        one = Served(api.connect(), by_ref, Deadline(seconds), lambda ref, answer: news.put((ref.name, answer)))
        started.append(one)
        for ref in by_ref:
            one.arm(ref)
        return one

    yield go
    for one in started:
        one.close()


def test_a_crd_is_reported_when_all_its_versions_are_served(api: Any, start: Any, news: News) -> None:
    half, both = told(("foo.io", "v1")), told(("foo.io", "v1"), ("foo.io", "v2"))
    api.on("GET", "/apis", api.reply(body=half), api.reply(body=half), api.reply(body=both))
    waiting = start(crd("Foo"))
    assert waiting.busy
    name, answer = news.get(timeout=5)
    assert name == "foos.foo.io"
    assert isinstance(answer, Readiness)
    assert answer.ready
    assert len(api.seen("GET", "/apis")) == 3
    assert not waiting.busy
    assert not waiting.pending
    assert not api.seen("GET", f"{CRDS}/foos.foo.io")


def test_an_older_server_is_asked_version_by_version(api: Any, start: Any, news: News) -> None:
    api.on("GET", "/apis", api.reply(body={"kind": "APIGroupList", "groups": []}))
    kinds = api.reply(body={"resources": [{"kind": "Bar", "name": "bars", "namespaced": True}]})
    missing = api.status(404, "NotFound", "the server could not find the requested resource")
    api.on("GET", "/apis/bar.io/v1", missing, kinds)
    api.on("GET", "/apis/bar.io/v2", missing, missing, kinds)
    start(crd("Foo"), crd("Bar"))
    assert news.get(timeout=5)[0] == "bars.bar.io"
    assert len(api.seen("GET", "/apis/bar.io/v2")) == 3
    assert not api.seen("GET", "/apis/bar.io/v0")


def test_a_late_crd_tells_that_its_names_are_refused(
    api: Any, start: Any, news: News, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served, "_LATE_SECONDS", 0.3)
    refused = {"type": "NamesAccepted", "status": "False", "message": '"foos" is already in use'}
    api.on("GET", "/apis", api.reply(body=told()))
    api.on("GET", f"{CRDS}/foos.foo.io", api.reply(body=crd("Foo", conditions=[refused])))
    start(crd("Foo"))
    _, answer = news.get(timeout=5)
    assert isinstance(answer, Readiness)
    assert answer.state is State.FAILED
    assert '"foos" is already in use' in answer.message


def test_it_is_busy_until_a_crd_is_late(api: Any, start: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(served, "time", SimpleNamespace(monotonic=lambda: now[0]))
    api.on("GET", "/apis", api.reply(body=told()))
    monkeypatch.setattr(served, "_LATE_SECONDS", 5.0)
    waiting = start(crd("Foo"), crd("Bar"))
    now[0] = 5.0
    assert waiting.busy
    now[0] += 0.1
    assert not waiting.busy


def test_a_crd_is_not_late_while_others_are_being_served(
    api: Any, start: Any, news: News, monkeypatch: pytest.MonkeyPatch
) -> None:

    def asked() -> float:
        """A clock that no load delays."""
        return len(api.seen("GET", "/apis"))

    monkeypatch.setattr(served, "time", SimpleNamespace(monotonic=asked))
    monkeypatch.setattr(served, "_LATE_SECONDS", 2)
    foo = [("foo.io", "v1"), ("foo.io", "v2")]
    both = told(*foo, ("bar.io", "v1"), ("bar.io", "v2"))
    api.on("GET", "/apis", *[api.reply(body=told())] * 2, *[api.reply(body=told(*foo))] * 2, api.reply(body=both))
    start(crd("Foo"), crd("Bar"))
    assert [news.get(timeout=5)[0], news.get(timeout=5)[0]] == ["foos.foo.io", "bars.bar.io"]
    assert asked() == 5  # two since the last was served
    assert not api.seen("GET", f"{CRDS}/bars.bar.io")


def test_at_the_deadline_it_is_told_how_a_crd_stands(api: Any, start: Any, news: News) -> None:
    established = [{"type": kind, "status": "True"} for kind in ("NamesAccepted", "Established")]
    api.on("GET", "/apis", api.reply(body=told()))
    api.on("GET", f"{CRDS}/foos.foo.io", api.reply(body=crd("Foo", conditions=established)))
    start(crd("Foo"), crd("Bar"), seconds=0.5)
    answers = dict(news.get(timeout=5) for _ in range(2))
    assert {name: getattr(answer, "reason", "") for name, answer in answers.items()} == {
        "foos.foo.io": "NotServed",
        "bars.bar.io": "Gone",
    }


def test_trouble_that_lasts_is_reported(api: Any, start: Any, news: News) -> None:
    api.on("GET", "/apis", api.status(403, "Forbidden", "you may not look"))
    start(crd("Foo"))
    _, answer = news.get(timeout=5)
    assert isinstance(answer, ApiError)
    assert "you may not look" in str(answer)
