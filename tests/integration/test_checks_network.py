"""Names, ways, the front door, strangers, images and old tools on a real cluster: as it is, and broken on purpose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.progress import silent
from kubeflow_volcano.validators.core.outcome import Outcome
from kubeflow_volcano.validators.core.timing import Timing
from kubeflow_volcano.validators.probes.acting import ProbeOptions
from kubeflow_volcano.validators.probes.network.credentials import VARIABLE
from kubeflow_volcano.validators.probes.network.front_door import SERVICE
from kubeflow_volcano.validators.run.runner import Options, validate
from tests.integration.breaking import Findings, leftovers, made, patched, settle, space
from tests.waiting import at_last, until

pytestmark = pytest.mark.cluster

DNS = Ref("apps/v1", "Deployment", "kube-system", "coredns")
COREFILE = Ref("v1", "ConfigMap", "kube-system", "coredns")
OPERATOR = Ref("apps/v1", "Deployment", "kubeflow", "training-operator")
IMAGES = ProbeOptions()
QUICK = Options(read_only=False, stability_seconds=1, report_dir=None)
STRANGER = "system:serviceaccount:default:default"

# One server a port: redirects to a sign-in that answers, to a page of somebody else, and to one that does not answer;
# and no page at all.
GATEWAY = r"""
answer() {
  mkdir -p "/tmp/$1/cgi-bin"
  printf "$2\r\n\r\n" > "/tmp/$1/answer"
  printf "#!/bin/sh\ncat /tmp/$1/answer\n" > "/tmp/$1/cgi-bin/index.cgi"
  chmod a+rx "/tmp/$1/cgi-bin/index.cgi"
}
answer 8081 "Status: 302 Found\r\nLocation: /dex/auth?state=secret"
answer 8083 "Status: 302 Found\r\nLocation: /dex/auth"
mkdir -p /tmp/8081/dex/auth /tmp/8083/dex/auth /tmp/8082
echo '<div class="dex-container">sign in</div>' > /tmp/8081/dex/auth/index.html
echo '<title>Welcome to nginx!</title>' > /tmp/8083/dex/auth/index.html
answer 8084 "Status: 302 Found\r\nLocation: /dex/auth"
for port in 8081 8082 8083; do httpd -p "$port" -h "/tmp/$port"; done
exec httpd -f -p 8084 -h /tmp/8084
"""


def judge(kubeconfig: Path, options: Options, *select: str) -> tuple[Findings, dict[str, Outcome]]:
    """Status and reason by check id, and the outcomes themselves; Services count that have just come up."""
    report = validate(replace(options, kubeconfig=kubeconfig, select=select), silent, timing=Timing(grace_seconds=1.0))
    outcomes = {item.check.id: item.outcome for item in report.results}
    return {id_: (str(item.status), item.reason) for id_, item in outcomes.items()}, outcomes


@pytest.fixture(autouse=True)
def nothing_remains(cluster: Cluster) -> Iterator[None]:
    """No probe object is left behind by a test."""
    yield
    assert leftovers(cluster) == []


def test_pods_find_names_and_each_other_and_the_release_is_recognised(kubeconfig: Path, cluster: Cluster) -> None:
    asked = replace(QUICK, network_per_node=True)
    found, outcomes = judge(kubeconfig, asked, "A8", "A9", "A10", "E1", "E2", "E3", "E6", "E7")
    assert {id_: status for id_, (status, _) in found.items()} == {
        **dict.fromkeys(("A8", "A9", "A10", "E1", "E2"), "pass"),
        **dict.fromkeys(("E3", "E6", "E7"), "skip"),
    }
    names = {f"{item.name}.{item.namespace}" for item in outcomes["E1"].objects}
    services = cluster.list("v1", "Service", namespace="volcano-system").items
    assert names >= {"kubernetes.default", *(f"{item['metadata']['name']}.volcano-system" for item in services)}
    assert outcomes["A9"].observed["release"] == "1.9.1"
    simulated = {
        item["metadata"]["name"]
        for item in cluster.list("v1", "Node").items
        if "kwok.x-k8s.io/node" in (item["metadata"].get("annotations") or {})
    }
    assert simulated
    assert set(outcomes["E2"].observed["left out"]) == simulated


def test_without_a_name_service_no_name_is_found_and_it_is_healed_with_it(kubeconfig: Path, cluster: Cluster) -> None:
    with patched(cluster, DNS) as patch:
        patch({"spec": {"replicas": 0}})
        until(lambda: not cluster.list("v1", "Pod", namespace="kube-system", labels="k8s-app=kube-dns").items)
        found, outcomes = judge(kubeconfig, QUICK, "E1")
        assert found == {"E1": ("fail", "ScaledToZero")}
        assert "Deployment kube-system/coredns" in outcomes["E1"].message
    healed: Findings = {"E1": ("pass", "AsClaimed")}
    assert at_last(lambda: judge(kubeconfig, QUICK, "E1")[0], healed) == healed


@pytest.mark.long
def test_a_domain_that_the_release_names_is_asked_for_and_a_second_zone_heals_it(
    kubeconfig: Path, cluster: Cluster
) -> None:
    """The remedy of E1, and of a refused installation, tried literally."""
    name = f"{OPERATOR.name}.{OPERATOR.namespace}.svc.k8s.corp"
    with patched(cluster, OPERATOR) as plant, patched(cluster, COREFILE) as change, patched(cluster, DNS) as restart:
        plant({"spec": {"template": {"metadata": {"annotations": {"example.com/called": name}}}}})
        settle(cluster, OPERATOR)
        found, outcomes = judge(kubeconfig, QUICK, "E1")
        assert found == {"E1": ("fail", "OtherDomain")}
        assert OPERATOR in outcomes["E1"].objects
        assert "kubernetes cluster.local k8s.corp " in outcomes["E1"].todo
        text = (cluster.get(COREFILE) or {})["data"]["Corefile"]
        zones = "kubernetes cluster.local k8s.corp in-addr.arpa ip6.arpa"
        changed = text.replace("kubernetes cluster.local in-addr.arpa ip6.arpa", zones)
        assert changed != text
        change({"data": {"Corefile": changed}})
        restart({"spec": {"template": {"metadata": {"annotations": {"example.com/zones": "two"}}}}})
        settle(cluster, DNS)
        healed: Findings = {"E1": ("pass", "AsClaimed")}
        assert at_last(lambda: judge(kubeconfig, QUICK, "E1")[0], healed) == healed


def gateway(where: str) -> tuple[Object, Object]:
    """A pod that answers in five ways, and the gateway's Service before it."""
    container = {"name": "gateway", "image": IMAGES.busybox_image, "command": ["sh", "-c", GATEWAY]}
    probe = {"tcpSocket": {"port": 8084}, "periodSeconds": 1}
    labels = {"app": "gateway"}
    pod = new_object(
        "v1",
        "Pod",
        "gateway",
        where,
        meta={"labels": labels},
        spec={"containers": [container | {"readinessProbe": probe}], "terminationGracePeriodSeconds": 0},
    )
    ports = [{"name": "http2", "port": 80, "targetPort": 8081}]
    service = new_object("v1", "Service", SERVICE.name, where, spec={"selector": labels, "ports": ports})
    return pod, service


@pytest.mark.long
def test_the_gateway_is_judged_by_what_it_answers(
    kubeconfig: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a pod (E3), and through the API server by who would sign in (E9): no form is there to do it with."""
    monkeypatch.setenv(VARIABLE, "secret")
    wanted = {
        8081: (("pass", "AsClaimed"), ("fail", "NoPasswordForm")),
        8082: (("fail", "NoRoute"), ("fail", "Refused")),
        8083: (("warn", "OtherPage"), ("fail", "NoPasswordForm")),
        8084: (("fail", "SignInBroken"), ("fail", "NoDex")),
        9: (("fail", "NoAnswer"), ("error", "NoAnswer")),
    }
    where: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SERVICE.namespace}}
    with made(cluster, where):
        until(lambda: cluster.get(Ref("v1", "ServiceAccount", SERVICE.namespace, "default")) is not None)
        with made(cluster, *gateway(SERVICE.namespace)):
            seen = {}
            for port, verdicts in wanted.items():
                target = [{"name": "http2", "port": 80, "targetPort": port}]
                cluster.patch(SERVICE, {"spec": {"ports": target}})
                until(partial(forwards_to, cluster, port))
                seen[port] = at_last(partial(asked_at, kubeconfig), verdicts)
    assert seen == wanted


def asked_at(kubeconfig: Path) -> tuple[tuple[str, str], tuple[str, str]]:
    """E3 and E9 as the gateway answers now."""
    found, outcomes = judge(kubeconfig, replace(QUICK, login_as="user@example.com", include=("istio",)), "E3", "E9")
    assert "secret" not in str(outcomes)
    return found["E3"], found["E9"]


def forwards_to(cluster: Cluster, port: int) -> bool:
    """Whether the gateway's Service has ready endpoints of that port, and of no other."""
    labels = f"kubernetes.io/service-name={SERVICE.name}"
    slices = cluster.list("discovery.k8s.io/v1", "EndpointSlice", namespace=SERVICE.namespace, labels=labels).items
    ready = [item for item in slices if any(end["conditions"].get("ready") for end in item.get("endpoints") or ())]
    return {port} == {entry["port"] for item in ready for entry in item["ports"]}


@pytest.mark.long
def test_a_sidecar_a_stranger_and_an_old_scheduler_are_found_together(kubeconfig: Path, cluster: Cluster) -> None:
    containers = [{"name": name, "image": IMAGES.pause_image} for name in ("tensorflow", "istio-proxy")]
    old = crd("podgroups.scheduling.sigs.dev/v1alpha2", "PodGroup")
    with space(cluster) as where, made(cluster, crd("profiles.kubeflow.org/v1", "Profile"), old, *open_to_all(where)):
        until(lambda: "Profile" in cluster.kinds("kubeflow.org/v1"))
        waiting = {"containers": containers, "nodeSelector": {"kfv.io/nowhere": "true"}, "schedulerName": "kube-batch"}
        labels = {"volcano.sh/job-name": "job"}
        pod = new_object("v1", "Pod", "worker", where, meta={"labels": labels}, spec=waiting)
        profile = {"apiVersion": "kubeflow.org/v1", "kind": "Profile", "metadata": {"name": where}, "spec": {}}
        with made(cluster, pod, profile):
            wrong = replace(QUICK, release="1.8.1", volcano_version="1.12.2")
            found, outcomes = judge(kubeconfig, wrong, "A8", "A9", "A10", "E6", "E7")
    assert found == {
        "A8": ("skip", "ConsequenceOf"),
        "A9": ("warn", "OtherRelease"),
        "A10": ("warn", "KubeBatch"),
        "E6": ("fail", "Sidecar"),
        "E7": ("fail", "StrangerAllowed"),
    }
    assert outcomes["E7"].observed == {f"{STRANGER} in {where}": ["list pods"]}
    assert {item.kind for item in outcomes["A10"].objects} == {"CustomResourceDefinition", "Pod"}
    planned = replace(QUICK, volcano_version="1.12.2")
    found, outcomes = judge(kubeconfig, planned, "A8")
    assert found == {"A8": ("warn", "OtherImage")}
    assert "v1.12.2" in outcomes["A8"].message


def open_to_all(where: str) -> tuple[Object, Object]:
    """A right in a namespace for every service account of the cluster."""
    api, meta = "rbac.authorization.k8s.io/v1", {"name": "strangers", "namespace": where}
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:serviceaccounts"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "strangers"}
    return (
        {"apiVersion": api, "kind": "Role", "metadata": meta, "rules": rules},
        {"apiVersion": api, "kind": "RoleBinding", "metadata": meta, "roleRef": role, "subjects": [subject]},
    )


def crd(name: str, kind: str) -> Object:
    """A kind of objects for the whole cluster that may hold anything; `name` is plural.group/version."""
    resource, _, version = name.partition("/")
    plural, _, group = resource.partition(".")
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    return new_object(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        resource,
        spec={"group": group, "scope": "Cluster", "names": names, "versions": [served]},
    )
