"""Which hosts connect to which, at most two connections each; and NO_PROXY as programs written in Go read it."""

from __future__ import annotations

import pytest

from kubeflow_volcano.hosts.network import address_of, is_exempt, targets

SERVICE = "kubernetes.default.svc"


@pytest.mark.parametrize(
    ("no_proxy", "target", "spared"),
    [
        ("10.96.0.0/12,.svc", "10.96.0.0/12", True),
        ("10.0.0.0/8", "10.96.0.0/12", True),
        ("10.96.0.0/16", "10.96.0.0/12", False),
        ("10.96.0.1", "10.96.0.1", True),
        ("10.96.0.0/12", "10.96.0.1", True),
        ("fd00::/8", "fd00:10:96::/112", True),
        ("fd00::/8", "10.96.0.1", False),
        (".svc", SERVICE, True),
        ("svc", SERVICE, True),
        ("*.svc", SERVICE, True),
        ("default.svc", SERVICE, True),
        (".cluster.local", SERVICE, False),
        ("vc", SERVICE, False),
        (SERVICE.upper(), SERVICE, True),
        (f".{SERVICE}", SERVICE, False),
        ("svc:443", SERVICE, True),
        ("*", "10.96.0.0/12", True),
        ("", SERVICE, False),
        (" 10.0.0.0/8 , .svc ", SERVICE, True),
        ("10.96.0.0/99,.svc", "10.96.0.0/12", False),
    ],
)
def test_what_goes_past_the_proxy(no_proxy: str, target: str, spared: bool) -> None:  # noqa: FBT001  a table
    assert is_exempt(no_proxy, target) is spared


def test_a_network_that_is_none_is_said_to_be_none() -> None:
    with pytest.raises(ValueError, match=r"10\.96\.0\.0/99"):
        is_exempt("10.0.0.0/8", "10.96.0.0/99")


def test_each_tries_the_next_and_the_first_of_the_control_plane() -> None:
    found = targets({"a": "10.0.0.1", "b": "fd00::2", "c": "c.lan"}, ["elsewhere", "b"])
    assert found == {
        "a": ["[fd00::2]:10250", "[fd00::2]:6443"],
        "b": ["c.lan:10250"],
        "c": ["10.0.0.1:10250", "[fd00::2]:6443"],
    }


def test_one_host_alone_tries_nobody() -> None:
    assert targets({"a": "10.0.0.1"}, ["a"]) == {"a": []}
    assert targets({}, []) == {}


def test_fifty_hosts_are_at_most_a_hundred_connections() -> None:
    hosts = {f"n{number}": f"10.0.0.{number}" for number in range(50)}
    assert sum(map(len, targets(hosts, ["n0"]).values())) == 99


@pytest.mark.parametrize(
    ("target", "address"), [("10.0.0.1:10250", ("10.0.0.1", 10250)), ("[fd00::2]:6443", ("fd00::2", 6443))]
)
def test_a_target_is_taken_apart_again(target: str, address: tuple[str, int]) -> None:
    assert address_of(target) == address
