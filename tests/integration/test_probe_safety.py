"""Probes among what platform teams put into their clusters: injection, LimitRanges, taints, admission policies."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.metadata import RUN_LABEL
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.experiment.acting import USER_AGENT, Acting
from kubeflow_volcano.experiment.pods import probe_pod
from kubeflow_volcano.experiment.session import Options as ProbeOptions
from kubeflow_volcano.experiment.session import Session
from kubeflow_volcano.progress import silent
from kubeflow_volcano.validators.checks import CHECKS
from kubeflow_volcano.validators.checks.meta import meta
from kubeflow_volcano.validators.core.check import Check, checks_in
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, failed, passed
from kubeflow_volcano.validators.probes.audit import audit
from kubeflow_volcano.validators.run.runner import Options, validate
from tests.integration.breaking import remove
from tests.waiting import until

pytestmark = pytest.mark.cluster

ADMISSION = "admissionregistration.k8s.io/v1"


@contextlib.contextmanager
def created(cluster: Cluster, obj: Object) -> Iterator[Object]:
    made = cluster.create(obj)
    try:
        yield made
    finally:
        remove(cluster, made)


@contextlib.contextmanager
def namespace(cluster: Cluster, **labels: str) -> Iterator[str]:
    """A namespace of somebody's, with its ServiceAccount."""
    name = f"test-{secrets.token_hex(4)}"
    with created(cluster, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}):
        until(lambda: cluster.get(Ref("v1", "ServiceAccount", name, "default")))
        yield name


def judge(kubeconfig: Path, *select: str, **options: Any) -> dict[str, Outcome]:
    chosen = Options(kubeconfig, select=select, stability_seconds=1, report_dir=None, **options)
    return {item.check.id: item.outcome for item in validate(chosen, silent).results}


def statuses(found: dict[str, Outcome]) -> dict[str, str]:
    return {id_: str(item.status) for id_, item in found.items()}


def labelled(cluster: Cluster) -> list[str]:
    kinds = (("v1", "Namespace"), ("v1", "Pod"), ("v1", "PersistentVolumeClaim"), ("kubeflow.org/v1", "TFJob"))
    return [str(Ref.of(item)) for kind in kinds for item in cluster.list(*kind, labels=RUN_LABEL).items]


@pytest.fixture(autouse=True)
def nothing_remains(cluster: Cluster) -> Iterator[None]:
    yield
    assert labelled(cluster) == []


def refusal(cluster: Cluster, obj: Object) -> str:
    """What the API server says against it just now; nothing when it would take it."""
    try:
        cluster.create(obj, dry_run=True, deadline=Deadline(2))
    except ApiError as error:
        return str(error)
    return ""


def until_refused(cluster: Cluster, obj: Object, text: str) -> None:
    """Wait until the API server has taken up a policy or a webhook."""
    until(lambda: text in refusal(cluster, obj), every=0.3)


def plain_pod(where: str) -> Object:
    spec = {"containers": [{"name": "main", "image": "example.com/image"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "plain", "namespace": where}, "spec": spec}


def injector() -> Object:
    """Istio's webhook for namespaces with injection, by its own selectors; whatever it would inject into is refused.

    Source: istio/istio, manifests/charts/istio-control/istio-discovery/templates/mutatingwebhook.yaml, 1.22.
    """
    enabled = {"key": "istio-injection", "operator": "In", "values": ["enabled"]}
    not_opted_out = {"key": "sidecar.istio.io/inject", "operator": "NotIn", "values": ["false"]}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    webhook = {
        "name": "namespace.sidecar-injector.istio.io",
        "clientConfig": {"service": {"namespace": "default", "name": "no-such-injector", "path": "/inject"}},
        "namespaceSelector": {"matchExpressions": [enabled]},
        "objectSelector": {"matchExpressions": [not_opted_out]},
        "rules": [rule],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "admissionReviewVersions": ["v1"],
    }
    meta_ = {"name": f"test-injector-{secrets.token_hex(3)}"}
    return {"apiVersion": ADMISSION, "kind": "MutatingWebhookConfiguration", "metadata": meta_, "webhooks": [webhook]}


STRICT = (
    {
        "type": "Container",
        "min": {"cpu": "20m", "memory": "24Mi"},
        "max": {"cpu": "100m", "memory": "64Mi"},
        "maxLimitRequestRatio": {"cpu": "2", "memory": "1"},
    },
    {"type": "PersistentVolumeClaim", "min": {"storage": "100Mi"}, "max": {"storage": "1Gi"}},
)


@contextlib.contextmanager
def tainted(cluster: Cluster, taint: Object) -> Iterator[None]:
    """The nodes that a machine stands behind, kept for somebody."""
    real = [
        item
        for item in cluster.list("v1", "Node").items
        if "kwok.x-k8s.io/node" not in (item["metadata"].get("annotations") or {})
    ]
    try:
        for item in real:
            cluster.patch(Ref.of(item), {"spec": {"taints": [*(item["spec"].get("taints") or ()), taint]}})
        yield
    finally:
        for item in real:
            cluster.patch(Ref.of(item), {"spec": {"taints": item["spec"].get("taints")}})


@pytest.mark.long
def test_probes_come_out_among_injection_limit_ranges_and_taints(cluster: Cluster, kubeconfig: Path) -> None:
    taint = {"key": "dedicated", "value": "team", "effect": "NoSchedule"}
    with namespace(cluster, **{"istio-injection": "enabled"}) as where, created(cluster, injector()):
        until_refused(cluster, plain_pod(where), "no-such-injector")
        meta_ = {"name": "strict", "namespace": where}
        limits = {"apiVersion": "v1", "kind": "LimitRange", "metadata": meta_, "spec": {"limits": list(STRICT)}}
        cluster.create(limits)
        until_refused(cluster, probe_pod("p", where, {"image": "pause"}), "per Container")
        with tainted(cluster, taint):
            found = judge(kubeconfig, "D5", "G5", probe_namespace=where)
    assert statuses(found) == {"D5": "pass", "G5": "pass"}, found


@contextlib.contextmanager
def policy(cluster: Cluster, resource: str, expression: str, message: str, **selectors: Any) -> Iterator[None]:
    """A ValidatingAdmissionPolicy with its binding."""
    if "ValidatingAdmissionPolicy" not in cluster.kinds(ADMISSION):
        pytest.skip("admission policies are served from Kubernetes 1.30 on")
    name = f"test-{secrets.token_hex(4)}"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [resource]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": expression, "message": message}],
        "failurePolicy": "Fail",
    }
    binding = {"policyName": name, "validationActions": ["Deny"], "matchResources": selectors}
    meta_ = {"name": name}
    with (
        created(
            cluster, {"apiVersion": ADMISSION, "kind": "ValidatingAdmissionPolicy", "metadata": meta_, "spec": spec}
        ),
        created(
            cluster,
            {"apiVersion": ADMISSION, "kind": "ValidatingAdmissionPolicyBinding", "metadata": meta_, "spec": binding},
        ),
    ):
        yield


COST = "every pod names its cost centre"


@pytest.mark.fault(39)
def test_a_policy_that_refuses_probe_pods_leaves_the_question_open_in_its_own_words(
    cluster: Cluster, kubeconfig: Path
) -> None:
    asked = "'cost-centre' in object.metadata.?labels.orValue({})"
    with (
        namespace(cluster, policy="strict") as where,
        policy(cluster, "pods", asked, COST, namespaceSelector={"matchLabels": {"policy": "strict"}}),
    ):
        until_refused(cluster, plain_pod(where), COST)
        found = judge(kubeconfig, "H1", "I1", "I2", probe_namespace=where)
    assert (str(found["H1"].status), found["H1"].reason) == ("error", "ProbeRefused")
    assert COST in found["H1"].message
    assert str(found["I2"].status) == "pass"


@pytest.mark.long
def test_a_policy_against_gangs_everywhere_is_the_clusters_failure_and_named_once(
    cluster: Cluster, kubeconfig: Path
) -> None:
    asked = "!has(object.spec.schedulerName) || object.spec.schedulerName != 'volcano'"
    words = "other schedulers are not allowed"
    with policy(cluster, "pods", asked, words):
        gang = plain_pod("default")
        gang["spec"]["schedulerName"] = "volcano"
        until_refused(cluster, gang, words)
        found = judge(kubeconfig, "H1", "G5")
    until(lambda: not refusal(cluster, gang))
    assert (str(found["H1"].status), found["H1"].reason) == ("fail", "PolicyDenies")
    assert (str(found["G5"].status), found["G5"].because) == ("skip", ("H1",))


@pytest.mark.fault(39)
def test_a_policy_that_refuses_their_namespaces_leaves_the_question_open_too(
    cluster: Cluster, kubeconfig: Path
) -> None:
    asked = "!object.metadata.name.startsWith('kfv-smoke-')"
    words = "namespaces are made by the platform team"
    with policy(cluster, "namespaces", asked, words):
        like_a_probe_s = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kfv-smoke-any"}}
        until_refused(cluster, like_a_probe_s, words)
        found = judge(kubeconfig, "H1", "G5")
    until(lambda: not refusal(cluster, like_a_probe_s))  # a policy that is gone is in force for a moment longer
    for outcome in found.values():
        assert (str(outcome.status), outcome.reason) == ("error", "ProbeRefused"), found
        assert words in outcome.message


# what a run says of itself


def test_a_change_to_an_object_of_others_is_seen_by_request_and_by_managed_field(
    cluster: Cluster, kubeconfig: Path
) -> None:
    acting = Acting.connect(kubeconfig, user_agent=USER_AGENT)
    with namespace(cluster) as where:
        theirs = cluster.create(plain_pod(where))
        session = Session(acting, options=ProbeOptions(namespace=where))
        session.create(probe_pod("ours", where, {"image": "example.com/image"}))
        before = audit(acting, session.close(), [session.run], where)
        assert (before.foreign_writes, before.touched, before.present) == ((), (), ())
        acting.patch(Ref.of(theirs), {"metadata": {"annotations": {"touched": "yes"}}})
        found = audit(acting, session.close(), [session.run], where)
    assert found.foreign_writes == (f"PATCH /api/v1/namespaces/{where}/pods/plain",)
    assert found.touched == (Ref.of(theirs),)


def test_a_verdict_that_does_not_hold_still_is_flaky(kubeconfig: Path) -> None:
    turns = iter((True, False))

    def changes(_facts: Facts) -> Outcome:
        node = Ref("v1", "Node", "", "n")
        return passed("now", objects=(node,)) if next(turns) else failed("NotNow", "not now", todo="wait")

    steady = next(item for item in CHECKS if item.id == "A4")
    flaky = Check("Z1", "turns", "It holds", "Mend it.", Severity.MAJOR, changes)
    checks = (steady, flaky, *checks_in([meta]))
    options = Options(kubeconfig, twice=True, read_only=True, stability_seconds=1, report_dir=None)
    report = validate(options, silent, checks)
    found = {item.check.id: item.outcome for item in report.results}
    assert (str(found["I4"].status), found["I4"].observed) == ("fail", {"Z1": "pass, fail"})
    assert str(found["I2"].status) == "pass"
    calm = validate(options, silent, (steady, *checks_in([meta])))
    assert {str(item.outcome.status) for item in calm.results if item.check.id in {"A4", "I2", "I4"}} == {"pass"}
