"""The training operator beside releases: its versions, and the release that gets one of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.model import Release
from kubeflow_volcano.catalog.operator import COMPONENT, era_of, version_of_image
from kubeflow_volcano.problems import InvalidInput

VERSIONS = read.versions_of(COMPONENT)


def without_operator(version: str = "26.03.1") -> Release:
    release = read.load_release(version)
    return replace(release, components={name: part for name, part in release.components.items() if name != COMPONENT})


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_has_flags_and_an_image_that_tells_it(version: str) -> None:
    part = read.load_component(COMPONENT, version)
    (image,) = (image for of in part.images.values() for image in of.values())
    assert version_of_image(image) == version
    assert era_of(version).required_arguments
    assert part.requires == ("volcano", "kubeflow-namespace")
    assert "pytorchjobs.kubeflow.org" in part.crds


@pytest.mark.parametrize("version", read.releases())
def test_upstreams_tree_has_what_the_release_of_that_version_has(version: str) -> None:
    theirs = read.load_release(version).components[COMPONENT]
    ours = read.load_component(COMPONENT, theirs.version)
    facts = ("objects", "namespaces", "workloads", "crds", "webhooks", "images", "selectors", "intercepts")
    assert [getattr(ours, name) for name in facts] == [getattr(theirs, name) for name in facts]


def test_a_release_that_has_one_keeps_it_unless_a_version_is_given() -> None:
    release = read.load_release("1.9.1")
    assert read.with_operator(release) is release
    changed = read.with_operator(release, "1.9.3").components[COMPONENT]
    assert (changed.version, changed.requires) == ("1.9.3", release.components[COMPONENT].requires)
    with pytest.raises(InvalidInput, match=r"1\.99\.0"):
        read.with_operator(release, "1.99.0")


def test_a_release_without_one_gets_the_newest_that_has_an_address() -> None:
    release = read.with_operator(without_operator())
    part = release.components[COMPONENT]
    assert part.version == max(name for name in VERSIONS if read.load_component(COMPONENT, name).address)
    assert (part.address or "").startswith(f"https://github.com/kubeflow/trainer/archive/refs/tags/v{part.version}.")
    assert not part.example


def test_requirements_that_a_release_does_not_have_are_left_out() -> None:
    release = without_operator()
    bare = replace(release, components={"trainer": release.components["trainer"]})
    assert read.with_operator(bare).components[COMPONENT].requires == ("volcano",)


def test_it_is_chosen_by_name_and_never_by_a_profile_alone() -> None:
    release = without_operator()
    assert [part.name for part in read.components(release, [COMPONENT])] == ["volcano", "kubeflow-namespace", COMPONENT]
    assert COMPONENT not in {part.name for part in read.components(release, "full")}
    assert COMPONENT in {part.name for part in read.components(release, "training", included=[COMPONENT])}
