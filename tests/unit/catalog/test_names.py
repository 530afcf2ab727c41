"""References taken apart, and patterns of repositories."""

from __future__ import annotations

import pytest

from kubeflow_volcano.catalog.images.names import ImageName, matches

DIGEST = "sha256:" + "0a" * 32


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("busybox", "docker.io/library/busybox"),
        ("mysql:8.0.29", "docker.io/library/mysql:8.0.29"),
        ("kserve/agent:v0.8.0", "docker.io/kserve/agent:v0.8.0"),
        ("index.docker.io/library/alpine:3.10", "docker.io/library/alpine:3.10"),
        ("docker.io/busybox", "docker.io/library/busybox"),
        ("gcr.io/ml-pipeline/frontend", "gcr.io/ml-pipeline/frontend"),
        (f"gcr.io/a/b@{DIGEST}", f"gcr.io/a/b@{DIGEST}"),
        (f"gcr.io/a/b:v1@{DIGEST}", f"gcr.io/a/b:v1@{DIGEST}"),
        ("registry.lan:5000/x", "registry.lan:5000/x"),
        ("localhost/x:1", "localhost/x:1"),
        ("public.ecr.aws/docker/library/python:3.12", "public.ecr.aws/docker/library/python:3.12"),
        (
            "gcr.io/ml-pipeline/minio:RELEASE.2019-08-14T20-37-41Z",
            "gcr.io/ml-pipeline/minio:RELEASE.2019-08-14T20-37-41Z",
        ),
    ],
)
def test_a_reference_becomes_complete(text: str, complete: str) -> None:
    assert str(ImageName.parse(text)) == complete


@pytest.mark.parametrize(
    "text", ["", "Upper/case:1", "a b", "{{ .Values.image }}", "$IMAGE", "a//b", "x@sha256:12", "a:", "/a"]
)
def test_what_is_no_reference_is_none(text: str) -> None:
    assert ImageName.parse(text) is None


@pytest.mark.parametrize(
    ("text", "pinned"),
    [
        ("a:1.2", True),
        (f"a@{DIGEST}", True),
        (f"a:latest@{DIGEST}", True),
        ("a", False),
        ("a:latest", False),
        ("a:main", False),
    ],
)
def test_digests_and_fixed_tags_pin(text: str, pinned: bool) -> None:  # noqa: FBT001  a parameter of the test
    image = ImageName.parse(text)
    assert image is not None
    assert image.pinned is pinned


@pytest.mark.parametrize(
    ("repository", "pattern", "fits"),
    [
        ("gcr.io/a/b/c", "gcr.io/**", True),
        ("k8s.gcr.io/a", "gcr.io/**", False),
        ("docker.io/istio/pilot", "docker.io/istio/*", True),
        ("docker.io/istio/x/pilot", "docker.io/istio/*", False),
        ("docker.io/istioxpilot", "docker.io/istio.pilot", False),
        ("ghcr.io/kubeflow/kfp-driver", "ghcr.io/kubeflow/kfp-*", True),
    ],
)
def test_patterns_of_repositories(repository: str, pattern: str, fits: bool) -> None:  # noqa: FBT001  as above
    assert matches(repository, pattern) is fits
