"""E6 on literal facts: the proxy beside a training container, and templates that do not opt out."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.checks.network.sidecars import no_sidecar
from kubeflow_volcano.validators.core.outcome import Status
from tests.samples.facts import facts, obj, pod

TRAINER = {"name": "tensorflow", "image": "a"}
PROXY = {"name": "istio-proxy", "image": "istio/proxyv2:1.22.1"}
INJECTED = obj("Namespace", "user", metadata={"labels": {"istio-injection": "enabled"}})
OPT_OUT = {"sidecar.istio.io/inject": "false"}


def worker(*containers: Object, labels: dict[str, str] | None = None, **rest: Any) -> Object:
    owner = {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "name": "job", "controller": True}
    meta = {"ownerReferences": [owner], "labels": labels or {}}
    spec = {"containers": list(containers) or [TRAINER], **rest.pop("spec", {})}
    return pod("user/job-worker-0", metadata=meta, spec=spec, **rest)


def test_a_worker_alone_in_its_pod_passes() -> None:
    assert no_sidecar(facts(INJECTED, worker(labels=OPT_OUT))).status is Status.PASS
    assert no_sidecar(facts(obj("Namespace", "user"), worker())).status is Status.PASS


def test_a_proxy_beside_the_worker_fails() -> None:
    outcome = no_sidecar(facts(INJECTED, worker(TRAINER, PROXY)))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "Sidecar")
    assert 'sidecar.istio.io/inject: "false"' in outcome.todo


def test_a_worker_that_the_next_start_would_inject_is_a_warning() -> None:
    outcome = no_sidecar(facts(INJECTED, worker()))
    assert (outcome.status, outcome.reason) == (Status.WARN, "NotOptedOut")


def test_a_proxy_that_ends_with_the_pod_holds_nobody_up() -> None:
    native = worker(TRAINER, spec={"initContainers": [PROXY | {"restartPolicy": "Always"}]})
    assert no_sidecar(facts(INJECTED, native)).status is Status.PASS


@pytest.mark.parametrize("label", ["jobset.sigs.k8s.io/jobset-name", "katib.kubeflow.org/trial", "volcano.sh/job-name"])
def test_jobs_of_trainer_katib_and_volcano_count_as_well(label: str) -> None:
    made = pod("user/a", metadata={"labels": {label: "a"}}, spec={"containers": [TRAINER, PROXY]})
    assert no_sidecar(facts(INJECTED, made)).reason == "Sidecar"


def test_pods_that_have_ended_and_others_are_not_looked_at() -> None:
    other = pod("user/notebook-0", spec={"containers": [TRAINER, PROXY]})
    ended = worker(TRAINER, PROXY, status={"phase": "Succeeded"})
    assert no_sidecar(facts(INJECTED, other, ended)).reason == "NoTrainingPod"
