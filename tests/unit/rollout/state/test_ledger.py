"""What the ledger says of a run, and what it keeps of the ones before."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubeflow_volcano import __version__
from kubeflow_volcano.apply.result import Action, ApplyResult, ObjectOutcome
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.state.ledger import expected_seconds, has_ended_well, record_run

NAMESPACES = "/api/v1/namespaces"
MAPS = f"{NAMESPACES}/kubeflow-volcano/configmaps"
LEDGER = f"{MAPS}/rollout-ledger"


def text(name: str, kind: str = "ConfigMap", **more: Any) -> Object:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "n"}, **more}


def result(action: Action, seconds: float, *problems: Problem) -> ApplyResult:
    outcome = ObjectOutcome(Ref.of(text("a")), action, None, None, component="one")
    return ApplyResult((outcome,), problems, seconds)


def written(api: Any, done: ApplyResult, before: dict[str, Any] | None = None) -> Any:
    api.on("GET", f"{NAMESPACES}/kubeflow-volcano", api.reply(body=text("kubeflow-volcano", "Namespace")))
    if before is None:
        api.on("POST", MAPS, api.reply(body=text("rollout-ledger")))
        method, path = "POST", MAPS
    else:
        api.on("GET", LEDGER, api.reply(body=text("rollout-ledger", data={"one": json.dumps(before)})))
        api.on("POST", MAPS, api.status(409, "AlreadyExists", "there is one"))
        api.on("PATCH", LEDGER, api.reply(body=text("rollout-ledger")))
        method, path = "PATCH", LEDGER
    record_run(api.connect(), release="1.9.1", components=["one"], result=done)
    return json.loads(api.seen(method, path)[-1].body["data"]["one"])


def test_a_first_run_is_written_down_whole(api: Any) -> None:
    entry = written(api, result(Action.CREATED, 40))
    assert entry["version"] == __version__
    assert (entry["release"], entry["outcome"], entry["seconds_of_a_change"]) == ("1.9.1", "complete", 40)
    assert entry["components"] == ["one"]
    assert entry["objects"]["created"] == 1
    assert "seconds_without_change" not in entry


def test_a_quiet_run_leaves_the_durations_of_the_change(api: Any) -> None:
    entry = written(api, result(Action.UNCHANGED, 2), {"seconds_of_a_change": 40})
    assert (entry["seconds_of_a_change"], entry["seconds_without_change"]) == (40, 2)


def test_a_failed_run_is_called_that(api: Any) -> None:
    assert written(api, result(Action.FAILED, 1, Problem("f", "n", "d")))["outcome"] == "failed"


@pytest.mark.parametrize(("quiet", "seconds"), [(True, 2.0), (False, 40.0)])
def test_the_next_run_knows_how_long_such_a_one_took(api: Any, quiet: bool, seconds: float) -> None:  # noqa: FBT001  a column of the table
    entry = json.dumps({"seconds_of_a_change": 40, "seconds_without_change": 2})
    api.on("GET", LEDGER, api.reply(body=text("rollout-ledger", data={"one.two": entry, "broken": "{"})))
    cluster = api.connect()
    assert expected_seconds(cluster, ["one", "two"], quiet=quiet) == seconds
    assert expected_seconds(cluster, ["one"], quiet=quiet) is None
    assert expected_seconds(cluster, ["broken"], quiet=quiet) is None


@pytest.mark.parametrize(
    ("entries", "well"),
    [
        ({"one": {"outcome": "complete"}}, True),
        ({"one": {"outcome": "failed"}}, False),
        ({"one.two": {"outcome": "complete"}}, False),
        ({}, False),
    ],
)
def test_a_run_has_ended_well_if_the_last_of_the_same_components_did(
    api: Any, entries: dict[str, Any], *, well: bool
) -> None:
    data = {name: json.dumps(entry) for name, entry in entries.items()}
    api.on("GET", LEDGER, api.reply(body=text("rollout-ledger", data=data)))
    assert has_ended_well(api.connect(), ["one"]) is well
