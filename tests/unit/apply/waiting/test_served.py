"""CRDs are waited for by discovery, version by version; one that is late is looked at itself."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from kubeflow_volcano.apply.waiting import served
from kubeflow_volcano.apply.waiting.served import Served
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.readiness import Readiness, State
from kubeflow_volcano.deadline import Deadline

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
News = queue.SimpleQueue[tuple[str, Readiness | BaseException]]


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


def serving(api: Any, kind: str, version: str, answers: str) -> None:
    """A server that answers for that kind's version in turn that it is served (y), or not yet (n)."""
    kinds = [{"kind": kind, "name": f"{kind.lower()}s", "namespaced": True}]
    missing = api.status(404, "NotFound", "the server could not find the requested resource")
    path = f"/apis/{kind.lower()}.io/{version}"
    api.on("GET", path, *(api.reply(body={"resources": kinds}) if served == "y" else missing for served in answers))


@pytest.fixture
def news() -> News:
    return queue.SimpleQueue()


@pytest.fixture
def start(api: Any, news: News) -> Iterator[Any]:
    started: list[Served] = []

    def go(*crds: Object, seconds: float = 10) -> Served:
        by_ref = {Ref.of(obj): obj for obj in crds}
        one = Served(
            api.connect(),
            by_ref,
            Deadline(seconds),
            lambda ref, answer: news.put((ref.name, answer)),
            lambda error: news.put(("failed", error)),
        )
        started.append(one)
        for ref in by_ref:
            one.arm(ref)
        return one

    yield go
    for one in started:
        one.close()


def test_a_crd_is_reported_when_all_its_versions_are_served(api: Any, start: Any, news: News) -> None:
    serving(api, "Foo", "v1", "ny")
    serving(api, "Foo", "v2", "nny")
    waiting = start(crd("Foo"))
    assert waiting.busy
    name, answer = news.get(timeout=5)
    assert name == "foos.foo.io"
    assert isinstance(answer, Readiness)
    assert answer.ready
    assert len(api.seen("GET", "/apis/foo.io/v2")) == 3
    assert not api.seen("GET", "/apis/foo.io/v0")
    assert not waiting.busy
    assert not waiting.pending
    assert not api.seen("GET", f"{CRDS}/foos.foo.io")


def test_a_version_that_is_served_without_the_kind_is_not_enough(api: Any, start: Any, news: News) -> None:
    other = [{"kind": "Other", "name": "others", "namespaced": True}]
    kinds = [*other, {"kind": "Foo", "name": "foos", "namespaced": True}]
    api.on("GET", "/apis/foo.io/v1", api.reply(body={"resources": other}), api.reply(body={"resources": kinds}))
    serving(api, "Foo", "v2", "y")
    start(crd("Foo"))
    assert news.get(timeout=5)[0] == "foos.foo.io"
    assert len(api.seen("GET", "/apis/foo.io/v1")) == 2


def test_after_two_that_are_missing_the_rest_is_not_asked_for(api: Any, start: Any, news: News) -> None:
    serving(api, "Foo", "v1", "n")
    serving(api, "Bar", "v1", "ny")
    serving(api, "Bar", "v2", "y")
    serving(api, "Baz", "v1", "y")
    serving(api, "Baz", "v2", "y")
    start(crd("Foo"), crd("Bar"), crd("Baz"))
    assert [news.get(timeout=5)[0] for _ in range(2)] == ["bars.bar.io", "bazs.baz.io"]
    asked = [request.path for request in api.requests]
    assert asked.index("/apis/baz.io/v1") > asked.index("/apis/bar.io/v2")


def test_a_late_crd_tells_that_its_names_are_refused(
    api: Any, start: Any, news: News, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served, "_LATE_SECONDS", 0.3)
    refused = {"type": "NamesAccepted", "status": "False", "message": '"foos" is already in use'}
    api.on("GET", f"{CRDS}/foos.foo.io", api.reply(body=crd("Foo", conditions=[refused])))
    start(crd("Foo"))
    _, answer = news.get(timeout=5)
    assert isinstance(answer, Readiness)
    assert answer.state is State.FAILED
    assert refused["message"] in answer.message


def test_it_is_busy_until_a_crd_is_late(start: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(served, "time", SimpleNamespace(monotonic=lambda: now[0]))
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
        return len(api.seen("GET", "/apis/bar.io/v1"))

    monkeypatch.setattr(served, "time", SimpleNamespace(monotonic=asked))
    monkeypatch.setattr(served, "_LATE_SECONDS", 2)
    serving(api, "Foo", "v1", "nny")
    serving(api, "Foo", "v2", "y")
    serving(api, "Bar", "v1", "nnnny")
    serving(api, "Bar", "v2", "y")
    start(crd("Foo"), crd("Bar"))
    assert [news.get(timeout=5)[0], news.get(timeout=5)[0]] == ["foos.foo.io", "bars.bar.io"]
    assert asked() == 5  # two since the last was served
    assert not api.seen("GET", f"{CRDS}/bars.bar.io")


def test_at_the_deadline_it_is_told_how_a_crd_stands(api: Any, start: Any, news: News) -> None:
    established = [{"type": kind, "status": "True"} for kind in ("NamesAccepted", "Established")]
    api.on("GET", f"{CRDS}/foos.foo.io", api.reply(body=crd("Foo", conditions=established)))
    start(crd("Foo"), crd("Bar"), seconds=0.5)
    answers = dict(news.get(timeout=5) for _ in range(2))
    assert {name: getattr(answer, "reason", "") for name, answer in answers.items()} == {
        "foos.foo.io": "NotServed",
        "bars.bar.io": "Gone",
    }


def test_trouble_that_lasts_is_reported(api: Any, start: Any, news: News) -> None:
    api.on("GET", "/apis/foo.io/v1", api.status(403, "Forbidden", "you may not look"))
    start(crd("Foo"))
    _, answer = news.get(timeout=5)
    assert isinstance(answer, ApiError)
    assert "not look" in str(answer)


def test_an_exception_that_is_no_answer_reaches_the_caller_at_once(
    monkeypatch: pytest.MonkeyPatch, start: Any, news: News
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError

    monkeypatch.setattr(Cluster, "kinds", broken)
    start(crd("Foo"), seconds=3600)
    name, error = news.get(timeout=20)
    assert (name, type(error)) == ("failed", KeyError)
