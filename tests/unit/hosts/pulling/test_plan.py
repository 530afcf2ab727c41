"""What nodes lack is found by complete names."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.hosts.pulling.plan import NodeImages, Wanted, tagged, todo

DIGEST = f"sha256:{'a' * 64}"
OTHER = f"sha256:{'b' * 64}"


def told(*names: str, **changes: Any) -> dict[str, Any]:
    """A result of kfv_pull_host for a node with images of these names."""
    tags = [name for name in names if "@" not in name]
    image = {"tags": tags, "digests": [name for name in names if "@" in name], "size": 1}
    return {
        "unusable": "",
        "runtime": {"name": "containerd", "version": "1.7.28", "client": "crictl"},
        "architecture": "amd64",
        "images": [image],
        "sandbox": "",
        "disk": {"path": "/var/lib/containerd", "total": 1000, "free": 600, "used_percent": 40.0},
        **changes,
    }


def node(*names: str, **changes: Any) -> NodeImages:
    return NodeImages.decode("node-1", told(*names, **changes))


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("docker.io/library/busybox:1.36", True),
        ("docker.io/library/busybox:1.37", False),
        ("busybox:1.36", True),
        (f"docker.io/library/busybox@{DIGEST}", True),
        (f"docker.io/library/busybox:9.9@{DIGEST}", True),
        (f"docker.io/library/busybox:1.36@{OTHER}", False),
        (f"quay.io/library/busybox@{DIGEST}", False),
        ("docker.io/library/alpine", True),
    ],
)
def test_an_image_is_there_by_its_tag_or_for_a_digest_by_that_alone(name: str, there: bool) -> None:  # noqa: FBT001
    found = node(
        "docker.io/library/busybox:1.36", f"docker.io/library/busybox@{DIGEST}", "docker.io/library/alpine:latest"
    )
    assert found.has(name) is there


def test_the_sandbox_image_of_the_node_comes_first_and_what_is_there_is_not_pulled() -> None:
    wanted = [Wanted("docker.io/library/busybox:1.36", "m.lan/x:1"), Wanted("quay.io/a/b:1", "m.lan/b:1")]
    work = todo(node("quay.io/a/b:1", sandbox="registry.k8s.io/pause:3.8"), wanted)
    assert work.missing == ("registry.k8s.io/pause:3.8", "docker.io/library/busybox:1.36")
    assert work.present == ("quay.io/a/b:1",)


def test_a_sandbox_image_that_the_release_needs_as_well_is_pulled_once() -> None:
    work = todo(node(sandbox="registry.k8s.io/pause:3.8"), [Wanted("registry.k8s.io/pause:3.8", "m.lan/pause:3.8")])
    assert work.missing == ("registry.k8s.io/pause:3.8",)


def test_what_is_known_against_an_image_is_told_instead_of_tried() -> None:
    wanted = [
        Wanted("gcr.io/arrikto/pilot:1", "gcr.io/arrikto/pilot:1", known="gone upstream"),
        Wanted("quay.io/only/amd64:1", "quay.io/only/amd64:1", architectures=("amd64",)),
        Wanted("quay.io/both/of:1", "quay.io/both/of:1", architectures=("amd64", "arm64")),
    ]
    work = todo(node(architecture="arm64"), wanted)
    assert work.missing == ("quay.io/both/of:1",)
    assert work.left == {"gcr.io/arrikto/pilot:1": "gone upstream", "quay.io/only/amd64:1": "not built for arm64"}


def test_an_image_that_is_gone_and_still_there_counts_as_present() -> None:
    gone = Wanted("gcr.io/arrikto/pilot:1", "gcr.io/arrikto/pilot:1", known="gone upstream")
    work = todo(node("gcr.io/arrikto/pilot:1"), [gone])
    assert (work.present, work.left) == (("gcr.io/arrikto/pilot:1",), {})


def test_excluded_repositories_are_left_out_by_pattern() -> None:
    wanted = [Wanted("ghcr.io/kubeflow/notebooks/jupyter:1", ""), Wanted("ghcr.io/kubeflow/katib:1", "")]
    assert todo(node(), wanted, ["ghcr.io/kubeflow/notebooks/*"]).missing == ("ghcr.io/kubeflow/katib:1",)


def test_a_node_that_is_unusable_has_a_reason_and_nothing_else() -> None:
    why = "the kubelet uses Docker"
    found = NodeImages.decode("node-1", {"unusable": why, "changed": False})
    assert (found.unusable, found.names) == (why, frozenset())


def test_room_is_missing_by_what_would_bring_the_disk_below_the_limit() -> None:
    assert node().disk.short(50) == 0
    assert node().disk.short(30) == 100


def test_a_missing_tag_is_latest_and_a_digest_needs_none() -> None:
    names = ("docker.io/library/busybox", "quay.io/a/b:1", f"quay.io/a/b@{DIGEST}")
    images = [image for image in map(ImageName.parse, names) if image]
    assert [tagged(image) for image in images] == [f"{names[0]}:latest", *names[1:]]
