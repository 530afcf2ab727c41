"""Pod Security admission: its labels of namespaces, and how it words that it refuses a pod.

Sources: k8s.io/pod-security-admission (api/constants.go, admission/admission.go, policy/check_*.go).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

ENFORCE = "pod-security.kubernetes.io/enforce"
"""Label of a namespace: the level that its pods must meet."""

PRIVILEGED = "privileged"
"""The level that admits every pod."""

_VERSION = f"{ENFORCE}-version"
_VIOLATED = re.compile(r'violates PodSecurity "((\w+)[^"]*)"')
_BEYOND_BASELINE = re.compile(
    r"non-default capabilities|host namespaces|hostPath|hostPort|privileged \(|\"(NET|SYS)_(ADMIN|RAW)\""
)
"""What the level baseline refuses."""

Level = tuple[str, str]
"""What a namespace enforces, and by the rules of which Kubernetes; empty where the API server's default counts."""


def level_of(labels: Mapping[str, str]) -> Level:
    """What a namespace with these labels enforces."""
    return labels.get(ENFORCE, ""), labels.get(_VERSION, "")


def violated(message: str) -> str:
    """The level that refused a pod, as in `restricted:latest`; empty if it was another refusal."""
    match = _VIOLATED.search(message)
    return match[1] if match else ""


def needed_level(message: str) -> str:
    """The strictest level that may admit a pod that Pod Security refused with this message."""
    beyond = violated(message).startswith("baseline") or _BEYOND_BASELINE.search(message)
    return PRIVILEGED if beyond else "baseline"
