"""The deprecated tables of config.toml: the same by hosts.toml, nothing lost."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.hosts.containerd.config import Registry
from kubeflow_volcano.hosts.containerd.hosts_toml import Host
from kubeflow_volcano.hosts.containerd.legacy import migrate
from kubeflow_volcano.problems import InvalidInput


def registry(mirrors: dict[str, list[str]] | None = None, configs: dict[str, Any] | None = None) -> Registry:
    return Registry("", {name: {"endpoint": urls} for name, urls in (mirrors or {}).items()}, configs or {})


def test_endpoints_keep_their_order_and_the_registry_itself_stays_last() -> None:
    found = migrate(registry({"docker.io": ["https://a.lan", "http://b.lan:5000"]}))
    assert [host.url for host in found["docker.io"].hosts] == ["https://a.lan", "http://b.lan:5000"]
    assert found["docker.io"].server is None


def test_mirrors_for_any_registry_become_the_default() -> None:
    found = migrate(registry({"*": ["https://a.lan"], "gcr.io": ["https://g.lan"]}))
    assert {name: [host.url for host in item.hosts] for name, item in found.items()} == {
        "_default": ["https://a.lan"],
        "gcr.io": ["https://g.lan"],
    }


def test_a_path_was_where_the_api_begins() -> None:
    (host,) = migrate(registry({"gcr.io": ["https://h.lan/v2/gcr"]}))["gcr.io"].hosts
    assert host == Host("https://h.lan/v2/gcr", override_path=True)
    for plain in ("https://h.lan/v2", "https://h.lan/v2/", "https://h.lan/"):
        assert migrate(registry({"gcr.io": [plain]}))["gcr.io"].hosts == (Host("https://h.lan"),)


def test_an_endpoint_without_a_scheme_has_the_one_that_containerd_took() -> None:
    found = migrate(registry({"gcr.io": ["near.lan:5000", "localhost:5000", "127.0.0.1"]}))
    assert [host.url for host in found["gcr.io"].hosts] == [
        "https://near.lan:5000",
        "http://localhost:5000",
        "http://127.0.0.1",
    ]


def test_certificates_go_to_each_host_that_they_are_for() -> None:
    tls = {"ca_file": "/ca", "cert_file": "/c", "key_file": "/k"}
    configs = {"a.lan": {"tls": tls}, "b.lan:5000": {"tls": {"insecure_skip_verify": True}}}
    found = migrate(registry({"docker.io": ["https://a.lan", "https://b.lan:5000"]}, configs))
    assert found["docker.io"].hosts == (
        Host("https://a.lan", ca=("/ca",), client=(("/c", "/k"),)),
        Host("https://b.lan:5000", skip_verify=True),
    )


def test_a_registry_that_has_only_certificates_gets_a_file_of_its_own() -> None:
    found = migrate(registry({}, {"reg.lan:5000": {"tls": {"ca_file": "/ca"}}}))
    own = Host("https://reg.lan:5000", ca=("/ca",))
    assert (found["reg.lan:5000"].hosts, found["reg.lan:5000"].server) == ((own,), own)


def test_a_registry_with_certificates_is_still_asked_by_way_of_the_mirrors_for_any() -> None:
    found = migrate(registry({"*": ["https://a.lan"]}, {"reg.lan": {"tls": {"ca_file": "/ca"}}}))
    assert [host.url for host in found["reg.lan"].hosts] == ["https://a.lan"]
    assert found["reg.lan"].server == Host("https://reg.lan", ca=("/ca",))


def test_a_registry_among_its_own_endpoints_is_asked_as_it_says_there() -> None:
    found = migrate(registry({"reg.lan": ["http://reg.lan"]}))
    assert found["reg.lan"].server == Host("http://reg.lan")


def test_docker_hub_keeps_certificates_under_its_own_name() -> None:
    found = migrate(registry({}, {"registry-1.docker.io": {"tls": {"ca_file": "/ca"}}}))
    assert list(found) == ["docker.io"]
    assert found["docker.io"].server == Host("https://registry-1.docker.io", ca=("/ca",))


def test_empty_tables_and_credentials_are_nothing_to_move() -> None:
    assert migrate(registry({"docker.io": []}, {"a.lan": {"auth": {"username": "u"}}, "b.lan": {"tls": {}}})) == {}


def test_every_endpoint_that_is_no_address_is_told() -> None:
    with pytest.raises(InvalidInput) as error:
        migrate(registry({"gcr.io": ["ftp://x"], "*": ["https://"]}))
    assert [problem.found.split()[0] for problem in error.value.problems] == [
        "registry.mirrors.gcr.io",
        "registry.mirrors.*",
    ]
