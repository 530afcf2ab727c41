"""Sums of what is asked for, by the scheduler's own rules."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from kubeflow_volcano.cluster.objects import new_object
from kubeflow_volcano.rollout.plan.resources import claims_of, requests_of


def container(cpu: str = "", memory: str = "", **more: Any) -> dict[str, Any]:
    requests = {name: value for name, value in (("cpu", cpu), ("memory", memory)) if value}
    return {"name": "c", "resources": {"requests": requests}, **more}


def workload(kind: str, *containers: dict[str, Any], namespace: str = "n", **spec: Any) -> dict[str, Any]:
    pod = {"containers": list(containers), "initContainers": spec.pop("init", [])}
    template = {"metadata": spec.pop("meta", {}), "spec": pod}
    return new_object("apps/v1", kind, "w", namespace, spec={"template": template, **spec})


def cpu(*objects: dict[str, Any]) -> Decimal:
    return requests_of(list(objects)).cpu


def test_replicas_count_and_zero_is_none() -> None:
    one = container("100m", "1Gi")
    found = requests_of([workload("Deployment", one, replicas=3), workload("Deployment", one, replicas=0)])
    assert (found.pods, found.cpu, found.memory) == (3, Decimal("0.3"), Decimal(3 * 1024**3))
    assert cpu(workload("Deployment", one)) == Decimal("0.1")


def test_a_daemon_set_and_a_job_count_once_and_other_kinds_not_at_all() -> None:
    one = container("100m")
    objects = [workload(kind, one) for kind in ("DaemonSet", "Job", "StatefulSet", "Service")]
    assert requests_of(objects).pods == 3


def test_a_limit_without_a_request_is_the_request() -> None:
    limited = {"name": "c", "resources": {"limits": {"cpu": "2"}}}
    both = {"name": "c", "resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "500m"}}}
    assert cpu(workload("Deployment", limited)) == 2
    assert cpu(workload("Deployment", both)) == Decimal("0.5")
    assert cpu(workload("Deployment", {"name": "c"})) == 0


def test_the_largest_init_container_counts_where_it_is_more() -> None:
    small, large = container("100m"), container("3")
    assert cpu(workload("Deployment", container("1"), init=[small, large])) == 3
    assert cpu(workload("Deployment", container("1"), init=[small])) == 1
    beside = container("500m", restartPolicy="Always")
    assert cpu(workload("Deployment", container("1"), init=[beside])) == Decimal("1.5")


def injector(**requests: str) -> dict[str, Any]:
    values = {"global": {"proxy": {"resources": {"requests": requests}}}}
    return new_object("v1", "ConfigMap", "istio-sidecar-injector", "istio-system", data={"values": json.dumps(values)})


def namespace(name: str, **labels: str) -> dict[str, Any]:
    named = {key.replace("_", "-"): value for key, value in labels.items()}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": named}}


def test_sidecars_are_added_where_istio_will_add_them() -> None:
    inject = "sidecar.istio.io/inject"
    objects = [
        injector(cpu="100m", memory="128Mi"),
        namespace("in", istio_injection="enabled"),
        namespace("out", istio_injection="disabled"),
        workload("Deployment", container("1"), namespace="in", replicas=2),
        workload("Deployment", container("1"), namespace="out"),
        workload("Deployment", container("1"), namespace="in", meta={"annotations": {inject: "false"}}),
        workload("Deployment", container("1"), namespace="in", meta={"labels": {inject: "false"}}),
    ]
    found = requests_of(objects)
    assert (found.pods, found.sidecars) == (5, 2)
    assert found.sidecar_cpu == Decimal("0.2")
    assert found.cpu == Decimal("5.2")
    assert found.sidecar_memory == found.memory == 2 * 128 * 1024**2


def test_an_injector_that_asks_for_nothing_adds_nothing() -> None:
    bare = injector()
    bare["data"] = {"values": "{}"}
    inside = workload("Deployment", container("1"), namespace="in")
    found = requests_of([bare, namespace("in", istio_injection="enabled"), inside])
    assert (found.sidecars, found.cpu, found.sidecar_cpu) == (1, Decimal(1), Decimal(0))


def claim(name: str, size: str) -> dict[str, Any]:
    spec = {"resources": {"requests": {"storage": size}}}
    return new_object("v1", "PersistentVolumeClaim", name, "n", spec=spec)


def test_claims_by_themselves_and_of_every_replica() -> None:
    objects = [claim("data", "10Gi"), workload("StatefulSet", replicas=2, volumeClaimTemplates=[claim("own", "5G")])]
    found = claims_of(objects)
    assert [(item.ref.name, item.size) for item in found] == [
        ("data", Decimal(10 * 1024**3)),
        ("own-w-0", Decimal(5 * 1000**3)),
        ("own-w-1", Decimal(5 * 1000**3)),
    ]
