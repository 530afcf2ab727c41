"""The versions in which objects of a CRD are stored; one that the CRD lacks, so that none of them can be listed."""

from __future__ import annotations

import json
import re

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.problems import Problem

# ConvertToVersion of delegatingCRConverter in apiextensions-apiserver, pkg/apiserver/conversion.
_LOST = re.compile(r"request to convert CR from an invalid group/version: \S+/(v\w+)")


def storage_version(crd: Object) -> str:
    """The version in which the API server stores the objects of a CRD."""
    return str(next(version["name"] for version in crd["spec"]["versions"] if version["storage"]))


def readable_version(crd: Object) -> str:
    """A version in which objects can be read: the one they are stored in if it is served; empty if none is served."""
    served = [version for version in crd["spec"]["versions"] if version.get("served")]
    return next((str(version["name"]) for version in sorted(served, key=lambda item: not item.get("storage"))), "")


def lost_version(message: str) -> str:
    """The version, missing in the CRD, in which an object is stored, by an answer of the API server; else empty."""
    match = _LOST.search(message)
    return match[1] if match else ""


def way_back(crd: str, version: str) -> tuple[str, str]:
    """Commands that let the API server read the objects of a CRD again: it gets the version back, not served.

    Because the version is then in status.storedVersions, too, a roll-out stores all objects again before it removes it.
    """
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    item = {"name": version, "served": False, "storage": False, "schema": {"openAPIV3Schema": anything}}
    added = json.dumps([{"op": "add", "path": "/spec/versions/-", "value": item}])
    stored = json.dumps([{"op": "add", "path": "/status/storedVersions/-", "value": version}])
    return (
        f"kubectl patch crd {crd} --type=json -p '{added}'",
        f"kubectl patch crd {crd} --subresource=status --type=json -p '{stored}'",
    )


def problem(crd: str, message: str) -> Problem | None:
    """The problem of a kind whose objects cannot be listed for that reason, by the API server's answer; else None."""
    version = lost_version(message)
    if not version:
        return None
    return Problem(
        f"no object of {crd} can be listed, because one is stored in {version}, which the CRD lacks: {message}.",
        f"version {version} in the CRD until every object is stored in another one.",
        f"{' && '.join(way_back(crd, version))}; then run playbooks/install.yml, which stores them again and removes "
        f"{version}.",
    )
