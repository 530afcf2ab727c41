"""Upgrades between releases of Kubeflow with upstream's manifests, on an API server that is empty at the start.

The archives are those beside the checkout, or in the directory that KFV_TEST_ARCHIVES names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeflow_volcano.apply.removing.managed import managed_objects
from kubeflow_volcano.apply.result import Action, ApplyResult
from kubeflow_volcano.catalog.read import load_release
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.applied_objects import Place
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rehearsal.build.generation import load_generation
from kubeflow_volcano.rehearsal.build.kept import Tools
from kubeflow_volcano.rehearsal.build.tools import ensure_tools
from kubeflow_volcano.rollout import run
from kubeflow_volcano.rollout.backup.collect import collect
from kubeflow_volcano.rollout.scope import scope_of
from kubeflow_volcano.rollout.settings.settings import Settings, parse
from kubeflow_volcano.rollout.upgrade.document import preview
from kubeflow_volcano.rollout.upgrade.listable import unlistable
from tests.archives import archive_of, file_beside
from tests.bench.plane import Plane

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.timeout(1800)]

NAMESPACES = (
    "auth",
    "cert-manager",
    "istio-system",
    "knative-eventing",
    "knative-serving",
    "kubeflow",
    "kubeflow-system",
    "oauth2-proxy",
)
CRDS = ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "")
MAPPINGS = Ref(*CRDS, "domainmappings.serving.knative.dev")
SERVICES = Ref(*CRDS, "inferenceservices.serving.kserve.io")
COUNT = 40
KEPT = {"Namespace", "PersistentVolumeClaim"}
"""Kinds that go only when they are named."""


@pytest.fixture(scope="module")
def tools() -> Tools:
    return ensure_tools(load_generation("1.30"), progress=silent)


def sources_of(tools: Tools, release: str) -> dict[str, str]:
    """What releases from 1.11.0 on are built of beside their own archive."""
    if "jobset" not in {source.name for source in load_release(release).remote_sources}:
        return {}
    argo = str(file_beside("argo-workflows-3.7.3.tar.gz"))
    return {"argo-workflows": argo, "jobset": str(tools.source("sigs.k8s.io/jobset"))}


def need_archives(*versions: str) -> None:
    if missing := [version for version in versions if not archive_of(version).is_file()]:
        pytest.skip(f"no manifests of {', '.join(missing)}; KFV_TEST_ARCHIVES names the directory of other archives")


@pytest.fixture(scope="module")
def plane(tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    with Plane(tools.programs, tmp_path_factory.mktemp("upgrade") / "plane", NAMESPACES) as plane:
        yield plane


@pytest.fixture(scope="module")
def cluster(plane: Plane) -> Cluster:
    cluster = Cluster.connect(plane.kubeconfig)
    prepare_storage(cluster)
    return cluster


@pytest.fixture(scope="module")
def authority(plane: Plane) -> str:
    """A caBundle, as an injector writes it."""
    found = yaml.safe_load(plane.kubeconfig.read_text())["clusters"][0]["cluster"]["certificate-authority-data"]
    return str(found)


def prepare_storage(cluster: Cluster) -> None:
    for obj in (storage_class(), *map(volume, range(8))):
        cluster.create(obj)


def managed(cluster: Cluster) -> set[Place]:
    """The objects that roll-outs applied."""
    return {Place.of(ref) for ref in managed_objects(cluster, Deadline(60)).objects}


def storage_class() -> Object:
    meta = {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    api = "storage.k8s.io/v1"
    return {"apiVersion": api, "kind": "StorageClass", "metadata": meta, "provisioner": "kubernetes.io/no-provisioner"}


def volume(number: int) -> Object:
    spec = {
        "storageClassName": "standard",
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "50Gi"},
        "hostPath": {"path": "/none"},
    }
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"standard-{number}"}, "spec": spec}


def variables_of(tools: Tools, release: str, **more: Any) -> dict[str, Any]:
    return {
        "kubeflow_release": release,
        "kubeflow_profile": "full",
        "kubeflow_source": str(archive_of(release)),
        "kubeflow_sources": sources_of(tools, release),
        "kustomize_binary": str(tools.programs["kustomize"]),
        "gang_scheduling_scheduler": "none",
        "kubeflow_exclude": ["volcano"],
        "image_mirror_allow_gone": True,  # nothing is pulled here
        "local_path_storage_mode": "existing",
        "kubeflow_wait_timeout_seconds": 600,
        **more,
    }


def settings_of(tools: Tools, release: str, **more: Any) -> Settings:
    return parse(variables_of(tools, release, **more))


def roll_out(cluster: Cluster, tools: Tools, release: str, **more: Any) -> tuple[ApplyResult, list[str]]:
    settings, said = settings_of(tools, release, **more), list[str]()
    return run.roll_out(cluster, settings, scope_of(settings), check=False, progress=said.append), said


def mapping(number: int) -> Object:
    return {
        "apiVersion": "serving.knative.dev/v1alpha1",
        "kind": "DomainMapping",
        "metadata": {"name": f"app-{number}.example.org", "namespace": "default", "labels": {"number": str(number)}},
        "spec": {"ref": {"apiVersion": "serving.knative.dev/v1", "kind": "Service", "name": f"app-{number}"}},
    }


def service() -> Object:
    model = {"modelFormat": {"name": "sklearn"}, "storageUri": "pvc://models/iris"}
    return {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {"name": "iris", "namespace": "default"},
        "spec": {"predictor": {"model": model}},
    }


def contents(cluster: Cluster, api_version: str, kind: str) -> dict[str, tuple[str, Any, Any]]:
    return {
        item["metadata"]["name"]: (item["metadata"]["uid"], item["metadata"].get("labels"), item["spec"])
        for item in cluster.list(api_version, kind, namespace="default").items
    }


def live(cluster: Cluster, ref: Ref) -> Object:
    found = cluster.get(ref)
    assert found is not None
    return found


def test_1_8_1_becomes_1_9_1_and_every_object_keeps_its_content(
    cluster: Cluster, tools: Tools, authority: str, tmp_path: Path
) -> None:
    need_archives("1.8.1", "1.9.1")
    result, _ = roll_out(cluster, tools, "1.8.1")
    assert not result.problems, result.problems
    for obj in (*map(mapping, range(COUNT)), service()):
        cluster.create(obj)
    injected = {
        "apiVersion": SERVICES.api_version,
        "kind": SERVICES.kind,
        "metadata": {"name": SERVICES.name},
        "spec": {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {"caBundle": authority}}}},
    }
    cluster.apply(injected, manager="cert-manager-cainjector", force=True)
    mappings = contents(cluster, "serving.knative.dev/v1alpha1", "DomainMapping")
    services = contents(cluster, "serving.kserve.io/v1beta1", "InferenceService")
    assert (len(mappings), len(services)) == (COUNT, 1)

    said: list[str] = []
    before = managed(cluster)
    document = preview(cluster, settings_of(tools, "1.9.1", kubeflow_prune=True), check=True, progress=said.append)
    assert not document["problems"], document["problems"]
    assert any(re.search(f"{COUNT} objects .*v1alpha1 .*v1beta1", line) for line in said), said
    crds = {item["crd"]: item for item in document["crds"]}
    assert crds[MAPPINGS.name]["stored"] == ["v1alpha1"]
    assert crds[SERVICES.name]["drops_conversion"]
    assert any("oauth2-proxy replaces oidc-authservice" in text for text in document["steps"])
    removed = {item["object"] for item in document["changes"] if item["action"] == "removed"}
    assert "EnvoyFilter istio-system/authn-filter" in removed
    assert live(cluster, MAPPINGS)["status"]["storedVersions"] == ["v1alpha1"]
    assert managed(cluster) == before

    result, said = roll_out(cluster, tools, "1.9.1", kubeflow_prune=True)
    assert not result.problems, result.problems
    assert {str(item.ref) for item in result.outcomes if item.action is Action.REMOVED} == removed
    assert live(cluster, MAPPINGS)["status"]["storedVersions"] == ["v1beta1"]
    assert live(cluster, SERVICES)["spec"]["conversion"] == {"strategy": "None"}
    assert contents(cluster, "serving.knative.dev/v1beta1", "DomainMapping") == mappings
    assert contents(cluster, "serving.kserve.io/v1beta1", "InferenceService") == services
    assert not unlistable(cluster)
    saved = collect(cluster, said.append)
    assert not saved.origin.unread
    assert {obj["metadata"]["name"] for obj in saved.objects if obj["kind"] == "DomainMapping"} == mappings.keys()
    again, _ = roll_out(cluster, tools, "1.9.1")
    assert not again.problems, again.problems
    assert not again.changed
    assert not preview(cluster, settings_of(tools, "1.9.1"), check=False, progress=said.append)["needed"]
    assert preview(
        cluster, settings_of(tools, "1.9.1", kubeflow_user_email="a@b.org"), check=False, progress=said.append
    )["needed"]

    extra, lacking = beside_fresh(managed(cluster), tools, tmp_path, "1.9.1")
    assert not lacking
    assert {place.kind for place in extra} <= KEPT, extra


def beside_fresh(found: set[Place], tools: Tools, tmp_path: Path, release: str) -> tuple[set[Place], set[Place]]:
    """What `found` has more and less than a fresh installation of the release."""
    with Plane(tools.programs, tmp_path / "fresh", NAMESPACES) as plane:
        fresh = Cluster.connect(plane.kubeconfig)
        prepare_storage(fresh)
        installed, _ = roll_out(fresh, tools, release)
        assert not installed.problems, installed.problems
        wanted = managed(fresh)
    return found - wanted, wanted - found


CHAINS = (
    ("1.30", ("1.9.1", "1.10.2"), ()),
    ("1.35", ("1.10.2", "1.11.0", "26.03"), ("minio", "training-operator")),
)
"""Generation, releases one after the other, and the steps by hand on the way."""


@pytest.mark.parametrize(("generation", "releases", "steps"), CHAINS, ids=["1.30", "1.35"])
def test_upgrades_in_turn_end_with_the_objects_of_a_fresh_installation(
    generation: str, releases: tuple[str, ...], steps: tuple[str, ...], tmp_path: Path
) -> None:
    need_archives(*releases)
    tools = ensure_tools(load_generation(generation), progress=silent)
    with Plane(tools.programs, tmp_path / "upgraded", NAMESPACES) as plane:
        cluster = Cluster.connect(plane.kubeconfig)
        prepare_storage(cluster)
        first, _ = roll_out(cluster, tools, releases[0])
        assert not first.problems, first.problems
        meta = {"name": "of-others", "namespace": "kubeflow"}
        others = Ref.of(cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}))
        before = live(cluster, others)
        if steps:
            refused_unless_confirmed(cluster, tools, releases[1], steps)
        for release in releases[1:]:
            upgraded, _ = roll_out(cluster, tools, release, kubeflow_prune=True, kubeflow_upgrade_confirmed=list(steps))
            assert not upgraded.problems, upgraded.problems
            assert live(cluster, others) == before
            again, _ = roll_out(cluster, tools, release)
            changed = [str(item.ref) for item in again.outcomes if item.action is not Action.UNCHANGED]
            assert not changed
            extra, lacking = beside_fresh(managed(cluster), tools, tmp_path, release)
            assert not lacking
            assert {place.kind for place in extra} <= KEPT, extra


def refused_unless_confirmed(cluster: Cluster, tools: Tools, release: str, steps: tuple[str, ...]) -> None:
    """An upgrade with steps by hand names all of them, and changes nothing."""
    found = managed(cluster)
    with pytest.raises(InvalidInput) as refused:
        roll_out(cluster, tools, release, kubeflow_prune=True)
    text = refused.value.describe()
    assert all(f"[{step}]" in text for step in steps), text
    assert managed(cluster) == found
