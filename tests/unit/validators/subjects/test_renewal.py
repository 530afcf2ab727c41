"""What renews a webhook's certificate depends on what makes it."""

from __future__ import annotations

import pytest

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.subjects import renewal
from tests.samples.facts import deployment, facts, obj, ref

SERVICE = ref("Service", "ns/admission")
CONFIGURATION = ref("MutatingWebhookConfiguration", "pods-mutate")
RESTART = "kubectl -n ns rollout restart deployment/admission"


def known(*objects: Object) -> Facts:
    return facts(
        obj("Service", "ns/admission", spec={"selector": {"app": "admission"}, "ports": [{"port": 443}]}),
        deployment("ns/admission", volumes=[{"name": "certificates", "secret": {"secretName": "tls"}}]),
        deployment("ns/other"),
        *objects,
    )


def issued(secret: str) -> Object:
    return obj("Certificate", "ns/serving", spec={"secretName": secret})


def job(name: str, *words: str) -> Object:
    labels = {"controller-uid": "1", "batch.kubernetes.io/job-name": "init", "team": "a"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "command": [*words]}]}}
    return obj("Job", name, spec={"backoffLimit": 3, "template": template})


def test_a_certificate_of_cert_manager_is_issued_again() -> None:
    remedy = renewal.certificate(SERVICE, known(issued("tls"), job("ns/init", "make", "--secret", "tls")))
    assert remedy.changes == ("kubectl -n ns delete secret tls",)


@pytest.mark.parametrize("words", [("make.sh", "--secret", "tls"), ("make.sh", "--secret=tls")])
def test_what_a_job_made_is_made_by_the_job_and_is_never_only_deleted(words: tuple[str, ...]) -> None:
    remedy = renewal.certificate(SERVICE, known(issued("another"), job("ns/init", *words)))
    again, complete, restart = remedy.changes
    assert again.startswith('kubectl -n ns get job init -o jsonpath=\'apiVersion: batch/v1{"\\n"}kind: Job')
    assert again.endswith("{.spec.template.spec}' | kubectl -n ns replace --force -f -")
    assert 'team: "a"' in again
    assert "uid" not in again
    assert complete.startswith("kubectl -n ns wait --for=condition=complete")
    assert restart == RESTART
    assert "delete secret" not in " ".join(remedy.changes)
    assert "Job ns/init" in remedy.todo


def test_a_job_that_was_applied_is_applied_again_in_the_same_name() -> None:
    applied = job("ns/init", "make", "tls")
    applied["metadata"]["managedFields"] = [
        {"manager": "kube-controller-manager", "operation": "Update", "subresource": "status"},
        {"manager": "kubeflow-volcano", "operation": "Apply"},
    ]
    again, *_ = renewal.certificate(SERVICE, known(applied)).changes
    read, deleted, sent = again.split(" && ")
    assert read.startswith('job="$(kubectl -n ns get job init -o jsonpath=')
    assert deleted == "kubectl -n ns delete job init"
    assert sent.endswith("| kubectl -n ns apply --server-side --field-manager=kubeflow-volcano -f -")


def test_a_secret_that_is_missing_is_made_by_its_job_or_by_a_certificate() -> None:
    secret = Ref("v1", "Secret", "ns", "tls")
    remedy = renewal.missing(secret, known(job("ns/init", "make", "tls")))
    assert [command.split()[3] for command in remedy.changes] == ["get", "wait"]
    assert "B7" in renewal.missing(secret, known(issued("tls"))).todo
    assert renewal.missing(secret, known(job("other/init", "make", "tls"))).changes == ()


@pytest.mark.parametrize(
    "stranger", [job("other/init", "make.sh", "--secret", "tls"), job("ns/init", "make.sh", "--secret", "tls-2")]
)
def test_a_backend_that_makes_its_own_is_restarted(stranger: Object) -> None:
    remedy = renewal.certificate(SERVICE, known(stranger))
    assert remedy.changes == (RESTART,)


def test_a_backend_that_is_no_deployment_has_no_command() -> None:
    remedy = renewal.certificate(SERVICE, facts(obj("Service", "ns/admission", spec={"ports": []})))
    assert (remedy.changes, "install the component" in remedy.todo) == ((), True)


def test_an_authority_is_written_by_the_backend_or_by_the_cainjector() -> None:
    own = obj("MutatingWebhookConfiguration", "pods-mutate", webhooks=[])
    assert renewal.authority(CONFIGURATION, SERVICE, known(own)).changes == (RESTART,)
    source = {"annotations": {"cert-manager.io/inject-ca-from": "ns/serving"}}
    injected = obj("MutatingWebhookConfiguration", "pods-mutate", webhooks=[], metadata=source)
    remedy = renewal.authority(CONFIGURATION, SERVICE, known(injected))
    assert remedy.changes == ()
    assert "ns/serving" in remedy.todo
    assert "cert-manager-cainjector" in remedy.todo
