"""NO_PROXY as programs written in Go read it."""

from __future__ import annotations

import pytest

from kubeflow_volcano.hosts.proxy import excepts

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
    assert excepts(no_proxy, target) is spared


def test_a_network_that_is_none_is_said_to_be_none() -> None:
    with pytest.raises(ValueError, match=r"10\.96\.0\.0/99"):
        excepts("10.0.0.0/8", "10.96.0.0/99")
