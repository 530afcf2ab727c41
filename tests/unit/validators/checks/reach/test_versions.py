"""A8 and A9 on literal facts: images as planned, and the release that a cluster looks like."""

from __future__ import annotations

from typing import Any, ClassVar, cast

import pytest

from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.catalog.shipped import images_of_release, version_labels
from kubeflow_volcano.cluster.api.client import Cluster, Listing
from kubeflow_volcano.cluster.api.errors import ApiError, NotServed
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.checks.reach.planned_images import images_in
from kubeflow_volcano.validators.checks.reach.recognition import stands_for
from kubeflow_volcano.validators.checks.reach.versions import images_as_planned, release_recognised
from kubeflow_volcano.validators.core.expectations import Expectations, expect
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Status
from kubeflow_volcano.validators.run.options import Options, expectations_of
from tests.samples.facts import crd, deployment, facts, node, pod, ref
from tests.samples.stored import Stored

pytestmark = pytest.mark.usefixtures("small_catalog")

UPSTREAM = "docker.io/example/program:v2"
PLACE = (ref("Deployment", "kubeflow/program"), "program")


def known(*objects: Object, planned: str = UPSTREAM, exact: bool = False, release: str = "") -> Facts:
    return facts(*objects, expected=Expectations(release=release, images={PLACE: planned}, images_exact=exact))


def running(image: str) -> Object:
    return deployment("kubeflow/program", containers=[{"name": "program", "image": image}])


@pytest.mark.parametrize(
    ("image", "exact", "status", "reason"),
    [
        ("example/program:v2", True, Status.PASS, "AsClaimed"),
        ("mirror.example.com/docker.io/example/program:v2", False, Status.PASS, "AsClaimed"),
        ("mirror.example.com/docker.io/example/program:v2", True, Status.WARN, "OtherRegistry"),
        ("example/program:v1", False, Status.WARN, "OtherImage"),
        ("example/program:v1", True, Status.FAIL, "OtherImage"),
        ("example/another:v2", False, Status.WARN, "OtherImage"),
    ],
)
def test_an_image_is_held_against_the_plan(image: str, *, exact: bool, status: Status, reason: str) -> None:
    outcome = images_as_planned(known(running(image), exact=exact))
    assert (outcome.status, outcome.reason) == (status, reason)
    assert [item.name for item in outcome.objects] == ["program"]


def test_a_workload_that_is_not_there_is_not_this_checks_matter() -> None:
    assert images_as_planned(known()).reason == "NoPlan"


def worker(number: int, digest: str, where: str = "n1") -> Object:
    status = {
        "phase": "Running",
        "containerStatuses": [{"name": "program", "imageID": f"docker.io/example/program@{digest}"}],
    }
    spec = {"nodeName": where, "containers": [{"name": "program", "image": "example/program:v2"}]}
    return pod(f"kubeflow/program-{number}", owner="program", spec=spec, status=status)


def of_kind(name: str, architecture: str) -> Object:
    return node(
        name, status={"nodeInfo": {"architecture": architecture, "containerRuntimeVersion": "containerd://2.2"}}
    )


def test_two_contents_under_one_name_are_a_tag_that_moved_unless_the_nodes_differ_in_kind() -> None:
    workers = [worker(1, "sha256:a"), worker(2, "sha256:b", "n2")]
    alike = images_as_planned(
        known(running("example/program:v2"), *workers, of_kind("n1", "amd64"), of_kind("n2", "amd64"))
    )
    assert (alike.status, alike.reason) == (Status.WARN, "MovedTag")
    others = images_as_planned(
        known(running("example/program:v2"), *workers, of_kind("n1", "amd64"), of_kind("n2", "arm64"))
    )
    assert others.status is Status.PASS


@pytest.mark.parametrize(
    ("image", "upstream", "same"),
    [
        ("m.example.com/gcr.io/a/b:v1", "gcr.io/a/b:v1", True),
        ("gcr.io/a/b:v2", "gcr.io/a/b:v1", False),
        ("gcr.io/a/b", "gcr.io/a/b", False),
        ("m.example.com/b@sha256:" + "0" * 64, "gcr.io/a/b@sha256:" + "0" * 64, True),
        ("m.example.com/b@sha256:" + "1" * 64, "gcr.io/a/b@sha256:" + "0" * 64, False),
        ("quay.io/brancz/kube-rbac-proxy:v0.8.0", "gcr.io/kubebuilder/kube-rbac-proxy:v0.8.0", True),
        (
            "docker.io/minio/minio:RELEASE.2019-08-14T20-37-41Z",
            "gcr.io/ml-pipeline/minio:RELEASE.2019-08-14T20-37-41Z-license-compliance",
            True,
        ),
    ],
)
def test_an_image_stands_for_upstreams_on_a_mirror_and_where_upstreams_is_gone(
    image: str, upstream: str, *, same: bool
) -> None:
    names = ImageName.parse(image), ImageName.parse(upstream)
    assert names[0]
    assert names[1]
    assert stands_for(names[0], names[1]) is same


def cluster_of(release: str, **replaced: str) -> list[Object]:
    """Every Deployment that a release brings, with its labels, but for those with other images."""
    containers: dict[Ref, list[dict[str, str]]] = {}
    for (where, name), image in images_of_release(release).items():
        if where.kind == "Deployment":
            chosen = replaced.get(where.name.replace("-", "_"), image)
            containers.setdefault(where, []).append({"name": name, "image": chosen})
    found = []
    for where, items in containers.items():
        obj = deployment(f"{where.namespace}/{where.name}", containers=items)
        labels = version_labels().get(where, {})
        value = next((text for text, named in labels.items() if release in named), "")
        obj["metadata"]["labels"] = {"app.kubernetes.io/version": value} if value else {}
        found.append(obj)
    return found


def of_release(release: str, *objects: Object, judged_by: str = "") -> Any:
    return release_recognised(facts(*objects, expected=Expectations(release=judged_by or release)))


@pytest.mark.parametrize("release", ["1.6.1", "1.7.0", "1.8.1", "1.9.1", "1.10.2", "1.11.0", "26.03"])
def test_every_release_is_recognised_for_certain(release: str) -> None:
    outcome = of_release(release, *cluster_of(release))
    assert (outcome.status, outcome.observed["release"], outcome.observed["confidence"]) == (
        Status.PASS,
        release,
        "high",
    )


def test_a_release_is_recognised_through_a_mirror() -> None:
    objects = cluster_of("1.8.1")
    for item in objects:
        for container in item["spec"]["template"]["spec"]["containers"]:
            container["image"] = f"m.example.com/{container['image']}"
    assert of_release("1.8.1", *objects).status is Status.PASS


def test_a_part_of_another_release_speaks_against_it() -> None:
    old = next(image for (where, _), image in images_of_release("1.7.0").items() if where.name == "katib-controller")
    outcome = of_release("1.9.1", *cluster_of("1.9.1", katib_controller=old))
    assert (outcome.status, outcome.reason) == (Status.WARN, "Mixed")
    assert "katib-controller" in outcome.message
    assert "1.7.0" in outcome.message
    assert [item.name for item in outcome.objects] == ["katib-controller"]


def test_an_unknown_version_counts_in_kubeflows_own_namespaces_and_nowhere_else() -> None:
    own = of_release("1.9.1", *cluster_of("1.9.1", katib_controller="kubeflowkatib/katib-controller:v9"))
    assert (own.status, "no known release" in own.message) == (Status.WARN, True)
    foreign = cluster_of("1.9.1", istiod="istio/pilot:1.20.0", istio_ingressgateway="istio/proxyv2:1.20.0")
    assert of_release("1.9.1", *foreign).status is Status.PASS


def test_a_cluster_that_is_judged_by_another_release_is_told_so_and_its_images_follow_from_that() -> None:
    outcome = of_release("1.8.1", *cluster_of("1.8.1"), judged_by="1.9.1")
    assert (outcome.status, outcome.reason) == (Status.WARN, "OtherRelease")
    assert "--release 1.8.1" in outcome.todo
    images = images_as_planned(facts(*cluster_of("1.8.1"), expected=expect("1.9.1", "full")))
    assert (images.status, images.because) == (Status.WARN, ("A9",))


def test_few_marks_are_never_certain_and_none_at_all_is_no_kubeflow() -> None:
    operator = [item for item in cluster_of("1.9.1") if item["metadata"]["name"] == "training-operator"]
    assert of_release("1.9.1", *operator).observed["confidence"] == "medium"
    outcome = of_release("1.9.1", deployment("kubeflow/mine"), crd("mine.example.com"))
    assert (outcome.status, outcome.reason) == (Status.SKIP, "NoKubeflow")


class Deployments(Stored):
    """The part of a cluster that holds Deployments; `refused` is a namespace that may not be read."""

    version: ClassVar[dict[str, str]] = {"gitVersion": "v1.30.2"}

    def __init__(self, *objects: Object, refused: str = "") -> None:
        super().__init__(*objects)
        self.refused = refused

    def list(self, api_version: str, kind: str, *, namespace: str = "", **how: Any) -> Listing:
        if namespace and namespace == self.refused:
            raise ApiError(403, "Forbidden", "no")
        return super().list(api_version, kind, namespace=namespace, **how)

    def resource(self, api_version: str, kind: str) -> None:
        raise NotServed(api_version, kind)


@pytest.mark.parametrize("release", ["1.6.1", "1.8.1", "1.11.0", "26.03"])
def test_a_release_that_nobody_names_is_that_of_what_runs(release: str) -> None:
    """Kubeflow 1.11.0 and 26.03 have the same operator, and differ in what runs beside it."""
    cluster = Deployments(*cluster_of(release))
    found, how = expectations_of(Options(), cast("Cluster", cluster))
    assert (found.release, how.split()[-1]) == (release, "operator")


def test_without_an_operator_the_images_beside_it_tell_and_without_those_the_server() -> None:
    others = [item for item in cluster_of("1.8.1") if item["metadata"]["name"] != "training-operator"]
    assert expectations_of(Options(), cast("Cluster", Deployments(*others)))[0].release == "1.8.1"
    found, how = expectations_of(Options(), cast("Cluster", Deployments(refused="kubeflow")))
    assert how.startswith("newest")
    assert found.kubernetes.covers("v1.30.2")


def test_images_in_manifests_are_those_of_workloads() -> None:
    found = dict(images_in(deployment("a/b", initContainers=[{"name": "first", "image": "x:1"}])))
    assert found == {(ref("Deployment", "a/b"), "b"): "example/image:v1", (ref("Deployment", "a/b"), "first"): "x:1"}
    assert list(images_in(pod("a/b"))) == []
