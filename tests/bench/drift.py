"""Changes by another hand, made behind the engine's back, and whether all of them were mended."""

from __future__ import annotations

import copy
import json
from pathlib import Path

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import Problem, ProblemsError
from tests.bench.releases import Release

_EACH = 10


class Drift:
    """Changes a value in objects of three kinds as a person with `kubectl edit` does, and deletes some others."""

    def __init__(self, kubeconfig: Path, release: Release) -> None:
        self._cluster = Cluster.connect(kubeconfig)
        objects: list[Object] = json.loads(release.json.read_bytes())
        self._changed: dict[Ref, tuple[tuple[str, ...], object]] = {}
        for obj in objects:
            if (found := _value(obj)) and sum(ref.kind == obj["kind"] for ref in self._changed) < _EACH:
                self._change(Ref.of(obj), *found)
        policies = [Ref.of(obj) for obj in objects if obj["kind"] == "NetworkPolicy"]
        self._deleted = policies[:_EACH]
        for ref in self._deleted:
            live = self._cluster.get(ref)
            if live:
                self._cluster.delete(ref, uid=live["metadata"]["uid"])

    def require_mended(self) -> None:
        """See that every value is the declared one again, and every object there.

        Raises:
            ProblemsError: some are not.
        """
        wrong = [str(ref) for ref in self._deleted if not self._cluster.get(ref)]
        for ref, (path, declared) in self._changed.items():
            value = _at(self._cluster.get(ref), path)
            if value != declared:
                wrong.append(f"{ref} {'.'.join(path)} is {value!r}, declared {declared!r}")
        if wrong:
            raise ProblemsError(
                Problem(f"drift is left: {'; '.join(wrong)}", "all of it mended.", "look at how drift is found.")
            )

    def _change(self, ref: Ref, path: tuple[str, ...], declared: object) -> None:
        body: object = "drift" if isinstance(declared, str) else 7
        for key in reversed(path):
            body = {key: body}
        resource = self._cluster.resource(ref.api_version, ref.kind).path(ref.namespace, ref.name)
        query = {"fieldManager": "kubectl-edit"}
        self._cluster.request("PATCH", resource, query=query, body=body, content_type="application/merge-patch+json")
        self._changed[ref] = (path, copy.deepcopy(declared))


def _value(obj: Object) -> tuple[tuple[str, ...], object] | None:
    """A value that may be changed without harm, and its path: configuration, replicas, a label."""
    if obj["kind"] == "ConfigMap" and obj.get("data"):
        key = min(obj["data"])
        return ("data", key), obj["data"][key]
    if obj["kind"] == "Deployment" and "replicas" in obj["spec"]:
        return ("spec", "replicas"), obj["spec"]["replicas"]
    if obj["kind"] == "Service" and obj["metadata"].get("labels"):
        key = min(obj["metadata"]["labels"])
        return ("metadata", "labels", key), obj["metadata"]["labels"][key]
    return None


def _at(obj: Object | None, path: tuple[str, ...]) -> object:
    value: object = obj
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value
