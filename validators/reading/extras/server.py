"""What the API server says of itself: readiness and what it serves."""

from __future__ import annotations

import time
from collections.abc import Mapping
from http import HTTPStatus

import urllib3

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.deadline import Deadline
from validators.core.facts import Facts
from validators.subjects import crds

__all__ = ["discovery", "ready_answers"]

_READYZ_TRIES, _READYZ_SECONDS, _PAUSE_SECONDS = 3, 5.0, 0.2


def ready_answers(cluster: Cluster, _facts: Facts) -> tuple[str, ...]:
    """Three answers of /readyz; the body of a refusal names what is not ready."""
    return tuple(_readyz(cluster) for _ in range(_READYZ_TRIES))


def _readyz(cluster: Cluster) -> str:
    """One answer; a server that is busy, or a connection that breaks, is asked again for some seconds."""
    deadline = Deadline(_READYZ_SECONDS)
    while True:
        try:
            with cluster.stream("/readyz", {}, deadline) as response:
                return response.read(1000).decode("utf-8", "replace").strip()
        except ApiError as error:
            if error.status in {HTTPStatus.FORBIDDEN, HTTPStatus.UNAUTHORIZED}:
                raise
            if not error.transient or deadline.passed:
                return str(error)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            if deadline.passed:
                return f"the answer broke off: {error}"
        time.sleep(_PAUSE_SECONDS)


def discovery(cluster: Cluster, facts: Facts) -> Mapping[str, frozenset[str]]:
    """Plurals by apiVersion, of every version that an expected CRD says it serves."""
    versions = {
        f"{crd['spec']['group']}/{version['name']}"
        for crd in facts.all(crds.RESOURCE)
        if crd["metadata"]["name"] in facts.expectations.crds
        for version in crd["spec"]["versions"]
        if version.get("served")
    }
    return {version: _plurals(cluster, version) for version in sorted(versions)}


def _plurals(cluster: Cluster, version: str) -> frozenset[str]:
    try:
        answer = cluster.request("GET", f"/apis/{version}")
    except ApiError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return frozenset()
        raise
    return frozenset(item["name"] for item in answer["resources"])
