"""A whole Kubeflow 1.9.1 whose cert-manager, Dex and oauth2-proxy run for real, on a cluster of this file's own."""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, conditions, new_object
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rehearsal.build.generation import load_generation
from kubeflow_volcano.rehearsal.cluster.status import read_status
from kubeflow_volcano.rehearsal.inside.placement import Rules, simulation
from kubeflow_volcano.rehearsal.lifecycle import down, up
from kubeflow_volcano.rehearsal.node.simulated_images import PLATFORM_IMAGES, TRAINING_IMAGES
from kubeflow_volcano.rehearsal.spec import ClusterPaths, RehearsalSpec
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome
from kubeflow_volcano.validators.core.timing import Timing
from kubeflow_volcano.validators.run.runner import Options, validate
from kubeflow_volcano.validators.subjects import simulation as simulation_of_webhooks
from tests.integration.breaking import made
from tests.integration.remedies import Broken, foreign
from tests.integration.test_rehearsal_full import ARCHIVE, HOOKS, play
from tests.integration.test_remedies import run
from tests.rehearsed import cluster_name
from tests.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.timeout(2400)]

SPEC = RehearsalSpec(cluster_name("issuing"), gpu_nodes=1, extras=("cert-manager", "dex", "oauth2-proxy"))
REAL = {
    "auth/dex": 1,
    "cert-manager/cert-manager": 1,
    "cert-manager/cert-manager-cainjector": 1,
    "cert-manager/cert-manager-webhook": 1,
    "oauth2-proxy/oauth2-proxy": 2,
}
INJECTED = "cert-manager.io/inject-ca-from"
ADMISSION = "admissionregistration.k8s.io/v1"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    if not ARCHIVE.is_file():
        pytest.skip(f"{ARCHIVE} is not there")
    try:
        kubeconfig = up(SPEC).kubeconfig
        play("install", rehearsal_cluster_name=SPEC.name)
        yield Cluster.connect(kubeconfig)
    finally:
        assert down(SPEC.name).left == ()


def judged(*select: str, timing: Timing | None = None) -> tuple[Facts, dict[str, Outcome]]:
    """What was read, and outcomes by check."""
    options = Options(
        ClusterPaths.of(SPEC.name).kubeconfig,
        select=select,
        profile="full",
        release="1.9.1",
        stability_seconds=1,
        report_dir=None,
    )
    report = validate(options, silent, timing=timing or Timing())
    assert report.facts is not None
    return report.facts, {item.check.id: item.outcome for item in report.results}


def of_cert_manager(kind: str, name: str, **spec: Any) -> Object:
    return new_object("cert-manager.io/v1", kind, name, "kubeflow", spec=spec)


def injected(cluster: Cluster) -> list[Object]:
    """Webhook configurations whose authority comes from a Certificate."""
    found = (obj for kind in HOOKS for obj in cluster.list(ADMISSION, kind).items)
    return [obj for obj in found if INJECTED in obj["metadata"].get("annotations", {})]


def test_its_pods_run_on_the_real_node(cluster: Cluster) -> None:
    pods = [pod for pod in read_status(SPEC.name).pods if not pod.simulated]
    for name, replicas in REAL.items():
        ours = [pod for pod in pods if re.fullmatch(rf"{name}(-[0-9a-z]+){{2}}", f"{pod.namespace}/{pod.name}")]
        assert [(pod.node, pod.phase) for pod in ours] == [("rehearsal-1", "Running")] * replicas, name
        namespace, _, workload = name.partition("/")
        ready = cluster.get(Ref("apps/v1", "Deployment", namespace, workload))
        assert ready is not None
        assert ready["status"]["readyReplicas"] == replicas


def test_certificates_are_issued_and_their_authorities_injected(cluster: Cluster) -> None:
    certificates = cluster.list("cert-manager.io/v1", "Certificate").items
    assert len(certificates) >= 5
    assert {conditions(item)["Ready"]["status"] for item in certificates} == {"True"}
    authorities = {
        f"{item['metadata']['namespace']}/{item['metadata']['name']}": authority(cluster, item) for item in certificates
    }
    objects = injected(cluster)
    assert len(objects) >= 5
    for obj in objects:
        bundles = {hook["clientConfig"]["caBundle"] for hook in obj["webhooks"]}
        assert bundles == {authorities[obj["metadata"]["annotations"][INJECTED]]}, obj["metadata"]["name"]
        writers = {entry["manager"] for entry in obj["metadata"]["managedFields"]}
        assert "cert-manager-cainjector" in writers
        assert "rehearsal-webhook-stub" not in writers


def authority(cluster: Cluster, certificate: Object) -> str:
    """ca.crt of the Certificate's Secret, in base64."""
    meta = certificate["metadata"]
    secret = cluster.get(Ref("v1", "Secret", meta["namespace"], certificate["spec"]["secretName"]))
    assert secret is not None
    assert base64.b64decode(secret["data"]["ca.crt"]).startswith(b"-----BEGIN CERTIFICATE-----")
    found: str = secret["data"]["ca.crt"]
    return found


def test_webhooks_of_simulated_pods_are_called_by_the_injected_authority(cluster: Cluster) -> None:
    """The stub answers with the Secret that cert-manager issued; with any other the API server would refuse."""
    experiment = new_object("kubeflow.org/v1beta1", "Experiment", "a", "kubeflow", spec={})
    assert "validator.experiment.katib.kubeflow.org" in {
        hook["name"] for obj in injected(cluster) for hook in obj["webhooks"]
    }
    assert cluster.create(experiment, dry_run=True)["kind"] == "Experiment"


def test_its_webhook_refuses_what_the_stub_would_admit(cluster: Cluster) -> None:
    nameless = of_cert_manager("Certificate", "nameless", secretName="nameless", issuerRef={"name": "a"})

    with pytest.raises(ApiError, match="at least one"):
        cluster.create(nameless, dry_run=True)

    simulated = {hook.name for hook in read_status(SPEC.name).webhooks}
    assert "cert-manager-webhook" not in simulated


def test_the_report_counts_fewer_simulated_pods_and_its_checks_are_of_the_real_thing(cluster: Cluster) -> None:
    plain = {name for image in load_generation(SPEC.generation).images for name in image.names}
    rules = Rules(plain, TRAINING_IMAGES, PLATFORM_IMAGES, "rehearsal-1")

    facts, found = judged("A7", "B3", "B4", "B7")

    counted = {pod["metadata"]["uid"] for pod in facts.simulated_pods}
    real = (pod for pod in cluster.list("v1", "Pod").items if pod["metadata"]["uid"] not in counted)
    fewer = [
        re.sub(r"(-[0-9a-z]+){2}$", "", f"{pod['metadata']['namespace']}/{pod['metadata']['name']}")
        for pod in real
        if simulation({**pod, "spec": {**pod["spec"], "nodeName": ""}}, rules)
    ]
    assert sorted(fewer) == sorted(Counter(REAL).elements())
    assert {check: (str(item.status), item.message) for check, item in found.items() if item.status != "pass"} == {}
    assert "ready and stored" in found["B7"].message


def test_a_foreign_certificate_is_healed_by_the_remedy_done_literally(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The stub serves what is in the Secret, so that B3 may judge it as that of a backend.
    monkeypatch.setattr(simulation_of_webhooks, "_REGISTER", Ref("v1", "ConfigMap", "kube-system", "none"))
    certificates = {
        (item["metadata"]["namespace"], item["metadata"]["name"]): item
        for item in cluster.list("cert-manager.io/v1", "Certificate").items
    }
    hook = injected(cluster)[0]
    namespace, _, name = hook["metadata"]["annotations"][INJECTED].partition("/")
    secret = Ref("v1", "Secret", namespace, certificates[namespace, name]["spec"]["secretName"])
    service = hook["webhooks"][0]["clientConfig"]["service"]
    # Another key cert-manager would see itself, and issue again (SecretPublicKeyDiffersFromCurrentCertificateRequest).
    own = base64.b64decode((cluster.get(secret) or {})["data"]["tls.key"])
    cluster.patch(secret, {"data": foreign(f"{service['name']}.{service['namespace']}.svc", own)})

    def found() -> Outcome:
        return judged("B3")[1]["B3"]

    until(lambda: found().reason == "UnknownAuthority")
    commands = found().changes
    assert commands
    for command in commands:
        run(Broken(cluster, ClusterPaths.of(SPEC.name).kubeconfig, ""), command)
    until(lambda: str(found().status) == "pass")


def test_an_issuer_that_cannot_issue_fails_b7_with_its_reason(cluster: Cluster) -> None:
    issuer = of_cert_manager("Issuer", "broken", ca={"secretName": "not-there"})
    certificate = of_cert_manager(
        "Certificate", "broken", secretName="broken", dnsNames=["a.example.org"], issuerRef={"name": "broken"}
    )
    with made(cluster, issuer, certificate) as (created, _):
        until(lambda: "Ready" in conditions(cluster.get(Ref.of(created)) or {}))
        _, found = judged("B7", timing=Timing(grace_seconds=0.0))

    assert (str(found["B7"].status), found["B7"].reason) == ("fail", "IssuerNotReady")
    assert "Issuer kubeflow/broken is not Ready" in found["B7"].message
    assert 'secrets "not-there" not found' in found["B7"].message
