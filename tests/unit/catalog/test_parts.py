"""Whose the names in a message are."""

from __future__ import annotations

import pytest

from kubeflow_volcano.catalog.parts import parts_named, webhook_named


@pytest.mark.parametrize(
    ("text", "workload"),
    [
        ('Get "http://minio-service.kubeflow:9000/mlpipeline/": dial tcp', "Deployment kubeflow/minio"),
        ("lookup dex.auth.svc.cluster.local on 10.96.0.10:53: no such host", "Deployment auth/dex"),
        ("metadata-grpc-service.kubeflow:8080", "Deployment kubeflow/metadata-grpc-deployment"),
        ("pod ml-pipeline-67b747d877-rgxzr in CrashLoopBackOff", "Deployment kubeflow/ml-pipeline"),
        ("https://x.example.org/jupyter/api/namespaces", "Deployment kubeflow/jupyter-web-app-deployment"),
        ("https://kserve-webhook-server-service.kubeflow.svc:443", "Deployment kubeflow/kserve-controller-manager"),
        ('calling webhook "mutatequeue.volcano.sh": EOF', "Deployment volcano-system/volcano-admission"),
        ('calling webhook "webhook.cert-manager.io": EOF', "Deployment cert-manager/cert-manager-webhook"),
        ('calling webhook "validation.istio.io": EOF', "Deployment istio-system/istiod"),
        (
            'webhook "config.webhook.istio.networking.internal.knative.dev" denied',
            "Deployment knative-serving/webhook",
        ),
        ('webhook "mutator.pod.katib.kubeflow.org" denied', "Deployment kubeflow/katib-controller"),
        ("creating kubeflow.org/experiments mnist", "Deployment kubeflow/katib-controller"),
        ('no matches for kind "PyTorchJob" in version "kubeflow.org/v1"', "Deployment kubeflow/training-operator"),
        (
            'TrainJob.trainer.kubeflow.org "a" is invalid',
            "Deployment kubeflow-system/kubeflow-trainer-controller-manager",
        ),
        ('User "system:serviceaccount:kubeflow:training-operator" cannot', "Deployment kubeflow/training-operator"),
    ],
)
def test_a_name_of_the_platform_has_the_workload_behind_it(text: str, workload: str) -> None:
    assert [str(part.workload) for part in parts_named(text)] == [workload]


@pytest.mark.parametrize(
    "text",
    [
        "ada@example.org",
        "store.team-a:9000",
        "ml-storage.kubeflow:80",
        'webhook "mpod.kb.io" denied',
        "kubeflow.org/nothing",
        "dial tcp 10.0.0.7:443",
        "",
    ],
)
def test_other_names_have_none(text: str) -> None:
    assert parts_named(text) == ()


def test_its_commands_name_it() -> None:
    (part,) = parts_named("katib-db-manager.kubeflow:6789")
    pods, logs = part.commands
    assert pods.startswith("kubectl -n kubeflow get pods -l ")
    assert "katib-db-manager" in logs


def test_a_webhook_is_named() -> None:
    assert webhook_named('admission webhook "mpod.kb.io" denied the request') == "mpod.kb.io"
    assert not webhook_named("dial tcp")
