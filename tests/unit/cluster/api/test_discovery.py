"""All kinds in one answer, where the server can; version by version where not."""

from __future__ import annotations

from typing import Any

from kubeflow_volcano.cluster.api.discovery import AGGREGATED, aggregated


def entry(kind: str, plural: str, scope: str) -> dict[str, Any]:
    return {"resource": plural, "responseKind": {"group": "", "version": "v1", "kind": kind}, "scope": scope}


ANSWER = {
    "kind": "APIGroupDiscoveryList",
    "items": [
        {
            "metadata": {"name": "g.io"},
            "versions": [
                {"version": "v1", "resources": [entry("Foo", "foos", "Namespaced"), entry("Bar", "bars", "Cluster")]},
                {"version": "v1beta1", "freshness": "Stale"},
            ],
        }
    ],
}


def test_all_groups_are_told_in_one_answer() -> None:
    kinds = aggregated(ANSWER) or {}
    assert kinds["g.io/v1"]["Foo"].path("ns", "one") == "/apis/g.io/v1/namespaces/ns/foos/one"
    assert kinds["g.io/v1"]["Bar"].path("ns", "one") == "/apis/g.io/v1/bars/one"
    assert kinds["g.io/v1beta1"] == {}


def test_an_older_server_tells_no_kinds() -> None:
    assert aggregated({"kind": "APIGroupList", "groups": [{"name": "g.io"}]}) is None


def test_what_was_told_need_not_be_asked_again(api: Any) -> None:
    api.on("GET", "/apis", api.reply(body=ANSWER))
    cluster = api.connect()
    assert cluster.all_kinds() == aggregated(ANSWER)
    assert cluster.resource("g.io/v1", "Foo").plural == "foos"
    assert [item.path for item in api.requests] == ["/version", "/apis"]
    assert api.requests[1].headers["accept"] == AGGREGATED
