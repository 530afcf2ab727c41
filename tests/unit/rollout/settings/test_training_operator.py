"""The training operator from its own source: which inventories choose it, and what follows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.catalog import data, read
from kubeflow_volcano.catalog.operator import COMPONENT
from kubeflow_volcano.cluster.objects import new_object
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.manifests.sources import variable_of
from kubeflow_volcano.rollout.patches.table import patched
from kubeflow_volcano.rollout.scope import scope_of
from kubeflow_volcano.rollout.settings.settings import parse
from kubeflow_volcano.rollout.versions.judge import require_upgrade
from kubeflow_volcano.validators.core.expectations import expect
from plugins.plugin_utils.expected import expected_of
from tests.samples.later_release import VERSION, with_later_release

CHOSEN: Mapping[str, Any] = {"kubeflow_release": VERSION, "kubeflow_include": [COMPONENT]}


@pytest.fixture
def later(tmp_path: Path) -> Iterator[str]:
    yield with_later_release(tmp_path)
    data.add(None)


def test_the_release_keeps_its_own_by_default() -> None:
    settings = parse({})
    assert settings.training_operator is None
    assert settings.component(COMPONENT).version == "1.8.1"
    assert COMPONENT not in settings.sources
    assert expected_of(settings).training_operator_version == ""


def test_a_version_takes_upstreams_tree() -> None:
    settings = parse({"training_operator_version": "v1.9.3"})
    part = settings.component(COMPONENT)
    assert part in settings.components
    assert part == settings.training_operator
    assert settings.sources[COMPONENT] == part.address
    assert settings.version_of(part) == "1.9.1"  # the record and upgrades follow the release
    assert variable_of(COMPONENT, settings) == "training_operator_source"
    assert expected_of(settings).training_operator_version == "1.9.3"


def test_a_source_alone_is_of_the_version_that_the_release_has() -> None:
    settings = parse({"training_operator_source": "/srv/trainer-1.8.1.tar.gz"})
    assert settings.component(COMPONENT).version == "1.8.1"
    assert settings.component(COMPONENT).path == "manifests/overlays/kubeflow"
    assert settings.sources[COMPONENT] == "/srv/trainer-1.8.1.tar.gz"


def test_the_variable_of_earlier_versions_changes_nothing_else() -> None:
    settings = parse({"kubeflow_sources": {COMPONENT: "/srv/operator"}})
    assert settings.training_operator is None
    assert settings.sources[COMPONENT] == "/srv/operator"
    both = {"kubeflow_sources": {COMPONENT: "/srv/operator"}, "training_operator_source": "/srv/other"}
    assert parse(both).sources[COMPONENT] == "/srv/other"


def test_a_version_without_an_address_needs_a_source() -> None:
    with pytest.raises(InvalidInput, match="no address") as caught:
        parse({"training_operator_version": "1.9.4"})
    assert "training_operator_source" in caught.value.problems[0].todo
    assert parse({"training_operator_version": "1.9.4", "training_operator_source": "/srv/trainer"}).components
    assert parse({"training_operator_version": "1.9.4", "kubeflow_components": ["dex"]}).components


def test_a_version_that_the_catalog_lacks_is_told_with_its_variable() -> None:
    with pytest.raises(InvalidInput, match=r"training_operator_version: .*'1\.99\.0'"):
        parse({"training_operator_version": "1.99.0"})


def test_the_flags_follow_the_chosen_version() -> None:
    with pytest.raises(InvalidInput, match=r"operator is 1\.5\.0"):
        parse({"training_operator_version": "1.5.0", "gang_scheduling_scheduler": "scheduler-plugins"})


def test_a_release_without_one_installs_it_from_its_own_source(later: str) -> None:
    assert COMPONENT not in data.load("releases/26.03.1")["profiles"]["training"]
    settings = parse({**CHOSEN, "catalog_directory": later})
    part = settings.component(COMPONENT)
    assert part in settings.components
    assert settings.sources[COMPONENT] == part.address
    assert [item.name for item in settings.requirements(part)] == ["volcano", "kubeflow-namespace"]
    left_out = parse({"kubeflow_release": VERSION, "catalog_directory": later})
    assert COMPONENT not in {item.name for item in left_out.components}


@pytest.mark.parametrize("prune", [False, True])
def test_an_upgrade_to_a_release_without_one_never_leaves_it_silently(later: str, *, prune: bool) -> None:
    installed = {"trainer": "26.03.1", COMPONENT: "26.03.1"}
    without = parse({"kubeflow_release": VERSION, "catalog_directory": later, "kubeflow_prune": prune})
    with pytest.raises(InvalidInput, match=r"training operator .*inventory") as caught:
        require_upgrade(without, scope_of(without), installed)
    assert "kubeflow_include: [training-operator]" in caught.value.problems[0].todo
    kept = parse({**CHOSEN, "catalog_directory": later, "kubeflow_prune": prune})
    assert require_upgrade(kept, scope_of(kept), installed) == ()
    theirs = parse({"kubeflow_release": VERSION, "catalog_directory": later, "kubeflow_existing": [COMPONENT]})
    assert require_upgrade(theirs, scope_of(theirs), installed) == ()


def test_a_validation_expects_the_chosen_version(later: str) -> None:
    data.add(Path(later))
    found = expect(VERSION, ["trainer", COMPONENT], training_operator_version="1.8.1")
    (image,) = (image for (ref, _), image in found.images.items() if ref.name == COMPONENT)
    assert image == "docker.io/kubeflow/training-operator:v1-04f9f13"
    assert "tfjobs.kubeflow.org" in found.crds
    newest = expect(VERSION, ["trainer", COMPONENT])
    assert {ref.name for ref in newest.webhooks} >= {"validator.training-operator.kubeflow.org"}
    assert read.load_release(VERSION).components.keys() & {COMPONENT} == set()


def deployment() -> dict[str, Any]:
    labels = {"control-plane": "kubeflow-training-operator"}
    main = {"name": COMPONENT, "image": "ghcr.io/kubeflow/training-v1/training-operator:v1-d6eb98e"}
    pod = {"containers": [main | {"securityContext": {"allowPrivilegeEscalation": False, "runAsUser": 7}}]}
    spec = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}
    return new_object("apps/v1", "Deployment", COMPONENT, "kubeflow", spec=spec)


def test_from_its_own_source_it_is_as_the_distribution_had_it() -> None:
    changed, policy = patched([deployment()], COMPONENT, parse({"training_operator_version": "1.9.3"}))
    pod = changed["spec"]["template"]["spec"]
    assert pod["securityContext"] == {"seccompProfile": {"type": "RuntimeDefault"}}
    assert pod["containers"][0]["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "runAsUser": 7,
    }
    assert policy["kind"] == "NetworkPolicy"
    assert policy["spec"]["podSelector"]["matchLabels"] == changed["spec"]["selector"]["matchLabels"]
    assert 9443 in {item["port"] for item in policy["spec"]["ingress"][0]["ports"]}
    (untouched,) = patched([deployment()], COMPONENT, parse({}))
    assert "securityContext" not in untouched["spec"]["template"]["spec"]
