"""What each version of Volcano's scheduler knows."""

from __future__ import annotations

import gzip

import pytest

from kubeflow_volcano import foreign
from kubeflow_volcano.catalog.read import load_component, versions_of
from kubeflow_volcano.catalog.schedulers import known_plugins, words_of
from tests.archives import file_beside


def test_words_come_with_versions_and_stay() -> None:
    assert "capacity" not in words_of("1.8.2").plugins
    assert "capacity" in words_of("1.10.0").plugins
    assert "gangpreempt" in words_of("1.15.1").actions
    assert words_of("1.14.4").plugins <= words_of("1.15.1").plugins == known_plugins()


@pytest.mark.parametrize("version", versions_of("volcano"))
def test_every_version_of_the_catalog_can_gang(version: str) -> None:
    words = words_of(version)
    assert {"gang", "predicates", "proportion"} <= words.plugins
    assert {"enqueue", "allocate"} <= words.actions


@pytest.mark.parametrize("version", versions_of("volcano"))
def test_the_fields_of_a_queue_are_those_of_its_crd(version: str) -> None:
    manifest = file_beside(f"volcano-{version}.yaml.gz")
    if not manifest.is_file():
        pytest.skip(f"no {manifest}")
    (crd,) = (
        obj
        for obj in foreign.parse(gzip.decompress(manifest.read_bytes()), manifest.name)
        if obj and obj["metadata"]["name"] == "queues.scheduling.volcano.sh"
    )
    (served,) = crd["spec"]["versions"]
    fields = served["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    assert {*load_component("volcano", version).queue_fields} == {*fields}
