"""Where pods go, and what the webhook makes of them."""

from __future__ import annotations

import base64
import copy
import http.client
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.rehearsal.pki import issue_all
from kubeflow_volcano.rehearsal.placement import (
    REASON_ANNOTATION,
    SIMULATED_LABEL,
    TOLERATION,
    full_name,
    placement_patch,
    simulation_reason,
)
from kubeflow_volcano.rehearsal.placement_server import ImageIndex, PlacementServer, review
from kubeflow_volcano.rehearsal.spec import SIMULATED_IMAGES

LOCAL = frozenset({"docker.io/library/busybox:1.36", "docker.io/kubeflow/training-operator:v1-04f9f13"})
DIGEST = "sha256:" + "a" * 64


def pod(*images: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {}, "spec": {"containers": [{"name": "a", "image": image} for image in images]} | spec}


def reason(subject: dict[str, Any]) -> str:
    return simulation_reason(subject, LOCAL, SIMULATED_IMAGES)


@pytest.mark.parametrize(
    ("image", "full"),
    [
        ("busybox", "docker.io/library/busybox:latest"),
        ("busybox:1.36", "docker.io/library/busybox:1.36"),
        ("kubeflow/tf:v1", "docker.io/kubeflow/tf:v1"),
        ("ghcr.io/a/b", "ghcr.io/a/b:latest"),
        ("localhost/a", "localhost/a:latest"),
        ("registry:5000/a/b", "registry:5000/a/b:latest"),
        (f"a/b@{DIGEST}", f"docker.io/a/b@{DIGEST}"),
        (f"a/b:v1@{DIGEST}", f"docker.io/a/b:v1@{DIGEST}"),
    ],
)
def test_names_are_completed_as_docker_does(image: str, full: str) -> None:
    assert full_name(image) == full


def test_a_pod_of_local_images_runs_for_real() -> None:
    assert reason(pod("busybox:1.36", "kubeflow/training-operator:v1-04f9f13")) == ""


def test_a_pod_that_asks_for_a_gpu_is_simulated_even_with_a_local_image() -> None:
    subject = pod("busybox:1.36")
    subject["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": 1}}

    assert "nvidia.com/gpu" in reason(subject)


def test_no_gpu_at_all_is_no_reason() -> None:
    subject = pod("busybox:1.36")
    subject["spec"]["containers"][0]["resources"] = {"requests": {"nvidia.com/gpu": "0"}, "limits": None}

    assert reason(subject) == ""


@pytest.mark.parametrize(
    "image",
    [
        "kubeflow/tf-dist-mnist-test:latest",
        "kubeflow/tf-mnist-with-summaries",
        "ghcr.io/kubeflow/katib/darts-cnn-cifar10-cpu:v0.17.0",
        "volcanosh/example-mpi:0.0.3",
        "ghcr.io/kubeflow/training-v1/pytorch-dist-mnist:latest",
        "docker.io/kubeflowkatib/mxnet-mnist:v1",
        "volcanosh/dist-mnist-tf-example:0.0.1",
        "tensorflow/tensorflow:2.15.0",
        "pytorch/pytorch",
        f"pytorch/pytorch@{DIGEST}",
    ],
)
def test_known_training_images_are_simulated(image: str) -> None:
    assert "simulated repositories" in reason(pod(image))


def test_an_image_from_a_simulated_repository_that_exists_locally_runs_for_real() -> None:
    local = frozenset({"docker.io/pytorch/pytorch:2"})

    assert simulation_reason(pod("pytorch/pytorch:2"), local, SIMULATED_IMAGES) == ""


@pytest.mark.parametrize(
    "image",
    [
        "nosuch/thing:1",
        "evil.io/pytorch/pytorch",
        # controllers: a missing one must not seem to run
        "docker.io/kubeflow/training-operator:v9",
        "docker.io/kubeflowkatib/katib-controller:v0.14.0",
        "docker.io/mpioperator/mpi-operator:0.4",
        "docker.io/volcanosh/vc-scheduler:v9",
        "ghcr.io/kubeflow/katib/katib-ui:v0.17.0",
        "ghcr.io/kubeflow/training-v1/training-operator:v9",
        "nvcr.io/nvidia/k8s-device-plugin:v0.16",
    ],
)
def test_an_unknown_image_is_left_alone_to_fail_honestly(image: str) -> None:
    assert reason(pod(image)) == ""


def test_an_init_container_counts_too() -> None:
    subject = pod("busybox:1.36", initContainers=[{"name": "i", "image": "pytorch/pytorch:2"}])

    assert "pytorch" in reason(subject)


@pytest.mark.parametrize(
    "settled",
    [
        {"spec": {"nodeName": "rehearsal-1"}},
        {"metadata": {"ownerReferences": [{"kind": "DaemonSet", "name": "d"}]}},
    ],
)
def test_a_pod_whose_node_is_settled_is_left_alone(settled: dict[str, Any]) -> None:
    subject = pod("pytorch/pytorch:2")
    for part, more in settled.items():
        subject[part] |= more

    assert reason(subject) == ""


def applied(subject: dict[str, Any], patch: list[dict[str, Any]]) -> dict[str, Any]:
    result = copy.deepcopy(subject)
    for operation in patch:
        _, part, key = operation["path"].split("/")
        result[part][key] = operation["value"]
    return result


def test_the_patch_adds_and_keeps_what_the_pod_had() -> None:
    subject = pod(
        "pytorch/pytorch:2",
        schedulerName="volcano",
        nodeSelector={"disk": "fast"},
        tolerations=[{"key": "x", "operator": "Exists"}],
    )
    subject["metadata"] = {"labels": {"job": "a"}, "annotations": {"scheduling.k8s.io/group-name": "g"}}

    result = applied(subject, placement_patch(subject, "because"))

    assert result["spec"]["schedulerName"] == "volcano"
    assert result["spec"]["nodeSelector"] == {"disk": "fast", "type": "kwok"}
    assert result["spec"]["tolerations"] == [{"key": "x", "operator": "Exists"}, TOLERATION]
    assert result["metadata"]["labels"] == {"job": "a", SIMULATED_LABEL: "true"}
    assert result["metadata"]["annotations"] == {"scheduling.k8s.io/group-name": "g", REASON_ANNOTATION: "because"}


def test_the_patch_changes_nothing_the_second_time() -> None:
    once = applied(pod("pytorch/pytorch:2"), placement_patch(pod("pytorch/pytorch:2"), "because"))

    assert applied(once, placement_patch(once, "because")) == once


def admission_review(subject: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u", "object": subject}}


def test_the_answer_carries_the_patch_only_for_simulated_pods() -> None:
    answer = review(admission_review(pod("pytorch/pytorch:2")), LOCAL, SIMULATED_IMAGES)["response"]
    assert (answer["uid"], answer["allowed"], answer["patchType"]) == ("u", True, "JSONPatch")
    assert json.loads(base64.b64decode(answer["patch"]))[0]["path"] == "/metadata/labels"

    assert review(admission_review(pod("nosuch:1")), LOCAL, SIMULATED_IMAGES)["response"] == {
        "uid": "u",
        "allowed": True,
    }


def write_index(path: Path, *names: str) -> None:
    entries = [{"digest": DIGEST, "annotations": {"org.opencontainers.image.ref.name": name}} for name in names]
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps({"manifests": entries}))
    fresh.replace(path)


def test_the_image_list_is_read_again_when_it_was_replaced(tmp_path: Path) -> None:
    index = ImageIndex(tmp_path / "index.json")
    assert index.names() == frozenset()

    write_index(index.path, "docker.io/a/b:1")
    assert index.names() == {"docker.io/a/b:1", f"docker.io/a/b:{DIGEST}"}
    write_index(index.path, "docker.io/a/b:1", "docker.io/a/c:1")
    assert "docker.io/a/c:1" in index.names()


@contextmanager
def serving(directory: Path) -> Iterator[tuple[int, ssl.SSLContext]]:
    issue_all(directory, node_name="n", node_address="10.213.0.2", service_address="10.96.0.1")
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(directory / "placement.crt", directory / "placement.key")
    index = ImageIndex(directory / "index.json")
    with PlacementServer(("127.0.0.1", 0), server_side, index, ("docker.io/pytorch/*",)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_address[1], ssl.create_default_context(cafile=str(directory / "ca.crt"))
        finally:
            server.shutdown()
            thread.join()


def test_the_server_answers_over_verified_tls_and_keeps_the_connection(tmp_path: Path) -> None:
    with serving(tmp_path) as (port, client_side):
        connection = http.client.HTTPSConnection("127.0.0.1", port, context=client_side, timeout=5)
        with closing(connection):
            patched = []
            for image in ("pytorch/pytorch:2", "nosuch:1"):
                connection.request("POST", "/?timeout=2s", json.dumps(admission_review(pod(image))))
                answer = connection.getresponse()
                assert answer.status == 200
                patched.append("patch" in json.loads(answer.read())["response"])
    assert patched == [True, False]


def test_a_silent_client_blocks_nobody(tmp_path: Path) -> None:
    with serving(tmp_path) as (port, client_side):
        silent = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        with closing(silent):
            silent.connect()  # and no handshake
            connection = http.client.HTTPSConnection("127.0.0.1", port, context=client_side, timeout=2)
            with closing(connection):
                connection.request("POST", "/", json.dumps(admission_review(pod("nosuch:1"))))
                assert connection.getresponse().status == 200


def test_an_empty_request_is_refused(tmp_path: Path) -> None:
    with serving(tmp_path) as (port, client_side):
        connection = http.client.HTTPSConnection("127.0.0.1", port, context=client_side, timeout=5)
        with closing(connection):
            connection.request("POST", "/")
            assert connection.getresponse().status == 400
