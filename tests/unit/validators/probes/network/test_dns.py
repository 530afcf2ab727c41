"""Names: which must be found, the script run for real with a made-up nslookup, and what its report comes to."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.experiment.ended import End
from kubeflow_volcano.experiment.session import Session
from kubeflow_volcano.progress import silent
from kubeflow_volcano.validators.checks.network.dns import dns
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Status
from kubeflow_volcano.validators.probes.network import dns as probe
from kubeflow_volcano.validators.probes.network.dns import (
    DNS,
    SCRIPT,
    Answer,
    DnsEvidence,
    account,
    expected_names,
    named_in_full,
    run,
)
from tests.samples.facts import deployment, facts, instant, node, obj, pod

RESOLV = "nameserver 10.96.0.10\nsearch ns.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n"
# As busybox 1.35 and later answers, with an exit code of 1 for the kind of address that is not there; and as 1.28 did.
NSLOOKUP = r"""#!/bin/sh
echo "$1" >> "$KFV_ASKED"
case $1 in
  kubernetes.default.svc.cluster.local.)
    printf 'Server:\t\t10.96.0.10\nAddress:\t10.96.0.10:53\n\nName:\t%s\nAddress: 10.96.0.1\n\n*** No answer\n' "$1"
    exit 1 ;;
  many*) printf 'Server: 10.96.0.10\n\nName:\t%s\n' "$1"
    for i in 1 2 3 4 5 6 7 8 9 10; do printf 'Address: fd00:1234:5678:9abc:def0:1234:5678:9ab%s\n' "$i"; done ;;
  old.*) printf 'Server:    10.96.0.10\nAddress 1: 10.96.0.10 dns\n\nName:      %s\nAddress 1: 10.96.0.7 old\n' "$1" ;;
  *) printf 'Server: 10.96.0.10\nAddress: 10.96.0.10:53\n\n** server can'"'"'t find %s: NXDOMAIN\n' "$1"; exit 1 ;;
esac
"""


def ask(tmp_path: Path, *names: str, resolv: str = RESOLV) -> tuple[DnsEvidence, list[str]]:
    """Run the script, and give its evidence and the names that the name service was asked for."""
    log, asked, programs = tmp_path / "log", tmp_path / "asked", tmp_path / "bin"
    programs.mkdir()
    asked.touch()
    log.touch()
    (tmp_path / "resolv.conf").write_text(resolv)
    (programs / "nslookup").write_text(NSLOOKUP)
    (programs / "nslookup").chmod(0o755)
    (programs / "sleep").symlink_to("/bin/true")
    script = SCRIPT.replace("/dev/termination-log", str(log)).replace("/etc/resolv.conf", str(tmp_path / "resolv.conf"))
    paths = {"PATH": f"{programs}:{os.environ['PATH']}", "KFV_ASKED": str(asked)}
    ended = subprocess.run(
        ["/bin/sh", "-c", script, "dns", *names], env=paths, check=False, capture_output=True, text=True
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    evidence = DnsEvidence(names=names)
    account(evidence, names, End(succeeded=True, node="n1", said=log.read_text(), reason="", failure="", seconds=1.0))
    return evidence, asked.read_text().split()


@pytest.mark.programs
def test_names_are_asked_for_in_full_and_answers_of_old_and_new_busybox_are_understood(tmp_path: Path) -> None:
    evidence, asked = ask(tmp_path, "kubernetes.default", "old.ns", "gone.ns")
    assert (evidence.server, evidence.domain, evidence.failure) == ("10.96.0.10", "cluster.local", None)
    assert [(item.name, item.addresses) for item in evidence.answers] == [
        ("kubernetes.default", ("10.96.0.1",)),
        ("old.ns", ("10.96.0.7",)),
        ("gone.ns", ()),
    ]
    assert asked.count("gone.ns.svc.cluster.local.") == 2
    assert asked.count("old.ns.svc.cluster.local.") == 1


KEPT = 4096
"""Bytes of a termination message of which the kubelet keeps the last (pkg/kubelet/container/runtime.go)."""


@pytest.mark.programs
def test_a_report_always_fits_into_a_termination_message(tmp_path: Path) -> None:
    names = ("kubernetes.default", *(f"many-{number}.ns" for number in range(40)))
    evidence, asked = ask(tmp_path, *names)
    assert len((tmp_path / "log").read_bytes()) <= KEPT
    assert evidence.domain == "cluster.local"
    assert 8 < len(evidence.answers) < len(names)
    assert len(asked) == len(evidence.answers)
    assert evidence.answers[1].addresses


@pytest.mark.programs
def test_names_for_which_one_report_has_no_room_are_asked_for_by_the_next_pod(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pods = 0

    def in_a_pod(_session: object, names: tuple[str, ...], number: int) -> End:
        nonlocal pods
        pods += 1
        where = tmp_path / str(number)
        where.mkdir()
        ask(where, *names)
        said = (where / "log").read_bytes()[-KEPT:].decode()
        return End(succeeded=True, node="n1", said=said, reason="", failure="", seconds=1.0)

    monkeypatch.setattr(probe, "_ask", in_a_pod)
    release = [service(f"kubeflow/many-{number}") for number in range(40)]
    evidence = run(cast("Session", None), known(*release), silent)
    assert (evidence.failure, evidence.left, len(evidence.answers)) == (None, (), 41)
    assert pods > 1


@pytest.mark.programs
def test_a_name_service_that_does_not_know_the_api_server_is_asked_for_nothing_else(tmp_path: Path) -> None:
    evidence, asked = ask(tmp_path, "absent.default", "old.ns")
    assert evidence.left == ("old.ns",)
    assert set(asked) == {"absent.default.svc.cluster.local."}


@pytest.mark.programs
def test_a_pod_without_a_cluster_domain_asks_nobody(tmp_path: Path) -> None:
    evidence, asked = ask(tmp_path, "kubernetes.default", resolv="nameserver 8.8.8.8\nsearch example.com\n")
    assert (evidence.server, evidence.domain, evidence.answers, asked) == ("8.8.8.8", "", (), [])
    assert judged(evidence).reason == "NoClusterDomain"


def service(name: str, address: str = "10.96.0.7", **spec: object) -> Object:
    return obj("Service", name, spec={"clusterIP": address, **spec})


def endpoints(name: str, *, ready: bool) -> Object:
    labels = {"kubernetes.io/service-name": name.rpartition("/")[2]}
    return obj("EndpointSlice", name, metadata={"labels": labels}, endpoints=[{"conditions": {"ready": ready}}])


def known(*objects: Object, evidence: DnsEvidence | None = None) -> Facts:
    return facts(service("default/kubernetes", "10.96.0.1"), node(), *objects, evidences={DNS: evidence})


SELECTOR = {"k8s-app": "kube-dns"}
SERVING = service("kube-system/kube-dns", "10.96.0.10", selector=SELECTOR) | {
    "metadata": {"name": "kube-dns", "namespace": "kube-system", "labels": SELECTOR, "creationTimestamp": instant(3600)}
}
BACKED = endpoints("kube-system/kube-dns", ready=True)


def coredns(replicas: int) -> Object:
    found = deployment("kube-system/coredns", replicas=replicas)
    found["spec"]["template"]["metadata"] = {"labels": SELECTOR}
    return found


def judged(evidence: DnsEvidence, *objects: Object) -> Outcome:
    return dns(known(SERVING, BACKED, *objects, evidence=evidence))


def evidence_of(*answers: Answer, **fields: object) -> DnsEvidence:
    first = Answer("kubernetes.default", 0.01, ("10.96.0.1",))
    found = DnsEvidence((), "10.96.0.10", "cluster.local", "n1", (first, *answers))
    found.names = tuple(item.name for item in found.answers)
    for key, value in fields.items():
        setattr(found, key, value)
    return found


def test_names_that_must_be_found_are_those_of_the_release_that_can_be() -> None:
    young = service("kubeflow/young") | {
        "metadata": {"name": "young", "namespace": "kubeflow", "creationTimestamp": instant(5)}
    }
    found = expected_names(
        known(
            service("kubeflow/a", clusterIPs=["10.96.0.8", "fd00::8"]),
            service("kubeflow/ready", "None"),
            endpoints("kubeflow/ready", ready=True),
            service("kubeflow/nobody", "None"),
            endpoints("kubeflow/nobody", ready=False),
            service("kubeflow/outside", "", type="ExternalName"),
            service("elsewhere/a"),
            young,
        )
    )
    assert found == {
        "kubernetes.default": {"10.96.0.1"},
        "a.kubeflow": {"10.96.0.8", "fd00::8"},
        "ready.kubeflow": frozenset(),
    }


@pytest.mark.parametrize(
    ("slow", "names", "reason"),
    [
        ((1.3,), 8, ""),  # one moment without CPU
        ((1.3, 1.1), 8, "Slow"),
        ((5.02,), 8, "Slow"),  # one lost packet of nine
        ((1.3, 5.02), 40, ""),  # 5 %
        ((1.3, 5.02, 1.1), 40, "Slow"),
    ],
)
def test_one_answer_that_is_only_slow_is_no_finding(slow: tuple[float, ...], names: int, reason: str) -> None:
    seconds = [*slow, *[0.02] * (names - len(slow))]
    answers = [Answer(f"a{number}.kubeflow", took, ("10.96.0.7",)) for number, took in enumerate(seconds)]
    outcome = judged(evidence_of(*answers))
    assert (outcome.status, outcome.reason) == ((Status.WARN, reason) if reason else (Status.PASS, outcome.reason))


def test_names_that_are_found_soon_at_the_address_of_their_service_pass() -> None:
    outcome = judged(evidence_of(Answer("a.kubeflow", 0.02, ("10.96.0.7",))), service("kubeflow/a"))
    assert outcome.status is Status.PASS
    assert "2 names" in outcome.message


@pytest.mark.parametrize(
    ("evidence", "status", "reason"),
    [
        (evidence_of(Answer("a.kubeflow", 2.0, ())), Status.FAIL, "NotFound"),
        (evidence_of(Answer("a.kubeflow", 0.02, ("10.96.9.9",))), Status.FAIL, "OtherAddress"),
        (evidence_of(Answer("a.kubeflow", 5.02, ("10.96.0.7",))), Status.WARN, "Slow"),
        (evidence_of(names=("kubernetes.default", "a.kubeflow")), Status.WARN, "Slow"),
        (evidence_of(failure=("ErrImagePull", "image x: not there")), Status.ERROR, "ProbeImage"),
        (evidence_of(failure=("ProbeRefused", "exceeded quota")), Status.ERROR, "ProbeRefused"),
        (evidence_of(failure=("TimedOut", "still Pending")), Status.ERROR, "ProbeInterrupted"),
    ],
)
def test_other_answers_are_told_apart(evidence: DnsEvidence, status: Status, reason: str) -> None:
    outcome = judged(evidence, service("kubeflow/a"))
    assert (outcome.status, outcome.reason) == (status, reason)


NOTHING = DnsEvidence(
    ("kubernetes.default",), "10.96.0.10", "cluster.local", "n1", (Answer("kubernetes.default", 2.0, ()),)
)


RELEASE = Expectations(
    components=frozenset({"oauth2-proxy", "istio"}),
    namespaces=frozenset({"auth", "kubeflow"}),
    policies={
        Ref("security.istio.io/v1beta1", "RequestAuthentication", "istio-system", "dex-jwt"): "oauth2-proxy",
        Ref("networking.istio.io/v1alpha3", "EnvoyFilter", "istio-system", "theirs"): "istio",
    },
    existing=frozenset({"istio"}),
)
JWT = obj(
    "RequestAuthentication",
    "istio-system/dex-jwt",
    spec={
        "jwtRules": [{"issuer": "http://dex.auth.svc.cluster.local:5556/dex"}, {"issuer": "https://x.svc.example.com"}]
    },
)
THEIRS = obj("EnvoyFilter", "istio-system/theirs", spec={"name": "dex.auth.svc.mesh.lan"})
FULL = "dex.auth.svc.cluster.local."


def corp(*answers: Answer) -> Outcome:
    found = evidence_of(Answer("dex.auth", 0.01, ("10.96.0.7",)), *answers, domain="k8s.corp")
    objects = (service("default/kubernetes", "10.96.0.1"), node(), SERVING, BACKED, service("auth/dex"), JWT, THEIRS)
    return dns(facts(*objects, expected=RELEASE, evidences={DNS: found}))


def test_names_with_a_domain_are_those_of_the_releases_objects_for_its_services() -> None:
    known_names = facts(node(), service("auth/dex"), JWT, THEIRS, expected=RELEASE)
    assert named_in_full(known_names) == {FULL: [Ref.of(JWT)]}
    assert named_in_full(facts(node(), JWT, THEIRS, expected=RELEASE)) == {}


def test_what_objects_call_services_under_another_domain_has_to_be_found() -> None:
    outcome = corp(Answer(FULL, 2.0, ()))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "OtherDomain")
    assert "k8s.corp" in outcome.message
    assert Ref.of(JWT) in outcome.objects
    assert "kubernetes k8s.corp cluster.local " in outcome.todo
    assert corp(Answer(FULL, 0.1, ("10.96.0.7",))).status is Status.PASS


def test_other_names_that_are_not_found_are_told_first_and_wrong_addresses_too() -> None:
    assert corp(Answer(FULL, 2.0, ()), Answer("a.kubeflow", 2.0, ())).reason == "NotFound"
    assert corp(Answer(FULL, 0.1, ("10.96.9.9",))).reason == "OtherAddress"


@pytest.mark.programs
def test_names_in_full_are_asked_as_they_are(tmp_path: Path) -> None:
    _, queried = ask(tmp_path, "kubernetes.default", "dex.auth.svc.k8s.corp.", "old.ns")
    assert queried == [
        "kubernetes.default.svc.cluster.local.",
        *["dex.auth.svc.k8s.corp."] * 2,
        "old.ns.svc.cluster.local.",
    ]


def asked(*objects: Object, server: str = "10.96.0.10") -> Outcome:
    return dns(known(*objects, evidence=replace(NOTHING, server=server)))


@pytest.mark.parametrize("server", ["10.96.0.10", "169.254.20.10"])
def test_a_name_service_without_pods_is_said_to_be_scaled_down(server: str) -> None:
    outcome = asked(SERVING, coredns(0), server=server)
    assert (outcome.status, outcome.reason) == (Status.FAIL, "ScaledToZero")
    assert "Deployment kube-system/coredns " in outcome.message
    assert outcome.changes == ("kubectl scale -n kube-system deployment/coredns --replicas=2",)


def test_a_name_service_whose_pods_are_not_ready_follows_what_is_found_of_them() -> None:
    sick = pod(
        "kube-system/coredns-5d9-x",
        owner="coredns",
        metadata={"labels": {**SELECTOR, "pod-template-hash": "5d9"}},
        status={"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]},
    )
    outcome = asked(SERVING, endpoints("kube-system/kube-dns", ready=False), coredns(1) | {"status": {}}, sick)
    assert (outcome.status, outcome.reason) == (Status.FAIL, "NoReadyPod")
    assert "C6" in outcome.because


def test_an_address_that_no_service_has_is_named() -> None:
    outcome = asked()
    assert (outcome.status, outcome.reason) == (Status.FAIL, "NoDnsService")
    assert "no Service has 10.96.0.10" in outcome.message


def test_an_address_that_is_not_the_name_services_is_named() -> None:
    outcome = asked(SERVING, BACKED, coredns(1), server="10.96.0.99")
    assert (outcome.status, outcome.reason) == (Status.FAIL, "OtherDnsServer")
    assert re.search(r"Service kube-system/kube-dns .*10\.96\.0\.10", outcome.message)


def test_with_ready_pods_the_log_says_why_nothing_is_found() -> None:
    assert asked(SERVING, BACKED, coredns(1)).reason == "NotFound"


def test_a_pod_in_which_nothing_runs_proves_nothing() -> None:
    simulated = node("n1", metadata={"annotations": {"kwok.x-k8s.io/node": "fake"}})
    found = facts(simulated, evidences={DNS: DnsEvidence(node="n1", failure=("NoReport", "no report"))})
    assert (dns(found).status, dns(found).reason) == (Status.SKIP, "Simulated")


def test_where_every_node_is_simulated_no_pod_is_made() -> None:
    simulated = node("n1", metadata={"annotations": {"kwok.x-k8s.io/node": "fake"}})
    evidence = run(cast("Session", None), facts(simulated), silent)
    assert (evidence.node, evidence.names, evidence.failure) == ("n1", (), None)


def test_a_pod_that_ends_without_a_report_is_trouble() -> None:
    evidence = DnsEvidence(names=("kubernetes.default",))
    account(evidence, evidence.names, End(succeeded=True, node="n1", said="", reason="", failure="", seconds=1.0))
    assert evidence.failure is not None
    assert evidence.failure[0] == "NoReport"
