"""How much older than the API server a kubelet may be."""

from __future__ import annotations

from kubeflow_volcano.catalog.model import version_key

_WIDER_FROM = (1, 25)


def most_behind(kubelet: str) -> int:
    """Minor versions that this kubelet may be older: three, two before 1.25 (kubernetes.io, "Version Skew Policy").

    Raises:
        ValueError: it is not a version.
    """
    return 3 if version_key(kubelet)[:2] >= _WIDER_FROM else 2


def unsupported_skew(kubelet: str, server: str) -> str:
    """How the kubelet's version differs from the API server's, in words; empty where the skew is supported.

    Raises:
        ValueError: one of them is not a version.
    """
    (_, newer, *_), (_, own, *_) = version_key(server), version_key(kubelet)
    if own > newer:
        return "newer"
    most = most_behind(kubelet)
    return f"more than {most} minor versions older" if newer - own > most else ""
