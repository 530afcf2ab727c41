"""Pods of the real node pull from a registry that wants a sign-in: the CNCF distribution's, of Debian's package."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.apply.result import Action
from kubeflow_volcano.catalog.images.probes import BUSYBOX, PAUSE
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.metadata import SIMULATED_NODE
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.settings.settings import parse
from kubeflow_volcano.validators.run.runner import Options, validate
from tests.integration.breaking import space
from tests.integration.node_registry import NodeRegistry, image_store, serving, stored_images
from tests.integration.rolling import roll_out
from tests.integration.test_stale import installed
from tests.waiting import until

__all__ = ["installed"]

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.timeout(900)]

HOST = "registry.example.test"
PORT = 5055
USER, PASSWORD = "robot", "of-the-registry"
PROVISIONER = Ref("apps/v1", "Deployment", "local-path-storage", "local-path-provisioner")


@pytest.fixture(scope="module")
def registry(kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeRegistry]:
    """With the cluster's own images of storage and probes, under the names that a mirror gives them."""
    home = tmp_path_factory.mktemp("registry")
    with serving(kubeconfig.parent.name, home, PORT, HOST, {USER: PASSWORD}) as found:
        wanted = [name for name in stored_images() if "local-path" in name or "/busybox:" in name or name == PAUSE]
        assert len(wanted) >= 3
        for name in wanted:
            target = f"docker://{found.address}/{name}"
            copy = ["skopeo", "copy", "--quiet", "--dest-tls-verify=false", "--dest-creds", f"{USER}:{PASSWORD}"]
            subprocess.run([*found.enter, *copy, f"oci:{image_store()}:{name}", target], check=True, cwd=home)
        yield found


def real(cluster: Cluster) -> str:
    found = cluster.list("v1", "Node").items
    simulated = (SIMULATED_NODE in (item["metadata"].get("annotations") or {}) for item in found)
    return next(str(item["metadata"]["name"]) for item, other in zip(found, simulated, strict=True) if not other)


def variables(kubeconfig: Path, password: str = PASSWORD) -> dict[str, Any]:
    storage = kubeconfig.parent / "upstream/local-path-provisioner/deploy/local-path-storage.yaml"
    return {
        "kubeflow_components": ["local-path"],
        "local_path_source": str(storage),
        "kustomize_binary": str(kubeconfig.parent / "bin/kustomize"),
        "image_mirror_mode": "registry",
        "image_mirror_registry": HOST,
        "image_mirror_credentials": [{"registry": HOST, "username": USER, "password": password}],
    }


def rolled(cluster: Cluster, given: dict[str, Any]) -> list[str]:
    settings = parse(given)
    done = roll_out(cluster, settings, settings.components, check=False, progress=silent)
    assert done.problems == ()
    return [f"{item.ref} {item.action}" for item in done.outcomes if item.action is not Action.UNCHANGED]


@pytest.fixture
def _storage_as_before(cluster: Cluster, installed: dict[str, Any]) -> Iterator[None]:
    yield
    # With all components: what belongs to one that is not chosen would be pruned.
    rolled(cluster, installed | {"kubeflow_prune": True})


def pulled(cluster: Cluster, namespace: str) -> set[str]:
    """What the kubelet has pulled for pods of a namespace, by its events."""
    events = cluster.list("v1", "Event", namespace=namespace, fields="reason=Pulled").items
    return {item["message"] for item in events if "Successfully pulled" in item["message"]}


def refused(cluster: Cluster, namespace: str) -> str:
    """What the kubelet says of an image that it could not pull."""
    events = cluster.list("v1", "Event", namespace=namespace, fields="reason=Failed").items
    return "\n".join(item["message"] for item in events)


def test_without_a_login_it_refuses_the_node(cluster: Cluster, registry: NodeRegistry) -> None:
    """Otherwise the others would prove nothing."""
    with space(cluster) as home:
        container = {"name": "a", "image": f"{HOST}/{PAUSE}"}
        spec = {"nodeName": real(cluster), "containers": [container]}
        pod: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": home}, "spec": spec}
        cluster.create(pod)
        found = until(lambda: refused(cluster, home))
    assert "401" in found or "authorization failed" in found or "basic auth credentials" in found
    assert " 401 " in registry.log


@pytest.mark.usefixtures("_storage_as_before")
def test_pods_of_a_component_and_of_probes_sign_in(cluster: Cluster, kubeconfig: Path, registry: NodeRegistry) -> None:
    given = variables(kubeconfig)
    changed = rolled(cluster, given)
    assert any(f"{PROVISIONER} " in line for line in changed)
    assert any(HOST in message for message in pulled(cluster, PROVISIONER.namespace))
    assert rolled(cluster, given) == []

    login = json.dumps({"auths": {HOST: {"username": USER, "password": PASSWORD}}})
    options = Options(
        kubeconfig,
        select=("D5", "D8", "I1"),
        busybox_image=f"{HOST}/{BUSYBOX}",
        pause_image=f"{HOST}/{PAUSE}",
        stability_seconds=1,
        report_dir=None,
    )
    results = validate(replace(options, registry_logins=login), silent).results
    assert [f"{item.check.id}: {item.outcome.message}" for item in results if str(item.outcome.status) != "pass"] == []
    assert f"/v2/{BUSYBOX.rpartition(':')[0]}/" in registry.log
