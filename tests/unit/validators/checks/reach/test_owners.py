"""A7 on literal facts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubeflow_volcano.catalog.model import MinorRange
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.checks.reach.owners import MANAGERS, foreign_owners, writers
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.facts import Facts, Unread
from kubeflow_volcano.validators.core.outcome import CannotJudgeError, Status
from tests.samples.facts import crd, deployment, facts, obj, ref

ISTIOD = ref("Deployment", "istio-system/istiod")
OPERATOR = ref("Deployment", "kubeflow/training-operator")
EXPECTED = Expectations(
    kubernetes=MinorRange("1.29", None),
    components=frozenset({"istio", "training-operator"}),
    workloads={ISTIOD: "istio", OPERATOR: "training-operator"},
    crds={"gateways.networking.istio.io": "istio-crds"},
    webhooks={ref("MutatingWebhookConfiguration", "istio-sidecar-injector"): "istio"},
)
HELM = {"annotations": {"meta.helm.sh/release-name": "istio-base"}}
OWN = {ISTIOD: frozenset({"kubeflow-volcano", "kubectl-client-side-apply"})}


def known(*objects: Object, **fields: Any) -> Facts:
    return facts(*objects, expected=EXPECTED, **({"known": {MANAGERS: OWN}} | fields))


def istio(**meta: Any) -> tuple[Object, ...]:
    return (
        deployment("istio-system/istiod"),
        crd("gateways.networking.istio.io", metadata=meta),
        obj("MutatingWebhookConfiguration", "istio-sidecar-injector", webhooks=[]),
    )


def test_what_belongs_to_nobody_else_passes() -> None:
    outcome = foreign_owners(known(*istio()))
    assert (outcome.status, len(outcome.objects)) == (Status.PASS, 3)


@pytest.mark.parametrize(
    ("meta", "words"),
    [
        (HELM, "Helm release istio-base"),
        (
            {"labels": {"install.operator.istio.io/owning-resource": "installed-state"}},
            "Istio operator's installed-state",
        ),
        ({"labels": {"argocd.argoproj.io/instance": "mesh"}}, "Argo CD application mesh"),
        (
            {"ownerReferences": [{"kind": "KnativeServing", "name": "serving", "controller": True}]},
            "KnativeServing serving",
        ),
    ],
)
def test_an_owner_is_known_by_his_mark_and_fails_the_check_before_the_install(meta: Object, words: str) -> None:
    outcome = foreign_owners(known(*istio(**meta)))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "ForeignOwner")
    assert f"CustomResourceDefinition gateways.networking.istio.io: {words}" in outcome.message


def test_after_the_install_he_is_a_warning() -> None:
    outcome = foreign_owners(known(*istio(**HELM), deployment("kubeflow/training-operator")))
    assert outcome.status is Status.WARN


def test_another_field_manager_of_a_pod_template_is_an_owner() -> None:
    managers = {ISTIOD: frozenset({"kubeflow-volcano", "helm"})}
    outcome = foreign_owners(known(*istio(), known={MANAGERS: managers}))
    assert outcome.observed == {"Deployment istio-system/istiod": "field manager helm"}


def test_kubectl_is_an_owner_until_kubeflow_is_installed() -> None:
    managers = {MANAGERS: {ISTIOD: frozenset({"kubectl-client-side-apply"})}}
    outcome = foreign_owners(known(*istio(), known=managers))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "ForeignOwner")
    assert "kubeflow_existing" in outcome.todo
    assert "kubeflow_adopt" in outcome.todo
    after = foreign_owners(known(*istio(), deployment("kubeflow/training-operator"), known=managers))
    assert after.status is Status.PASS


def test_what_the_settings_leave_to_others_is_no_finding() -> None:
    kept = replace(EXPECTED, existing=frozenset({"istio", "istio-crds"}))
    outcome = foreign_owners(facts(*istio(**HELM), expected=kept, known={MANAGERS: OWN}))
    assert outcome.reason == "NotExpected"


def test_labels_that_rendered_manifests_carry_are_no_owner() -> None:
    rendered = {"app.kubernetes.io/managed-by": "Helm", "install.operator.istio.io/owning-resource": "unknown"}
    assert foreign_owners(known(*istio(labels=rendered))).status is Status.PASS


def test_what_is_not_chosen_or_not_there_is_skipped() -> None:
    assert foreign_owners(facts()).reason == "NotExpected"
    assert foreign_owners(known()).reason == "NotInstalled"


def test_managers_that_may_not_be_read_are_no_pass() -> None:
    unread = {MANAGERS: Unread("Forbidden", "no", "ask")}
    with pytest.raises(CannotJudgeError):
        foreign_owners(known(*istio(), known=unread))
    assert foreign_owners(known(*istio(**HELM), known=unread)).status is Status.FAIL


def test_only_who_wrote_the_template_counts() -> None:
    template: Object = {"f:spec": {"f:template": {}}}
    entries = [
        {"manager": "helm", "fieldsV1": template},
        {"manager": "kube-controller-manager", "fieldsV1": {"f:status": {}}},
        {"manager": "autoscaler", "fieldsV1": {"f:spec": {"f:replicas": {}}}},
    ]
    assert writers({"metadata": {"managedFields": entries}}) == {"helm"}
