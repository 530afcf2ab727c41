"""The images of whole releases, held against counts that were made independently of this code."""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano import foreign
from kubeflow_volcano.catalog.images import tables
from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.rollout.images.references.find import leaves
from kubeflow_volcano.rollout.images.rename.rewrite import Parts, find, rewrite
from kubeflow_volcano.rollout.settings.images import MirrorSettings
from tests.unit.releases import WholeRelease

pytestmark = pytest.mark.upstream

Mirror = Callable[..., MirrorSettings]
Release = Callable[[str], Parts]

IN_POD_SPECS = {"1.6.1": 59, "1.9.1": 57, "26.03": 70}
ELSEWHERE = {
    "1.6.1": """
        docker.io/kubeflowkatib/suggestion-{chocolate,darts,enas,goptuna,hyperband,hyperopt,optuna,pbt,skopt}:v0.14.0
        docker.io/kubeflowkatib/earlystopping-medianstop:v0.14.0
        docker.io/kubeflowkatib/{file-metrics-collector,tfevent-metrics-collector}:v0.14.0
        docker.io/kubeflowkatib/{enas-cnn-cifar10-cpu,mxnet-mnist,pytorch-mnist-cpu}:v0.14.0
        mcr.microsoft.com/onnxruntime/server:v1.0.0
        kserve/{agent,storage-initializer}:v0.8.0
        gcr.io/google-containers/busybox
        gcr.io/knative-releases/knative.dev/eventing/cmd/apiserver_receive_adapter@sha256:5b672eedd343bcf9496c2070479f9d8f29231069148bf2aa7991bd5ca5a7562a
        gcr.io/knative-releases/knative.dev/serving/cmd/queue@sha256:14415b204ea8d0567235143a6c3377f49cbd35f18dc84dfa4baa7695c2a9b53d
        gcr.io/ml-pipeline/argoexec:v3.3.8-license-compliance
        kubeflownotebookswg/{codeserver-python,jupyter-pytorch-cuda-full,jupyter-pytorch-full}:v1.6.1
        kubeflownotebookswg/{jupyter-scipy,jupyter-tensorflow-cuda-full,jupyter-tensorflow-full,rstudio-tidyverse}:v1.6.1
        tensorflow/tensorflow:2.1.0
        busybox:1.28
        kserve/{aix,alibi,art}-explainer:latest
        kserve/torchserve-kfs:0.5.3-gpu
        tensorflow/serving:2.6.2-gpu
        alpine:3.10
        mpioperator/kubectl-delivery:latest
        gcr.io/ml-pipeline-test/dev/{kfp-driver,kfp-launcher-v2}:latest
        quay.io/jetstack/cert-manager-acmesolver:v1.5.0
    """,
    "1.9.1": """
        docker.io/kubeflowkatib/suggestion-{darts,enas,goptuna,hyperband,hyperopt,optuna,pbt,skopt}:v0.17.0
        docker.io/kubeflowkatib/earlystopping-medianstop:v0.17.0
        docker.io/kubeflowkatib/{file-metrics-collector,tfevent-metrics-collector}:v0.17.0
        docker.io/kubeflowkatib/{enas-cnn-cifar10-cpu,pytorch-mnist-cpu}:v0.17.0
        kserve/{agent,router,storage-initializer}:v0.13.1
        gcr.io/google-containers/busybox
        gcr.io/knative-releases/knative.dev/serving/cmd/queue@sha256:89e6f90141f1b63405883fbb4de0d3b6d80f8b77e530904c4d29bdcd1dc5a167
        gcr.io/ml-pipeline/argoexec:v3.4.17-license-compliance
        quay.io/jetstack/cert-manager-acmesolver:v1.14.5
        kubeflownotebookswg/{codeserver-python,jupyter-pytorch-cuda-full,jupyter-pytorch-full}:v1.9.2
        kubeflownotebookswg/{jupyter-pytorch-gaudi-full,jupyter-tensorflow-cuda-full,jupyter-tensorflow-full}:v1.9.2
        kubeflownotebookswg/{jupyter-scipy,rstudio-tidyverse}:v1.9.2
        tensorflow/tensorflow:2.5.1
        filebrowser/filebrowser:v2.25.0
        busybox:1.28
        kserve/art-explainer:latest
        alpine:3.10
        kubeflow/kubectl-delivery:latest
        gcr.io/ml-pipeline/kfp-driver@sha256:dc8b56a2eb071f30409828a8884d621092e68385af11a6c06aa9e9fbcfbb19de
        gcr.io/ml-pipeline/kfp-launcher@sha256:bef55a344574a25c557256d7c66cb19edacfd2008d694e5b6bb5b612d59feae0
    """,
    "26.03": """
        ghcr.io/kubeflow/katib/suggestion-{darts,enas,goptuna,hyperband,hyperopt,optuna,pbt,skopt}:v0.19.0
        ghcr.io/kubeflow/katib/earlystopping-medianstop:v0.19.0
        ghcr.io/kubeflow/katib/{file-metrics-collector,tfevent-metrics-collector}:v0.19.0
        ghcr.io/kubeflow/katib/{enas-cnn-cifar10-cpu,pytorch-mnist-cpu}:v0.19.0
        kserve/{agent,router,storage-initializer}:v0.16.0
        ghcr.io/containerd/busybox
        gcr.io/knative-releases/knative.dev/serving/cmd/queue@sha256:40957d3ced3b185b7a78bbd771be69b0a13137dcbee5ff7f82ae738b56037d9c
        ghcr.io/kubeflow/{kfp-driver,kfp-launcher}:2.16.0
        quay.io/argoproj/argoexec:v3.7.3
        quay.io/jetstack/cert-manager-acmesolver:v1.19.4
        ghcr.io/kubeflow/kubeflow/notebook-servers/{codeserver-python,jupyter-pytorch-cuda-full}:v1.10.0
        ghcr.io/kubeflow/kubeflow/notebook-servers/{jupyter-pytorch-full,jupyter-pytorch-gaudi-full}:v1.10.0
        ghcr.io/kubeflow/kubeflow/notebook-servers/{jupyter-scipy,jupyter-tensorflow-cuda-full}:v1.10.0
        ghcr.io/kubeflow/kubeflow/notebook-servers/{jupyter-tensorflow-full,rstudio-tidyverse}:v1.10.0
        tensorflow/tensorflow:2.5.1
        filebrowser/filebrowser:v2.25.0
        busybox:1.28
        kserve/art-explainer:latest
        gcr.io/istio-release/proxyv2:1.29.0
    """,
}
"""Images that only stand outside the containers of the manifests, braces as in a shell."""

ALWAYS = {"1.6.1": 8, "26.03": 6}
"""Containers that pull at every start, counted in the manifests."""


def spelt_out(text: str) -> set[str]:
    """Complete references of such a list."""
    found: set[str] = set()
    for word in text.split():
        head, brace, rest = word.partition("{")
        inner, _, tail = rest.partition("}")
        for part in inner.split(",") if brace else [""]:
            image = ImageName.parse(f"{head}{part}{tail}")
            assert image, word
            found.add(str(image))
    return found


@pytest.fixture
def release(whole_release: WholeRelease) -> Release:
    """The objects of the profile full of a release, by component, without Volcano and the storage provisioner."""

    def make(version: str) -> Parts:
        found = whole_release(version)
        return found.only({part.name for part in found.given.components} - {"volcano", "local-path"}).parts

    return make


releases = pytest.mark.parametrize("version", IN_POD_SPECS)


def all_of(parts: Parts) -> tuple[dict[str, Any], ...]:
    return tuple(obj for objects in parts.values() for obj in objects)


@releases
def test_every_image_is_found_and_every_place_is_known(release: Release, version: str) -> None:
    references = find(all_of(release(version)))
    assert [item for item in references if item.kind == "unknown"] == []
    assert len({item.text for item in references if item.kind == "pod"}) == IN_POD_SPECS[version]
    pods = {item.image for item in references if item.kind == "pod"}
    # An image of a hook runs in pods, too, and is counted among those.
    hidden = {item.image for item in references if item.kind not in {"pod", "documentation"}} - pods
    assert {str(image) for image in hidden} == spelt_out(ELSEWHERE[version])
    images = {item.image for item in references if item.kind != "documentation"}
    ends = {entry.repository for image in images if (entry := tables.gone(image))}
    assert ends == {entry.repository for entry in tables.all_gone() if version in entry.releases}


@releases
def test_nothing_of_a_blocked_registry_is_left_and_twice_is_once(
    release: Release, mirror: Mirror, version: str
) -> None:
    result = rewrite(release(version), mirror(preset="daocloud"))
    assert result.problems == ()
    references = find(all_of(result.parts))
    left = {str(item.image) for item in references if item.image.host != "m.daocloud.io"}
    fixed = {"gcr.io/ml-pipeline-test/dev/kfp-driver:latest", "gcr.io/ml-pipeline-test/dev/kfp-launcher-v2:latest"}
    told = {str(item.image) for item in references if item.kind == "documentation"}
    assert left - told == (fixed if version == "1.6.1" else set())
    assert rewrite(result.parts, mirror(preset="daocloud")).parts == result.parts


@releases
def test_no_pinned_image_is_pulled_at_every_start(release: Release, mirror: Mirror, version: str) -> None:
    def always(parts: Parts) -> int:
        texts = (leaf for obj in all_of(parts) for leaf in leaves(obj))
        return sum(leaf.path[-1] == "imagePullPolicy" and leaf.text == "Always" for leaf in texts)

    parts = release(version)
    if version in ALWAYS:
        assert always(parts) == ALWAYS[version]
    assert always(rewrite(parts, mirror()).parts) == 0


@pytest.mark.parametrize(
    ("file", "images"),
    [
        ("volcano-1.12.2.yaml.gz", "volcanosh/vc-{scheduler,controller-manager,webhook-manager}:v1.12.2"),
        ("volcano-1.15.1.yaml.gz", "volcanosh/vc-{scheduler,controller-manager,webhook-manager}:v1.15.1"),
        ("local-path-storage-0.0.20.yaml", "rancher/local-path-provisioner:v0.0.20 busybox"),
        ("local-path-storage-0.0.37.yaml", "rancher/local-path-provisioner:v0.0.37 busybox"),
    ],
)
def test_the_images_of_single_manifests(upstream_dir: Path, file: str, images: str) -> None:
    raw = (upstream_dir / file).read_bytes()
    objects = foreign.parse(gzip.decompress(raw) if file.endswith(".gz") else raw, file)
    assert {str(item.image) for item in find(objects)} == spelt_out(images)


def test_a_whole_release_is_a_matter_of_moments(release: Release, mirror: Mirror) -> None:
    """0.15 s of a processor of two cores; the limit leaves room for one that is ten times slower."""
    parts = release("26.03")
    rewrite(parts, mirror(preset="daocloud"))
    started = time.process_time()
    rewrite(parts, mirror(preset="daocloud"))
    assert time.process_time() - started < 1.5
