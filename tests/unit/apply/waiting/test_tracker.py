"""Objects are reported once when they are ready, and watches end when no object is awaited."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kubeflow_volcano.apply.graph import Graph, Needs
from kubeflow_volcano.apply.waiting.tracker import Readied, ReadinessTracker
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import Problem
from tests.waiting import until

NAMESPACE = "/apis/apps/v1/namespaces/ns"
WEB, DATABASE = (Ref("apps/v1", "Deployment", "ns", name) for name in ("web", "database"))
News = queue.SimpleQueue[Readied | BaseException]


def deployment(ref: Ref, available: int) -> Object:
    meta = {"name": ref.name, "namespace": "ns", "uid": ref.name, "generation": 1, "resourceVersion": "9"}
    status = {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "availableReplicas": available}
    return {
        "apiVersion": ref.api_version,
        "kind": ref.kind,
        "metadata": meta,
        "spec": {"replicas": 1},
        "status": status,
    }


def serve(api: Any, *items: Object) -> None:
    """A namespace with these Deployments, of whose changes nothing is told."""

    def answering(*found: Object) -> Any:
        body = {"metadata": {"resourceVersion": "5"}, "items": list(found)}
        return lambda asked: api.reply(lines=[], hold=20.0) if "watch" in asked.query else api.reply(body=body)

    api.on("GET", f"{NAMESPACE}/deployments", answering(*items))
    api.on("GET", f"{NAMESPACE}/replicasets", answering())
    api.on("GET", "/api/v1/namespaces/ns/pods", answering())


def watching() -> bool:
    return any(thread.name == "monitor" for thread in threading.enumerate())


@pytest.fixture
def news() -> News:
    return queue.SimpleQueue()


@pytest.fixture
def passed(api: Any, news: News) -> Iterator[Any]:
    """A tracker of these objects, all of which were just accepted."""
    started: list[ReadinessTracker] = []

    def start(*refs: Ref, answer: Callable[[Ref], Any] = lambda _ref: ((), ())) -> ReadinessTracker:
        problem = Problem("found.", "needed.", "todo.")
        tracker = ReadinessTracker(
            api.connect(),
            objects={},
            graph=Graph({ref: Needs() for ref in refs}, {}),
            deadline=Deadline(600),
            answer=answer,
            not_ready=lambda _answer, _ref: problem,
            refusal=lambda _error: problem,
        )
        tracker.start(refs, news.put, news.put)
        started.append(tracker)
        for ref in refs:
            tracker.mark_applied(ref, 1, ready=False)
        return tracker

    yield start
    for tracker in started:
        tracker.close()


def test_watches_end_when_the_last_one_is_ready(api: Any, news: News, passed: Any) -> None:
    serve(api, deployment(WEB, 1), deployment(DATABASE, 1))
    tracker = passed(WEB, DATABASE)
    assert {news.get(timeout=20), news.get(timeout=20)} == {Readied(WEB), Readied(DATABASE)}
    until(lambda: not watching(), 20)
    assert not tracker.awaited


def test_watches_go_on_while_one_is_not_ready(api: Any, news: News, passed: Any) -> None:
    serve(api, deployment(WEB, 1), deployment(DATABASE, 0))
    tracker = passed(WEB, DATABASE)
    assert news.get(timeout=20) == Readied(WEB)
    with pytest.raises(queue.Empty):
        news.get(timeout=1)
    assert watching()
    assert "0 of 1 " in tracker.pending[DATABASE]


def test_an_exception_behind_a_watch_reaches_the_caller_at_once(api: Any, news: News, passed: Any) -> None:
    serve(api, {"metadata": {"name": "web", "namespace": "ns", "uid": "web"}, "spec": []})
    passed(WEB)
    assert isinstance(news.get(timeout=20), AttributeError | TypeError)


def test_an_exception_of_a_thread_that_asks_webhooks_reaches_the_caller_at_once(news: News, passed: Any) -> None:
    def answer(_ref: Ref) -> Any:
        raise ZeroDivisionError

    passed(Ref("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "", "hooks"), answer=answer)
    assert isinstance(news.get(timeout=20), ZeroDivisionError)
