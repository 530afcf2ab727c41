"""Knative asks no digest of a registry that its controller cannot reach as the nodes do."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.images.rename.rewrite import find
from kubeflow_volcano.rollout.patches.environment import for_environment
from kubeflow_volcano.rollout.patches.own import with_own_patches
from kubeflow_volcano.rollout.patches.pods.tag_resolution import skipped_registries
from kubeflow_volcano.rollout.settings.settings import Settings, parse
from tests.unit.releases import Upstream, by_ref

KEY = "registries-skipping-tag-resolving"
REF = Ref("v1", "ConfigMap", "knative-serving", "config-deployment")
DEFAULT = "kind.local,ko.local,dev.local"
OWN = {"image_mirror_mode": "registry", "image_mirror_registry": "registry.lan:5000/kubeflow"}
LAN = [{"source": "docker.io", "prefix": "mirror.lan:5000"}, {"source": "quay.io", "host": "quay.lan"}]


def skipped(settings: Settings) -> tuple[str, ...]:
    return skipped_registries(settings.mirror, settings.registry)


def rewriting(**variables: Any) -> dict[str, Any]:
    return {"image_mirror_mode": "rewrite", "image_mirror_rules": LAN, **variables}


def behind_containerd(**variables: Any) -> dict[str, Any]:
    return {"image_mirror_mode": "containerd", "image_mirror_rules": LAN, **variables}


@pytest.fixture
def authority(tmp_path: Path) -> str:
    path = tmp_path / "ca.crt"
    path.write_text("a certificate")
    return str(path)


def test_without_a_mirror_or_with_a_public_one_every_registry_is_asked() -> None:
    assert skipped(parse({})) == ()
    assert skipped(parse({"image_mirror_mode": "rewrite", "image_mirror_preset": "daocloud"})) == ()
    assert skipped(parse(rewriting())) == ()


def test_a_mirror_without_tls_and_one_with_an_authority_of_its_own_are_not_asked(authority: str) -> None:
    plain = parse(rewriting(image_mirror_containerd_plain_http=["mirror.lan:5000"]))
    assert skipped(plain) == ("mirror.lan:5000",)
    own = parse(rewriting(image_mirror_containerd_ca=authority))
    assert skipped(own) == ("mirror.lan:5000", "quay.lan")


def test_a_registry_of_ones_own_is_not_asked() -> None:
    assert skipped(parse(OWN)) == ("registry.lan:5000",)


def test_registries_whose_mirror_only_containerd_knows_are_not_asked() -> None:
    assert skipped(parse(behind_containerd())) == ("index.docker.io", "quay.io")
    plain = parse(behind_containerd(image_mirror_containerd_plain_http=["quay.lan"]))
    assert skipped(plain) == ("index.docker.io", "quay.io", "quay.lan")


def test_a_rule_for_every_registry_is_about_those_that_containerd_knows() -> None:
    settings = parse(OWN | {"image_mirror_mode": "containerd", "image_mirror_containerd_registries": ["git.lan"]})
    assert {*skipped(settings)} >= {"git.lan", "gcr.io", "ghcr.io", "index.docker.io", "registry.lan:5000"}
    assert not {*skipped(settings)} & {"*", "docker.io"}


def configuration(**data: str) -> Object:
    return new_object("v1", "ConfigMap", REF.name, REF.namespace, data=data)


def test_what_is_skipped_already_stays_once() -> None:
    before = configuration(registriesSkippingTagResolving="old.lan, registry.lan:5000")
    untouched = copy.deepcopy(before)
    (after,) = for_environment("knative-serving", [before], parse(OWN))
    assert before == untouched
    assert after["data"] == before["data"] | {KEY: "old.lan,registry.lan:5000"}


def test_a_patch_of_the_inventory_comes_last(kustomize: Path) -> None:
    target = {"kind": "ConfigMap", "name": REF.name}
    patch = {"data": {KEY: "mine.lan"}}
    settings = parse(
        {
            **OWN,
            "kubeflow_profile": "full",
            "kubeflow_patches": {"knative-serving": [{"target": target, "patch": patch}]},
            "kustomize_binary": str(kustomize),
        }
    )
    changed = for_environment("knative-serving", [configuration()], settings)
    (after,) = with_own_patches("knative-serving", changed, settings, silent)
    assert after["data"] == {KEY: "mine.lan"}


@pytest.mark.upstream
def test_a_release_has_them_beside_the_defaults_and_nothing_else_changes(upstream: Upstream) -> None:
    after, before = by_ref(upstream.changed(**OWN)), by_ref(upstream.parts)
    assert {ref for ref in after if after[ref] != before[ref]} == {REF}
    assert after[REF]["data"] == before[REF]["data"] | {KEY: f"{DEFAULT},registry.lan:5000"}
    assert f'{KEY}: "{DEFAULT}"' in before[REF]["data"]["_example"], "upstream's defaults are other ones"


@pytest.mark.upstream
def test_behind_containerd_no_registry_of_the_release_is_asked(upstream: Upstream) -> None:
    settings = upstream.settings(**OWN | {"image_mirror_mode": "containerd"})
    found = [item for objects in upstream.parts.values() for item in find(objects) if item.kind != "documentation"]
    used = {"index.docker.io" if image.host == "docker.io" else image.host for image in images(found)}
    assert len(used) > 3
    assert used - {*skipped(settings)} == set()


def images(found: Any) -> list[ImageName]:
    return [item.image for item in found]
