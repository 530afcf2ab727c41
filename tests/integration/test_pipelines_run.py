"""J9 with what a real cluster has of it: the port-forward, the token of the profile's account, pods, claims, removal.

The API of Pipelines is a stand-in in a pod, in an image with this project's wheel: that of Pipelines needs MySQL, an
object store and images of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref, conditions, new_object
from kubeflow_volcano.progress import silent
from kubeflow_volcano.validators.core.timing import Timing
from kubeflow_volcano.validators.probes.acceptance.examples import PROFILE
from kubeflow_volcano.validators.probes.acceptance.pipelines import SERVICE
from kubeflow_volcano.validators.run.runner import Options, validate
from tests.integration import pipelines_server
from tests.integration.test_validators import BUSYBOX
from tests.node_image import on_the_node
from tests.places import ROOT
from tests.waiting import until
from tests.wheel_image import write_wheel_image

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.timeout(900)]

IMAGE = "registry.example/pipelines-stand-in:test"
SPACE, OTHER = "kfv-pipelines", "kfv-pipelines-other"
SERVER = Ref("v1", "Pod", SERVICE.namespace, SERVICE.name)
RULES = [
    {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
    {"apiGroups": [""], "resources": ["persistentvolumeclaims"], "verbs": ["create"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "delete", "get"]},
]
VERSIONS = pytest.mark.parametrize(("version", "release"), [("v1beta1", "1.8.1"), ("v2beta1", "1.9.1")])


@pytest.fixture(scope="module")
def image(kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    scratch = tmp_path_factory.mktemp("image")
    modules = ("tests/serving.py", "tests/samples/pipelines.py", "tests/integration/pipelines_server.py")
    write_wheel_image(scratch / "image.tar", IMAGE, scratch, *(ROOT / module for module in modules))
    with on_the_node(kubeconfig.parent.name, scratch / "image.tar", IMAGE) as name:
        yield name


@pytest.fixture(scope="module")
def spaces(cluster: Cluster) -> Iterator[None]:
    """Two profiles, as their controller makes them, and the rights of Pipelines."""
    name = SERVICE.name
    rbac = "rbac.authorization.k8s.io"
    account = {"kind": "ServiceAccount", "name": name, "namespace": SERVICE.namespace}
    role = {"apiGroup": rbac, "kind": "ClusterRole", "name": name}
    profiles = [new_object("v1", "Namespace", space, meta={"labels": dict([PROFILE])}) for space in (SPACE, OTHER)]
    made = [
        *profiles,
        *(new_object("v1", "ServiceAccount", "default-editor", space) for space in (SPACE, OTHER)),
        new_object("v1", "ServiceAccount", name, SERVICE.namespace),
        new_object(f"{rbac}/v1", "ClusterRole", name, rules=RULES),
        new_object(f"{rbac}/v1", "ClusterRoleBinding", name, roleRef=role, subjects=[account]),
    ]
    created = [cluster.create(obj) for obj in made]
    try:
        yield
    finally:
        remove(cluster, created)


def remove(cluster: Cluster, created: Sequence[Object]) -> None:
    for obj in reversed(created):
        cluster.delete(Ref.of(obj), uid=obj["metadata"]["uid"])
    until(lambda: not any(cluster.get(Ref.of(obj)) for obj in created), 120)


@pytest.fixture
def server(cluster: Cluster, spaces: None, image: str, version: str) -> Iterator[None]:  # noqa: ARG001  made before it
    """The stand-in, ready."""
    labels = {"app": SERVICE.name}
    port = pipelines_server.PORT
    container = {
        "name": "server",
        "image": image,
        "imagePullPolicy": "Never",
        "command": [str(Path(sys.executable).resolve()), "-m", pipelines_server.__name__, version, SPACE, BUSYBOX],
        "env": [{"name": "PYTHONPATH", "value": "/opt/site"}],
        "ports": [{"name": "http", "containerPort": port}],
        "readinessProbe": {"httpGet": {"path": f"/apis/{version}/healthz", "port": "http"}, "periodSeconds": 1},
    }
    pod = {"serviceAccountName": SERVICE.name, "terminationGracePeriodSeconds": 0, "containers": [container]}
    ports = [{"name": "http", "port": port, "targetPort": "http"}]
    service = new_object("v1", "Service", SERVICE.name, SERVICE.namespace, spec={"selector": labels, "ports": ports})
    made = [
        cluster.create(service),
        cluster.create(new_object("v1", "Pod", SERVER.name, SERVER.namespace, meta={"labels": labels}, spec=pod)),
    ]
    try:
        until(lambda: is_ready(cluster), 120)
        yield
    finally:
        remove(cluster, made)


def is_ready(cluster: Cluster) -> bool:
    return conditions(cluster.get(SERVER) or {}).get("Ready", {}).get("status") == "True"


def judged(kubeconfig: Path, release: str, space: str) -> dict[str, tuple[str, str, str]]:
    options = Options(
        kubeconfig,
        release=release,
        profile="full",
        select=("J9", "I1", "I2"),
        acceptance=True,
        probe_namespace=space,
        stability_seconds=1,
        report_dir=None,
    )
    report = validate(options, silent, timing=Timing(pipeline_seconds=120))
    return {
        item.check.id: (str(item.outcome.status), item.outcome.reason, item.outcome.message) for item in report.results
    }


def remains(cluster: Cluster) -> list[str]:
    kinds = ("Pod", "PersistentVolumeClaim")
    return [str(Ref.of(obj)) for kind in kinds for obj in cluster.list("v1", kind, namespace=SPACE).items]


@VERSIONS
@pytest.mark.usefixtures("server")
def test_a_pipeline_is_uploaded_run_followed_and_removed(
    cluster: Cluster, kubeconfig: Path, version: str, release: str
) -> None:
    volumes = {obj["metadata"]["name"] for obj in cluster.list("v1", "PersistentVolume").items}
    found = judged(kubeconfig, release, SPACE)
    assert {id_: item[0] for id_, item in found.items()} == dict.fromkeys(("J9", "I1", "I2"), "pass"), found
    assert "completed after" in found["J9"][2]
    until(lambda: not remains(cluster), 60)
    until(lambda: {obj["metadata"]["name"] for obj in cluster.list("v1", "PersistentVolume").items} <= volumes, 60)
    asked = cluster.logs(SERVER.namespace, SERVER.name).splitlines()
    assert [line for line in asked if line.startswith("POST ")] == [
        "POST experiments",
        "POST pipelines/upload",
        "POST runs",
    ]
    assert [line for line in asked if line.startswith("DELETE ")] == [
        "DELETE runs/r",
        f"DELETE {'pipelines/p/versions' if version == 'v2beta1' else 'pipeline_versions'}/v",
        "DELETE pipelines/p",
        "DELETE experiments/e",
    ]
    assert asked.count("GET runs/r") > 1


@pytest.mark.parametrize(("version", "release"), [("v2beta1", "1.9.1")])
@pytest.mark.usefixtures("server", "version")
def test_the_account_of_another_profile_is_refused(cluster: Cluster, kubeconfig: Path, release: str) -> None:
    found = judged(kubeconfig, release, OTHER)
    status, reason, message = found["J9"]
    assert (status, reason) == ("fail", "ExampleFailed")
    assert "401" in message
    assert found["I1"][0] == "skip"  # nothing was made
    assert not remains(cluster)
