"""Each fault, done to a real cluster, fails exactly the check that owns its cause; healed, it passes again."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import bcrypt
import pytest
import yaml
from jsonschema import Draft202012Validator

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.cluster.watch.waiting import wait_ready
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.progress import silent
from kubeflow_volcano.validators.checks import CHECKS
from kubeflow_volcano.validators.core.check import Check
from kubeflow_volcano.validators.core.outcome import Outcome, Status
from kubeflow_volcano.validators.core.results import Verdict
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.reading.permissions import allowed
from kubeflow_volcano.validators.run.runner import Options, validate
from tests.integration.breaking import STATIC, bad, judge, leftovers, made, patched, pods_of, settle, turned_off
from tests.places import ROOT
from tests.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]
healing = pytest.mark.usefixtures("healthy_again")

SCHEDULER = Ref("apps/v1", "Deployment", "volcano-system", "volcano-scheduler")
BUSYBOX = "docker.io/library/busybox:1.36"
OPERATOR = Ref("apps/v1", "Deployment", "kubeflow", "training-operator")
QUEUE = Ref("scheduling.volcano.sh/v1beta1", "Queue", "", "default")


@pytest.fixture(scope="module")
def healthy_first(kubeconfig: Path) -> None:
    """Nothing is wrong before the first fault."""
    assert bad(judge(kubeconfig)) == {}


@pytest.fixture
def healthy_again(healthy_first: None, kubeconfig: Path, cluster: Cluster) -> Iterator[None]:  # noqa: ARG001  comes before
    """Every fault heals back to a good cluster, with which the next one begins; no probe object remains."""
    yield
    assert bad(judge(kubeconfig)) == {}
    assert leftovers(cluster) == []


@healing
def test_everything_passes_on_a_healthy_cluster_and_the_report_is_valid(
    kubeconfig: Path, cluster: Cluster, tmp_path: Path
) -> None:
    report = validate(Options(kubeconfig, stability_seconds=3, report_dir=tmp_path), silent)
    assert bad({item.check.id: (str(item.outcome.status), item.outcome.reason) for item in report.results}) == {}
    assert (report.summary.verdict, int(report.exit_code), report.summary.coverage) == (Verdict.PASS, 0, 1.0)
    document = json.loads((tmp_path / "latest.json").read_text())
    schema = json.loads(files("kubeflow_volcano.validators").joinpath("schemas/report.v1.json").read_text())
    assert [error.message for error in Draft202012Validator(schema).iter_errors(document)] == []
    assert document["cleanup"]["created"] == document["cleanup"]["removed"] > 0
    system = cluster.get(Ref("v1", "Namespace", "", "kube-system"))
    assert system is not None
    assert document["cluster"]["uid"] == system["metadata"]["uid"]
    assert document["cluster"]["simulated_nodes"] > 0


@pytest.mark.fault(36)
@healing
def test_a_scheduler_that_is_scaled_to_zero_fails_f1_alone(kubeconfig: Path, cluster: Cluster) -> None:
    with turned_off(cluster, SCHEDULER):
        found = judge(kubeconfig, *STATIC, "gang", read_only=False)
        assert bad(found) == {"F1": "ScaledToZero"}
        assert {found[id_] for id_ in ("G5", "H1", "H2", "H3", "H4")} == {("skip", "ConsequenceOf")}


@pytest.mark.fault(36)
@healing
def test_a_closed_queue_fails_f3_and_its_own_command_opens_it(kubeconfig: Path, cluster: Cluster) -> None:
    with patched(cluster, QUEUE, subresource="/status") as patch:
        patch({"status": {"state": "Closed"}})
        assert bad(judge(kubeconfig)) == {"F3": "Closed"}
        patch({"status": {"state": "Open"}})
        assert bad(judge(kubeconfig)) == {}


ARGUMENTS = "/spec/template/spec/containers/0/args"


@pytest.mark.long
@pytest.mark.fault(37)
@healing
def test_an_operator_without_the_gang_flag_fails_g1(kubeconfig: Path, cluster: Cluster) -> None:
    with patched(cluster, OPERATOR, json_patch=True) as patch:
        patch([{"op": "replace", "path": ARGUMENTS, "value": []}])
        settle(cluster, OPERATOR)
        assert bad(judge(kubeconfig)) == {"G1": "GangOff"}


@pytest.mark.long
@pytest.mark.fault(37)
@healing
def test_an_operator_with_another_eras_flag_fails_g1_and_its_crash_follows(kubeconfig: Path, cluster: Cluster) -> None:
    with patched(cluster, OPERATOR, json_patch=True) as patch:
        patch([{"op": "replace", "path": ARGUMENTS, "value": ["--enable-gang-scheduling=true"]}])
        assert bad(judge(kubeconfig)) == {"G1": "UnknownFlag"}
        until(lambda: crashes(cluster))
        found = judge(kubeconfig)
        assert bad(found) == {"G1": "UnknownFlag"}
        assert (found["C7"], found["C2"]) == (("skip", "ConsequenceOf"), ("skip", "ConsequenceOf"))


def crashes(cluster: Cluster) -> bool:
    return any(
        status.get("state", {}).get("waiting", {}).get("reason") == "CrashLoopBackOff"
        for pod in pods_of(cluster, OPERATOR)
        for status in pod["status"].get("containerStatuses", ())
    )


AUTH = "auth"
PASSWORDS = Ref("v1", "Secret", AUTH, "dex-passwords")


def dex() -> Iterator[Object]:
    """Dex's account as upstream lays it out, behind a Deployment that starts nothing."""
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": AUTH}}
    config = yaml.safe_dump({"staticPasswords": [{"email": "user@example.com", "hashFromEnv": "HASH"}]})
    meta = {"namespace": AUTH, "name": "dex"}
    yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"config.yaml": config}}
    own = bcrypt.hashpw(b"an own one", bcrypt.gensalt(4)).decode()
    yield new_object("v1", "Secret", PASSWORDS.name, AUTH, stringData={"HASH": own})
    source = [{"secretRef": {"name": PASSWORDS.name}}]
    pod = {"containers": [{"name": "dex", "image": "dex", "envFrom": source}]}
    labels = {"app": "dex"}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    yield {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}


def test_the_published_password_is_known_by_its_hash(kubeconfig: Path, cluster: Cluster) -> None:
    published = bcrypt.hashpw(b"12341234", bcrypt.gensalt(4)).decode()
    namespace, *others = dex()
    with made(cluster, namespace):
        for item in others:
            cluster.create(item)
        assert judge(kubeconfig, "E4", "E8") == {"E4": ("pass", "AsClaimed"), "E8": ("skip", "NotExpected")}
        cluster.patch(PASSWORDS, {"stringData": {"HASH": published}})
        assert judge(kubeconfig, "E4")["E4"] == ("fail", "PublishedPassword")
        cluster.patch(PASSWORDS, {"data": {"HASH": None}})
        assert judge(kubeconfig, "E4")["E4"] == ("error", "HashNotFound")


@pytest.mark.fault(30)
@healing
def test_a_deployment_whose_image_does_not_exist_fails_a6(kubeconfig: Path, cluster: Cluster) -> None:
    name = "no-such-image"
    labels = {"app": name}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "a", "image": "example.invalid/no/such:1"}]},
    }
    body = new_object(
        "apps/v1", "Deployment", name, "default", spec={"selector": {"matchLabels": labels}, "template": template}
    )
    with made(cluster, body):
        found = judge(kubeconfig)
        assert list(bad(found)) == ["A6"]
        assert found["A6"][1] in {"ImageMissing", "RegistryUnreachable"}
        assert found["C2"] == ("skip", "ConsequenceOf")


@pytest.mark.long
@pytest.mark.parametrize("item", [item for item in CHECKS if not item.probe], ids=lambda item: str(item.id))
def test_each_check_can_be_chosen_alone(kubeconfig: Path, item: Check) -> None:
    options = Options(kubeconfig, select=(item.id,), read_only=True, stability_seconds=1, report_dir=None)
    (result,) = validate(options, silent).results
    assert result.outcome.status in {Status.PASS, Status.SKIP}, result.outcome


FLAPS = "while :; do touch /tmp/ready; sleep 4; rm /tmp/ready; sleep 4; done"


@contextlib.contextmanager
def running(cluster: Cluster, name: str, script: str, **container: Any) -> Iterator[None]:
    """A pod on the real node that runs a shell script, until the block ends."""
    spec = {
        "containers": [{"name": "sh", "image": BUSYBOX, "command": ["sh", "-c", script], **container}],
        "terminationGracePeriodSeconds": 0,
    }
    made = cluster.create(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}
    )
    try:
        yield
    finally:
        cluster.delete(Ref.of(made), uid=made["metadata"]["uid"], grace_seconds=0)
        until(lambda: cluster.get(Ref.of(made)) is None)


@pytest.mark.fault(29)
@healing
def test_a_pod_that_is_ready_now_and_then_is_flapping(kubeconfig: Path, cluster: Cluster) -> None:
    command = ["test", "-f", "/tmp/ready"]  # noqa: S108  inside the container
    probe = {"exec": {"command": command}, "periodSeconds": 1, "failureThreshold": 1, "timeoutSeconds": 5}
    with running(cluster, "flaps", FLAPS, readinessProbe=probe):
        wait_ready(cluster, [Ref("v1", "Pod", "default", "flaps")], Deadline(60), silent)
        options = Options(kubeconfig, select=STATIC, read_only=True, stability_seconds=13, report_dir=None)
        report = validate(options, silent)
    found = {item.check.id: (str(item.outcome.status), item.outcome.reason) for item in report.results}
    assert bad(found) == {"C6": "Flapping"}


@pytest.mark.fault(30)
@healing
def test_a_pod_that_crashes_is_c7s_with_its_last_words(kubeconfig: Path, cluster: Cluster) -> None:
    options = Options(kubeconfig, select=("C7",), read_only=True, stability_seconds=1, report_dir=None)

    def told() -> Outcome | None:
        (result,) = validate(options, silent).results
        crashed = result.outcome.reason == "CrashLoopBackOff"
        # Between two restarts the kubelet may have removed the log of the one and not begun the other's.
        return result.outcome if crashed and "Its log says" in result.outcome.message else None

    with running(cluster, "crashes", "echo no configuration; exit 3"):
        outcome = until(told)
    assert "exit code 3" in outcome.message
    assert "no configuration" in outcome.message


@contextlib.contextmanager
def caller(cluster: Cluster, kubeconfig: Path, directory: Path, *rules: Object) -> Iterator[Path]:
    """Kubeconfig of a service account with these rules and no others, once the API server knows of them."""
    name = f"kfv-test-{secrets.token_hex(4)}"
    meta = {"name": name}
    subject = {"kind": "ServiceAccount", "name": name, "namespace": "default"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    rbac = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": meta}
    objects = (
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta | {"namespace": "default"}},
        rbac | {"kind": "ClusterRole", "rules": list(rules)},
        rbac | {"kind": "ClusterRoleBinding", "roleRef": role, "subjects": [subject]},
    )
    created = [cluster.create(item) for item in objects]
    try:
        path = f"/api/v1/namespaces/default/serviceaccounts/{name}/token"
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        token = cluster.request("POST", path, body=request)["status"]["token"]
        config = yaml.safe_load(kubeconfig.read_text())
        for user in config["users"]:
            user["user"] = {"token": token}
        (directory / "kubeconfig").write_text(yaml.safe_dump(config))
        granted(directory / "kubeconfig", *rules)
        yield directory / "kubeconfig"
        assert token not in "".join(item.read_text() for item in (directory / "reports").rglob("*") if item.is_file())
    finally:
        for item in created:
            cluster.delete(Ref.of(item), uid=item["metadata"]["uid"])


def granted(kubeconfig: Path, *rules: Object) -> None:
    """Wait until the authorizer knows a role with these rules."""
    if rules:
        last = rules[-1]
        rule = Rule(last["verbs"][-1], last["apiGroups"][-1], last["resources"][-1])
        who = Cluster.connect(kubeconfig)
        until(lambda: allowed(who, [rule])[rule])


@pytest.mark.fault(11)
@healing
def test_a_caller_who_may_read_nothing_gets_errors_and_no_pass(
    kubeconfig: Path, cluster: Cluster, tmp_path: Path
) -> None:
    with caller(cluster, kubeconfig, tmp_path) as path:
        report = validate(Options(path, report_dir=tmp_path / "reports"), silent)
    statuses = {item.check.id: str(item.outcome.status) for item in report.results}
    judged = {id_ for id_, status in statuses.items() if status not in {"error", "skip"}}
    assert judged == {"A1", "I2"}  # /readyz is public, and what the run itself did is known to it
    assert int(report.exit_code) == 3
    reasons = {item.check.id: item.outcome.reason for item in report.results if item.outcome.status == "error"}
    assert report.summary.unevaluated == reasons
    assert {id_: reason for id_, reason in reasons.items() if reason != "Forbidden"} == {}


@healing
def test_a_caller_who_may_not_read_pods_cannot_judge_what_needs_them_and_only_that(
    kubeconfig: Path, cluster: Cluster, tmp_path: Path
) -> None:
    groups = ["apps", "batch", "admissionregistration.k8s.io", "apiextensions.k8s.io", "discovery.k8s.io"]
    reader = {"apiGroups": [*groups, "scheduling.volcano.sh"], "resources": ["*"], "verbs": ["get", "list", "watch"]}
    core = {
        "apiGroups": [""],
        "resources": ["nodes", "namespaces", "services", "configmaps", "secrets"],
        "verbs": ["get", "list", "watch"],
    }
    asking = {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]}
    with caller(cluster, kubeconfig, tmp_path, reader, core, asking) as path:
        options = Options(path, select=STATIC, read_only=True, stability_seconds=1, report_dir=tmp_path / "reports")
        report = validate(options, silent)
    found = {item.check.id: str(item.outcome.status) for item in report.results}
    assert {id_ for id_, status in found.items() if status == "pass"} == {
        "A1",
        "B1",
        "B5",
        "B6",
        "B8",
        "C11",
        "F3",
        "F4",
        "F5",
        "G1",
        "G2",
    }
    assert {id_ for id_, status in found.items() if status == "error"} >= {"A4", "C2", "C6", "C7", "C8", "F1", "G3"}
    assert int(report.exit_code) == 3
    (pods,) = [item.outcome for item in report.results if item.check.id == "C6"]
    assert (pods.reason, "pods" in pods.message) == ("Forbidden", True)


@pytest.mark.fault(21)
@healing
@pytest.mark.parametrize(
    ("select", "number", "phase"),
    [
        ("C6,gang", signal.SIGINT, "watching all pods"),
        ("C6,gang", signal.SIGTERM, "H2 all-or-nothing"),
        ("C6,H1", signal.SIGINT, "removing"),
        pytest.param("C6,gang", signal.SIGTERM, "H4 control", marks=pytest.mark.long),
        pytest.param("C6,gang", signal.SIGINT, "removing", marks=pytest.mark.long),
    ],
)
def test_a_signal_leaves_nothing_behind_but_a_partial_report(
    kubeconfig: Path, cluster: Cluster, tmp_path: Path, *, select: str, number: signal.Signals, phase: str
) -> None:
    command = [sys.executable, "-m", "validators", "--kubeconfig", str(kubeconfig), "--report-dir", str(tmp_path)]
    with subprocess.Popen(
        [*command, "--select", select, "--stability-seconds", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:
        assert process.stderr is not None
        seen = next(line for line in process.stderr if phase in line)
        process.send_signal(number)
        output, errors = process.communicate(timeout=300)
    assert process.returncode == 128 + number, seen + errors
    assert "Traceback" not in output + errors
    document = json.loads((tmp_path / "latest.json").read_text())
    assert document["run"]["interrupted"] is True
    assert document["cleanup"]["left"] == []
    assert document["cleanup"]["removed"] == document["cleanup"]["created"]
    assert leftovers(cluster) == []
