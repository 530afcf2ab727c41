"""Kubernetes' own gangs from the playbooks to the proof, on clusters that have them and on those that do not.

What keeps them from working is tried on purpose: the checks and `explain job` have to name it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.catalog.gangs import KUBERNETES, VOLCANO
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.metadata import RUN_LABEL
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.gang_demo.catalogue import select_cases
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rehearsal import lifecycle
from kubeflow_volcano.rehearsal.build.generation import load_generation
from kubeflow_volcano.rehearsal.build.recipes import Generation
from kubeflow_volcano.rehearsal.lifecycle import down, up
from kubeflow_volcano.rehearsal.spec import ClusterPaths, RehearsalSpec
from kubeflow_volcano.validators.explain.reading.situation import read_situation
from kubeflow_volcano.validators.explain.stages import explain
from kubeflow_volcano.validators.run.runner import Options, validate
from tests.integration.breaking import Findings, bad, made, space
from tests.places import UPSTREAM
from tests.playing import ansible
from tests.rehearsed import cluster_name
from tests.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.timeout(1800)]

NAME = cluster_name("native")
API = KUBERNETES.api_version
PROVED = ("F1", "H1", "H2", "H3", "H4", "H5", "H6", "H8")
OF_VOLCANO = ("F3", "F4", "F5", "F8", "F9", "F10")
GPU = {"limits": {"nvidia.com/gpu": "1"}}
POLICY = "admissionregistration.k8s.io/v1"


def play(name: str, *playbooks: str, reports: Path, **more: Any) -> tuple[int, str, dict[str, int]]:
    """Exit code, output, and the numbers of the recap."""
    variables = {
        "rehearsal_cluster_name": name,
        "gang_scheduling_scheduler": KUBERNETES.name,
        "validation_report_directory": str(reports),
        **more,
    }
    done = ansible(
        *("-i", "inventory/rehearsal-26.03", "-e", json.dumps(variables)),
        *(f"playbooks/{item}.yml" for item in playbooks),
        merged=True,
        KUBEFLOW_SOURCES=os.environ.get("KUBEFLOW_SOURCES", str(UPSTREAM)),
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("localhost") and "changed=" in line]
    words = (word.split("=") for word in lines[-1].partition(":")[2].split()) if lines else ()
    return done.returncode, done.stdout, {key: int(value) for key, value in words}


@pytest.fixture
def gates_off(monkeypatch: pytest.MonkeyPatch) -> Iterator[RehearsalSpec]:
    """A cluster of generation 1.37 as Kubernetes is by default: no gate is switched on."""

    def plain(name: str, *, extras: Sequence[str]) -> Generation:
        found = load_generation(name, extras=extras)
        return replace(found, node=replace(found.node, arguments={}))

    monkeypatch.setattr(lifecycle, "load_generation", plain)
    off = RehearsalSpec(cluster_name("off"), gpu_nodes=1, generation="1.37")
    try:
        up(off)
        yield off
    finally:
        assert down(off.name).left == ()


def refused(name: str, reports: Path, version: str) -> None:
    """That `install.yml` says what is missing and creates nothing."""
    cluster = Cluster.connect(ClusterPaths.of(name).kubeconfig)
    before = {item["metadata"]["name"] for item in cluster.list("v1", "Namespace").items}
    code, output, _ = play(name, "install", reports=reports, rehearsal_cluster_generation=version)
    assert code == 2, output[-3000:]
    shown = " ".join(output.replace("\\n", " ").split())
    assert f"does not serve PodGroup of {API}" in shown
    assert "Needed: Kubernetes 1.37 or later with its feature gate GenericWorkload on." in shown
    assert "Do: start kube-apiserver with --feature-gates=GenericWorkload=true" in shown
    assert {item["metadata"]["name"] for item in cluster.list("v1", "Namespace").items} == before


def test_a_cluster_with_the_gate_off_is_refused_before_its_first_change(
    gates_off: RehearsalSpec, tmp_path: Path
) -> None:
    refused(gates_off.name, tmp_path, "1.37")


def test_a_cluster_without_the_api_is_refused_before_its_first_change(tmp_path: Path) -> None:
    older = RehearsalSpec(cluster_name("older"), gpu_nodes=1, generation="1.35")
    try:
        up(older)
        refused(older.name, tmp_path, "1.35")
    finally:
        assert down(older.name).left == ()


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="module")
def site(reports: Path) -> Iterator[Cluster]:
    """A cluster of generation 1.37 on which nothing is installed when the first test starts."""
    try:
        code, output, _ = play(NAME, "rehearsal", reports=reports, rehearsal_cluster_generation="1.37")
        assert code == 0, output[-3000:]
        yield Cluster.connect(ClusterPaths.of(NAME).kubeconfig)
    finally:
        assert down(NAME).left == ()


@pytest.fixture
def namespace(site: Cluster) -> Iterator[str]:
    with space(site) as name:
        yield name


def statuses(reports: Path) -> dict[str, tuple[str, str]]:
    report = read_json((reports / "latest.json").read_text("utf-8"))
    assert report["cleanup"]["left"] == []
    return {item["id"]: (item["status"], item.get("reason") or "") for item in report["checks"]}


def test_the_site_is_installed_and_proved_and_a_second_run_changes_nothing(site: Cluster, reports: Path) -> None:
    code, output, recap = play(NAME, "site", reports=reports, rehearsal_cluster_generation="1.37")
    assert (code, recap["failed"]) == (0, 0), output[-5000:]
    found = statuses(reports)
    assert {id_: found[id_] for id_ in PROVED if found[id_][0] != "pass"} == {}
    assert {found[id_] for id_ in OF_VOLCANO} == {("skip", "NotNeeded")}
    assert {id_: each for id_, each in found.items() if each[0] not in {"pass", "skip"}} == {}
    assert site.get(Ref("v1", "Namespace", "", "volcano-system")) is None

    code, output, recap = play(
        NAME, "site", reports=reports, rehearsal_cluster_generation="1.37", validation_select=["reach"]
    )
    assert (code, recap["changed"], recap["failed"]) == (0, 0, 0), output[-5000:]


def test_scenarios_come_out_as_claimed_and_those_of_volcanos_own_are_refused(site: Cluster, tmp_path: Path) -> None:
    asked = {"rehearsal_cluster_generation": "1.37", "gang_demo_report_directory": str(tmp_path)}
    code, output, _ = play(NAME, "gang_demo", reports=tmp_path, **asked)
    report = tmp_path / "gang-demo.json"
    assert report.exists(), output[-5000:]
    outcomes = {item["case"]: item["problem"] for item in read_json(report.read_text("utf-8"))["outcomes"]}
    assert outcomes == {case.name: "" for case in select_cases([], KUBERNETES.name)}, output[-20000:]
    assert code == 0, output[-5000:]
    assert not site.list("v1", "Namespace", labels=RUN_LABEL).items

    code, output, _ = play(NAME, "gang_demo", reports=tmp_path, gang_demo_scenarios=["queues"], **asked)
    assert code == 2, output[-3000:]
    assert "part for queues" in " ".join(output.split())


def test_volcano_for_other_queues_is_judged_beside_it(site: Cluster, reports: Path) -> None:
    """F5 warns: no Volcano was tested with Kubernetes 1.37."""
    code, output, recap = play(
        *(NAME, "site"),
        reports=reports,
        rehearsal_cluster_generation="1.37",
        kubeflow_include=["volcano", "training-operator"],
        validation_select=["F", "H"],
    )
    assert (code, recap["failed"]) == (0, 0), output[-5000:]
    found = statuses(reports)
    assert {id_: found[id_] for id_ in PROVED if found[id_][0] != "pass"} == {}
    assert {id_: found[id_][0] for id_ in ("F3", "F4", "F5")} == {"F3": "pass", "F4": "pass", "F5": "warn"}
    assert site.get(Ref("apps/v1", "Deployment", "volcano-system", "volcano-scheduler"))


def gang(cluster: Cluster, namespace: str, name: str, minimum: int, **spec: Any) -> Ref:
    return Ref.of(
        cluster.create(new_object(API, "PodGroup", name, namespace, spec=KUBERNETES.group_spec(minimum) | spec))
    )


def job(cluster: Cluster, namespace: str, name: str, count: int, **spec: Any) -> Ref:
    """A Job whose pods name the PodGroup of its name, and request a GPU each."""
    container = {"name": "main", "image": "nosuch/thing:1", "resources": GPU}
    pod = {"restartPolicy": "Never", "containers": [container], **KUBERNETES.marks(name)["spec"], **spec}
    whole = {"parallelism": count, "completions": count, "template": {"spec": pod}}
    return Ref.of(cluster.create(new_object("batch/v1", "Job", name, namespace, spec=whole)))


def pods(cluster: Cluster, namespace: str) -> list[Object]:
    return list(cluster.list("v1", "Pod", namespace=namespace).items)


def bound(cluster: Cluster, namespace: str) -> int:
    return sum("nodeName" in pod["spec"] for pod in pods(cluster, namespace))


def told(cluster: Cluster, ref: Ref, kind: str = "jobs.batch") -> dict[str, bool]:
    """Reasons of what is said of it, and whether each is in its way."""
    found = explain(read_situation(cluster, ref.namespace, ref.name, kind)).findings
    return {item.reason: item.blocks for item in found}


def judged(**options: Any) -> Findings:
    chosen = Options(
        ClusterPaths.of(NAME).kubeconfig,
        select=("F1", "gang"),
        gang_scheduler=KUBERNETES.name,
        stability_seconds=1,
        report_dir=None,
        **options,
    )
    return {item.check.id: (str(item.outcome.status), item.outcome.reason) for item in validate(chosen, silent).results}


def test_a_group_that_no_nodes_can_take_and_one_that_is_deleted_while_its_pods_wait(
    site: Cluster, namespace: str
) -> None:
    group = gang(site, namespace, "large", 5)
    large = job(site, namespace, "large", 5)
    until(lambda: KUBERNETES.refusal_of(site.get(group) or {}))
    assert told(site, large) == {"GangNeverFits": True}
    assert told(site, group, "PodGroup.scheduling.k8s.io") == {"GangNeverFits": True}

    live = site.get(group)
    assert live
    site.delete(group, uid=live["metadata"]["uid"])

    assert told(site, large) == {"BeingDeleted": False, "GangNeverFits": True}
    site.patch(group, {"spec": KUBERNETES.group_spec(4)})
    until(lambda: bound(site, namespace) == 4)  # as long as pods need it, it holds them


def test_pods_whose_group_was_deleted_before_them_wait_for_it(site: Cluster, namespace: str) -> None:
    group = gang(site, namespace, "early", 2)
    live = site.get(group)
    assert live
    site.delete(group, uid=live["metadata"]["uid"])
    until(lambda: site.get(group) is None)

    waiting = job(site, namespace, "early", 2)

    until(lambda: len(pods(site, namespace)) == 2)
    assert told(site, waiting) == {"PodGroupMissing": True}
    assert bound(site, namespace) == 0


def test_both_kinds_of_groups_of_one_name_are_told_apart_by_who_places_the_pods(site: Cluster, namespace: str) -> None:
    native = gang(site, namespace, "both", 5)
    theirs = Ref.of(site.create(new_object(*VOLCANO.podgroup, "both", namespace, spec=VOLCANO.group_spec(5))))
    own = job(site, namespace, "both", 5)
    until(lambda: KUBERNETES.refusal_of(site.get(native) or {}))
    assert told(site, own) == {"GangNeverFits": True}
    assert told(site, theirs, "PodGroup") == {"NotEnoughPods": True}

    wrong = gang(site, namespace, "wrong", 5)
    started = job(site, namespace, "wrong", 5, schedulerName=VOLCANO.scheduler)

    until(lambda: bound(site, namespace) == 4)  # Volcano places them without that gang
    assert told(site, started)["OtherScheduler"] is False
    assert told(site, wrong, "PodGroup.scheduling.k8s.io")["OtherScheduler"]


STRIPS: tuple[Object, ...] = (
    {
        "apiVersion": POLICY,
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": "strips-groups"},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
                ]
            },
            "matchConditions": [{"name": "grouped", "expression": "has(object.spec.schedulingGroup)"}],
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
            "mutations": [
                {
                    "patchType": "JSONPatch",
                    "jsonPatch": {"expression": '[JSONPatch{op: "remove", path: "/spec/schedulingGroup"}]'},
                }
            ],
        },
    },
    {
        "apiVersion": POLICY,
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": "strips-groups"},
        "spec": {"policyName": "strips-groups"},
    },
)


def test_what_takes_the_group_from_pods_is_named_by_h1(site: Cluster, namespace: str) -> None:
    with made(site, STRIPS[0]), made(site, STRIPS[1]):

        def is_stripped() -> bool:
            sent = new_object("v1", "Pod", "asked", namespace, spec={"containers": [{"name": "a", "image": "b"}]})
            sent["spec"] |= KUBERNETES.marks("none")["spec"]
            return not KUBERNETES.named_by(site.create(sent, dry_run=True))

        until(is_stripped)
        found = judged()
    assert bad(found) == {"H1": "NotInGroup"}
    assert found["H2"] == ("skip", "ConsequenceOf")
    assert found["H8"][0] == "pass"


@contextlib.contextmanager
def without_gate(program: str, *flags: str) -> Iterator[None]:
    """That program of the control plane sleeps, and another without the feature gate works in its place."""
    paths = ClusterPaths.of(NAME)
    plan = read_json((paths.home / "plan.json").read_text("utf-8"))
    tools = next(item["source"] for item in plan["binds"] if item["target"].startswith("/host/tools/kube-"))
    first = [f"--{name}={paths.kubeconfig}" for name in ("kubeconfig", "authentication-kubeconfig")]
    arguments = [*first, f"--authorization-kubeconfig={paths.kubeconfig}", "--leader-elect=false", *flags]
    asleep = _process_of(paths, program)
    os.kill(asleep, signal.SIGSTOP)
    try:
        with subprocess.Popen(
            [program, *arguments, "--bind-address=127.0.0.1", "--secure-port=10299"],
            executable=f"{tools}/kube",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as other:
            try:
                yield
            finally:
                other.terminate()
    finally:
        os.kill(asleep, signal.SIGCONT)


def _process_of(paths: ClusterPaths, program: str) -> int:
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            first = (entry / "cmdline").read_bytes().partition(b"\0")[0].decode()
            if first == program and f"/{paths.cgroup}" in (entry / "cgroup").read_text():
                return int(entry.name)
    pytest.fail(f"no {program} runs in {paths.cgroup}")


def test_a_scheduler_without_the_gate_is_the_one_cause_that_is_named(site: Cluster, namespace: str) -> None:
    group = gang(site, namespace, "parts", 5)
    with without_gate("kube-scheduler"):
        found = judged()
        parts = job(site, namespace, "parts", 5)
        until(lambda: bound(site, namespace) == 4)
        said = told(site, parts)
    assert bad(found) == {"H2": "PartialPlacement"}
    assert found["H1"] == ("skip", "ConsequenceOf")
    assert found["H4"][0] == "pass"
    assert said["GangOff"]
    assert site.get(group)
