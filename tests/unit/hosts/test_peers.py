"""Who tries to reach whom: enough to see a firewall, and no more than two connections a host."""

from __future__ import annotations

import pytest

from kubeflow_volcano.hosts.peers import address_of, targets


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
