"""No manifest ends in a traceback, whatever its values are."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from tests.samples.manifests import judged, made, tfjob, vcjob

JUNK: tuple[Any, ...] = (None, -1, 1.5, True, "", "1 core", [], {}, [None], [[]], {"a": None}, {"a": []})
POD: Object = {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1"}}}]}
MARKED: Object = {"metadata": {"labels": {"a": "b"}, "annotations": {"scheduling.k8s.io/group-name": "g"}}}
REPLICATED: Object = {"name": "a", "replicas": 2, "template": {"spec": {"parallelism": 2, "template": {"spec": POD}}}}
QUEUE = "scheduling.volcano.sh/queue-name"
MANIFESTS = (
    tfjob(MARKED, policy={"minAvailable": 2, "queue": "q", "priorityClass": "x"}, schedulerName="y"),
    vcjob(MARKED, minAvailable=2, queue="q", task={"minAvailable": 1, "dependsOn": {"name": ["a"]}}),
    made("v1", "Pod", "p", spec={**POD, "initContainers": [{"name": "c", "restartPolicy": "Always"}]}),
    made("scheduling.volcano.sh/v1beta1", "PodGroup", "g", spec={"minMember": 2, "queue": "q"}),
    made("batch/v1", "CronJob", "c", spec={"jobTemplate": {"spec": {"template": {"spec": POD}}}}),
    made("jobset.x-k8s.io/v1alpha2", "JobSet", "s", spec={"replicatedJobs": [REPLICATED]}),
    made(
        "trainer.kubeflow.org/v1alpha1",
        "TrainJob",
        "t",
        spec={"runtimeRef": {"name": "a"}, "trainer": {"numNodes": 2, "image": "x"}, "annotations": {QUEUE: "q"}},
    ),
    made("v1", "LimitRange", "l", spec={"limits": [{"type": "Container", "default": {"cpu": "1"}}]}),
    made(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "c",
        spec={"group": "a", "names": {"kind": "B"}, "versions": [{"name": "v1"}]},
    ),
)


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The path of each value in it."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, item in items:
        yield (*path, step)
        yield from places(item, (*path, step))


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda item: str(item["kind"]))
def test_any_value_anywhere_is_judged(manifest: Object) -> None:
    found = 0
    for path in places(manifest):
        if path[0] not in {"metadata", "spec"} or path in {("metadata",), ("metadata", "name")}:
            continue  # documents.read refuses these
        for junk in JUNK:
            changed = copy.deepcopy(manifest)
            value: Any = changed
            for step in path[:-1]:
                value = value[step]
            value[path[-1]] = junk
            found += judged(changed, tfjob()).warned
    assert found
