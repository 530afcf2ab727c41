"""The client survives what heals, and says plainly what does not."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.cluster.client import Cluster
from kubeflow_volcano.cluster.deadline import Deadline
from kubeflow_volcano.cluster.errors import ApiError, NotServed
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.problems import Unreachable

MAPS = "/api/v1/namespaces/ns/configmaps"
ONE = f"{MAPS}/one"
REF = Ref("v1", "ConfigMap", "ns", "one")
OBJECT = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "namespace": "ns"}}


def good(api: Any) -> Any:
    return api.reply(body=OBJECT)


def test_answers_that_heal_are_asked_for_again(api: Any) -> None:
    api.on(
        "GET",
        ONE,
        api.status(503, "ServiceUnavailable", "starting"),
        api.status(500, "InternalError", "etcdserver: leader changed"),
        api.status(504, "Timeout", "request timed out"),
        api.reply(502, b"<html>bad gateway</html>"),
        api.reply(reset=True),
        good(api),
    )
    cluster = api.connect()
    assert cluster.get(REF) == OBJECT
    assert cluster.retries == 5


def test_retry_after_is_respected(api: Any) -> None:
    api.on("GET", ONE, api.status(429, "TooManyRequests", "slow down", Retry_After="1"), good(api))
    started = time.monotonic()
    assert api.connect().get(REF) == OBJECT
    assert 1.0 <= time.monotonic() - started < 3.0


def test_a_retry_that_the_deadline_does_not_allow_is_not_waited_for(api: Any) -> None:
    api.on("GET", ONE, api.status(429, "TooManyRequests", "slow down", Retry_After="30"))
    started = time.monotonic()
    with pytest.raises(ApiError, match="slow down"):
        api.connect().get(REF, deadline=Deadline(2))
    assert time.monotonic() - started < 1.5


def test_retries_end_at_the_deadline_with_the_last_trouble(api: Any) -> None:
    api.on("GET", ONE, api.status(503, "ServiceUnavailable", "still starting"))
    started = time.monotonic()
    with pytest.raises(ApiError, match="still starting") as caught:
        api.connect().get(REF, deadline=Deadline(1))
    assert caught.value.status == 503
    assert 0.3 < time.monotonic() - started < 2.0
    assert len(api.seen("GET", ONE)) > 2


@pytest.mark.parametrize(
    ("code", "reason", "message"),
    [
        (400, "BadRequest", "no"),
        (403, "Forbidden", "user may not"),
        (422, "Invalid", "field is immutable"),
        (409, "AlreadyExists", "there is one"),
        (409, "Conflict", 'Apply failed with 1 conflict: conflict with "other"'),
        (500, "InternalError", "something broke"),
        (500, "InternalError", 'failed calling webhook "w": no endpoints available'),
    ],
)
def test_answers_that_do_not_heal_are_raised_at_once(api: Any, code: int, reason: str, message: str) -> None:
    api.on("GET", ONE, api.status(code, reason, message))
    with pytest.raises(ApiError) as caught:
        api.connect().get(REF)
    assert (caught.value.status, caught.value.reason) == (code, reason)
    assert len(api.seen("GET", ONE)) == 1


def test_a_token_that_expired_is_loaded_anew_once(api: Any) -> None:
    def guard(request: Any) -> Any:
        return (
            good(api) if request.headers["authorization"] == "Bearer second" else api.status(401, "Unauthorized", "no")
        )

    api.on("GET", ONE, guard)
    cluster = api.connect()
    api.write_kubeconfig("second")
    assert cluster.get(REF) == OBJECT
    assert len(api.seen("GET", ONE)) == 2


def test_a_token_that_stays_wrong_is_told(api: Any) -> None:
    api.on("GET", ONE, api.status(401, "Unauthorized", "no"))
    with pytest.raises(ApiError, match="Unauthorized"):
        api.connect().get(REF)
    assert len(api.seen("GET", ONE)) == 2


def test_absent_object_and_absent_kind_are_none(api: Any) -> None:
    cluster = api.connect()
    assert cluster.get(REF) is None
    assert cluster.get(Ref("kubeflow.org/v1", "TFJob", "ns", "x")) is None


def test_kind_that_is_not_served_is_told_and_seen_once_it_is(api: Any) -> None:
    cluster = api.connect()
    with pytest.raises(NotServed, match=r"no kind TFJob in kubeflow\.org/v1"):
        cluster.list("kubeflow.org/v1", "TFJob")
    resources = [{"kind": "TFJob", "name": "tfjobs", "namespaced": True}, {"kind": "TFJob", "name": "tfjobs/status"}]
    api.on("GET", "/apis/kubeflow.org/v1", api.reply(body={"resources": resources[:1]}))
    assert cluster.resource("kubeflow.org/v1", "TFJob", refresh=True).path("a", "b") == (
        "/apis/kubeflow.org/v1/namespaces/a/tfjobs/b"
    )


def test_lists_are_read_page_by_page(api: Any) -> None:
    def page(name: str, more: str) -> Any:
        body = {"metadata": {"resourceVersion": "7", "continue": more}, "items": [{"metadata": {"name": name}}]}
        return api.reply(body=body)

    api.on("GET", MAPS, page("a", "token"), page("b", ""))
    listing = api.connect().list("v1", "ConfigMap", namespace="ns", labels="x=y")
    assert [item["metadata"]["name"] for item in listing.items] == ["a", "b"]
    assert listing.items[0]["kind"] == "ConfigMap"
    assert listing.resource_version == "7"
    first, second = api.seen("GET", MAPS)
    assert (first.query["labelSelector"], "continue" in first.query) == ("x=y", False)
    assert second.query["continue"] == "token"


def test_apply_sends_the_object_under_its_manager(api: Any) -> None:
    api.on("PATCH", ONE, good(api))
    api.connect().apply(OBJECT, manager="me", force=True, dry_run=True)
    (request,) = api.seen("PATCH", ONE)
    assert request.query == {"fieldManager": "me", "force": "true", "dryRun": "All"}
    assert request.headers["content-type"] == "application/apply-patch+yaml"
    assert request.body == OBJECT


@pytest.mark.parametrize(("code", "reason"), [(404, "NotFound"), (409, "Conflict")])
def test_deleting_what_is_gone_or_another_is_no_error(api: Any, code: int, reason: str) -> None:
    api.on(
        "DELETE", ONE, api.status(code, reason, "Precondition failed: UID in precondition: u, UID in object meta: v")
    )
    assert api.connect().delete(REF, uid="u") is False
    assert api.seen("DELETE", ONE)[0].body["preconditions"] == {"uid": "u"}


def test_missing_kubeconfig_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="absent-kubeconfig"):
        Cluster.connect(tmp_path / "absent-kubeconfig")


@pytest.mark.parametrize("text", ["root:x:0:0:root:/root:/bin/sh\n", "- a\n", "clusters: 7\ncurrent-context: a\n"])
def test_a_file_of_another_kind_is_no_kubeconfig(tmp_path: Path, text: str) -> None:
    place = tmp_path / "notes"
    place.write_text(text)
    with pytest.raises(Unreachable, match=r"no usable credentials .*notes"):
        Cluster.connect(place)


def test_unknown_context_is_named(api: Any) -> None:
    with pytest.raises(Unreachable, match="no-such-context"):
        Cluster.connect(api.kubeconfig, "no-such-context")


def test_server_that_refuses_who_asks_is_unreachable(api: Any) -> None:
    api.on("GET", "/version", api.status(401, "Unauthorized", "who are you"))
    with pytest.raises(Unreachable, match="who are you"):
        api.connect()


def test_requests_share_connections(api: Any) -> None:
    api.on("GET", ONE, good(api))
    cluster = api.connect()
    for _ in range(5):
        cluster.get(REF)
    pools = cluster._pool.pools  # noqa: SLF001  no public count of connections
    assert sum(pools[key].num_connections for key in pools.keys()) == 1  # noqa: SIM118  not a dict
