"""Where pods go, and what the webhook makes of them."""

from __future__ import annotations

import base64
import copy
import http.client
import json
import ssl
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.rehearsal.inside.placement import (
    PLATFORM_POOL,
    REASON_ANNOTATION,
    SIMULATED_LABEL,
    SUCCEED_ANNOTATION,
    TOLERATION,
    TRAINING_POOL,
    Rules,
    Simulation,
    full_name,
    patch,
    simulation,
)
from kubeflow_volcano.rehearsal.inside.placement_server import ImageIndex, review
from kubeflow_volcano.rehearsal.inside.review_server import ReviewServer
from kubeflow_volcano.rehearsal.node.pki import issue_all
from kubeflow_volcano.rehearsal.node.simulated_images import PLATFORM_IMAGES, TRAINING_IMAGES
from tests.serving import serving

LOCAL = frozenset({"docker.io/library/busybox:1.36", "docker.io/kubeflow/training-operator:v1-04f9f13"})
RULES = Rules(LOCAL, TRAINING_IMAGES, PLATFORM_IMAGES, "rehearsal-1")
BECAUSE = Simulation("because", TRAINING_POOL)
DIGEST = "sha256:" + "a" * 64


def pod(*images: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {}, "spec": {"containers": [{"name": "a", "image": image} for image in images]} | spec}


def reason(subject: dict[str, Any]) -> str:
    how = simulation(subject, RULES)
    return how.reason if how else ""


def pool(subject: dict[str, Any]) -> dict[str, str]:
    how = simulation(subject, RULES)
    assert how
    return dict(how.pool)


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


def test_a_local_image_is_one_also_behind_a_mirror() -> None:
    subject = pod("m.daocloud.io/docker.io/pytorch/pytorch:2")

    assert simulation(subject, Rules({"docker.io/pytorch/pytorch:2"}, TRAINING_IMAGES, (), "rehearsal-1")) is None
    assert simulation(subject, RULES)


@pytest.mark.parametrize("device", ["nvidia.com/gpu", "huawei.com/Ascend910"])
def test_a_pod_that_asks_for_a_device_is_simulated_even_with_a_local_image(device: str) -> None:
    subject = pod("busybox:1.36")
    subject["spec"]["containers"][0]["resources"] = {"limits": {device: 1}}

    assert device in reason(subject)
    assert pool(subject) == TRAINING_POOL


def test_a_pod_that_has_devices_by_claims_is_simulated_even_with_a_local_image() -> None:
    assert pool(pod("busybox:1.36", resourceClaims=[{"name": "a", "resourceClaimName": "b"}])) == TRAINING_POOL


@pytest.mark.parametrize("requests", [{"nvidia.com/gpu": "0"}, {"cpu": "1"}, {"kubernetes.io/batch-cpu": "1"}])
def test_no_device_at_all_is_no_reason(requests: dict[str, str]) -> None:
    subject = pod("busybox:1.36")
    subject["spec"]["containers"][0]["resources"] = {"requests": requests, "limits": None}

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
    assert "training workloads" in reason(pod(image))
    assert pool(pod(image)) == TRAINING_POOL


@pytest.mark.parametrize(
    "image",
    [
        "docker.io/kubeflowkatib/katib-controller:v0.17.0",
        "kserve/kserve-controller:v0.13.1",
        "mysql:8.0.29",
        f"gcr.io/knative-releases/knative.dev/serving/cmd/activator@{DIGEST}",
        "gcr.io/kubebuilder/kube-rbac-proxy:v0.8.0",
        f"quay.io/oauth2-proxy/oauth2-proxy:v7@{DIGEST}",
        "m.daocloud.io/quay.io/jetstack/cert-manager-webhook:v1.14.5",
        "registry.lan:5000/mirror/docker.io/library/mysql:8.0.29",
    ],
)
def test_parts_of_kubeflow_are_simulated_on_their_own_node_also_behind_a_mirror(image: str) -> None:
    assert "Kubeflow components" in reason(pod(image))
    assert pool(pod(image)) == PLATFORM_POOL


def test_a_simulated_pod_ends_by_itself_only_when_it_belongs_to_a_job() -> None:
    for api_version, kind, end in (("batch/v1", "Job", True), ("batch.volcano.sh/v1alpha1", "Job", False)):
        subject = pod("mysql:8.0.29")
        subject["metadata"]["ownerReferences"] = [{"apiVersion": api_version, "kind": kind, "name": "a"}]

        how = simulation(subject, RULES)

        assert how
        assert bool(how.succeed_after) is end


def test_a_pod_that_is_bound_to_a_simulated_node_says_so_and_a_volume_s_helper_succeeds() -> None:
    helper = pod("busybox:1.36", nodeName="cpu-1")
    how = simulation(helper, RULES)
    assert how
    assert (" cpu-1, " in how.reason, how.pool, how.succeed_after) == (True, {}, "")

    helper["spec"]["containers"][0]["command"] = ["/bin/sh", "/script/setup"]
    how = simulation(helper, RULES)
    assert how
    result = applied(helper, patch(helper, how))
    assert result["metadata"]["annotations"][SUCCEED_ANNOTATION]
    assert result["spec"] == helper["spec"]


def test_an_end_that_the_pod_asks_for_is_kept() -> None:
    subject = pod("mysql:8.0.29")
    subject["metadata"]["annotations"] = {SUCCEED_ANNOTATION: "1h"}

    result = applied(subject, patch(subject, Simulation("because", PLATFORM_POOL, "3s")))

    assert result["metadata"]["annotations"][SUCCEED_ANNOTATION] == "1h"


def test_an_image_from_a_simulated_repository_that_exists_locally_runs_for_real() -> None:
    local = frozenset({"docker.io/pytorch/pytorch:2"})

    assert simulation(pod("pytorch/pytorch:2"), Rules(local, TRAINING_IMAGES, (), "rehearsal-1")) is None


@pytest.mark.parametrize(
    "image",
    [
        "nosuch/thing:1",
        "evil.io/pytorch/pytorch",
        # what this project is about: a missing one must not seem to run
        "docker.io/mpioperator/mpi-operator:0.4",
        "docker.io/rancher/local-path-provisioner:v9",
        "docker.io/volcanosh/vc-scheduler:v9",
        "nvcr.io/nvidia/k8s-device-plugin:v0.16",
    ],
)
def test_an_unknown_image_is_left_alone_to_fail_honestly(image: str) -> None:
    assert reason(pod(image)) == ""


@pytest.mark.parametrize(
    "image",
    [
        "kubeflow/training-operator:v1-855e096",
        "ghcr.io/kubeflow/training-v1/training-operator:v1-3f15cb8",
        "ghcr.io/kubeflow/trainer/trainer-controller-manager:v2.1.0",
        "registry.k8s.io/jobset/jobset:v0.10.1",
    ],
)
def test_an_operator_that_is_not_made_here_does_not_stop_its_release(image: str) -> None:
    assert "the local store" in reason(pod(image))


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

    result = applied(subject, patch(subject, BECAUSE))

    assert result["spec"]["schedulerName"] == "volcano"
    assert result["spec"]["nodeSelector"] == {"disk": "fast", "type": "kwok"}
    assert result["spec"]["tolerations"] == [{"key": "x", "operator": "Exists"}, TOLERATION]
    assert result["metadata"]["labels"] == {"job": "a", SIMULATED_LABEL: "true"}
    assert result["metadata"]["annotations"] == {"scheduling.k8s.io/group-name": "g", REASON_ANNOTATION: "because"}


def test_the_patch_changes_nothing_the_second_time() -> None:
    once = applied(pod("pytorch/pytorch:2"), patch(pod("pytorch/pytorch:2"), BECAUSE))

    assert applied(once, patch(once, BECAUSE)) == once


def admission_review(subject: dict[str, Any]) -> dict[str, Any]:
    request = {"uid": "u", "kind": {"kind": subject.get("kind", "Pod")}, "object": subject}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def test_the_answer_carries_the_patch_only_for_simulated_pods() -> None:
    answer = review(admission_review(pod("pytorch/pytorch:2")), RULES)["response"]
    assert (answer["uid"], answer["allowed"], answer["patchType"]) == ("u", True, "JSONPatch")
    assert json.loads(base64.b64decode(answer["patch"]))[0]["path"] == "/metadata/labels"

    assert review(admission_review(pod("nosuch:1")), RULES)["response"] == {
        "uid": "u",
        "allowed": True,
    }


def test_a_daemon_set_of_a_part_of_kubeflow_is_sent_to_its_node_and_others_are_not_touched() -> None:
    daemon_set = {"kind": "DaemonSet", "spec": {"template": pod("gcr.io/istio-release/install-cni:1.26.1")}}

    answer = review(admission_review(daemon_set), RULES)["response"]

    by_path = {item["path"]: item["value"] for item in json.loads(base64.b64decode(answer["patch"]))}
    assert by_path["/spec/template/spec/nodeSelector"] == PLATFORM_POOL
    assert by_path["/spec/template/metadata/labels"] == {SIMULATED_LABEL: "true"}
    other = {"kind": "DaemonSet", "spec": {"template": pod("nvcr.io/nvidia/k8s-device-plugin:v0.16")}}
    assert "patch" not in review(admission_review(other), RULES)["response"]


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
def reviewing(directory: Path) -> Iterator[tuple[int, ssl.SSLContext]]:
    issue_all(directory, node_name="n", node_address="10.213.0.2", service_address="10.96.0.1")
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(directory / "placement.crt", directory / "placement.key")
    with serving(ReviewServer(("127.0.0.1", 0), server_side, lambda request: review(request, RULES))) as port:
        yield port, ssl.create_default_context(cafile=str(directory / "ca.crt"))


def test_the_server_answers_over_verified_tls_and_keeps_the_connection(tmp_path: Path) -> None:
    with reviewing(tmp_path) as (port, client_side):
        connection = http.client.HTTPSConnection("127.0.0.1", port, context=client_side, timeout=30)
        with closing(connection):
            patched = []
            for image in ("pytorch/pytorch:2", "nosuch:1"):
                connection.request("POST", "/?timeout=2s", json.dumps(admission_review(pod(image))))
                answer = connection.getresponse()
                assert answer.status == 200
                patched.append("patch" in json.loads(answer.read())["response"])
    assert patched == [True, False]


def test_a_silent_client_blocks_nobody(tmp_path: Path) -> None:
    with reviewing(tmp_path) as (port, client_side):
        silent = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        with closing(silent):
            silent.connect()  # and no handshake
            connection = http.client.HTTPSConnection("127.0.0.1", port, context=client_side, timeout=30)
            with closing(connection):
                connection.request("POST", "/", json.dumps(admission_review(pod("nosuch:1"))))
                assert connection.getresponse().status == 200


@pytest.mark.parametrize("body", ["", "no JSON", "[]", '{"request": {}}'])
def test_what_is_no_review_is_refused(tmp_path: Path, body: str) -> None:
    with reviewing(tmp_path) as (port, client_side):
        connection = http.client.HTTPSConnection("127.0.0.1", port, context=client_side, timeout=30)
        with closing(connection):
            connection.request("POST", "/", body)
            assert connection.getresponse().status == 400
