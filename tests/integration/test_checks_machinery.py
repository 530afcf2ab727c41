"""Families A and B on a real cluster: each fault fails the check that owns it and no other, and passes when healed."""

from __future__ import annotations

import base64
import contextlib
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.progress import silent
from kubeflow_volcano.validators.checks import CHECKS
from kubeflow_volcano.validators.core.outcome import Outcome
from kubeflow_volcano.validators.core.timing import Timing
from kubeflow_volcano.validators.run.runner import Options, validate
from tests.integration.breaking import Findings, bad, judge, made, patched, pods_of, space
from tests.samples.certificates import pem, signer
from tests.waiting import until

pytestmark = pytest.mark.cluster

BOTH = ("reach", "machinery")
OPERATOR = Ref("apps/v1", "Deployment", "kubeflow", "training-operator")
JOBS_HOOK = Ref(
    "admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "", "volcano-admission-service-jobs-mutate"
)
PODS_HOOK = Ref(
    "admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "", "volcano-admission-service-pods-mutate"
)


def outcomes(
    kubeconfig: Path, *select: str, profile: tuple[str, ...] | str = "training", timing: Timing | None = None
) -> dict[str, Outcome]:
    """By check id; dry runs are made."""
    options = Options(kubeconfig, select=select, profile=profile, stability_seconds=1, report_dir=None)
    report = validate(options, silent, timing=timing or Timing())
    return {item.check.id: item.outcome for item in report.results}


def findings(kubeconfig: Path, timing: Timing | None = None) -> Findings:
    """Of both families, but for what a pod on each node looks at."""
    static = (item.id for item in CHECKS if item.family in BOTH and not item.probe)
    return judge(kubeconfig, *static, read_only=False, seconds=1, timing=timing)


def test_everything_of_a_healthy_cluster_passes_and_is_asked_for(kubeconfig: Path) -> None:
    found = outcomes(kubeconfig, *BOTH)
    assert {id_: item.message for id_, item in found.items() if item.status not in {"pass", "skip"}} == {}
    assert {id_ for id_, item in found.items() if item.status == "skip"} == {"A7", "B7"}
    assert re.match("10 webhooks .* 2 not called.*Ignore", found["B4"].message)
    assert "with driver" in found["A5"].message
    assert found["A3"].observed["this host and the API server"] == "0.0 s"


def test_a_pod_of_the_release_for_which_there_is_no_room_fails_a4(kubeconfig: Path, cluster: Cluster) -> None:
    with patched(cluster, OPERATOR, json_patch=True) as patch:
        much = {"requests": {"cpu": "1000"}}
        patch([{"op": "add", "path": "/spec/template/spec/containers/0/resources", "value": much}])
        until(lambda: "Insufficient" in str([pod["status"] for pod in pods_of(cluster, OPERATOR)]))
        assert judge(kubeconfig, "A4")["A4"] == ("fail", "NoRoom")


def test_nodes_that_no_pod_may_look_at_are_no_pass(kubeconfig: Path, cluster: Cluster) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    with space(cluster, **labels) as name:
        options = Options(kubeconfig, select=("A5",), probe_namespace=name, report_dir=None)
        (result,) = validate(options, silent).results
    assert (result.outcome.status, result.outcome.reason) == ("error", "ProbeRefused")
    assert "hostPath" in result.outcome.message


def instant(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@contextlib.contextmanager
def node(cluster: Cluster, name: str) -> Iterator[None]:
    """A node that nobody simulates and nothing is placed on."""
    body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {"unschedulable": True}}
    with made(cluster, body):
        yield


def lease(name: str, seconds: float) -> Object:
    """What a kubelet whose clock is that many seconds ahead writes."""
    spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": instant(seconds)}
    return new_object("coordination.k8s.io/v1", "Lease", name, "kube-node-lease", spec=spec)


@pytest.mark.fault(40)
def test_a_node_with_another_clock_is_told(kubeconfig: Path, cluster: Cluster) -> None:
    with node(cluster, "elsewhere"):
        found = outcomes(kubeconfig, "A3")
        assert found["A3"].status == "pass"
        assert "not compared: elsewhere" in found["A3"].message
        for seconds, status in ((-30, "warn"), (600, "fail")):
            with made(cluster, lease("elsewhere", seconds)):
                found = outcomes(kubeconfig, "A3")
            assert (found["A3"].status, found["A3"].reason) == (status, "ClockSkew")
            assert "node elsewhere" in found["A3"].message


def doomed(name: str) -> Object:
    """A namespace of a profile."""
    labels = {"app.kubernetes.io/part-of": "kubeflow-profile"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


@pytest.mark.fault(18)
def test_an_apiservice_without_backend_fails_b2_and_keeps_a_namespace_from_being_gone(
    kubeconfig: Path, cluster: Cluster
) -> None:
    spec = {
        "group": "kfv.example.com",
        "version": "v1",
        "groupPriorityMinimum": 10,
        "versionPriority": 10,
        "insecureSkipTLSVerify": True,
        "service": {"namespace": "default", "name": "nobody"},
    }
    body = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1.kfv.example.com"}}
    with made(cluster, doomed("kfv-doomed")) as (profile,), made(cluster, body | {"spec": spec}) as (item,):
        until(lambda: "ServiceNotFound" in str(cluster.get(Ref.of(item))))
        cluster.delete(Ref.of(profile), uid=profile["metadata"]["uid"])
        until(lambda: "DiscoveryFailed" in str(cluster.get(Ref.of(profile))))
        found = findings(kubeconfig, Timing(grace_seconds=0.0, stuck_seconds=1.0))
    assert (bad(found), found["B8"]) == ({"B2": "NoService"}, ("skip", "ConsequenceOf"))


def authority() -> bytes:
    return pem(signer("test", now=datetime.now(UTC), days=89).certificate)


def hook(service: str, *, group: str = "", resource: str = "configmaps", **rest: Any) -> Object:
    """A webhook that sees only objects that carry its label."""
    rule = {"operations": ["CREATE"], "apiGroups": [group], "apiVersions": ["v1"], "resources": [resource]}
    namespace, _, name = service.partition("/")
    call = {"service": {"namespace": namespace, "name": name}, "caBundle": base64.b64encode(authority()).decode()}
    entry = {
        "name": "test.kfv.example.com",
        "clientConfig": call,
        "rules": [rule],
        "objectSelector": {"matchLabels": {"kfv.example.com/test": "yes"}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 1,
    }
    return new_object(
        "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "kfv-test", webhooks=[entry | rest]
    )


def refusal(cluster: Cluster) -> str:
    """What the API server says to an object that the webhook sees; it takes a moment until it asks a new one."""
    meta = {"name": "kfv-seen", "namespace": "default", "labels": {"kfv.example.com/test": "yes"}}
    try:
        cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}, dry_run=True)
    except ApiError as error:
        return error.message
    return ""


def test_a_webhook_that_looks_sound_and_does_not_answer_fails_b4_alone(kubeconfig: Path, cluster: Cluster) -> None:
    """Its Service has a ready endpoint at an address that leads nowhere (RFC 5737)."""
    meta = {"name": "kfv-silent", "namespace": "kubeflow"}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": {"ports": [{"port": 443}]}}
    slice_meta = meta | {"labels": {"kubernetes.io/service-name": meta["name"]}}
    endpoints = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": slice_meta,
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["192.0.2.1"], "conditions": {"ready": True}}],
        "ports": [{"port": 443, "protocol": "TCP"}],
    }
    with made(cluster, service, endpoints, hook("kubeflow/kfv-silent")):
        until(lambda: "kfv.example.com" in refusal(cluster))
        assert bad(findings(kubeconfig)) == {"B4": "Unanswered"}
    assert bad(findings(kubeconfig)) == {}


@pytest.mark.fault(13)
def test_a_webhook_with_a_foreign_authority_is_silent_as_the_check_of_its_parts_says(
    kubeconfig: Path, cluster: Cluster
) -> None:
    foreign = base64.b64encode(authority()).decode()
    with patched(cluster, JOBS_HOOK, json_patch=True) as patch:
        patch([{"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": foreign}])
        found = findings(kubeconfig)
        until(lambda: outcomes(kubeconfig, "B4")["B4"].status != "pass")  # the API server takes a moment to notice
        alone = outcomes(kubeconfig, "B4")["B4"]
    until(lambda: bad(findings(kubeconfig)) == {})
    assert (bad(found), found["B4"]) == ({"B3": "UnknownAuthority"}, ("skip", "ConsequenceOf"))
    assert (alone.status, alone.reason, "x509" in alone.message) == ("fail", "Unanswered", True)


def test_a_webhook_that_stops_the_pods_of_others_or_all_is_told_by_b5(kubeconfig: Path, cluster: Cluster) -> None:
    with patched(cluster, PODS_HOOK, json_patch=True) as patch:
        patch([{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Fail"}])
        assert bad(findings(kubeconfig)) == {"B5": "StopsOthersPods"}
        patch([{"op": "replace", "path": "/webhooks/0/namespaceSelector", "value": {}}])
        assert bad(findings(kubeconfig)) == {"B5": "StopsEveryPod"}


@pytest.mark.parametrize("service", ["nowhere/nobody", "kubeflow/nobody"])
def test_a_webhook_left_behind_fails_b6_wherever_it_calls(kubeconfig: Path, cluster: Cluster, service: str) -> None:
    with made(cluster, hook(service, group="kfv.example.com", resource="things")):
        assert bad(findings(kubeconfig)) == {"B6": "NoService"}


@pytest.mark.fault(18)
def test_a_namespace_that_is_stuck_is_told_with_what_is_left_in_it(kubeconfig: Path, cluster: Cluster) -> None:
    held = {"name": "held", "namespace": "kfv-stuck", "finalizers": ["example.com/hold"]}
    with made(cluster, doomed("kfv-stuck")) as (item,):
        config = cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": held})
        try:
            cluster.delete(Ref.of(item), uid=item["metadata"]["uid"])
            until(lambda: "example.com/hold" in str((cluster.get(Ref.of(item)) or {}).get("status")))
            found = outcomes(kubeconfig, "B8", timing=Timing(stuck_seconds=1.0))["B8"]
        finally:
            cluster.patch(Ref.of(config), {"metadata": {"finalizers": None}})
    assert (found.status, found.reason) == ("fail", "Stuck")
    assert "ConfigMap kfv-stuck/held (finalizers example.com/hold)" in found.message


CERT_MANAGER = ("cert-manager",)
ISSUED = {"conditions": [{"type": "Ready", "status": "True"}]}


def definition(plural: str, kind: str, scope: str = "Namespaced") -> Object:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    names = {"plural": plural, "kind": kind, "singular": kind.lower()}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": schema}]
    return new_object(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        f"{plural}.cert-manager.io",
        meta={"annotations": {"meta.helm.sh/release-name": "certs"}},
        spec={"group": "cert-manager.io", "scope": scope, "names": names, "versions": versions},
    )


def in_days(number: int) -> str:
    return f"{datetime.now(UTC) + timedelta(days=number):%Y-%m-%dT%H:%M:%SZ}"


def of_cert_manager(kind: str, name: str, **rest: Any) -> Object:
    return new_object("cert-manager.io/v1", kind, name, "default", **rest)


def test_certificates_and_their_foreign_owner(kubeconfig: Path, cluster: Cluster) -> None:
    """cert-manager's own kinds, whose objects are written by hand, as if a Helm release had brought them."""
    kinds = [definition(*names) for names in (("certificates", "Certificate"), ("issuers", "Issuer"))]
    spec = {"secretName": "kfv-tls", "issuerRef": {"name": "own"}}
    issuer = of_cert_manager("Issuer", "own", spec={"selfSigned": {}}, status=ISSUED)
    certificate = of_cert_manager("Certificate", "kfv", spec=spec, status=ISSUED | {"notAfter": in_days(80)})

    def judged() -> tuple[str, str]:
        found = outcomes(kubeconfig, "B7", profile=CERT_MANAGER, timing=Timing(grace_seconds=3600.0))["B7"]
        return str(found.status), found.reason

    with made(cluster, *kinds):
        until(lambda: len(cluster.kinds("cert-manager.io/v1")) == len(kinds))
        with made(cluster, issuer, certificate) as (own, issued):
            assert judged() == ("pass", "AsClaimed")
            cluster.patch(Ref.of(issued), {"status": {"notAfter": in_days(2)}})
            assert judged() == ("fail", "EndsSoon")
            cluster.patch(Ref.of(issued), {"status": {"conditions": []}})
            cluster.patch(Ref.of(own), {"status": {"conditions": []}})
            assert judged() == ("warn", "IssuerNotReady")  # young, and may yet come
            owner = outcomes(kubeconfig, "A7", profile=CERT_MANAGER)["A7"]
    assert (owner.status, owner.reason) == ("fail", "ForeignOwner")
    assert "Helm release certs" in owner.message
