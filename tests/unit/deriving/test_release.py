"""Entries of releases are what is derived of upstream's archives with the help of another release's entry."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kubeflow_volcano import foreign
from kubeflow_volcano.catalog import data
from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.catalog.read import load_release
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deriving.release import (
    Derived,
    Remotes,
    judgement,
    matched,
    paths_of,
    remotes_of,
)
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.validators.explain.manifest.schemas import faults, of_releases
from tests.archives import derived_again, needed_archive

LIKE = {
    "1.6.1": "1.7.0",
    "1.7.0": "1.6.1",
    "1.8.1": "1.7.0",
    "1.9.1": "1.8.1",
    "1.10.2": "1.9.1",
    "1.11.0": "1.10.2",
    "26.03": "1.11.0",
    "26.03.1": "26.03",
}
"""Each release that is taken out, and the one whose entry stands in for it."""

NEW = {
    "1.8.1": {"pvcviewer-controller"},
    "1.9.1": {"oauth2-proxy", "networkpolicies"},
    "1.10.2": {"spark-operator"},
    "1.11.0": {"trainer"},
    "26.03.1": {"centraldashboard", "kubeflow-issuer", "model-registry", "model-catalog"},
}
"""Components that a person has to name, as the other release has none of them."""


GONE = {("autoscaling/v2beta2", "HorizontalPodAutoscaler"), ("policy/v1beta1", "PodDisruptionBudget")}
"""What 1.6.1 brings and Kubernetes no longer has."""

JUDGED = {
    "1.6.1": 11,
    "1.7.0": 11,
    "1.8.1": 12,
    "1.9.1": 20,
    "1.10.2": 10,
    "1.11.0": 17,
    "26.03": 6,
    "26.03.1": 28,
}
"""How many fields of its entry a person had to write."""


class Held(NamedTuple):
    """A release, what was derived of its archive, and both parts of its entry."""

    version: str
    found: Derived
    remotes: Remotes
    judged: Mapping[str, Any]
    written: Mapping[str, Any]
    objects: tuple[Object, ...]


@pytest.fixture(scope="module", params=LIKE)
def held(request: pytest.FixtureRequest, kustomize: Path) -> Held:
    version: str = request.param
    needed_archive(version)
    judged, written = foreign.parse((data.HOME / f"releases/{version}.yaml").read_bytes(), version)
    again = derived_again(version, LIKE[version], kustomize)
    return Held(version, again.found, again.remotes, judged, written, again.objects)


@pytest.mark.upstream
def test_a_release_that_was_taken_out_is_derived_again(held: Held) -> None:
    """Every path and fact, by path; upstream's order; the names of components that the other release has."""
    found, written = ({item["path"]: item for item in part["components"]} for part in (held.found.record, held.written))
    beside = {path for path in written if path not in found}
    parts = load_release(held.version).components.values()
    assert beside <= {part.path for part in parts if not part.example}
    assert [path for path in written if path not in beside] == [*found]
    for path, item in found.items():
        assert {**item, "name": ""} == {**written[path], "name": ""}, path
    renamed = {written[path]["name"] for path, item in found.items() if item["name"] != written[path]["name"]}
    assert renamed <= NEW.get(held.version, set())
    assert held.found.record["source"] == held.written["source"]


@pytest.mark.upstream
def test_no_field_of_a_release_is_found_to_be_wrong(held: Held) -> None:
    """All kinds of Kubernetes that are still served, and all kinds of the release."""
    known = [(item, of_releases(item["apiVersion"], item["kind"])) for item in held.objects]
    assert {(item["apiVersion"], item["kind"]) for item, schema in known if schema is None} <= GONE
    wrong = [(Ref.of(item), each) for item, schema in known if schema for each in faults(item, schema)]
    assert wrong == [], f"{len(wrong)} in {len(known)} objects"


@pytest.mark.upstream
def test_what_a_person_had_to_write_is_counted(held: Held) -> None:
    """Fields of the judged part that are otherwise than `derive` takes them from the other release."""
    proposed = judgement(held.found, held.version, LIKE[held.version], held.remotes)
    other = [field for field in held.judged if field != "components" and held.judged[field] != proposed.get(field)]
    parts = {item["name"]: item for item in proposed["components"]}
    other += [
        f"{item['name']}.{field}"
        for item in held.judged["components"]
        for field in item
        if item[field] != parts.get(item["name"], {}).get(field)
    ]
    sys.stdout.write(f"\n{held.version}, like {LIKE[held.version]}: {len(other)} judged fields: {', '.join(other)}\n")
    assert len(other) == JUDGED[held.version]


@pytest.mark.upstream
def test_what_is_left_to_a_person_names_every_component_and_the_versions_of_images(held: Held) -> None:
    judged = judgement(held.found, "99.1", LIKE[held.version], held.remotes)
    record = data.merged([judged, held.found.record])
    assert [item["name"] for item in record["components"]] == [item["name"] for item in judged["components"]]
    known = load_release(held.version).components
    told = {name: version for name, version in held.found.versions.items() if name in known}
    wrong = {name: version for name, version in told.items() if known[name].version != version}
    assert not wrong
    assert len(told) > len(known) / 4


def part(name: str, path: str, *crds: str) -> Component:
    return Component(name, name, "1", path, path, 1, crds=dict.fromkeys(crds, ("v1",)))


def test_a_component_that_moved_is_known_by_what_it_brings_or_by_its_neighbour() -> None:
    known = [part("a", "common/a", "as.x.io"), part("roles", "common/roles"), part("b", "apps/b/base", "bs.x.io")]
    facts: dict[str, dict[str, Any]] = {
        "common/elsewhere/a": {"crds": {"as.x.io": ["v1"], "new.x.io": ["v1"]}},
        "common/rights": {},
        "applications/b/base": {"crds": {"bs.x.io": ["v1"]}},
        "applications/c": {"crds": {"cs.x.io": ["v1"]}},
    }
    assert matched(facts, known) == {"common/elsewhere/a": "a", "common/rights": "roles", "applications/b/base": "b"}


def kustomization(root: Path, path: str, text: str) -> None:
    (root / path).mkdir(parents=True, exist_ok=True)
    (root / path / "kustomization.yaml").write_text(text, "utf-8")


def test_a_list_of_directories_is_its_items_unless_it_is_known(tmp_path: Path) -> None:
    kustomization(tmp_path, "example", "resources: [../all, ../changed, ../a]")
    kustomization(tmp_path, "all", "resources: [../a, ../b]")
    kustomization(tmp_path, "changed", "resources: [../a, ../b]\nnamespace: x")
    for name in "ab":
        kustomization(tmp_path, name, "resources: []")
    assert paths_of(tmp_path, []) == ["a", "b", "changed", "a"]
    assert paths_of(tmp_path, ["all"]) == ["all", "changed", "a"]


def test_what_is_elsewhere_has_to_be_given_and_keeps_its_place(tmp_path: Path) -> None:
    text = "https://github.com/argoproj/argo-workflows/manifests/cluster-install?ref=v9.9.9"
    kustomization(tmp_path, "a", f"resources: ['{text}']")
    with pytest.raises(InvalidInput, match="--remote argo-workflows=PATH"):
        remotes_of(tmp_path, ["a"], "1.9.1", {})
    source = tmp_path / "argo"
    source.mkdir()
    (source / "file").write_text("x", "utf-8")
    found = remotes_of(tmp_path, ["a"], "26.03", {"argo-workflows": str(source)})
    (base,), (archive,) = found.bases, found.sources
    assert base["prefix"] == "https://github.com/argoproj/argo-workflows/manifests?ref=v9.9.9"
    assert base["path"] == "manifests"
    assert archive["address"] == "https://github.com/argoproj/argo-workflows/archive/refs/tags/v9.9.9.tar.gz"
    assert len(archive["content_sha256"]) == 64
