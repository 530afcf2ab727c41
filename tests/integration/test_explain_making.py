"""Jobs whose PodGroup or pods cannot be made: what `explain job` says before any event, and once it has healed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kubeflow_volcano.catalog.images.probes import PAUSE
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.validators.explain.model import Explanation, State
from kubeflow_volcano.validators.explain.reading.situation import read_situation
from kubeflow_volcano.validators.explain.stages import explain
from tests.integration.breaking import made, patched, space
from tests.waiting import until

pytestmark = pytest.mark.cluster

ROLE = Ref("rbac.authorization.k8s.io/v1", "ClusterRole", "", "training-operator")
VOLCANOS = Ref(
    "admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "", "volcano-admission-service-pods-mutate"
)


@pytest.fixture(scope="module")
def home(cluster: Cluster) -> Iterator[str]:
    with space(cluster) as name:
        yield name


def tfjob(name: str, namespace: str) -> Object:
    container = {"name": "tensorflow", "image": PAUSE, "resources": {"requests": {"cpu": "10m"}}}
    worker = {"replicas": 2, "restartPolicy": "Never", "template": {"spec": {"containers": [container]}}}
    return new_object("kubeflow.org/v1", "TFJob", name, namespace, spec={"tfReplicaSpecs": {"Worker": worker}})


def nobody_s_webhook(cluster: Cluster, namespace: str) -> Object:
    """One on the pods of TFJobs in this namespace, behind a Service that does not exist."""
    known = cluster.get(VOLCANOS)
    assert known is not None
    config = known["webhooks"][0]["clientConfig"]
    service = {"name": "nobody", "namespace": namespace, "port": 443}
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    entry = {
        "name": "nobody.example.com",
        "clientConfig": {"caBundle": config["caBundle"], "service": service},
        "rules": [rule],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
    }
    return new_object(VOLCANOS.api_version, VOLCANOS.kind, namespace, webhooks=[entry])


def answer(cluster: Cluster, namespace: str, name: str, reasons: set[str], state: State = State.WAITING) -> Explanation:
    """What is said, once just this is in the way."""

    def told() -> Explanation | None:
        found = explain(read_situation(cluster, namespace, name))
        seen = {item.reason for item in found.findings if item.blocks}
        return found if seen == reasons and found.state is state else None

    return until(told, 240, every=0.5)


def test_a_webhook_without_a_backend_is_told_and_its_remedy_helps(cluster: Cluster, home: str) -> None:
    job = tfjob("hooked", home)
    with made(cluster, nobody_s_webhook(cluster, home)):
        cluster.create(job)
        found = answer(cluster, home, "hooked", {"WebhookUnanswered"})
        assert "nobody.example.com" in found.findings[0].problem.found
        assert found.unread == ()
        refused = until(lambda: explain(read_situation(cluster, home, "hooked")).situation.events)
        assert refused
    # The webhook was removed, as the remedy says. The controller pauses, and looks at once when it is told to.
    assert cluster.get(VOLCANOS) is not None
    healed = explain(read_situation(cluster, home, "hooked"))
    if healed.state is State.WAITING and not healed.situation.pods:
        assert [item.reason for item in healed.findings if item.blocks] in (["NotTriedAgain"], [])
    cluster.patch(Ref.of(job), {"metadata": {"annotations": {"kfv.io/look-again": "now"}}})
    assert answer(cluster, home, "hooked", set(), State.STARTED).findings == ()


def test_an_operator_without_the_right_to_make_podgroups_is_told_by_its_account(cluster: Cluster, home: str) -> None:
    role = cluster.get(ROLE)
    assert role is not None
    rules = [item for item in role["rules"] if "scheduling.volcano.sh" not in item["apiGroups"]]
    seen = {"apiGroups": ["scheduling.volcano.sh"], "resources": ["podgroups"], "verbs": ["get", "list", "watch"]}
    job = tfjob("denied", home)
    with patched(cluster, ROLE) as patch:
        patch({"rules": [*rules, seen]})
        cluster.create(job)
        found = answer(cluster, home, "denied", {"ControllerMayNot"})
        assert "create podgroups.scheduling.volcano.sh" in found.findings[0].problem.found
    cluster.patch(Ref.of(job), {"metadata": {"annotations": {"kfv.io/look-again": "now"}}})
    assert answer(cluster, home, "denied", set(), State.STARTED).findings == ()
