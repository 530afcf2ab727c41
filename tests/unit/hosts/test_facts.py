"""What a host answers is taken apart strictly, and nothing that it says ends the judgement of others."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from kubeflow_volcano.hosts.facts import CannotLookError, Host, HostFacts
from tests.samples.hosts import answer

DEEP: list[Any] = []
for _ in range(500):
    DEEP = [DEEP]


def test_a_good_answer_is_decoded_whole() -> None:
    facts = HostFacts.decode(json.loads(json.dumps(answer())))
    assert facts.troubles == {}
    assert facts.runtime is not None
    assert facts.runtime.version == "1.7.27"
    assert facts.need("paths")["images"].options == ("relatime", "rw")


@pytest.mark.parametrize(
    ("part", "value", "why"),
    [
        ("os", None, "os is NoneType, not dict"),
        ("os", {"id": "openEuler"}, "os lacks like, version_id, version, name, release_file"),
        ("machine", answer()["machine"] | {"cpus": "8"}, "machine.cpus is str, not int"),
        ("machine", answer()["machine"] | {"cpus": True}, "machine.cpus is bool, not int"),
        ("machine", answer()["machine"] | {"memory_bytes": 10**30}, "machine.memory_bytes is 1000"),
        ("machine", answer()["machine"] | {"hostname": "x" * 5000}, "machine.hostname has 5000 characters"),
        ("time", {"epoch": float("nan"), "service": "", "synchronised": True}, "time.epoch is nan"),
        ("time", {"epoch": float("inf"), "service": "", "synchronised": True}, "time.epoch is inf"),
        ("swap", {"devices": {}, "fstab": [], "units": []}, "swap.devices is dict, not list"),
        ("swap", {"devices": [7], "fstab": [], "units": []}, "swap.devices[0] is int, not dict"),
        ("inotify", {"used": {"0": -1.5}, "complete": True}, "inotify.used.0 is float, not int"),
        ("names", {f"n{number}": {} for number in range(6000)}, "names has 6000 items"),
        ("proxies", DEEP, "proxies[0] is list, not dict"),
        ("paths", {"images": "/var"}, "paths.images is str, not dict"),
    ],
)
def test_a_part_of_another_shape_is_a_trouble_of_that_part_only(part: str, value: Any, why: str) -> None:
    facts = HostFacts.decode(answer() | {part: value})
    assert facts.troubles[part].startswith(why)
    assert list(facts.troubles) == [part]
    with pytest.raises(CannotLookError, match=part):
        facts.need(part)


def test_a_number_without_a_fraction_is_a_moment_too() -> None:
    facts = HostFacts.decode(answer(time={"epoch": 1800000000}))
    assert facts.need("time").epoch == 1800000000.0


def test_what_a_newer_module_says_beyond_is_left_out() -> None:
    facts = HostFacts.decode(answer(selinux={"more": 1}) | {"news": {}})
    assert facts.troubles == {}


def test_why_the_host_itself_could_not_look_is_kept() -> None:
    facts = HostFacts.decode(answer(swap=None) | {"troubles": {"swap": "PermissionError: /proc/swaps"}})
    assert facts.troubles == {"swap": "PermissionError: /proc/swaps"}


@pytest.mark.parametrize("data", [None, 7, "x", [], {}, {"troubles": 7}, {"troubles": {"os": [1]}}])
def test_no_answer_at_all_leaves_every_part_open(data: Any) -> None:
    facts = HostFacts.decode(data)
    assert len(facts.troubles) == 17


@pytest.mark.parametrize(
    ("data", "kind", "message"),
    [
        (None, "module", "it was not looked at"),
        ({"trouble": {"kind": "reach", "message": "No route to host"}}, "reach", "No route to host"),
        ({"trouble": "odd"}, "module", "it was not looked at"),
        ({"facts": {}, "trouble": {"kind": "become", "message": "no"}}, "become", "no"),
        ({"failed": True}, "module", "it was not looked at"),
    ],
)
def test_a_host_without_facts_has_its_trouble(data: Any, kind: str, message: str) -> None:
    host = Host.decode("n1", "n1", frozenset(), data)
    assert host.facts is None
    assert host.trouble is not None
    assert (host.trouble.kind, host.trouble.message) == (kind, message)


def test_times_that_are_none_do_not_end_the_run() -> None:
    host = Host.decode("n1", "n1", frozenset(), {"facts": answer(), "sent": "soon", "received": None})
    assert (host.sent, host.received) == (0.0, 0.0)


def test_a_mapping_with_keys_that_are_no_text_is_refused() -> None:
    facts = HostFacts.decode(answer() | {"inotify": {"used": {0: 1}, "complete": True}})
    assert re.fullmatch(r"inotify\.used .*int.* str", facts.troubles["inotify"])
