"""The data files are consistent, and their reader explains what it does not know."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano import foreign
from kubeflow_volcano.catalog import data, operator, read
from kubeflow_volcano.catalog.gangs import SCHEDULER_PLUGINS
from kubeflow_volcano.catalog.model import MinorRange, version_key
from kubeflow_volcano.catalog.shipped import images_outside, shipped_claims
from kubeflow_volcano.problems import InvalidInput

OWN = {"volcano": "1.10.0", "local-path": "0.0.30"}


def test_every_entry_says_what_an_upgrade_is_judged_by() -> None:
    own = [read.load_component(name, item) for name in read.OWN_FILES for item in read.versions_of(name)]
    parts = [*own, *(part for item in read.releases() for part in read.load_release(item).components.values())]
    for part in parts:
        assert {ref for ref in part.workloads if ref.kind != "Job"} == part.selectors.keys(), (part.name, part.version)
        assert {*part.webhooks} == part.intercepts.keys(), (part.name, part.version)


@pytest.mark.parametrize("version", read.versions_of("volcano"))
def test_every_volcano_loads(version: str) -> None:
    volcano = read.load_component("volcano", version)
    assert volcano.kubernetes is not None
    assert volcano.address is not None
    assert f"/v{version}/" in volcano.address
    assert "podgroups.scheduling.volcano.sh" in volcano.crds
    assert {ref.name for ref in volcano.workloads} == {
        "volcano-admission",
        "volcano-admission-init",
        "volcano-controllers",
        "volcano-scheduler",
    }


@pytest.mark.parametrize("version", read.versions_of("local-path"))
def test_every_local_path_loads(version: str) -> None:
    assert read.load_component("local-path", version).workloads


@pytest.mark.parametrize("version", read.versions_of("scheduler-plugins"))
def test_every_scheduler_plugins_loads_and_has_its_manifests(version: str) -> None:
    part = read.load_component("scheduler-plugins", version)
    minor = int(version.split(".")[1])
    assert part.kubernetes == MinorRange(f"1.{minor}", f"1.{minor + 1}")
    assert (read.kept_manifests(part) / "kustomization.yaml").is_file()
    assert {image.rpartition(":")[2] for image in images_outside(part.name, version).values()} == {f"v{version}"}


def test_the_second_scheduler_is_the_one_that_the_catalog_names() -> None:
    base = read.kept_manifests(read.load_component("scheduler-plugins", "0.30.6"))
    (kustomization,) = foreign.parse((base / "kustomization.yaml").read_bytes(), "base")
    found = [obj for name in kustomization["resources"] for obj in foreign.parse((base / name).read_bytes(), name)]
    part = read.load_component("scheduler-plugins", "0.30.6")
    (made,) = kustomization["configMapGenerator"]
    assert len([*found, made]) == part.objects
    assert {obj["metadata"]["name"] for obj in found if obj["kind"] == "CustomResourceDefinition"} == {*part.crds}
    (configuration,) = made["files"]
    (profile,) = foreign.parse((base / configuration).read_bytes(), configuration)[0]["profiles"]
    assert profile["schedulerName"] == SCHEDULER_PLUGINS.scheduler
    assert SCHEDULER_PLUGINS.podgroups in part.crds


def test_unknown_release_names_the_known_ones_and_the_nearest() -> None:
    with pytest.raises(InvalidInput, match=r"Did you mean 1\.9\.1\?") as caught:
        read.load_release("1.9.0")
    assert "1.6.1, 1.7.0" in caught.value.problems[0].needed


def test_a_version_is_no_path() -> None:
    with pytest.raises(InvalidInput):
        read.load_release("../volcano/1.10.0")


def test_components_come_after_what_they_require() -> None:
    release = read.load_release("1.9.1")
    names = [part.name for part in read.components(release, ("training-operator",), OWN)]
    assert names == ["volcano", "training-operator"]


def test_unknown_components_are_all_named() -> None:
    release = read.load_release("1.9.1")
    with pytest.raises(InvalidInput) as caught:
        read.components(release, ("volcanoo", "katip"), OWN)
    assert len(caught.value.problems) == 2
    assert "mean volcano?" in caught.value.problems[0].found


@pytest.mark.parametrize("chosen", [("katib", "dex"), ("katib",)])
def test_what_is_asked_for_and_excluded_is_a_contradiction(chosen: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInput, match=r"katib .*excluded"):
        read.components(read.load_release("1.9.1"), chosen, OWN, excluded=["katib"])


def test_a_profile_of_which_nothing_is_left_is_refused() -> None:
    release = read.load_release("1.9.1")
    with pytest.raises(InvalidInput, match=r"training-operator.* excluded"):
        read.components(release, "training", OWN, excluded=release.profiles["training"])


def test_unknown_profile_is_refused() -> None:
    with pytest.raises(InvalidInput, match="trainning"):
        read.components(read.load_release("1.9.1"), "trainning", OWN)


@pytest.mark.parametrize(
    ("version", "era"),
    [
        ("1.0.1", "1.0.1"),
        ("1.2.1", "1.0.1"),
        ("1.3.0", "1.3.0"),
        ("1.4.0", "1.4.0"),
        ("1.5.0", "1.4.0"),
        ("1.6.0", "1.6.0"),
        ("1.7.0", "1.6.0"),
        ("1.8.0", "1.8.0"),
        ("1.8.1", "1.8.0"),
        ("1.9.2", "1.8.0"),
        ("1.9.4", "1.8.0"),
    ],
)
def test_each_operator_version_has_its_era(version: str, era: str) -> None:
    assert operator.era_of(version).lowest == era


def test_the_flag_changes_between_1_5_and_1_6() -> None:
    old, new = operator.era_of("1.5.0"), operator.era_of("1.6.0")
    assert old.required_arguments == ("--enable-gang-scheduling=true",)
    assert new.required_arguments == ("--gang-scheduler-name=volcano",)
    assert new.forbidden_flags == ("--enable-gang-scheduling",)


@pytest.mark.parametrize("version", ["1.0.0", "2.1.0"])
def test_operators_outside_the_eras_are_refused(version: str) -> None:
    with pytest.raises(InvalidInput, match=version):
        operator.era_of(version)


def test_eras_do_not_overlap() -> None:
    for version in ("1.0.1", "1.1.0", "1.2.1", "1.3.0", "1.4.0", "1.5.0", "1.6.0", "1.7.0", "1.8.1", "1.9.4"):
        assert sum(era.covers(version) for era in operator.eras()) == 1


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("kubeflow/training-operator:v1-04f9f13", "1.8.1"),
        ("docker.io/kubeflow/training-operator:v1-04f9f13", "1.8.1"),
        ("mirror.example:5000/docker.io/kubeflow/training-operator:v1-e1434f6@sha256:" + 64 * "0", "1.5.0"),
        ("ghcr.io/kubeflow/training-v1/training-operator:v1-3f15cb8", "1.9.2"),
        ("kubeflow/training-operator:v1.8.1", "1.8.1"),
        ("kubeflow/training-operator:latest", None),
        ("kubeflow/training-operator", None),
        ("docker.io/volcanosh/vc-scheduler:v1.10.0", None),
    ],
)
def test_operator_version_of_an_image(image: str, version: str | None) -> None:
    assert operator.version_of_image(image) == version


@pytest.mark.parametrize(
    ("limits", "version", "inside"),
    [
        (("1.29", None), "v1.30.2", True),
        (("1.29", None), "1.28.9", False),
        (("1.21", "1.30"), "v1.30.14+k3s1", True),
        (("1.21", "1.30"), "1.31.0", False),
        (("1.9", "1.10"), "1.10.3", True),
        (("1.32", "1.32"), "1.32.1", True),
    ],
)
def test_range_of_kubernetes(limits: tuple[str, str | None], version: str, inside: bool) -> None:  # noqa: FBT001  a parameter of the table
    assert MinorRange(*limits).covers(version) is inside


def test_a_range_is_told_as_short_as_it_can_be() -> None:
    ranges = (MinorRange("1.29", None), MinorRange("1.21", "1.30"), MinorRange("1.32", "1.32"))
    assert [str(limits) for limits in ranges] == ["1.29 and later", "1.21 to 1.30", "1.32"]


def test_versions_are_ordered_as_numbers() -> None:
    assert sorted(["1.10.2", "26.03", "1.9.1"], key=version_key) == ["1.9.1", "1.10.2", "26.03"]


def test_who_writes_to_the_claims_of_a_release() -> None:
    parts = read.load_release("1.11.0").components.values()
    assert {claim.consumer.name for part in parts for claim in part.claims} == {"mysql", "katib-mysql", "seaweedfs"}
    owners = {claim.consumer.name: claim for claim in shipped_claims()}
    assert owners["authservice"].fs_group == 111
    assert owners["seaweedfs"].fs_group_change_policy == "OnRootMismatch"


def test_a_data_file_with_wrong_types_tells_every_error(monkeypatch: pytest.MonkeyPatch) -> None:
    bad: dict[str, Any] = {"eras": [{"lowest": 1.6}], "images": {"v1-x": "latest"}}
    monkeypatch.setattr("kubeflow_volcano.foreign.parse", lambda *_: [bad])
    with pytest.raises(InvalidInput) as caught:
        data.load.__wrapped__("operators")
    for value in ("1.6 is", "'latest' does"):
        assert value in str(caught.value)


def test_every_data_file_is_valid_and_every_schema_is_of_one() -> None:
    names = {path.relative_to(data.HOME).with_suffix("").as_posix() for path in data.HOME.rglob("*.yaml")}
    names = {name for name in names if "/manifests/" not in name}
    assert all(data.load(name) for name in names)
    folder = data.HOME / "schemas"
    schemas = {path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.json")}
    assert schemas == {data.FOLDERS.get(name.partition("/")[0], name) for name in names}
