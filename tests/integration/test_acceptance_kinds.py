"""Acceptance of every kind in the namespace of a profile, with the CRDs of a release on a real API server.

No controller of Kubeflow runs here: a stand-in writes the status that each would write. So this shows that the examples
are accepted under names of a run, are followed to the end of their kind, and are removed by UID; not that they work.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.catalog.examples import example_kinds
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.metadata import RUN_LABEL
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rehearsal.build.generation import load_generation
from kubeflow_volcano.rehearsal.build.kept import Tools
from kubeflow_volcano.rehearsal.build.tools import ensure_tools
from kubeflow_volcano.validators.core.timing import Timing
from kubeflow_volcano.validators.probes.acceptance.examples import PROFILE
from kubeflow_volcano.validators.run.runner import Options, validate
from tests.bench.plane import Plane
from tests.integration.test_examples import of_release, served

pytestmark = [pytest.mark.cluster, pytest.mark.upstream, pytest.mark.timeout(600)]

SPACE = "team-a"
GOOD: Mapping[str, Any] = {
    "Notebook": {"conditions": [], "containerState": {}, "readyReplicas": 1},
    "Tensorboard": {"conditions": [], "readyReplicas": 1},
    "Workflow": {"phase": "Succeeded"},
    "InferenceService": {"conditions": [{"type": "Ready", "status": "True"}]},
}
SUCCEEDED = {"conditions": [{"type": "Succeeded", "status": "True", "message": "done"}]}
FAILED = {"phase": "Failed", "message": "step train: exit code 1"}


@pytest.fixture(scope="module")
def tools() -> Tools:
    return ensure_tools(load_generation("1.30"), progress=silent)


@pytest.fixture(scope="module")
def plane(tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    with Plane(tools.programs, tmp_path_factory.mktemp("acceptance") / "plane", ()) as plane:
        yield plane


@contextmanager
def controllers(cluster: Cluster, statuses: Mapping[str, Any]) -> Iterator[None]:
    """Writes the status of each object of the examples' kinds within the block."""
    over = threading.Event()

    def work() -> None:
        while not over.wait(0.2):
            for item in example_kinds():
                if item.kind in cluster.kinds(item.api_version):
                    for obj in cluster.list(item.api_version, item.kind, namespace=SPACE).items:
                        with suppress(ApiError):  # it may be gone by now
                            write(cluster, obj, statuses.get(item.kind, SUCCEEDED))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def write(cluster: Cluster, obj: Object, status: Any) -> None:
    if (obj.get("status") or {}).items() >= status.items():
        return
    path = cluster.resource(obj["apiVersion"], obj["kind"]).path(SPACE, obj["metadata"]["name"])
    try:
        cluster.request("PATCH", f"{path}/status", body={"status": status}, content_type="application/merge-patch+json")
    except ApiError as error:
        if error.status != 404:
            raise
        cluster.request("PATCH", path, body={"status": status}, content_type="application/merge-patch+json")


@pytest.fixture(scope="module")
def release(plane: Plane, tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    crds = of_release("1.9.1", tools, tmp_path_factory.mktemp("crds"))
    cluster = Cluster.connect(plane.kubeconfig)
    meta = {"name": SPACE, "labels": dict([PROFILE])}
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
    default = {"storageclass.kubernetes.io/is-default-class": "true"}
    cluster.create(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "absent", "annotations": default},
            "provisioner": "example.com/absent",
        }
    )
    with served(cluster, crds):
        yield cluster


def judged(kubeconfig: Path, *select: str, images: tuple[str, ...] = ()) -> dict[str, tuple[str, str, str]]:
    options = Options(
        kubeconfig,
        release="1.9.1",
        profile="full",
        gang_scheduler="none",
        select=select,
        acceptance=True,
        probe_namespace=SPACE,
        notebook_images=images,
        stability_seconds=1,
        report_dir=None,
    )
    report = validate(options, silent, timing=Timing(accept_seconds=20, settle_running_seconds=0.5))
    return {
        item.check.id: (str(item.outcome.status), item.outcome.reason, item.outcome.message) for item in report.results
    }


def remains(cluster: Cluster) -> list[str]:
    kinds = [*((item.api_version, item.kind) for item in example_kinds()), ("v1", "PersistentVolumeClaim")]
    return [
        item["metadata"]["name"]
        for api_version, kind in kinds
        if kind in cluster.kinds(api_version)
        for item in cluster.list(api_version, kind, namespace=SPACE, labels=RUN_LABEL).items
    ]


@pytest.mark.long
def test_every_kind_is_followed_to_its_end_and_removed(release: Cluster, plane: Plane) -> None:
    with controllers(release, GOOD):
        found = judged(plane.kubeconfig, "acceptance", "I1", "I2")
    passed = {id_ for id_, (status, _, _) in found.items() if status == "pass"}
    assert passed == {"J1", "J4", "J5", "J6", "J7", "J8", "I1", "I2"}, found
    assert "5 examples" in found["J1"][2]
    assert "no JAXJob" in found["J1"][2]
    assert "experiment completed" in found["J7"][2]
    assert "no TrainJob" in found["J7"][2]
    assert found["J2"][1] == "NotExpected"
    assert remains(release) == []


@pytest.mark.long
def test_a_pipeline_that_fails_and_a_notebook_that_never_starts_are_found_and_removed(
    release: Cluster, plane: Plane
) -> None:
    with controllers(release, {**GOOD, "Workflow": FAILED, "Notebook": {**GOOD["Notebook"], "readyReplicas": 0}}):
        found = judged(plane.kubeconfig, "J4", "J6", "I1")
    assert found["J6"][:2] == ("fail", "ExampleFailed")
    assert f"(Failed: {FAILED['message']})" in found["J6"][2]
    assert found["J4"][:2] == ("fail", "ExampleNotReached")
    assert "(0 ready replicas)" in found["J4"][2]
    assert found["I1"][0] == "pass"
    assert remains(release) == []


@pytest.mark.long
def test_each_image_that_the_inventory_offers_is_a_notebook_of_its_own(release: Cluster, plane: Plane) -> None:
    images = ("m.example.org/torch:2", "m.example.org/ascend:2", "m.example.org/code:4")
    with controllers(release, GOOD):
        found = judged(plane.kubeconfig, "J4", "I1", images=images)
    assert {id_: status for id_, (status, _, _) in found.items()} == {"J4": "pass", "I1": "pass"}, found
    assert all(f"notebook with {image} " in found["J4"][2] for image in images)
    assert remains(release) == []
