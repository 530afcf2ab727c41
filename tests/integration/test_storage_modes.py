"""Where volumes come from, on a real cluster: made in advance for single claims, or in a directory for each node.

The directory of a volume made in advance is made by a pod here, as on hosts the role local_path does it
(tests/hosts/test_local_path.py). What the tests change of the cluster's storage is set back.
"""

from __future__ import annotations

import contextlib
import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.apply.result import Action
from kubeflow_volcano.catalog.images.probes import BUSYBOX
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.metadata import SIMULATED_NODE
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.watch.waiting import wait_ready
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.hosts.volumes.owners import read, volume_owners
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.settings.settings import Settings, parse
from kubeflow_volcano.rollout.storage.local_path import DEFAULT_CLASS
from kubeflow_volcano.rollout.storage.static_volumes import STATIC_CLASS, objects_of, static_volumes
from kubeflow_volcano.validators.run.runner import Options, validate
from tests.integration.rolling import roll_out
from tests.waiting import until

pytestmark = pytest.mark.cluster

CLASS = Ref("storage.k8s.io/v1", "StorageClass", "", "local-path")
PROVISIONER = Ref("apps/v1", "Deployment", "local-path-storage", "local-path-provisioner")
MYSQL = Ref("v1", "PersistentVolumeClaim", "kubeflow", "mysql-pv-claim")
BASE = "/opt/local-path-provisioner/tests"


@pytest.fixture(scope="module")
def node(cluster: Cluster) -> str:
    """The node on which pods run for real."""
    found = cluster.list("v1", "Node").items
    real = [item for item in found if SIMULATED_NODE not in (item["metadata"].get("annotations") or {})]
    return str(real[0]["metadata"]["name"])


@pytest.fixture(scope="module")
def variables(kubeconfig: Path) -> dict[str, Any]:
    """The manifests and the kustomize that come with the cluster; Kubeflow 1.10.2 says as whom its databases run."""
    return {
        "kubeflow_release": "1.10.2",
        "local_path_version": "0.0.30",
        "kubeflow_components": ["pipelines"],
        "local_path_source": str(kubeconfig.parent / "upstream/local-path-provisioner/deploy"),
        "kustomize_binary": str(kubeconfig.parent / "bin/kustomize"),
    }


@pytest.fixture(scope="module", autouse=True)
def kubeflow(cluster: Cluster) -> Iterator[None]:
    """The namespace of the claims; it is removed if it was not there."""
    ref = Ref("v1", "Namespace", "", "kubeflow")
    made = None
    if cluster.get(ref) is None:
        made = cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kubeflow"}})
        until(lambda: cluster.get(Ref("v1", "ServiceAccount", "kubeflow", "default")))
    yield
    if made:
        cluster.delete(ref, uid=made["metadata"]["uid"])


def remove(cluster: Cluster, ref: Ref) -> None:
    live = cluster.get(ref)
    if live:
        cluster.delete(ref, uid=live["metadata"]["uid"])
        until(lambda: cluster.get(ref) is None)


def rolled(cluster: Cluster, settings: Settings, *, check: bool = False) -> dict[str, Action]:
    """What a roll-out of storage changes."""
    result = roll_out(cluster, settings, (settings.component("local-path"),), check=check, progress=silent)
    assert result.problems == ()
    changed = [outcome for outcome in result.outcomes if outcome.action is not Action.UNCHANGED]
    return {outcome.ref.name: outcome.action for outcome in changed}


def script(cluster: Cluster, node: str, text: str, volume: Object, **security: Any) -> str:
    """Run a script with the volume at /data, and return what it says."""
    name = f"test-{secrets.token_hex(4)}"
    main = {
        "name": "main",
        "image": BUSYBOX,
        "command": ["sh", "-c", f"({text}) > /dev/termination-log 2>&1"],
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    spec = {
        "nodeSelector": {"kubernetes.io/hostname": node},
        "restartPolicy": "Never",
        "securityContext": security,
        "containers": [main],
        "volumes": [{"name": "data", **volume}],
    }
    made = cluster.create(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "kubeflow"}, "spec": spec}
    )
    try:
        live = until(lambda: ended(cluster, Ref.of(made)))
    finally:
        remove(cluster, Ref.of(made))
    state = live["status"]["containerStatuses"][0]["state"]["terminated"]
    assert live["status"]["phase"] == "Succeeded", state
    return str(state.get("message", "")).strip()


def ended(cluster: Cluster, ref: Ref) -> Object | None:
    live = cluster.get(ref)
    return live if live and live["status"].get("phase") in {"Succeeded", "Failed"} else None


@contextlib.contextmanager
def claimed(cluster: Cluster) -> Iterator[Object]:
    """The claim of Kubeflow's database as upstream's manifests have it, for a moment."""
    made = cluster.create(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": MYSQL.name, "namespace": MYSQL.namespace},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "20Gi"}}},
        }
    )
    try:
        yield made
    finally:
        remove(cluster, MYSQL)


def as_before(variables: dict[str, Any]) -> Settings:
    """Settings of storage as the cluster had it: those of the default release."""
    return parse(variables | {"kubeflow_release": "1.9.1", "kubeflow_components": ["katib"]})


@pytest.fixture
def moved(cluster: Cluster, variables: dict[str, Any], node: str) -> Iterator[Settings]:
    """The provisioner with a directory of its own for this node; what it had before is rolled out again after."""
    before = cluster.get(Ref("v1", "ConfigMap", "local-path-storage", "local-path-config"))
    assert before
    settings = parse(variables | {"local_path_node_paths": {node: f"{BASE}-moved"}})
    changed = rolled(cluster, settings)
    assert changed["local-path-config"] == Action.CHANGED
    restart(cluster)
    yield settings
    assert rolled(cluster, as_before(variables))
    restart(cluster)
    after = cluster.get(Ref.of(before))
    assert after
    assert after["data"] == before["data"]
    script(cluster, node, "rm -rf /data/tests-moved", {"hostPath": {"path": str(Path(BASE).parent)}})


def restart(cluster: Cluster) -> None:
    """The provisioner reads its configuration at once when it starts, else within two minutes."""
    for pod in cluster.list("v1", "Pod", namespace=PROVISIONER.namespace).items:
        remove(cluster, Ref.of(pod))
    assert wait_ready(cluster, [PROVISIONER], Deadline(240), silent)[PROVISIONER].ready


def test_a_node_has_its_own_directory_and_a_known_consumer_its_own_volume(
    cluster: Cluster, moved: Settings, node: str
) -> None:
    config = cluster.get(Ref("v1", "ConfigMap", "local-path-storage", "local-path-config"))
    assert config
    assert {"node": node, "paths": [f"{BASE}-moved"]} in json.loads(config["data"]["config.json"])["nodePathMap"]
    assert rolled(cluster, moved) == {}
    with claimed(cluster):
        listing = "ls -ldn /data && touch /data/x"
        volume = {"persistentVolumeClaim": {"claimName": MYSQL.name}}
        said = script(cluster, node, listing, volume, runAsUser=999, runAsGroup=999)
        assert said.split()[:4] == ["drwxrwx---", "2", "999", "999"]

        claims = [claim for part in moved.release.components.values() for claim in part.claims]
        (owner,) = [item for item in volume_owners(read(cluster), claims) if item.claim == "kubeflow/mysql-pv-claim"]
        assert owner.path.startswith(f"{BASE}-moved/pvc-")
        assert (owner.node, owner.uid, owner.gids) == (node, 999, (999,))


@pytest.fixture(scope="module")
def without_default(cluster: Cluster, variables: dict[str, Any]) -> Iterator[None]:
    """The provisioner's class is not the default one while volumes are made in advance."""
    mark = {"metadata": {"annotations": {DEFAULT_CLASS: "false"}}}
    cluster.patch(CLASS, mark)
    yield
    mark["metadata"]["annotations"][DEFAULT_CLASS] = "true"
    cluster.patch(CLASS, mark)
    assert rolled(cluster, as_before(variables)) == {}


@pytest.fixture(scope="module")
def static(cluster: Cluster, variables: dict[str, Any], node: str, without_default: None) -> Iterator[Settings]:
    """Settings of volumes made in advance, the directories of which are there; nothing remains of them."""
    assert without_default is None
    mode = {"local_path_storage_mode": "static", "local_path_static_node": node, "local_path_base_directory": BASE}
    settings = parse(variables | mode)
    base = {"hostPath": {"path": f"{BASE}/static", "type": "DirectoryOrCreate"}}
    make = "cd /data && for d in kubeflow_mysql-pv-claim kubeflow_minio-pvc; do mkdir $d && chmod 0770 $d; done"
    script(cluster, node, f"{make} && chown 999:999 kubeflow_mysql-pv-claim", base)
    yield settings
    for obj in objects_of(static_volumes(settings.storage, settings.components)):
        remove(cluster, Ref.of(obj))
    script(cluster, node, "rm -rf /data/tests", {"hostPath": {"path": str(Path(BASE).parent)}})


def test_a_second_default_class_is_refused_before_anything_is_made(
    cluster: Cluster, variables: dict[str, Any], node: str
) -> None:
    settings = parse(variables | {"local_path_storage_mode": "static", "local_path_static_node": node})
    with pytest.raises(InvalidInput, match=r"StorageClass local-path .*kubeflow-static"):
        rolled(cluster, settings)
    assert cluster.get(Ref("storage.k8s.io/v1", "StorageClass", "", STATIC_CLASS)) is None


def test_a_node_that_the_cluster_does_not_have_is_refused(
    cluster: Cluster, variables: dict[str, Any], static: Settings, node: str
) -> None:
    assert static.storage.static_node == node
    wrong = parse(variables | {"local_path_storage_mode": "static", "local_path_static_node": "nobody"})
    with pytest.raises(InvalidInput, match=f"node nobody .*{node}"):
        rolled(cluster, wrong)


def test_each_claim_gets_the_volume_that_was_made_for_it_and_its_consumer_writes(
    cluster: Cluster, static: Settings, node: str
) -> None:
    for obj in objects_of(static_volumes(static.storage, static.components)):
        remove(cluster, Ref.of(obj))
    names = {STATIC_CLASS, "kubeflow-volcano-kubeflow-mysql-pv-claim", "kubeflow-volcano-kubeflow-minio-pvc"}
    assert rolled(cluster, static, check=True) == dict.fromkeys(names, Action.CREATED)
    assert rolled(cluster, static) == dict.fromkeys(names, Action.CREATED)
    with claimed(cluster) as claim:
        assert claim["spec"]["storageClassName"] == STATIC_CLASS
        said = script(
            cluster,
            node,
            "touch /data/x && mkdir /data/d && rm -r /data/x /data/d && ls -ldn /data",
            {"persistentVolumeClaim": {"claimName": MYSQL.name}},
            runAsUser=999,
            runAsGroup=999,
        )
        assert said.split()[:4] == ["drwxrwx---", "2", "999", "999"]
        bound = cluster.get(MYSQL)
        assert bound
        assert bound["spec"]["volumeName"] == "kubeflow-volcano-kubeflow-mysql-pv-claim"
        assert rolled(cluster, static) == {}
    with pytest.raises(InvalidInput, match="earlier claim"):
        until(lambda: rolled(cluster, static))

    # As the message says, and nothing is left to be done.
    ref = Ref("v1", "PersistentVolume", "", "kubeflow-volcano-kubeflow-mysql-pv-claim")
    cluster.patch(ref, {"spec": {"claimRef": {"uid": None}}})
    until(lambda: (cluster.get(ref) or {}).get("status", {}).get("phase") == "Available")
    assert rolled(cluster, static) == {}


@pytest.mark.long
def test_validation_judges_volumes_made_in_advance_by_their_consumers(
    cluster: Cluster, kubeconfig: Path, static: Settings, node: str
) -> None:
    rolled(cluster, static)
    with claimed(cluster), consumer(cluster, node):
        options = Options(kubeconfig=kubeconfig, storage_mode="static", select=("storage",))
        found = {item.check.id: item.outcome for item in validate(options, silent).results}
    statuses = {name: str(outcome.status) for name, outcome in found.items()}
    if found["D8"].reason == "LittleRoom":  # the disk of this machine is smaller than what Kubeflow claims
        statuses["D8"] = "pass"
    assert statuses == dict.fromkeys(statuses, "pass") | {"D5": "skip", "D7": "skip"}, found[
        "D8"
    ].message  # D7 runs on request
    assert "made in advance" in found["D2"].message
    assert found["D5"].reason == "NotSafe"
    assert "directories in use" in found["D6"].message


@contextlib.contextmanager
def consumer(cluster: Cluster, node: str) -> Iterator[None]:
    """A pod that has the claim mounted as the database would."""
    main = {
        "name": "main",
        "image": BUSYBOX,
        "command": ["sleep", "3600"],
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    spec = {
        "nodeSelector": {"kubernetes.io/hostname": node},
        "terminationGracePeriodSeconds": 0,
        "securityContext": {"runAsUser": 999, "runAsGroup": 999},
        "containers": [main],
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": MYSQL.name}}],
    }
    meta = {"name": "test-consumer", "namespace": "kubeflow"}
    made = cluster.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
    try:
        until(lambda: (cluster.get(Ref.of(made)) or {})["status"].get("phase") == "Running")
        yield
    finally:
        remove(cluster, Ref.of(made))
