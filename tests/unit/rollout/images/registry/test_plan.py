"""Each image is copied under its whole name, from where the rules say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.images.registry.access import authfile, authority, credentials
from kubeflow_volcano.rollout.images.registry.plan import Copy, copies
from kubeflow_volcano.rollout.images.rename.rewrite import rewrite
from kubeflow_volcano.rollout.images.report.image_list import crowded, report, why_unavailable
from kubeflow_volcano.rollout.settings.settings import Settings, parse
from tests.unit.rollout.images.conftest import Objects

pytestmark = pytest.mark.usefixtures("small_catalog")

DIGEST = f"sha256:{'1' * 64}"


def registry(**changes: Any) -> Settings:
    return parse({"image_mirror_mode": "registry", "image_mirror_registry": "own.lan:5000", **changes})


def planned(deployment: Objects, *images: str, **changes: Any) -> dict[str, Copy]:
    """Copies by the image's own name, without those of the validation's pods."""
    settings = registry(**changes)
    objects = tuple(deployment(f"d{number}", image=image) for number, image in enumerate(images))
    found = copies(report(rewrite({"part": objects}, settings.mirror), settings), settings)
    return {str(item.image): item for item in found if "pause" not in item.image.path and item.image.tag != "1.36"}


def test_the_registry_holds_each_image_below_the_name_of_its_own_registry(deployment: Objects) -> None:
    found = planned(deployment, "mysql:8.0", "gcr.io/a/b:1", "mysql")
    assert {name: str(item.target) for name, item in found.items()} == {
        "docker.io/library/mysql:8.0": "own.lan:5000/docker.io/library/mysql:8.0",
        "docker.io/library/mysql:latest": "own.lan:5000/docker.io/library/mysql:latest",
        "gcr.io/a/b:1": "own.lan:5000/gcr.io/a/b:1",
    }
    assert {str(item.source) for item in found.values()} == set(found)


def test_manifests_name_exactly_what_is_copied(deployment: Objects) -> None:
    settings = registry(image_mirror_registry="own.lan/team")
    images = ("mysql:8.0", f"gcr.io/a/b:1@{DIGEST}")
    objects = tuple(deployment(f"d{number}", image=image) for number, image in enumerate(images))
    done = rewrite({"part": objects}, settings.mirror)
    named = {obj["spec"]["template"]["spec"]["containers"][0]["image"] for obj in done.parts["part"]}
    assert named == {"own.lan/team/docker.io/library/mysql:8.0", f"own.lan/team/gcr.io/a/b:1@{DIGEST}"}
    targets = {str(item.target) for item in copies(report(done, settings), settings)}
    assert targets >= {"own.lan/team/docker.io/library/mysql:8.0", f"own.lan/team/gcr.io/a/b@{DIGEST}"}


def test_rules_and_preset_say_where_images_are_copied_from(deployment: Objects) -> None:
    rules = [{"source": "gcr.io", "prefix": "m.lan"}]
    found = planned(deployment, "gcr.io/a/b:1", "quay.io/a/b:1", "mysql:8.0", image_mirror_rules=rules)
    assert str(found["gcr.io/a/b:1"].source) == "m.lan/gcr.io/a/b:1"
    assert str(found["quay.io/a/b:1"].source) == "quay.io/a/b:1"
    preset = planned(deployment, "mysql:8.0", image_mirror_preset="daocloud")
    assert str(preset["docker.io/library/mysql:8.0"].source) == "m.daocloud.io/docker.io/library/mysql:8.0"


def test_rules_of_the_source_that_cannot_be_followed_are_refused(deployment: Objects) -> None:
    twice = [{"source": "gcr.io", "prefix": "m.lan"}, {"source": "gcr.io", "prefix": "n.lan"}]
    with pytest.raises(InvalidInput, match="rules for gcr"):
        planned(deployment, "gcr.io/a/b:1", image_mirror_rules=twice)


def test_a_replacement_is_copied_instead_of_what_is_gone(deployment: Objects) -> None:
    found = planned(deployment, "gcr.io/kubebuilder/kube-rbac-proxy:v0.8.0")
    assert list(found) == ["quay.io/brancz/kube-rbac-proxy:v0.8.0"]
    (item,) = found.values()
    assert (str(item.target), item.known) == ("own.lan:5000/quay.io/brancz/kube-rbac-proxy:v0.8.0", "")


def test_what_is_gone_without_replacement_is_asked_for_only_where_somebody_may_have_kept_it(
    deployment: Objects,
) -> None:
    gone = "gcr.io/ml-pipeline/api-server:2.0.0-alpha.5"
    assert "gone upstream" in planned(deployment, gone)[gone].known
    assert "gone upstream" in planned(deployment, gone, image_mirror_preset="daocloud")[gone].known
    assert planned(deployment, gone, image_mirror_rules=[{"source": "*", "prefix": "m.lan"}])[gone].known == ""


def test_what_the_mirror_is_known_not_to_serve_is_not_asked_for(deployment: Objects) -> None:
    name = "docker.io/seldonio/mlserver:1.3.2"
    assert planned(deployment, name, image_mirror_preset="daocloud")[name].known.endswith(" list")


def test_further_images_are_copied_as_well(deployment: Objects) -> None:
    found = planned(deployment, image_mirror_registry_images=["quay.io/mine/notebook:2"])
    assert str(found["quay.io/mine/notebook:2"].target) == "own.lan:5000/quay.io/mine/notebook:2"


def test_an_own_registry_is_asked_for_what_is_gone_elsewhere_and_a_mirror_is_not(deployment: Objects) -> None:
    objects = {"part": (deployment("d", image="gcr.io/ml-pipeline/api-server:2.0.0-alpha.5"),)}
    for settings, reason in ((registry(), ""), (parse({}), "gone upstream")):
        entries = report(rewrite(objects, settings.mirror), settings).entries
        (entry,) = [item for item in entries if "ml-pipeline" in item.use.original]
        assert why_unavailable(entry, settings) == reason


def test_many_nodes_before_a_public_mirror_are_warned_of_and_one_is_not(deployment: Objects) -> None:
    settings = parse({"image_mirror_mode": "rewrite", "image_mirror_preset": "daocloud"})
    found = report(rewrite({"part": (deployment("d", image="mysql:8.0"),)}, settings.mirror), settings)
    assert list(crowded(found, 1)) == []
    (problem,) = crowded(found, 7)
    assert "7 nodes" in problem.found
    assert "image_mirror_mode: registry" in problem.todo


def test_credentials_are_read_by_host_and_a_file_that_is_none_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REGISTRY_AUTH_FILE", raising=False)
    assert credentials(registry()) == {}
    path = tmp_path / "auth.json"
    path.write_text(json.dumps({"auths": {"own.lan:5000": {"auth": "dTpw"}, "other.lan/team": {"auth": "eA=="}}}))
    wanted = {"own.lan:5000": "dTpw", "other.lan": "eA=="}
    assert credentials(registry(image_mirror_registry_authfile=str(path))) == wanted
    monkeypatch.setenv("REGISTRY_AUTH_FILE", str(path))
    assert credentials(registry()) == wanted
    path.write_text(json.dumps({"auths": {"own.lan:5000": {"auth": "no base64"}}}))
    with pytest.raises(InvalidInput, match="another content"):
        credentials(registry())
    path.write_text("user:password")
    with pytest.raises(InvalidInput, match="skopeo login") as caught:
        credentials(registry(image_mirror_registry_authfile=str(path)))
    assert "user:password" not in str(caught.value)


def test_an_authority_has_a_directory_of_its_own(tmp_path: Path) -> None:
    first, second = tmp_path / "first.pem", tmp_path / "second.pem"
    for path in (first, second):
        path.write_text(path.name)
    places = [authority(path, tmp_path / "cache") for path in (first, second, first)]
    assert places[0] == places[2] != places[1]
    assert [[(entry.name, entry.read_text()) for entry in place.iterdir()] for place in places[:2]] == [
        [("ca.crt", "first.pem")],
        [("ca.crt", "second.pem")],
    ]


def test_a_tag_beside_a_digest_is_left_out_of_what_is_copied(deployment: Objects) -> None:
    (item,) = planned(deployment, f"gcr.io/a/b:1@{DIGEST}").values()
    assert item.image == ImageName("gcr.io", "a/b", "", DIGEST)


def test_logins_of_the_inventory_come_before_those_of_a_file_and_reach_skopeo_in_a_file_of_mode_0600(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REGISTRY_AUTH_FILE", raising=False)
    given = tmp_path / "auth.json"
    given.write_text(json.dumps({"auths": {"own.lan:5000": {"auth": "b2xkOm9sZA=="}, "quay.io": {"auth": "bWU6eA=="}}}))
    login = {"registry": "own.lan:5000", "username": "robot", "password": "hunter2"}
    settings = registry(image_mirror_registry_authfile=str(given), image_mirror_credentials=[login])
    assert credentials(settings) == {"own.lan:5000": "cm9ib3Q6aHVudGVyMg==", "quay.io": "bWU6eA=="}
    with authfile(settings) as path:
        assert path is not None
        assert path != given
        assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
        auths = json.loads(path.read_text())["auths"]
        assert {host: entry["auth"] for host, entry in auths.items()} == credentials(settings)
    assert not path.exists()
    with authfile(registry(image_mirror_registry_authfile=str(given))) as path:
        assert path == given
