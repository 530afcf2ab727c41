"""Breaking a cluster for a moment, judging it meanwhile, and healing it again: what live tests of checks share."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.metadata import RUN_LABEL
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.watch.waiting import wait_ready
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.progress import silent
from kubeflow_volcano.validators.core.timing import Timing
from kubeflow_volcano.validators.run.runner import Options, validate
from tests.waiting import until

STATIC = ("reach", "machinery", "workloads", "F1", "F3", "F4", "F5", "operator")
Findings = Mapping[str, tuple[str, str]]
"""Status and reason by check id."""


def judge(
    kubeconfig: Path, *select: str, read_only: bool = True, seconds: float = 3, timing: Timing | None = None
) -> Findings:
    """Status and reason by check id, without a report on disk."""
    options = Options(
        kubeconfig, select=select or STATIC, read_only=read_only, stability_seconds=seconds, report_dir=None
    )
    report = validate(options, silent, timing=timing or Timing())
    return {item.check.id: (str(item.outcome.status), item.outcome.reason) for item in report.results}


def bad(found: Findings) -> dict[str, str]:
    """Reason by id of every check that failed, warned or could not be judged."""
    return {id_: reason for id_, (status, reason) in found.items() if status in {"fail", "warn", "error"}}


@contextlib.contextmanager
def patched(
    cluster: Cluster, ref: Ref, *, subresource: str = "", json_patch: bool = False
) -> Iterator[Callable[[Any], None]]:
    """Patch one object inside the block; what the patches replaced is put back behind it."""
    before = cluster.get(ref)
    assert before is not None
    path = cluster.resource(ref.api_version, ref.kind).path(ref.namespace, ref.name) + subresource
    content = "application/json-patch+json" if json_patch else "application/merge-patch+json"

    def patch(body: Any) -> None:
        cluster.request("PATCH", path, body=body, content_type=content)

    try:
        yield patch
    finally:
        for _ in range(20):
            live = cluster.get(ref)
            assert live is not None
            kept = {key: before[key] for key in ("spec", "data", "rules", "webhooks", "status") if key in before}
            whole = live | (kept if subresource else {key: kept[key] for key in kept if key != "status"})
            try:
                cluster.request("PUT", path, body=whole)
                break
            except ApiError as error:
                if error.status != 409:
                    raise
        else:
            pytest.fail(f"{ref} could not be put back")
        if ref.kind == "Deployment":
            settle(cluster, ref)


def settle(cluster: Cluster, ref: Ref) -> None:
    """Wait until a Deployment is ready again, the pods of its other revisions are gone, and its Services lead to it."""
    assert wait_ready(cluster, [ref], Deadline(240), silent)[ref].ready
    until(lambda: len(pods_of(cluster, ref)) == 1)
    until(lambda: all(backed(cluster, pod) for pod in pods_of(cluster, ref)))


@contextlib.contextmanager
def turned_off(cluster: Cluster, ref: Ref) -> Iterator[None]:
    """A Deployment without replicas inside the block, its last pod gone: until then that one may still do its work."""
    with patched(cluster, ref) as patch:
        patch({"spec": {"replicas": 0}})
        until(lambda: not pods_of(cluster, ref))
        yield


def backed(cluster: Cluster, pod: Object) -> bool:
    """Whether every Service that selects the pod has it for a ready endpoint."""
    meta = pod["metadata"]
    labels = (meta.get("labels") or {}).items()
    wanted = {
        item["metadata"]["name"]
        for item in cluster.list("v1", "Service", namespace=meta["namespace"]).items
        if (selector := item["spec"].get("selector")) and selector.items() <= labels
    }
    found = {
        item["metadata"].get("labels", {}).get("kubernetes.io/service-name")
        for item in cluster.list("discovery.k8s.io/v1", "EndpointSlice", namespace=meta["namespace"]).items
        for end in item.get("endpoints") or ()
        if end["conditions"].get("ready") and (end.get("targetRef") or {}).get("uid") == meta["uid"]
    }
    return wanted <= found


def pods_of(cluster: Cluster, ref: Ref) -> list[Object]:
    pods = cluster.list("v1", "Pod", namespace=ref.namespace).items
    return [
        pod
        for pod in pods
        if pod["metadata"]["name"].startswith(f"{ref.name}-") and "-init-" not in pod["metadata"]["name"]
    ]


def leftovers(cluster: Cluster) -> list[str]:
    kinds = (
        ("v1", "Namespace"),
        ("v1", "Pod"),
        ("v1", "PersistentVolumeClaim"),
        ("scheduling.volcano.sh/v1beta1", "PodGroup"),
    )
    return [str(Ref.of(item)) for kind in kinds for item in cluster.list(*kind, labels=RUN_LABEL).items]


@contextlib.contextmanager
def made(cluster: Cluster, *objects: Object) -> Iterator[list[Object]]:
    """These objects inside the block; behind it they are deleted, the last one first, and waited for until gone."""
    created: list[Object] = []
    try:
        for item in objects:
            created.append(cluster.create(item))  # noqa: PERF401  what was created is removed, also when one is refused
        yield created
    finally:
        for item in reversed(created):
            vanish(cluster, item)


def vanish(cluster: Cluster, item: Object) -> None:
    """Delete an object with all that belongs to it, and wait until it is gone."""
    ref, uid = Ref.of(item), item["metadata"]["uid"]
    cluster.delete(ref, uid=uid, propagation="Foreground", grace_seconds=0)
    until(lambda: (live := cluster.get(ref)) is None or live["metadata"]["uid"] != uid)


@contextlib.contextmanager
def space(cluster: Cluster, **labels: str) -> Iterator[str]:
    """A namespace of this block's own."""
    meta = {"name": f"broken-{secrets.token_hex(4)}", "labels": labels}
    with made(cluster, {"apiVersion": "v1", "kind": "Namespace", "metadata": meta}) as (item,):
        name: str = item["metadata"]["name"]
        until(lambda: cluster.get(Ref("v1", "ServiceAccount", name, "default")) is not None)
        yield name


@contextlib.contextmanager
def absent(cluster: Cluster, ref: Ref) -> Iterator[None]:
    """Without an object inside the block; behind it, it is made again as it was."""
    before = cluster.get(ref)
    assert before is not None
    vanish(cluster, before)
    try:
        yield
    finally:
        kept = {key: value for key, value in before.items() if key not in {"metadata", "status"}}
        meta = {
            key: before["metadata"][key]
            for key in ("name", "namespace", "labels", "annotations")
            if key in before["metadata"]
        }
        cluster.create({**kept, "metadata": meta})
        if ref.kind == "Deployment":
            settle(cluster, ref)


def remove(cluster: Cluster, *objects: Object) -> None:
    """Delete these very objects, and wait until they are gone."""
    for item in objects:
        cluster.delete(Ref.of(item), uid=item["metadata"]["uid"])
    until(lambda: not any(cluster.get(Ref.of(item)) for item in objects))
