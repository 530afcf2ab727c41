"""The release of a cluster whose operator does not say it."""

from __future__ import annotations

import pytest

from kubeflow_volcano.cluster.applied_objects import Brought, serialize
from kubeflow_volcano.validators.run.recognising import release_of
from tests.unit.conftest import Answer, FakeApi

RECORD = "/api/v1/namespaces/kubeflow-volcano/configmaps/rollout-objects"


@pytest.mark.parametrize(
    ("versions", "release"),
    [(("1.9.1", "1.10.0"), "1.9.1"), (("1.9.1", "1.8.1"), ""), ((), "")],
    ids=["of a component of the release", "of several releases", "of none"],
)
def test_what_the_last_roll_out_recorded_is_preferred_to_the_newest_for_kubernetes(
    versions: tuple[str, ...], release: str, api: FakeApi
) -> None:
    newest, _ = release_of(api.connect(), {})
    data = {f"part-{number}": serialize(Brought(version)) for number, version in enumerate(versions)}
    meta = {"name": "rollout-objects", "namespace": "kubeflow-volcano"}
    api.on("GET", RECORD, Answer(body={"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}))
    assert newest != "1.9.1"
    assert release_of(api.connect(), {})[0] == (release or newest)
