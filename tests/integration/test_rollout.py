"""The roll-out on a real cluster of its own: from empty, again, changed, disturbed and killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.apply.restart import RESTARTED_FOR
from kubeflow_volcano.apply.result import Action, without_server_fields
from kubeflow_volcano.apply.waiting.webhooks import wait_for_webhooks
from kubeflow_volcano.catalog.gangs import VOLCANO
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.metadata import FIELD_MANAGER
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.readiness import State
from kubeflow_volcano.cluster.watch.waiting import wait_ready
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rehearsal.lifecycle import down, up
from kubeflow_volcano.rehearsal.spec import RehearsalSpec
from kubeflow_volcano.rollout.gang.wiring import podgroup_crd
from kubeflow_volcano.rollout.prepare import prepare
from kubeflow_volcano.rollout.scope import scope_of
from kubeflow_volcano.rollout.settings.settings import Settings, parse
from kubeflow_volcano.rollout.state.ledger import LEDGER
from kubeflow_volcano.rollout.state.store import NAMESPACE
from kubeflow_volcano.rollout.storage.local_path import DEFAULT_CLASS
from tests.integration.breaking import pods_of
from tests.integration.rolling import own_sources, roll_out, wire_gang
from tests.rehearsed import cluster_name
from tests.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

PARTS = ("local-path", "volcano", "training-operator")
NAME = cluster_name("rollout")
STORAGE_CLASS = Ref("storage.k8s.io/v1", "StorageClass", "", "local-path")
OPERATOR = Ref("apps/v1", "Deployment", "kubeflow", "training-operator")
POD_GROUPS = podgroup_crd(VOLCANO)
ADMISSION = Ref("apps/v1", "Deployment", "volcano-system", "volcano-admission")

# A run in a process of its own, which can be killed.
RUNNER = """
import json, sys
from pathlib import Path
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.progress import to_stderr
from kubeflow_volcano.rollout.run import roll_out
from kubeflow_volcano.rollout.scope import Scope
from kubeflow_volcano.rollout.settings.settings import parse
cluster, settings = Cluster.connect(Path(sys.argv[1])), parse(json.loads(sys.argv[2]))
scope = Scope(tuple(settings.component(name) for name in sys.argv[3:]))
result = roll_out(cluster, settings, scope, check=False, progress=to_stderr())
assert not result.problems, result.problems
"""


@pytest.fixture(scope="module")
def kubeconfig() -> Iterator[Path]:
    """Credentials of a cluster on which nothing is installed when the first test starts."""
    if os.geteuid() != 0:
        pytest.skip("a rehearsal cluster needs root")
    try:
        yield up(RehearsalSpec(NAME), silent).kubeconfig
    finally:
        left = down(NAME, silent).left
    assert not left


@pytest.fixture(scope="module")
def cluster(kubeconfig: Path) -> Cluster:
    return Cluster.connect(kubeconfig)


@pytest.fixture(scope="module")
def variables(kubeconfig: Path) -> dict[str, Any]:
    """The manifests and the kustomize that come with the cluster."""
    return own_sources(kubeconfig) | {
        "local_path_source": str(kubeconfig.parent / "upstream/local-path-provisioner/deploy"),
        "kubeflow_wait_timeout_seconds": 240,
    }


@pytest.fixture(scope="module")
def settings(variables: dict[str, Any]) -> Settings:
    return parse(variables)


@pytest.fixture(scope="module")
def installed(cluster: Cluster, settings: Settings) -> None:
    """Everything of the parts is on the cluster and ready."""
    install(cluster, settings)


def install(cluster: Cluster, settings: Settings) -> None:
    components = [settings.component(part) for part in PARTS]
    assert not roll_out(cluster, settings, components, check=False, progress=silent).problems
    assert not wire_gang(cluster, settings, check=False, progress=silent).problems


def everything(cluster: Cluster) -> dict[tuple[str, str, str], tuple[str, Object]]:
    """Address, UID and text of what nobody writes by itself; the ledger is written by every run."""
    kinds = (
        ("v1", "Namespace"),
        ("v1", "ServiceAccount"),
        ("v1", "ConfigMap"),
        ("v1", "Secret"),
        ("v1", "Service"),
        ("apps/v1", "Deployment"),
        ("batch/v1", "Job"),
        ("storage.k8s.io/v1", "StorageClass"),
        ("rbac.authorization.k8s.io/v1", "ClusterRole"),
        ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
        ("rbac.authorization.k8s.io/v1", "Role"),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"),
        ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
    )
    return {
        (kind, obj["metadata"].get("namespace", ""), obj["metadata"]["name"]): (
            obj["metadata"]["uid"],
            without_server_fields(obj),
        )
        for version, kind in kinds
        for obj in cluster.list(version, kind).items
        if obj["metadata"].get("namespace") != NAMESPACE
    }


def arguments(cluster: Cluster) -> list[str]:
    live = cluster.get(OPERATOR)
    assert live is not None
    found: list[str] = live["spec"]["template"]["spec"]["containers"][0].get("args", [])
    return found


def scale(cluster: Cluster, ref: Ref, replicas: int) -> None:
    cluster.patch(ref, {"spec": {"replicas": replicas}})
    assert wait_ready(cluster, [ref], Deadline(240), silent)[ref].ready
    until(lambda: len(pods_of(cluster, ref)) == replicas)  # one that ends answers until it is gone


def test_check_mode_on_an_empty_cluster_lists_everything_and_creates_nothing(
    cluster: Cluster, settings: Settings
) -> None:
    before = everything(cluster)
    results = {
        part: roll_out(cluster, settings, (settings.component(part),), check=True, progress=silent) for part in PARTS
    }
    wired = wire_gang(cluster, settings, check=True, progress=silent)
    assert {part: len(result.outcomes) for part, result in results.items()} == {
        "local-path": 9,
        "volcano": 36,
        "training-operator": 14,
    }
    assert wired.outcomes == ()  # the operator comes wired, and is told where it comes
    for result in results.values():
        assert {outcome.action for outcome in result.outcomes} == {Action.CREATED}
        assert not result.problems
        assert all(entry["after"] and not entry["before"] for entry in result.diff())
    assert everything(cluster) == before
    assert cluster.get(Ref("v1", "Namespace", "", NAMESPACE)) is None


@pytest.mark.long
def test_a_run_that_is_killed_at_any_moment_converges(
    cluster: Cluster,
    settings: Settings,
    kubeconfig: Path,
    variables: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """SIGKILL ever later in the run, then a run to the end, then one that has nothing left to do."""
    command = [sys.executable, "-c", RUNNER, str(kubeconfig), json.dumps(variables), *PARTS]
    for seconds in (1.0, 1.5, 2.0, 3.0, 5.0):
        with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
            time.sleep(seconds)
            process.send_signal(signal.SIGKILL)
    if live := cluster.get(STORAGE_CLASS):  # so that something is left to do, however far the last run came
        cluster.delete(STORAGE_CLASS, uid=live["metadata"]["uid"])
    install(cluster, settings)
    before = everything(cluster)
    components = [settings.component(part) for part in PARTS]

    apply = Cluster.apply

    def probes_only(to: Cluster, obj: Object, **options: Any) -> Object:
        assert options["manager"] != FIELD_MANAGER, "a run without changes sends nothing"
        return apply(to, obj, **options)

    monkeypatch.setattr(Cluster, "apply", probes_only)
    for check in (True, False):
        again = roll_out(cluster, settings, components, check=check, progress=silent)
        assert {outcome.action for outcome in again.outcomes} == {Action.UNCHANGED}, again.diff()
        assert not again.changed
    assert not wire_gang(cluster, settings, check=False, progress=silent).changed
    assert everything(cluster) == before
    assert_written_down(cluster)


def assert_written_down(cluster: Cluster) -> None:
    """The ledger has the run that changed something and the one that did not."""
    ledger = cluster.get(LEDGER)
    assert ledger is not None
    entry = json.loads(ledger["data"][".".join(PARTS)])
    assert entry["outcome"] == "complete"
    assert entry["release"] == "1.9.1"
    assert entry["objects"] == {"created": 0, "changed": 0, "unchanged": 59, "failed": 0, "held": 0, "removed": 0}
    assert min(entry["seconds_of_a_change"], entry["seconds_without_change"]) > 0
    assert entry["components"] == ["local-path", "volcano", "training-operator"]


@pytest.mark.usefixtures("installed")
def test_gang_scheduling_goes_off_and_on(cluster: Cluster, settings: Settings, variables: dict[str, Any]) -> None:
    off = parse({**variables, "gang_scheduling_scheduler": "none"})
    would = wire_gang(cluster, off, check=True, progress=silent)
    assert [outcome.action for outcome in would.outcomes] == [Action.CHANGED]
    assert arguments(cluster) == ["--gang-scheduler-name=volcano"]
    (entry,) = would.diff()
    removed = set(entry["before"].splitlines()) - set(entry["after"].splitlines())
    assert removed == {"      - args:", "        - --gang-scheduler-name=volcano", "        command:"}

    assert wire_gang(cluster, off, check=False, progress=silent).changed
    assert arguments(cluster) == []
    assert not roll_out(cluster, off, (off.component("training-operator"),), check=False, progress=silent).changed

    assert wire_gang(cluster, settings, check=False, progress=silent).changed
    assert arguments(cluster) == ["--gang-scheduler-name=volcano"]
    assert not roll_out(
        cluster, settings, (settings.component("training-operator"),), check=False, progress=silent
    ).changed


@pytest.mark.usefixtures("installed")
def test_a_deleted_object_comes_back(cluster: Cluster, settings: Settings) -> None:
    ref = Ref("v1", "ConfigMap", "volcano-system", "volcano-admission-configmap")
    live = cluster.get(ref)
    assert live is not None
    assert cluster.delete(ref, uid=live["metadata"]["uid"])
    result = roll_out(cluster, settings, (settings.component("volcano"),), check=False, progress=silent)
    assert [outcome.ref for outcome in result.outcomes if outcome.action is not Action.UNCHANGED] == [ref]
    assert result.count(Action.CREATED) == 1


def edit(cluster: Cluster, manager: str, replicas: int) -> None:
    """Change a field that the roll-out declares, as another tool does."""
    path = cluster.resource(OPERATOR.api_version, OPERATOR.kind).path(OPERATOR.namespace, OPERATOR.name)
    body = {"spec": {"replicas": replicas}}
    query = {"fieldManager": manager}
    cluster.request("PATCH", path, query=query, body=body, content_type="application/merge-patch+json")


def replicas(cluster: Cluster) -> int:
    live = cluster.get(OPERATOR)
    assert live is not None
    found: int = live["spec"]["replicas"]
    return found


@pytest.mark.usefixtures("installed")
def test_a_change_that_somebody_made_is_refused_and_named_until_it_is_given_up(
    cluster: Cluster, settings: Settings
) -> None:
    edit(cluster, "some-autoscaler", 2)
    result = roll_out(cluster, settings, (settings.component("training-operator"),), check=False, progress=silent)
    (problem,) = result.problems
    assert "some-autoscaler" in problem.found
    assert ".spec.replicas" in problem.found
    assert replicas(cluster) == 2
    assert 'managedFields":[{}]' in problem.todo

    cluster.patch(OPERATOR, {"metadata": {"managedFields": [{}]}})  # what the problem says to do
    healed = roll_out(cluster, settings, (settings.component("training-operator"),), check=False, progress=silent)
    assert not healed.problems
    assert replicas(cluster) == 1
    assert not roll_out(
        cluster, settings, (settings.component("training-operator"),), check=False, progress=silent
    ).changed


@pytest.mark.parametrize("manager", ["kubectl-edit", pytest.param("kubectl-client-side-apply", marks=pytest.mark.long)])
@pytest.mark.usefixtures("installed")
def test_a_change_by_hand_is_set_back(cluster: Cluster, settings: Settings, manager: str) -> None:
    edit(cluster, manager, 2)
    result = roll_out(cluster, settings, (settings.component("training-operator"),), check=False, progress=silent)
    assert [outcome.ref for outcome in result.outcomes if outcome.action is Action.CHANGED] == [OPERATOR]
    assert not result.problems
    assert replicas(cluster) == 1


@pytest.mark.usefixtures("installed")
def test_the_default_class_is_one_and_the_base_directory_as_asked(
    cluster: Cluster, variables: dict[str, Any], settings: Settings
) -> None:
    moved = parse({**variables, "local_path_base_directory": "/srv/volumes"})
    result = roll_out(cluster, moved, (moved.component("local-path"),), check=True, progress=silent)
    (entry,) = result.diff()
    assert entry["after_header"] == "ConfigMap local-path-storage/local-path-config"
    assert "/srv/volumes" in entry["after"]

    other: Object = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "other", "annotations": {DEFAULT_CLASS: "true"}},
        "provisioner": "example.com/none",
    }
    made = cluster.create(other)
    try:
        with pytest.raises(InvalidInput, match="default StorageClass other"):
            roll_out(cluster, settings, (settings.component("local-path"),), check=False, progress=silent)
        existing = parse({**variables, "local_path_storage_mode": "existing"})
        with pytest.raises(InvalidInput, match="StorageClasses: local-path, other"):
            roll_out(cluster, existing, (existing.component("local-path"),), check=False, progress=silent)
        live = cluster.get(Ref.of(other))
        assert live is not None
        assert live["metadata"]["annotations"][DEFAULT_CLASS] == "true"
    finally:
        cluster.delete(Ref.of(other), uid=made["metadata"]["uid"])
    assert not roll_out(cluster, existing, (existing.component("local-path"),), check=False, progress=silent).outcomes


def test_everything_that_stands_in_the_way_is_known_before_the_first_change(
    cluster: Cluster, variables: dict[str, Any], settings: Settings
) -> None:
    found = prepare(cluster, settings, scope_of(settings), check=True, progress=silent)
    assert sum(map(len, found.parts.values())) == 59
    local_path = variables["local_path_source"]
    absent = {"volcano_source": "/no/such/volcano.yaml", "local_path_source": "/no/such/file.yaml"}
    others = {"volcano_source": local_path, "kubeflow_sources": {"training-operator": local_path}}
    for wrong, words in ((absent, "no /no/such"), (others, "lack")):
        asked = parse({**variables, **wrong})
        with pytest.raises(InvalidInput) as caught:
            prepare(cluster, asked, scope_of(asked), check=True, progress=silent)
        assert len(caught.value.problems) == 2
        assert all(words in problem.found for problem in caught.value.problems)


@pytest.mark.usefixtures("installed")
def test_a_silent_webhook_is_named(cluster: Cluster) -> None:
    hooks = [
        Ref(
            "admissionregistration.k8s.io/v1",
            "MutatingWebhookConfiguration",
            "",
            "volcano-admission-service-podgroups-mutate",
        )
    ]
    assert wait_for_webhooks(cluster, hooks, Deadline(120), silent) == ()
    scale(cluster, ADMISSION, 0)
    try:
        (problem,) = wait_for_webhooks(cluster, hooks, Deadline(2), silent)
        assert "mutatepodgroup.volcano.sh" in problem.found
        assert "volcano-system/volcano-admission-service" in problem.needed
    finally:
        scale(cluster, ADMISSION, 1)
    assert wait_for_webhooks(cluster, hooks, Deadline(120), silent) == ()


@pytest.mark.long
@pytest.mark.usefixtures("installed")
def test_an_emptied_ca_bundle_is_written_again_by_its_backend(cluster: Cluster, settings: Settings) -> None:
    hook = Ref(
        "admissionregistration.k8s.io/v1",
        "ValidatingWebhookConfiguration",
        "",
        "volcano-admission-service-jobs-validate",
    )
    live = cluster.get(hook)
    assert live is not None
    assert live["webhooks"][0]["clientConfig"]["caBundle"]
    emptied = [{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]
    cluster.patch(hook, emptied, content_type="application/json-patch+json")

    result = roll_out(cluster, settings, (settings.component("volcano"),), check=False, progress=silent)
    assert not result.problems
    assert [outcome.ref for outcome in result.outcomes if outcome.action is Action.CHANGED] == [ADMISSION]
    healed = cluster.get(hook)
    assert healed is not None
    assert healed["webhooks"][0]["clientConfig"]["caBundle"] == live["webhooks"][0]["clientConfig"]["caBundle"]
    assert not roll_out(cluster, settings, (settings.component("volcano"),), check=False, progress=silent).changed


def test_an_image_that_does_not_exist_ends_a_wait_early_with_its_name(cluster: Cluster) -> None:
    labels = {"app": "no-image"}
    pod = {"containers": [{"name": "main", "image": "example.invalid/none:1"}]}
    text: Object = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "no-image", "namespace": "default"},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}},
    }
    made = cluster.create(text)
    try:
        answer = wait_ready(cluster, [Ref.of(text)], Deadline(3600), silent)[Ref.of(text)]
        assert answer.state is State.FAILED
        assert answer.reason in {"ErrImagePull", "ImagePullBackOff"}
        assert "example.invalid/none:1" in answer.message
    finally:
        cluster.delete(Ref.of(text), uid=made["metadata"]["uid"])


@pytest.mark.long
@pytest.mark.usefixtures("installed")
def test_an_operator_that_is_older_than_the_crd_is_restarted_once(cluster: Cluster, settings: Settings) -> None:
    crd = cluster.get(POD_GROUPS)
    assert crd is not None
    assert cluster.delete(POD_GROUPS, uid=crd["metadata"]["uid"])
    until(lambda: cluster.get(POD_GROUPS) is None)
    with pytest.raises(InvalidInput, match="no CRD podgroups"):
        wire_gang(cluster, settings, check=False, progress=silent)
    assert not roll_out(cluster, settings, (settings.component("volcano"),), check=False, progress=silent).problems

    would = wire_gang(cluster, settings, check=True, progress=silent)
    assert would.changed
    result = wire_gang(cluster, settings, check=False, progress=silent)
    assert not result.problems
    assert [outcome.action for outcome in result.outcomes] == [Action.UNCHANGED, Action.CHANGED]
    live, fresh = cluster.get(OPERATOR), cluster.get(POD_GROUPS)
    assert live is not None
    assert fresh is not None
    assert live["spec"]["template"]["metadata"]["annotations"][RESTARTED_FOR] == fresh["metadata"]["uid"]
    assert not wire_gang(cluster, settings, check=False, progress=silent).changed
    assert not roll_out(
        cluster, settings, (settings.component("training-operator"),), check=False, progress=silent
    ).changed
