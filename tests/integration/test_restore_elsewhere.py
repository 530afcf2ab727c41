"""What people made on one cluster comes back on another, of a later Kubernetes and with a later Kubeflow."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.apply.result import Action
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rehearsal.build.generation import load_generation
from kubeflow_volcano.rehearsal.build.tools import ensure_tools
from kubeflow_volcano.rollout.backup import files
from kubeflow_volcano.rollout.backup.admitted import Platform
from kubeflow_volcano.rollout.backup.choice import Choice
from kubeflow_volcano.rollout.backup.collect import collect
from kubeflow_volcano.rollout.backup.restore import restore
from kubeflow_volcano.rollout.settings.settings import parse
from tests.bench.plane import Plane
from tests.integration.test_upgrade import NAMESPACES, live, need_archives, prepare_storage, roll_out
from tests.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.timeout(1200)]

FROM, TO = ("1.30", "1.9.1"), ("1.35", "1.10.2")
TEAM = "team-a"


def made(api_version: str, kind: str, name: str, spec: dict[str, Any], namespace: str = TEAM) -> Object:
    meta = {"name": name, "labels": {"made-by": "jane"}, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **({"spec": spec} if spec else {})}


def template(name: str) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": name, "image": "registry.invalid/none:1"}]}}


def job() -> Object:
    replicas = {"Master": {"replicas": 1, "template": template("pytorch")}}
    spec = {"runPolicy": {"suspend": True}, "pytorchReplicaSpecs": replicas}
    return made("kubeflow.org/v1", "PyTorchJob", "train", spec)


PROFILE = made("kubeflow.org/v1", "Profile", TEAM, {"owner": {"kind": "User", "name": "jane@example.org"}}, "")
WORK = (
    PROFILE,
    made("kubeflow.org/v1", "Notebook", "notes", {"template": template("notes")}),
    made(
        "serving.kserve.io/v1beta1",
        "InferenceService",
        "iris",
        {"predictor": {"model": {"modelFormat": {"name": "sklearn"}, "storageUri": "pvc://models/iris"}}},
    ),
    made(
        "serving.knative.dev/v1beta1",
        "DomainMapping",
        "iris.example.org",
        {"ref": {"apiVersion": "serving.knative.dev/v1", "kind": "Service", "name": "iris"}},
    ),
    job(),
)


def make_namespace(cluster: Cluster) -> None:
    """What the profile controller does, whose program is not there: it waits for the Profile and gives it its own."""
    ref = Ref.of(PROFILE)
    until(lambda: cluster.get(ref), 120)
    meta = live(cluster, ref)["metadata"]
    owner = {"apiVersion": ref.api_version, "kind": ref.kind, "name": ref.name, "uid": meta["uid"], "controller": True}
    cluster.create(made("v1", "Namespace", TEAM, {}, "") | {"metadata": {"name": TEAM, "ownerReferences": [owner]}})


def own(obj: Object) -> tuple[Any, Any]:
    return obj["metadata"].get("labels", {}).get("made-by"), obj.get("spec")


def test_work_moves_to_a_later_kubernetes_and_a_later_kubeflow(tmp_path: Path) -> None:
    need_archives(FROM[1], TO[1])
    refs = [Ref.of(obj) for obj in WORK]
    generation, release = FROM
    tools = ensure_tools(load_generation(generation), progress=silent)
    with Plane(tools.programs, tmp_path / "plane", NAMESPACES) as plane:
        cluster = Cluster.connect(plane.kubeconfig)
        prepare_storage(cluster)
        result, _ = roll_out(cluster, tools, release)
        assert not result.problems, result.problems
        cluster.create(PROFILE)
        make_namespace(cluster)
        for obj in WORK[1:]:
            cluster.create(obj)
        kept = {ref: own(live(cluster, ref)) for ref in refs}
        uids = {ref: live(cluster, ref)["metadata"]["uid"] for ref in refs}
        place = files.write(tmp_path, collect(cluster, silent))
        minor = cluster.version["minor"]

    generation, release = TO
    tools = ensure_tools(load_generation(generation), progress=silent)
    with Plane(tools.programs, tmp_path / "plane", NAMESPACES) as plane:
        cluster = Cluster.connect(plane.kubeconfig)
        assert cluster.version["minor"] != minor
        prepare_storage(cluster)
        result, _ = roll_out(cluster, tools, release)
        assert not result.problems, result.problems
        settings = parse({"kubeflow_release": release})
        platform = Platform.of(settings.known_components, settings.volcano_namespace)
        with ThreadPoolExecutor(1) as pool:
            controller = pool.submit(make_namespace, cluster)
            done = restore(cluster, files.read(place), platform, Choice(), check=False, progress=silent)
            controller.result()
        assert not done.problems, done.problems
        assert {item.ref: item.action for item in done.outcomes if item.ref in refs} == dict.fromkeys(
            refs, Action.CREATED
        )
        assert {ref: own(live(cluster, ref)) for ref in refs} == kept
        assert all(live(cluster, ref)["metadata"]["uid"] != uid for ref, uid in uids.items())
        assert not restore(cluster, files.read(place), platform, Choice(), check=False, progress=silent).changed
