"""Every example as a strict dry run on an API server with the CRDs of each release that has its kinds.

The releases' archives are those beside the checkout, or in the directory that KFV_TEST_ARCHIVES names; Volcano's
manifests are beside the checkout. What is absent is skipped.
"""

from __future__ import annotations

import gzip
import os
import tarfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano import foreign
from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.examples import Example, ExampleKind, example_kinds, examples, load_example
from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rehearsal.build.generation import load_generation
from kubeflow_volcano.rehearsal.build.kept import Tools
from kubeflow_volcano.rehearsal.build.tools import ensure_tools
from kubeflow_volcano.rollout.desired import render_upstream
from kubeflow_volcano.rollout.settings.settings import parse
from tests.bench.plane import Plane
from tests.places import UPSTREAM
from tests.waiting import until

Planes = Callable[[str], tuple[Tools, Cluster]]
"""The tools and an API server of a generation."""
pytestmark = [pytest.mark.cluster, pytest.mark.upstream, pytest.mark.timeout(900)]

CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
VOLCANO = "volcano"
RELEASE = "1.9.1"
"""Whose kinds protect each change; the others take as long each."""
PLACES = (Path(os.environ.get("KFV_TEST_ARCHIVES", UPSTREAM)), UPSTREAM)
WORKFLOWS = "crds/full/argoproj.io_workflows.yaml"
ARGO = "argo-workflows-3.7.3.tar.gz"
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
OF_KUBERNETES = {"PersistentVolumeClaim", "PriorityClass"}


@pytest.fixture(scope="module")
def planes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planes]:
    with ExitStack() as stack:

        @cache
        def plane(generation: str) -> tuple[Tools, Cluster]:
            tools = ensure_tools(load_generation(generation), progress=silent)
            made = Plane(tools.programs, tmp_path_factory.mktemp("examples") / "plane", ())
            return tools, Cluster.connect(stack.enter_context(made).kubeconfig)

        yield plane


@pytest.fixture
def cluster(planes: Planes) -> Cluster:
    return planes("1.30")[1]


def file_of(*names: str) -> Path:
    """The first of these files in the first of the places that has one."""
    found = next((place / name for place in PLACES for name in names if (place / name).is_file()), None)
    if found is None:
        pytest.skip(f"no {' or '.join(names)} in {' or '.join(map(str, dict.fromkeys(PLACES)))}")
    return found


def archive_of(release: str) -> Path:
    return file_of(f"manifests-{release}.tar.gz", f"community-distribution-{release}.tar.gz")


def unpacked(name: str, into: Path) -> Path:
    target = into / name.removesuffix(".gz")
    target.write_bytes(gzip.decompress(file_of(name).read_bytes()))
    return target


def of_release(release: str, tools: Tools, scratch: Path) -> Sequence[Object]:
    """The CRDs of the components that bring the examples' kinds; that of Workflow in its full form."""
    variables: dict[str, Any] = {
        "kubeflow_release": release,
        "kubeflow_source": str(archive_of(release)),
        "kustomize_binary": str(tools.programs["kustomize"]),
    }
    if read.load_release(release).remote_sources:
        jobset = unpacked("jobset-0.10.1.yaml.gz", scratch)
        variables["kubeflow_sources"] = {"argo-workflows": str(file_of(ARGO)), "jobset": str(jobset)}
    settings = parse(variables)
    wanted = {item.component for item in example_kinds()} - {VOLCANO}
    parts = [part for part in settings.release.components.values() if part.name in wanted]
    rendered, _ = render_upstream(settings, parts, silent)
    crds = [obj for objects in rendered.values() for obj in objects if is_of_an_example(obj)]
    full = full_workflows(archive_of(release)) or full_workflows(file_of(ARGO))
    return [full if full and item["metadata"]["name"] == full["metadata"]["name"] else item for item in crds]


def full_workflows(archive: Path) -> Object | None:
    with tarfile.open(archive) as content:
        for member in content:
            if member.name.endswith(WORKFLOWS) and "tekton" not in member.name:
                file = content.extractfile(member)
                assert file
                (found,) = foreign.parse(file.read(), member.name)
                return {**found, "spec": with_open_ends(found["spec"])}
    return None


def with_open_ends(value: Any) -> Any:
    """Argo leaves out what its schema cannot say (templates in templates), which an API server refuses."""
    if isinstance(value, list):
        return [with_open_ends(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value == {}:
        return dict(OPEN)
    closed = {key: with_open_ends(item) for key, item in value.items()}
    return closed | ({"items": dict(OPEN)} if value.get("type") == "array" and "items" not in value else {})


def is_of_an_example(obj: Object) -> bool:
    """Whether it is the CRD of a kind of the examples, in whichever group and version."""
    return obj["kind"] == CRD[1] and obj["spec"]["names"]["kind"] in {item.kind for item in example_kinds()}


def of_volcano(path: Path) -> Sequence[Object]:
    return [obj for obj in foreign.parse(path.read_bytes(), path.name) if is_of_an_example(obj)]


def prepared(crd: Object) -> Object:
    """The CRD without a conversion, whose webhook does not run, and without texts, which exceed a request's size."""
    spec = {key: value for key, value in crd["spec"].items() if key != "conversion"}
    return new_object(
        CRD[0], CRD[1], crd["metadata"]["name"], meta={"annotations": approved(crd)}, spec=without_texts(spec)
    )


def approved(crd: Object) -> dict[str, str]:
    key = "api-approved.kubernetes.io"
    found = (crd["metadata"].get("annotations") or {}).get(key)
    return {key: found} if found else {}


def without_texts(value: Any) -> Any:
    if isinstance(value, list):
        return [without_texts(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: without_texts(item) for key, item in value.items() if key != "description" or not isinstance(item, str)
    }


@contextmanager
def served(cluster: Cluster, crds: Sequence[Object]) -> Iterator[None]:
    """The kinds of these CRDs are served within the block, and no longer after it."""

    def kinds() -> set[tuple[str, str]]:
        apis = {(api, crd["spec"]["names"]["kind"]) for crd in crds for api in versions_of(crd)}
        return {(api, kind) for api, kind in apis if kind in cluster.kinds(api)}

    wanted = {(api, crd["spec"]["names"]["kind"]) for crd in crds for api in versions_of(crd)}
    made: list[Object] = []
    try:
        made.extend(cluster.create(prepared(crd)) for crd in crds)
        until(lambda: kinds() == wanted)
        yield
    finally:
        for crd in made:
            cluster.delete(Ref.of(crd), uid=crd["metadata"]["uid"])
        until(lambda: not any(cluster.get(Ref.of(crd)) for crd in made), 300)
        until(lambda: not kinds())


def versions_of(crd: Object) -> list[str]:
    return [f"{crd['spec']['group']}/{item['name']}" for item in crd["spec"]["versions"] if item["served"]]


def refusals(cluster: Cluster, example: Example) -> list[str]:
    found = []
    for obj in example.with_trials:
        meta = {"name": "trial", **obj.get("metadata", {}), "namespace": "default"}
        if obj["kind"] in {"Queue", "PriorityClass"}:
            del meta["namespace"]
        path = cluster.resource(obj["apiVersion"], obj["kind"], refresh=True).path(meta.get("namespace", ""))
        query = {"dryRun": "All", "fieldValidation": "Strict"}
        try:
            cluster.request("POST", path, query=query, body={**obj, "metadata": meta})
        except ApiError as error:
            found.append(f"{example.path}: {obj['kind']}: {error}")
    return found


def with_field(example: Example, name: str, value: Any) -> Example:
    """The example, which is one object, with one more field in its spec."""
    (obj,) = example.objects
    return replace(example, objects=({**obj, "spec": {**obj["spec"], name: value}},))


def with_kinds_of(components: Collection[str], release: str | None) -> list[Example]:
    """The examples whose custom resources all exist in that release, by the catalog."""

    def exists(item: ExampleKind) -> bool:
        if item.since is None or release is None:
            return item.component in components
        return item.component in components and version_key(item.since) <= version_key(release)

    return [example for example in examples() if all(map(exists, example.kinds))]


@pytest.mark.parametrize(
    "release", [pytest.param(name, marks=() if name == RELEASE else pytest.mark.long) for name in read.releases()]
)
def test_every_example_is_valid_by_the_crds_of_each_release_with_its_kinds(
    planes: Planes, tmp_path: Path, release: str
) -> None:
    lowest = read.load_release(release).kubernetes.lowest
    # CEL rules of later CRDs are not compiled by older API servers.
    tools, cluster = planes("1.30" if version_key(lowest) <= version_key("1.30") else "1.35")
    crds = of_release(release, tools, tmp_path)
    components = read.load_release(release).components
    with served(cluster, crds):
        found = {item for item in example_kinds() if item.since and item.kind in cluster.kinds(item.api_version)}
        expected = {item for item in example_kinds() if item.since and version_key(item.since) <= version_key(release)}
        assert found == expected
        tried = with_kinds_of(components.keys(), release)
        assert {item.kind for example in tried for item in example.kinds} == {item.kind for item in expected}
        assert not [text for example in tried for text in refusals(cluster, example)]
        (text,) = refusals(cluster, with_field(load_example("jobs/tfjob"), "schedulerName", "volcano"))
    assert 'unknown field "spec.schedulerName"' in text


@pytest.mark.parametrize("version", ["1.12.2", "1.15.1"])
def test_every_example_for_volcano_is_valid_by_its_crds(cluster: Cluster, tmp_path: Path, version: str) -> None:
    crds = of_volcano(unpacked(f"volcano-{version}.yaml.gz", tmp_path))
    with served(cluster, crds):
        tried = with_kinds_of({VOLCANO}, None)
        assert {item.kind for example in tried for item in example.kinds} == {"Job", "Queue"}
        assert not [text for example in tried for text in refusals(cluster, example)]


def test_the_dry_run_notices_a_field_that_does_not_exist(cluster: Cluster, tmp_path: Path) -> None:
    crds = of_volcano(unpacked("volcano-1.12.2.yaml.gz", tmp_path))
    with served(cluster, crds):
        (text,) = refusals(cluster, with_field(load_example("jobs/vcjob"), "minAvailabel", 4))
    assert 'unknown field "spec.minAvailabel"' in text


def test_what_needs_no_crd_is_kubernetes_own() -> None:
    known = {(item.api_version, item.kind) for item in example_kinds()}
    others = {
        obj["kind"] for item in examples() for obj in item.with_trials if (obj["apiVersion"], obj["kind"]) not in known
    }
    assert others == OF_KUBERNETES
