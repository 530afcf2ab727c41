"""The tables about images hold together."""

from __future__ import annotations

import pytest

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.images import tables
from kubeflow_volcano.catalog.images.lost import lost_images, replaced_images, whole_releases
from kubeflow_volcano.catalog.images.mirrors import known_mirrors, load_mirror, mirror_of
from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.catalog.shipped import shipped_images
from kubeflow_volcano.rollout.settings.variables import defaults


def image(text: str) -> ImageName:
    found = ImageName.parse(text)
    assert found is not None
    return found


def test_every_table_is_read() -> None:
    assert tables.sites().sites
    assert tables.sites().documentation
    assert tables.sites().containers.environment
    assert tables.architectures_of(image("ghcr.io/kubeflow/kfp-driver:2.15.0"))


def test_hooks_belong_to_sites_of_code() -> None:
    code = {site.id for site in tables.sites().sites if site.form == "code"}
    assert {hook.site for hook in tables.sites().hooks} == code


def test_what_is_compiled_in_is_a_reference() -> None:
    assert all(ImageName.parse(entry.image) for entry in tables.compiled())


def test_replacements_are_references_that_are_not_gone_themselves() -> None:
    for entry in tables.all_gone():
        new = entry.replaces(image(f"{entry.repository.replace('**', 'x')}:v1{entry.tag_suffix}"))
        assert (entry.program == "") is (entry.replacement is None)
        assert (new is None) is (entry.replacement is None)
        assert new is None or tables.gone(new) is None


def test_the_releases_of_what_is_gone_are_known() -> None:
    assert {release for entry in tables.all_gone() for release in entry.releases} <= set(read.releases())


def test_an_entry_about_some_versions_leaves_the_others_to_later_entries() -> None:
    found = [tables.gone(image(f"gcr.io/ml-pipeline/api-server:{tag}")) for tag in ("2.3.0", "2.0.5")]
    assert [entry and entry.replacement for entry in found] == ["ghcr.io/kubeflow/kfp-api-server:2.4.0", None]


def test_the_releases_that_lack_images_are_those_of_entries_without_replacement() -> None:
    lost = {release for entry in tables.all_gone() if not entry.replacement for release in entry.releases}
    assert {*read.releases()} - {*whole_releases()} == lost
    for version in read.releases():
        release = read.load_release(version)
        assert (lost_images(release) != {}) is (version in lost)
        assert {*lost_images(release), *replaced_images(release)} <= set(release.components)


def test_the_default_release_has_all_its_images() -> None:
    assert defaults()["kubeflow_release"] in whole_releases()
    assert whole_releases()[-1] == read.releases()[-1]


@pytest.mark.parametrize("name", known_mirrors())
def test_a_mirror_serves_each_repository_or_not(name: str) -> None:
    listed = load_mirror(name).allow_list
    assert [pattern for pattern in listed.not_allowed if listed.serves(image(pattern))] == []
    assert {pattern.partition("/")[0] for pattern in listed.allowed} <= set(load_mirror(name).hosts)


@pytest.mark.parametrize(
    ("text", "served"),
    [
        ("gcr.io/any/thing/at/all:1", True),
        ("docker.io/istio/pilot:1.14.1", True),
        ("docker.io/kubeflowmanifestswg/oidc-authservice:28c59ef", False),
        ("quay.io/oauth2-proxy/oauth2-proxy:v7.6.0", False),
        ("docker.io/nobody/knows:1", None),
    ],
)
def test_what_daocloud_serves(text: str, served: bool | None) -> None:  # noqa: FBT001  a parameter of the test
    assert load_mirror("daocloud").allow_list.serves(image(text)) is served


@pytest.mark.parametrize("name", known_mirrors())
def test_it_is_known_of_all_images_of_the_releases_whether_a_mirror_serves_them(name: str) -> None:
    """A new release brings images of which the extract of the mirror's list does not say it yet."""
    mirror = load_mirror(name)
    texts = {text for images in shipped_images().values() for text in images}
    names = [found for text in texts if (found := ImageName.parse(text))]
    assert {item.repository for item in names if mirror.allow_list.serves(item) is None} == set()
    assert {item.host for item in names} <= set(mirror.hosts)


def test_a_mirror_is_known_by_its_names() -> None:
    for text in ("m.daocloud.io/docker.io/library/x:1", "k8s-gcr.m.daocloud.io/pause:3.2"):
        found = mirror_of(image(text))
        assert found is not None
        assert found.name == "daocloud"
    assert mirror_of(image("k8s.gcr.m.daocloud.io/pause:3.2")) is None


def test_compiled_in_versions_do_not_overlap() -> None:
    entries = [entry for entry in tables.compiled() if entry.flag or entry.environment]
    for entry in entries:
        key = (entry.workload, entry.flag, entry.environment)
        same = [other for other in entries if (other.workload, other.flag, other.environment) == key]
        assert [other for other in same if other.versions.covers(entry.versions.lowest)] == [entry]


@pytest.mark.parametrize(
    ("text", "architectures"),
    [
        ("kubeflowkatib/katib-controller:v0.15.0", ("amd64",)),
        ("kubeflowkatib/katib-controller:v0.17.0", None),
        ("kserve/models-web-app:v0.13.0-rc.0", ("amd64",)),
        ("kserve/storage-initializer:v0.15.0", ("amd64",)),
        ("kserve/storage-initializer:v0.16.0", None),
        ("ghcr.io/kubeflow/kfp-driver:2.16.0", ("amd64",)),
        ("ghcr.io/kubeflow/kfp-driver:2.17.0", None),
        ("gcr.io/ml-pipeline/argoexec:v3.4.17-license-compliance", ("amd64",)),
        ("docker.io/kubeflownotebookswg/kfam:v1.7.0", ("amd64",)),
        ("docker.io/kubeflownotebookswg/kfam:v1.8.0", ("amd64", "arm64")),
        ("docker.io/volcanosh/vc-scheduler:v1.6.0", ("amd64",)),
        ("docker.io/volcanosh/vc-scheduler:v1.10.0", ("amd64", "arm64")),
        ("docker.io/library/mysql:8.0.29", None),
    ],
)
def test_what_images_were_built_for(text: str, architectures: tuple[str, ...] | None) -> None:
    built = tables.architectures_of(image(text))
    assert (built.architectures if built else None) == architectures
