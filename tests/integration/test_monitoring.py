"""Every metric of docs/monitoring, with its labels, is one that the real programs serve."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.deadline import Deadline
from tests.integration.test_validators import BUSYBOX
from tests.monitoring import expressions, metrics_of, monitors, served
from tests.waiting import at_last, until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

SPACE = "kfv-monitoring"


def job(name: str, script: str) -> Object:
    container = {"name": "tensorflow", "image": BUSYBOX, "command": ["sh", "-c", script]}
    requests = {"requests": {"cpu": "1m", "memory": "16Mi"}}
    pod = {"terminationGracePeriodSeconds": 0, "containers": [{**container, "resources": requests}]}
    worker = {"replicas": 1, "restartPolicy": "Never", "template": {"spec": pod}}
    spec = {"tfReplicaSpecs": {"Worker": worker}}
    return new_object("kubeflow.org/v1", "TFJob", name, SPACE, spec=spec)


def silent_webhook() -> Object:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    hook = {
        "name": "silent.kubeflow-volcano.test",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"namespace": SPACE, "name": "nowhere"}},
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": SPACE}},
        "rules": [rule],
        "sideEffects": "None",
    }
    api = "admissionregistration.k8s.io/v1"
    return new_object(api, "ValidatingWebhookConfiguration", SPACE, webhooks=[hook])


@pytest.fixture
def busy(cluster: Cluster) -> Iterator[None]:
    """Something of everything that is counted: a job that succeeds, one that fails, a webhook that is silent."""
    space = cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
    made = [space, cluster.create(job("good", "exit 0")), cluster.create(job("bad", "exit 1"))]
    made.append(cluster.create(silent_webhook()))
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "refused", "namespace": SPACE}}
    try:
        until(lambda: is_refused(cluster, config), 60)
        yield
    finally:
        for obj in reversed(made):
            cluster.delete(Ref.of(obj), uid=obj["metadata"]["uid"])
        until(lambda: cluster.get(Ref.of(space)) is None, 120)


def is_refused(cluster: Cluster, obj: Object) -> bool:
    try:
        cluster.create(obj, dry_run=True)
    except ApiError as error:
        return error.webhook_unanswered
    return False


def read(cluster: Cluster, path: str) -> str:
    with contextlib.closing(cluster.stream(path, {}, Deadline(10))) as answer:
        text: str = answer.read(1 << 24).decode("utf-8")
    return text


def scraped(cluster: Cluster) -> Mapping[str, set[str]]:
    """What Prometheus finds with the ServiceMonitors, and at the API server."""
    found: dict[str, set[str]] = defaultdict(set)
    paths = ["/metrics"]
    for monitor in monitors():
        space = monitor["metadata"]["namespace"]
        services = [
            obj for obj in cluster.list("v1", "Service", namespace=space).items if selects(monitor["spec"], obj)
        ]
        assert services, monitor["metadata"]["name"]
        for service in services:
            for endpoint in monitor["spec"]["endpoints"]:
                name = service["metadata"]["name"]
                paths.append(f"/api/v1/namespaces/{space}/services/{name}:{endpoint['port']}/proxy/metrics")
    for path in paths:
        # Prometheus adds the target's own labels.
        for metric, labels in served(read(cluster, path)).items():
            found[metric] |= labels | {"namespace"}
    return found


def selects(spec: Any, service: Object) -> bool:
    labels = service["metadata"].get("labels") or {}
    exact = (spec["selector"].get("matchLabels") or {}).items()
    among = spec["selector"].get("matchExpressions") or ()
    return all(labels.get(key) == value for key, value in exact) and all(
        labels.get(item["key"]) in item["values"] for item in among
    )


@pytest.mark.usefixtures("busy")
def test_every_metric_is_served_with_the_labels_that_are_read(cluster: Cluster) -> None:
    wanted: dict[str, set[str]] = defaultdict(set)
    for expression in expressions():
        for metric, labels in metrics_of(expression).items():
            wanted[metric] |= labels
    assert len(wanted) > 15

    def lacking() -> dict[str, set[str]]:
        found = scraped(cluster)
        return {
            metric: labels - found.get(metric, set())
            for metric, labels in wanted.items()
            if metric not in found or labels - found[metric]
        }

    nothing: dict[str, set[str]] = {}
    assert at_last(lacking, nothing, every=2) == nothing, "counters appear with the first job that ends so"
