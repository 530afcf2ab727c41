"""The rules that rename images, as places that containerd asks."""

from __future__ import annotations

from collections.abc import Mapping

from kubeflow_volcano.hosts.containerd.mirrors import ANY, MirrorHost, mirror_hosts
from kubeflow_volcano.rollout.images.rename.rules import Rules
from kubeflow_volcano.rollout.settings.images import MirrorRule
from kubeflow_volcano.rollout.settings.settings import parse


def urls(*rules: MirrorRule, names: tuple[str, ...] = (), http: tuple[str, ...] = (), ca: str = "") -> dict[str, str]:
    return {name: item.host.url for name, item in found(*rules, names=names, http=http, ca=ca).items()}


def found(
    *rules: MirrorRule, names: tuple[str, ...] = (), http: tuple[str, ...] = (), ca: str = ""
) -> Mapping[str, MirrorHost]:
    return mirror_hosts(rules, names, plain_http=http, ca=ca, upstream=False)


def test_each_form_of_a_rule_has_its_place() -> None:
    assert urls(
        MirrorRule("gcr.io", prefix="m.daocloud.io"),
        MirrorRule("quay.io", host="quay.m.daocloud.io"),
        MirrorRule("ghcr.io", registry="reg.lan:5000/ghcr"),
        MirrorRule("docker.io", prefix="reg.lan:5000/all"),
    ) == {
        "docker.io": "https://reg.lan:5000/v2/all/docker.io",
        "gcr.io": "https://m.daocloud.io/v2/gcr.io",
        "ghcr.io": "https://reg.lan:5000/v2/ghcr",
        "quay.io": "https://quay.m.daocloud.io",
    }


def test_only_a_place_with_a_path_is_where_the_api_begins() -> None:
    found_ = found(MirrorRule("gcr.io", prefix="m.x"), MirrorRule("quay.io", host="q.x"))
    assert {name: item.host.override_path for name, item in found_.items()} == {"gcr.io": True, "quay.io": False}


def test_a_rule_for_any_registry_reaches_each_that_images_come_from() -> None:
    rule = MirrorRule("*", prefix="reg.lan:5000")
    assert urls(rule, names=("docker.io", "registry.k8s.io")) == {
        "docker.io": "https://reg.lan:5000/v2/docker.io",
        "registry.k8s.io": "https://reg.lan:5000/v2/registry.k8s.io",
    }


def test_a_rule_for_any_registry_without_its_name_reaches_all_others_too_but_not_the_mirror() -> None:
    assert urls(MirrorRule("*", registry="reg.lan:5000/x"), names=("docker.io", "reg.lan:5000")) == {
        ANY: "https://reg.lan:5000/v2/x",
        "docker.io": "https://reg.lan:5000/v2/x",
        "reg.lan:5000": "https://reg.lan:5000",
    }


def test_the_first_rule_that_fits_counts() -> None:
    rules = (MirrorRule("gcr.io", host="a.x"), MirrorRule("*", prefix="m.x"))
    assert urls(*rules, names=("gcr.io", "quay.io")) == {"gcr.io": "https://a.x", "quay.io": "https://m.x/v2/quay.io"}


def test_a_registry_that_is_kept_has_no_place() -> None:
    rules = (MirrorRule("own.lan", host="own.lan"), MirrorRule("*", prefix="m.x"))
    assert list(urls(*rules, names=("own.lan", "m.x", "gcr.io"))) == ["gcr.io"]


def test_docker_hub_has_one_name() -> None:
    assert list(urls(MirrorRule("index.docker.io", prefix="m.x"))) == ["docker.io"]


def test_a_mirror_without_tls_is_asked_so_by_its_own_name_too() -> None:
    assert urls(MirrorRule("gcr.io", prefix="reg.lan:5000"), http=("reg.lan:5000",)) == {
        "gcr.io": "http://reg.lan:5000/v2/gcr.io",
        "reg.lan:5000": "http://reg.lan:5000",
    }


def test_an_authority_is_named_for_each_place_with_tls() -> None:
    places = found(
        MirrorRule("gcr.io", prefix="reg.lan"), MirrorRule("quay.io", prefix="plain.lan"), http=("plain.lan",), ca="/ca"
    )
    assert {name: item.host.ca for name, item in places.items()} == {
        "gcr.io": ("/ca",),
        "plain.lan": (),
        "quay.io": (),
        "reg.lan": ("/ca",),
    }


def test_the_preset_reaches_every_registry_that_it_serves() -> None:
    settings = parse({"image_mirror_mode": "containerd", "image_mirror_preset": "daocloud"})
    places = urls(*Rules(settings.mirror).rules)
    assert places["docker.io"] == "https://m.daocloud.io/v2/docker.io"
    assert places["registry.k8s.io"] == "https://m.daocloud.io/v2/registry.k8s.io"
    assert {"gcr.io", "ghcr.io", "quay.io", "nvcr.io", "mcr.microsoft.com"} <= set(places)
