"""Texts of others that make regular expressions try everything: four times the text takes about four times as long."""

# ruff: noqa: SLF001  patterns are private to the modules that use them

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from ansible_collections.kubeflow_volcano.platform.plugins.module_utils import containerd, kernel, kubelet, network
from kubeflow_volcano.apply import replace
from kubeflow_volcano.catalog.symptoms.logs import last_words
from kubeflow_volcano.catalog.symptoms.read import PLACES, recognise
from kubeflow_volcano.cluster import addresses
from kubeflow_volcano.retries import retry_after_seconds
from kubeflow_volcano.rollout.images.registry import client
from kubeflow_volcano.validators.checks.machinery import namespaces
from kubeflow_volcano.validators.checks.reach import nodes
from kubeflow_volcano.validators.explain.creation import refusals

SHORT, FACTOR = 10_000, 4


def forbidden_modules(text: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(kernel, "drop_ins", lambda _: ["a"])
    monkeypatch.setattr(kernel, "read", lambda _: text)
    return list(kernel._forbidden_modules())


READERS: dict[str, tuple[Callable[[str], Any], str, str]] = {
    "challenge": (lambda text: client._challenge({"WWW-Authenticate": f"Bearer {text}"}), "", "a"),
    "left in a namespace": (lambda text: list(namespaces._LEFT.finditer(text)), "", "a"),
    "left in a namespace, dots": (lambda text: list(namespaces._LEFT.finditer(text)), "", "a."),
    "taints": (nodes._OF_SICK.search, "", "taint "),
    "immutable": (replace._IMMUTABLE.search, "", "updates to "),
    "ranges": (addresses._RANGE.search, "", "range of valid IPs "),
    "quota": (refusals._QUOTA.search, "", "exceeded quota: a, requested: "),
    "refusals": (refusals._classify, "", "admission webhook max serviceaccount failed quota: "),
    **{
        f"symptoms: {place}": (
            partial(recognise, seen=place),
            "",
            "failed to pull webhook taint denied the request 403 ",
        )
        for place in PLACES
    },
    "logs, frames": (last_words, "", "main.main()(0x1, {0x2, 0x3}, "),
    "logs, lines": (last_words, "", "error: cannot connect\n"),
    "settings of a daemon": (kubelet.settings_of, "a: b", " "),
    "containerd's settings": (lambda text: list(containerd.toml_pairs(f"{text}b")), "a = ", " "),
    "a unit's environment": (lambda text: list(network._unit_environment(text)), "", "\n"),
}


def seconds(read: Callable[[str], Any], text: str) -> float:
    times = []
    for _ in range(3):
        begun = time.process_time()
        read(text)
        times.append(time.process_time() - begun)
    return min(times)


@pytest.mark.parametrize("name", READERS)
def test_time_grows_with_the_text(name: str) -> None:
    read, begin, piece = READERS[name]
    short, long = (seconds(read, begin + piece * (size // len(piece)) + "!") for size in (SHORT, SHORT * FACTOR))
    assert long < max(0.05, short * FACTOR * 2)


def test_time_grows_with_files_about_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ("\n" * SHORT, "\n" * SHORT * FACTOR)
    short, long = (seconds(lambda text: forbidden_modules(text, monkeypatch), text) for text in texts)
    assert long < max(0.05, short * FACTOR * 2)


@pytest.mark.parametrize(
    "text", ["inf", "-inf", "nan", "1e999", "", "soon", "Fri, 99 Foo 99999 99:99:99 GMT", None, [], {"a": 1}], ids=str
)
def test_a_pause_that_is_none(text: Any) -> None:
    assert retry_after_seconds(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [("-1", 0), ("0", 0), (3, 3), ("1e30", 31536000), ("Fri, 31 Dec 9999 23:59:59 GMT", 31536000)],
)
def test_a_pause_that_can_be_waited(text: Any, expected: float) -> None:
    assert retry_after_seconds(text) == expected
