"""Overrides and mirror rules: which name an image gets, and what is told about rules."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.images.rename.rewrite import rewrite
from kubeflow_volcano.rollout.images.rename.rules import validate_rules
from kubeflow_volcano.rollout.settings.images import MirrorSettings

pytestmark = pytest.mark.usefixtures("small_catalog")

Make = Callable[..., dict[str, Any]]
Mirror = Callable[..., MirrorSettings]

DIGEST = "@sha256:" + "0a" * 32


def named(mirror: MirrorSettings, make: Make, image: str, **fields: Any) -> str:
    """The name that the image gets; it gets no other one when the rules are applied again."""
    once = rewrite({"part": (make("d", image=image, **fields),)}, mirror)
    again = rewrite(once.parts, mirror)
    assert again.parts == once.parts
    assert [use.final for use in again.images] == [use.final for use in once.images]
    final: str = once.parts["part"][0]["spec"]["template"]["spec"]["containers"][0]["image"]
    return final


def named_in(problem: Problem) -> list[str]:
    """Registries and images, in the order in which they are told."""
    return re.findall(r"[\w-]+(?:\.[\w-]+)+(?:/[\w-]+)*(?::\w+)?", problem.found)


@pytest.mark.parametrize(
    ("rule", "image", "final"),
    [
        ({"source": "*", "prefix": "m.daocloud.io"}, "mysql:8.0", "m.daocloud.io/docker.io/library/mysql:8.0"),
        ({"source": "*", "prefix": "m.daocloud.io"}, "kserve/agent:v1", "m.daocloud.io/docker.io/kserve/agent:v1"),
        ({"source": "*", "prefix": "m.daocloud.io"}, f"gcr.io/a/b{DIGEST}", f"m.daocloud.io/gcr.io/a/b{DIGEST}"),
        ({"source": "*", "prefix": "m.daocloud.io"}, f"gcr.io/a/b:1{DIGEST}", f"m.daocloud.io/gcr.io/a/b:1{DIGEST}"),
        ({"source": "*", "prefix": "m.daocloud.io"}, "us.gcr.io/a/b:1", "m.daocloud.io/us.gcr.io/a/b:1"),
        ({"source": "gcr.io", "host": "gcr.m.daocloud.io"}, "gcr.io/a/b:1", "gcr.m.daocloud.io/a/b:1"),
        ({"source": "gcr.io", "host": "gcr.m.daocloud.io"}, "k8s.gcr.io/pause:3.2", "k8s.gcr.io/pause:3.2"),
        ({"source": "gcr.io", "host": "gcr.m.daocloud.io"}, "us.gcr.io/a/b:1", "us.gcr.io/a/b:1"),
        ({"source": "gcr.io", "host": "gcr.m.daocloud.io"}, "eu.gcr.io/a/b:1", "eu.gcr.io/a/b:1"),
        ({"source": "gcr.io", "host": "gcr.m.daocloud.io"}, "gcrxio/a:1", "gcrxio/a:1"),
        ({"source": "k8s.gcr.io", "host": "k8s-gcr.m.daocloud.io"}, "k8s.gcr.io/p:3", "k8s-gcr.m.daocloud.io/p:3"),
        ({"source": "docker.io", "host": "docker.m.daocloud.io"}, "busybox", "docker.m.daocloud.io/library/busybox"),
        ({"source": "*", "registry": "registry.lan:5000/mirror"}, "gcr.io/a/b:1", "registry.lan:5000/mirror/a/b:1"),
        ({"source": "gcr.io/a", "registry": "registry.lan/gcr"}, "gcr.io/a/b:1", "registry.lan/gcr/a/b:1"),
        ({"source": "gcr.io/a", "registry": "registry.lan/gcr"}, "gcr.io/ab/c:1", "gcr.io/ab/c:1"),
    ],
)
def test_each_form_of_rule(mirror: Mirror, deployment: Make, rule: dict[str, str], image: str, final: str) -> None:
    assert named(mirror(rule), deployment, image) == final


def test_the_first_rule_that_fits_counts(mirror: Mirror, deployment: Make) -> None:
    rules = mirror({"source": "gcr.io/a", "registry": "registry.lan/own"}, preset="daocloud")
    assert named(rules, deployment, "gcr.io/a/b:1") == "registry.lan/own/a/b:1"
    assert named(rules, deployment, "gcr.io/c/b:1") == "m.daocloud.io/gcr.io/c/b:1"
    assert named(rules, deployment, "harbor.example.com/c/b:1") == "harbor.example.com/c/b:1"


@pytest.mark.parametrize(
    ("gone", "final"),
    [
        ("gcr.io/arrikto/istio/pilot:1.14.1-1-g19df463bb", "docker.io/istio/pilot:1.14.1"),
        ("gcr.io/kubebuilder/kube-rbac-proxy:v0.13.1", "quay.io/brancz/kube-rbac-proxy:v0.13.1"),
        (
            "gcr.io/ml-pipeline/minio:RELEASE.2019-08-14T20-37-41Z-license-compliance",
            "docker.io/minio/minio:RELEASE.2019-08-14T20-37-41Z",
        ),
        ("gcr.io/ml-pipeline/api-server:2.3.0", "ghcr.io/kubeflow/kfp-api-server:2.4.0"),
        ("gcr.io/ml-pipeline/api-server:2.0.5", "gcr.io/ml-pipeline/api-server:2.0.5"),
    ],
)
def test_images_that_are_gone_are_replaced_before_they_are_mirrored(
    mirror: Mirror, deployment: Make, gone: str, final: str
) -> None:
    for mode in ("none", "rewrite", "containerd"):
        assert named(mirror(mode=mode), deployment, gone) == final
    assert named(mirror(preset="daocloud"), deployment, gone) == f"m.daocloud.io/{final}"
    assert named(mirror(catalog_overrides=False), deployment, gone) == gone


def test_own_overrides_go_before_the_catalog_s(mirror: Mirror, deployment: Make) -> None:
    rules = mirror(overrides={"gcr.io/kubebuilder/kube-rbac-proxy": "registry.k8s.io/kubebuilder/kube-rbac-proxy"})
    assert (
        named(rules, deployment, "gcr.io/kubebuilder/kube-rbac-proxy:v0.8.0")
        == "registry.k8s.io/kubebuilder/kube-rbac-proxy:v0.8.0"
    )


def test_the_mode_none_changes_nothing_but_what_is_gone(mirror: Mirror, deployment: Make) -> None:
    there = deployment("d", image="quay.io/a/b:1", imagePullPolicy="Always")
    gone = deployment("e", image="gcr.io/arrikto/istio/pilot:1.14.1-1-g19df463bb", imagePullPolicy="Always")
    result = rewrite({"part": (there, gone)}, mirror(mode="none", overrides={"gcr.io/c/d": "quay.io/c/d"}))
    kept, new = result.parts["part"]
    assert kept == there
    (container,) = new["spec"]["template"]["spec"]["containers"]
    assert (container["image"], container["imagePullPolicy"]) == ("docker.io/istio/pilot:1.14.1", "Always")
    assert [(use.override, use.covered) for use in result.images] == [(container["image"], False), (None, False)]
    assert result.problems == ()
    assert [named_in(warning) for warning in result.warnings] == [["gcr.io/c/d"]]


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("a/b:v1.2", "IfNotPresent"),
        (f"a/b{DIGEST}", "IfNotPresent"),
        ("a/b:latest", "Always"),
        ("a/b", "Always"),
        ("gcr.io/a/moving:1", "Always"),
    ],
)
def test_what_is_pinned_is_pulled_once(mirror: Mirror, deployment: Make, image: str, policy: str) -> None:
    rules = mirror(overrides={"gcr.io/a/moving:1": "gcr.io/a/moving:latest"})
    obj = deployment("d", image=image, imagePullPolicy="Always")
    (new,) = rewrite({"part": (obj,)}, rules).parts["part"]
    assert new["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"] == policy


@pytest.mark.parametrize("text", [{"imagePullPolicy": "Always"}, {"spec": {"imagePullPolicy": "Always"}}])
def test_a_policy_outside_of_a_container_stays(mirror: Mirror, text: dict[str, Any]) -> None:
    obj = {"apiVersion": "a.io/v1", "kind": "Deployer", "metadata": {"name": "d", "namespace": "n"}, **text}
    result = rewrite({"part": (obj,)}, mirror(preset="daocloud"))
    assert result.parts["part"] == (obj,)


def test_rules_and_overrides_that_fit_nothing_are_told(mirror: Mirror, deployment: Make) -> None:
    rules = mirror(
        {"source": "ghcr.io", "prefix": "m.daocloud.io"},
        {"source": "gcr.io", "prefix": "m.daocloud.io"},
        overrides={"quay.io/nobody/here:1": "quay.io/b/b:1"},
    )
    result = rewrite({"part": (deployment("d", image="gcr.io/a/b:1"),)}, rules)
    assert [named_in(warning) for warning in result.warnings] == [
        ["ghcr.io", "m.daocloud.io"],
        ["quay.io/nobody/here:1"],
    ]


def test_images_that_no_rule_fits_are_told(mirror: Mirror, deployment: Make) -> None:
    objects = (
        deployment("d", image="gcr.io/a/b:1"),
        deployment("e", image="quay.io/c/d:1"),
        deployment("f", image="x"),
    )
    result = rewrite({"part": objects}, mirror({"source": "gcr.io", "prefix": "m.daocloud.io"}))
    (warning,) = result.warnings
    assert named_in(warning) == ["docker.io", "quay.io", "docker.io/library/x", "quay.io/c/d:1"]
    assert [use.covered for use in result.images] == [False, True, False]


def test_two_images_never_get_one_name(mirror: Mirror, deployment: Make) -> None:
    objects = (deployment("d", image="gcr.io/a/b:1"), deployment("e", image="quay.io/a/b:1"))
    (problem,) = rewrite({"part": objects}, mirror({"source": "*", "registry": "registry.lan"})).problems
    assert named_in(problem) == ["gcr.io/a/b:1", "quay.io/a/b:1", "registry.lan/a/b:1"]


def test_a_runtime_that_knows_the_mirror_leaves_names_as_they_are(mirror: Mirror, deployment: Make) -> None:
    objects = (deployment("d", image="gcr.io/a/b:1"), deployment("e", image="quay.io/old:1"))
    settings = mirror({"source": "*", "prefix": "m.x"}, mode="containerd", overrides={"quay.io/old": "quay.io/new"})
    found = rewrite({"part": objects}, settings)
    assert [(use.original, use.final, use.mirrored) for use in found.images] == [
        ("gcr.io/a/b:1", "gcr.io/a/b:1", "m.x/gcr.io/a/b:1"),
        ("quay.io/old:1", "quay.io/new:1", "m.x/quay.io/new:1"),
    ]
    images = [obj["spec"]["template"]["spec"]["containers"][0]["image"] for obj in found.parts["part"]]
    assert images == ["gcr.io/a/b:1", "quay.io/new:1"]


def test_a_runtime_that_knows_the_mirror_has_one_image_below_a_name_there(mirror: Mirror, deployment: Make) -> None:
    objects = (deployment("d", image="gcr.io/a/b:1"), deployment("e", image="quay.io/a/b:1"))
    settings = mirror({"source": "*", "registry": "registry.lan"}, mode="containerd")
    (problem,) = rewrite({"part": objects}, settings).problems
    assert named_in(problem) == ["gcr.io/a/b:1", "quay.io/a/b:1", "registry.lan/a/b:1"]


@pytest.mark.parametrize(
    ("rules", "changes", "found"),
    [
        ((), {"mode": "none", "preset": "daocloud"}, "image_mirror_preset is set, and image_mirror_mode is none."),
        (({"source": "*", "prefix": "m.x"},), {"mode": "none"}, "image_mirror_rules is set, and"),
        ((), {"overrides": {"Not An Image": "a/b:1"}}, "'Not An Image' is no image reference"),
        ((), {"overrides": {"a/b:1": "http://a/b:1"}}, "'http://a/b:1' is no image reference"),
        (({"source": "*", "prefix": "a.b"}, {"source": "*", "prefix": "c.d"}), {}, "two rules for *"),
        (({"source": "k8s.gcr.io", "host": "k8s.gcr.m.daocloud.io"},), {}, "which the public image mirror of DaoCloud"),
        (({"source": "registry.k8s.io", "host": "registry.k8s.m.daocloud.io"},), {}, "does not have"),
        (({"source": "public.ecr.aws", "host": "ecr.m.daocloud.io"},), {}, "does not have"),
        (({"source": "gcr.io/a", "host": "m.x"},), {"mode": "containerd"}, "image_mirror_mode is containerd"),
    ],
)
def test_rules_that_cannot_be_meant(
    mirror: Mirror, rules: tuple[dict[str, str], ...], changes: dict[str, Any], found: str
) -> None:
    (problem,) = validate_rules(mirror(*rules, **changes))
    assert found in problem.found


def test_the_mirror_s_own_names_are_right_as_they_are(mirror: Mirror) -> None:
    assert not list(validate_rules(mirror({"source": "registry.k8s.io", "host": "k8s.m.daocloud.io"})))
