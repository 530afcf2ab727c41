"""What is read of a cluster, and what is said of what it does not have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.discovery import Resource
from kubeflow_volcano.cluster.api.errors import ApiError, NotServed
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.explain.manifest.judging import judge
from kubeflow_volcano.validators.explain.manifest.model import Manifest
from kubeflow_volcano.validators.explain.manifest.surroundings import surroundings
from tests.samples.manifests import tfjob

VERSION = "kubeflow.org/v1"


class Old:
    """An API server of Kubernetes 1.22: it serves the kind and its namespace, and no OpenAPI v3."""

    origin = "old"

    def kinds(self, api_version: str) -> Mapping[str, Resource]:
        return {"TFJob": Resource(VERSION, "TFJob", "tfjobs", True, frozenset())} if api_version == VERSION else {}  # noqa: FBT003

    def resource(self, api_version: str, kind: str) -> Resource:
        if kind not in self.kinds(api_version):
            raise NotServed(api_version, kind)
        return self.kinds(api_version)[kind]

    def request(self, _verb: str, path: str) -> Any:
        if path == "/apis/kubeflow.org":
            return {"versions": [{"groupVersion": VERSION}]}
        raise ApiError(404, "NotFound", path)

    def get(self, ref: Any) -> Object:
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ref.name}}

    def list(self, api_version: str, kind: str, **_how: str) -> Any:
        raise NotServed(api_version, kind)

    def create(self, obj: Object, **_how: Any) -> Object:
        return obj


def test_where_a_server_has_no_schemas_fields_are_those_of_releases() -> None:
    files = [Manifest("job.yaml", 1, tfjob(replica=2))]
    answer = judge(files, surroundings(files, cast("Cluster", Old())))
    assert [item.reason for item in answer.manifests[0].findings] == ["UnknownField"]
    assert not answer.unread


class Denying(Old):
    """It lets the caller create nothing."""

    def create(self, obj: Object, **_how: Any) -> Object:
        text = f'{obj["kind"]} is forbidden: User "me" cannot create resource'
        raise ApiError(403, "Forbidden", text)


def test_who_may_create_nothing_is_told_which_dry_runs_are_missing() -> None:
    files = [Manifest("job.yaml", 1, tfjob())]
    answer = judge(files, surroundings(files, cast("Cluster", Denying())))
    texts = [item.message for item in answer.unread if item.reason == "Forbidden"]
    assert [text.partition(" were ")[0].split()[-1] for text in texts] == ["manifests", "pods"]


@pytest.mark.parametrize("text", ["exceeded quota: q", "violates PodSecurity"])
def test_a_refusal_by_admission_is_no_missing_permission(text: str) -> None:
    class Refusing(Old):
        def create(self, obj: Object, **_how: Any) -> Object:
            raise ApiError(403, "Forbidden", f'pods "{obj["metadata"]["name"]}" is forbidden: {text}')

    files = [Manifest("job.yaml", 1, tfjob())]
    answer = judge(files, surroundings(files, cast("Cluster", Refusing())))
    assert [item.reason for item in answer.manifests[0].findings] == ["Refused", "PodRefused"]
