"""The choice of the node's network, against routes as `ip -json` prints them."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest

from kubeflow_volcano.problems import InvalidInput, ProblemsError
from kubeflow_volcano.programs import Finished, ProgramError
from kubeflow_volcano.rehearsal.node import network
from kubeflow_volcano.rehearsal.node.network import (
    POD_RANGE,
    RANGES,
    SERVICE_RANGE,
    SIMULATED_POD_RANGE,
    VethPair,
    choose_subnet,
    metric_of,
    parse_networks,
)

SEED, OTHER = "9d54032c", "82b9c6ae"


def test_a_choice_is_the_same_every_time_and_differs_between_clusters() -> None:
    first = choose_subnet(SEED, ())

    assert first == choose_subnet(SEED, ())
    assert first.prefixlen == 30
    assert first.subnet_of(RANGES[0])
    assert not first.overlaps(choose_subnet(OTHER, ()))


def test_a_taken_network_is_passed_over() -> None:
    first = choose_subnet(SEED, ())

    second = choose_subnet(SEED, (first,))

    assert not second.overlaps(first)
    assert second.subnet_of(RANGES[0])


def test_a_route_to_all_of_the_first_range_moves_the_choice_to_the_next() -> None:
    assert choose_subnet(SEED, (IPv4Network("10.0.0.0/8"),)).subnet_of(RANGES[1])


def test_the_search_goes_on_behind_the_end_of_a_range() -> None:
    last = choose_subnet("00003fff", ())
    assert last == IPv4Network("10.213.255.252/30")

    assert choose_subnet("00003fff", (last,)) == IPv4Network("10.213.0.0/30")


def test_no_free_network_is_refused_with_what_to_do() -> None:
    with pytest.raises(InvalidInput) as refusal:
        choose_subnet(SEED, RANGES)

    (problem,) = refusal.value.problems
    assert "10.213.0.0/16" in problem.found
    assert "ip route" in problem.todo


def test_ranges_for_nodes_pods_and_services_are_disjoint() -> None:
    every = [*RANGES, POD_RANGE, SIMULATED_POD_RANGE, SERVICE_RANGE]

    assert not [(a, b) for a in every for b in every if a is not b and a.overlaps(b)]


def test_networks_of_the_host_are_those_of_others() -> None:
    entries: list[dict[str, Any]] = [
        {"dst": "default", "gateway": "192.0.2.1", "dev": "eth0"},
        {"dst": "192.0.2.0/24", "dev": "eth0"},
        {"type": "local", "dst": "127.0.0.1", "dev": "lo", "table": "local"},
        {"dst": "10.213.4.0/30", "dev": "kfvown"},
        {"type": "unreachable", "dst": "10.213.4.0/30", "metric": metric_of(SEED)},
        {"type": "unreachable", "dst": "10.213.8.0/30", "metric": metric_of(OTHER)},
        {"dst": "198.51.100.7/25", "dev": "eth1"},
    ]

    networks = parse_networks(entries, "kfvown", metric_of(SEED))

    assert [str(network) for network in networks] == [
        "192.0.2.0/24",
        "127.0.0.1/32",
        "10.213.8.0/30",
        "198.51.100.0/25",
    ]


def test_both_ends_of_the_cable_are_hosts_of_its_network() -> None:
    cable = VethPair("kfv", IPv4Network("10.213.4.0/30"), SEED)

    assert (cable.host_address, cable.node_address) == (IPv4Address("10.213.4.1"), IPv4Address("10.213.4.2"))


def test_metrics_are_of_the_lowest_priority_and_fit_the_kernel() -> None:
    assert 0xF0000000 <= metric_of("00000000") <= metric_of("ffffffff") <= 0xFFFFFFFF
    assert metric_of(SEED) != metric_of(OTHER)


def answering(monkeypatch: pytest.MonkeyPatch, *answers: Finished | Exception) -> None:
    left = list(answers)

    def run_program(*_: str, seconds: float) -> Finished:
        assert seconds
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(network, "run_program", run_program)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Finished(1, b"", b"RTNETLINK answers: Operation not permitted\n"), "Operation not permitted"),
        (Finished(2, b"", b""), "exit code 2"),
        (ProgramError("ip cannot be run: No such file or directory"), "cannot be run"),
        (Finished(0, b"BusyBox v1.36", b""), "not JSON"),
    ],
)
def test_an_ip_that_fails_is_told_with_its_command(
    monkeypatch: pytest.MonkeyPatch, answer: Finished | Exception, words: str
) -> None:
    answering(monkeypatch, answer)
    with pytest.raises(ProblemsError) as caught:
        network.find_leftovers("kfv0", SEED)
    (problem,) = caught.value.problems
    assert problem.found.startswith("`ip -json -4 link show` failed: ")
    assert words in problem.found


def test_a_pair_that_is_not_there_needs_no_removal(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, Finished(1, b"", b'Cannot find device "kfv0"'), Finished(0, b'[{"ifname": "lo"}]', b""))
    network.disconnect("kfv0")


def test_a_pair_that_cannot_be_removed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, Finished(2, b"", b"not permitted"), Finished(0, b'[{"ifname": "kfv0"}]', b""))
    with pytest.raises(ProblemsError, match="not permitted"):
        network.disconnect("kfv0")
