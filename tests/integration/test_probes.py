"""Probes on a real cluster: what they see when something is broken on purpose, and that nothing of them remains."""

from __future__ import annotations

import contextlib
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.metadata import RUN_LABEL
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.watch.waiting import wait_ready
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.experiment.ended import UNSEEN, watch_to_end
from kubeflow_volcano.experiment.leftovers import EXPIRES, OWNER
from kubeflow_volcano.experiment.pods import CONTAINER, probe_pod
from kubeflow_volcano.experiment.remains import Cleanup
from kubeflow_volcano.experiment.session import Options, Session
from kubeflow_volcano.parallel import in_parallel
from kubeflow_volcano.progress import silent
from kubeflow_volcano.validators.checks.gang.two_gangs import two_gangs
from kubeflow_volcano.validators.checks.operator.verdict import held_then_released, operator_verdict
from kubeflow_volcano.validators.checks.storage.writing import consumer_can_write
from kubeflow_volcano.validators.core.expectations import expect
from kubeflow_volcano.validators.core.facts import Facts, Probe
from kubeflow_volcano.validators.core.outcome import Outcome, Status
from kubeflow_volcano.validators.core.resources import RESOURCES
from kubeflow_volcano.validators.core.timing import Timing
from kubeflow_volcano.validators.probes.gang.gang import GANG
from kubeflow_volcano.validators.probes.operator.training import TRAINING_JOB
from kubeflow_volcano.validators.probes.storage.consumers import targets
from kubeflow_volcano.validators.probes.storage.identities import Identity
from kubeflow_volcano.validators.probes.storage.storage import STORAGE, StorageEvidence
from kubeflow_volcano.validators.probes.storage.writing import SCRIPT, Target, write
from kubeflow_volcano.validators.run.runner import Options as RunOptions
from kubeflow_volcano.validators.run.runner import validate
from tests.integration.breaking import pods_of
from tests.samples.gang import blamed
from tests.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

SCHEDULER = Ref("apps/v1", "Deployment", "volcano-system", "volcano-scheduler")
CONFIGURATION = Ref("v1", "ConfigMap", "volcano-system", "volcano-scheduler-configmap")
QUEUE = Ref("scheduling.volcano.sh/v1beta1", "Queue", "", "default")
BUSYBOX = Options().busybox_image
CONSUMER = 999
TIMING = Timing()
IMPATIENT = Timing(bind_seconds=8.0)
PATIENT = Timing(bind_seconds=120.0)
Evidence = TypeVar("Evidence")


def facts_of(cluster: Cluster, timing: Timing = TIMING) -> Facts:
    """A snapshot of all kinds that are served."""
    served = [item for item in RESOURCES.values() if item.kind in cluster.kinds(item.api_version)]
    objects: dict[str, tuple[Object, ...]] = {item: cluster.list(item.api_version, item.kind).items for item in served}
    return Facts(expect("1.9.1"), time.time(), objects=objects, timing=timing)


def probe(
    cluster: Cluster, chosen: Probe[Evidence], options: Options | None = None, timing: Timing = TIMING
) -> tuple[Evidence, Cleanup]:
    """Evidence of one probe, and the account of its removal."""
    session = Session(cluster, silent, options)
    try:
        evidence = chosen.run(session, facts_of(cluster, timing), silent)
    finally:
        account = session.close()
    return evidence, account


def verdict(cluster: Cluster, timing: Timing = TIMING) -> tuple[str, Outcome]:
    """The check of the gang experiment that is the first to object, with its outcome."""
    evidence, account = probe(cluster, GANG, timing=timing)
    assert account.left == ()
    return blamed(evidence)


def writing(cluster: Cluster) -> Outcome:
    """The verdict on the directories in use alone; the rest of the storage probe has its own test."""
    session = Session(cluster)
    try:
        facts = facts_of(cluster)
        chosen, skipped = targets(facts)
        written = tuple(write(session, item, number, facts) for number, item in enumerate(chosen) if item.existing)
    finally:
        account = session.close()
    assert account.left == ()
    evidence = StorageEvidence(written=written, skipped=skipped)
    return consumer_can_write(Facts(expect("1.9.1"), time.time(), evidences={STORAGE: evidence}))


def remains(cluster: Cluster) -> list[str]:
    """Everything of probes that can be found by their label, and volumes of their claims."""
    kinds = (("v1", "Namespace"), ("v1", "Pod"), ("v1", "PersistentVolumeClaim"), ("kubeflow.org/v1", "TFJob"))
    found = [item for kind in kinds for item in cluster.list(*kind, labels=RUN_LABEL).items]
    groups = cluster.list("scheduling.volcano.sh/v1beta1", "PodGroup").items
    volumes = cluster.list("v1", "PersistentVolume").items
    found += [item for item in groups if item["metadata"]["namespace"].startswith("kfv-smoke-")]
    found += [item for item in volumes if item["spec"].get("claimRef", {}).get("name", "").startswith("kfv-")]
    return [str(Ref.of(item)) for item in found]


@pytest.fixture(autouse=True)
def nothing_remains(cluster: Cluster) -> Iterator[None]:
    """Neither before nor after a test is there anything of a probe."""
    assert remains(cluster) == []
    yield
    assert remains(cluster) == []


@contextlib.contextmanager
def changed(cluster: Cluster, ref: Ref, patch: Object, back: Object, *, status: bool = False) -> Iterator[None]:
    """Merge `patch` into an object, and `back` behind the block."""
    path = cluster.resource(ref.api_version, ref.kind).path(ref.namespace, ref.name) + "/status" * status

    def send(body: Object) -> None:
        cluster.request("PATCH", path, body=body, content_type="application/merge-patch+json")

    send(patch)
    try:
        yield
    finally:
        send(back)


def restart(cluster: Cluster) -> None:
    """Give the scheduler a new pod, so that it reads its configuration now, and wait for it alone."""
    stamp = {"spec": {"template": {"metadata": {"annotations": {"test/restarted": secrets.token_hex(4)}}}}}
    cluster.patch(SCHEDULER, stamp)
    assert wait_ready(cluster, [SCHEDULER], Deadline(240), silent)[SCHEDULER].ready
    until(lambda: len(pods_of(cluster, SCHEDULER)) == 1)  # one that ends may still schedule


def test_gang_scheduling_is_proved(cluster: Cluster) -> None:
    evidence, account = probe(cluster, GANG)
    _, outcome = blamed(evidence)
    assert outcome.status is Status.PASS, outcome.message
    blocked = evidence.steps["H2"]
    assert blocked.judged
    assert blocked.premature == ()
    assert set(blocked.states) == {()}
    assert blocked.held_seconds >= 5
    assert len(evidence.steps["H3"].bound) == 3
    assert {item.name: bool(item.node) for item in evidence.steps["H4"].members} == {
        "h4-p0": True,
        "h4-p1": True,
        "h4-p2": False,
    }
    assert {item.name for item in evidence.steps["H5"].bound} == {"h5-p0", "h5-p1"}
    nodes = {item.node for step in evidence.steps.values() for item in step.bound}
    assert nodes
    assert not nodes & evidence.simulated_nodes
    assert len(account.created) == len(account.removed)
    assert len(account.created) > 12
    in_turn = two_gangs(evidence)
    assert in_turn.status is Status.PASS, in_turn.message
    assert {item.name for item in evidence.steps["H6c"].bound} == {"h6c-a0", "h6c-b1"}
    assert evidence.steps["H6r"].reached


def test_without_the_gang_plugin_the_violation_is_seen(cluster: Cluster) -> None:
    live = cluster.get(CONFIGURATION)
    assert live
    key = "volcano-scheduler.conf"
    configuration = yaml.safe_load(live["data"][key])
    for tier in configuration["tiers"]:
        tier["plugins"] = [item for item in tier["plugins"] if item["name"] != "gang"]
    broken = {"data": {key: yaml.safe_dump(configuration)}}
    try:
        with changed(cluster, CONFIGURATION, broken, {"data": live["data"]}):
            restart(cluster)
            objecting, outcome = verdict(cluster)
            job, _ = probe(cluster, TRAINING_JOB)
    finally:
        restart(cluster)
    assert (outcome.status, outcome.reason, objecting) == (Status.FAIL, "PartialPlacement", "H2")
    assert "h2-p0 on" in outcome.message
    assert "h2-p1 on" in outcome.message
    through = held_then_released(job)
    assert (through.status, through.reason) == (Status.FAIL, "PartialPlacement")
    assert operator_verdict(job).status is Status.PASS  # the operator's part of it is well


@pytest.mark.long
@pytest.mark.fault(36)
def test_a_scheduler_that_is_down_is_told_from_a_full_cluster(cluster: Cluster) -> None:
    back = {"spec": {"replicas": 1}}
    with changed(cluster, SCHEDULER, {"spec": {"replicas": 0}}, back):
        until(lambda: not pods_of(cluster, SCHEDULER))  # one that ends may still schedule
        _, outcome = verdict(cluster, IMPATIENT)
    assert wait_ready(cluster, [SCHEDULER], Deadline(240), silent)[SCHEDULER].ready
    assert (outcome.status, outcome.reason) == (Status.FAIL, "SchedulerNotEvaluating")
    assert outcome.observed["judged"] == {}


@pytest.mark.long
def test_nodes_without_room_are_told_from_a_scheduler_that_is_down(cluster: Cluster) -> None:
    nodes = [item["metadata"]["name"] for item in cluster.list("v1", "Node").items]
    with contextlib.ExitStack() as stack:
        for name in nodes:
            node = Ref("v1", "Node", "", name)
            cordon, uncordon = {"spec": {"unschedulable": True}}, {"spec": {"unschedulable": None}}
            stack.enter_context(changed(cluster, node, cordon, uncordon))
        _, outcome = verdict(cluster, IMPATIENT)
    assert (outcome.status, outcome.reason) == (Status.ERROR, "NoRoom")


@pytest.mark.fault(36)
def test_a_closed_queue_is_told_as_such_at_once(cluster: Cluster) -> None:
    shut, opened = {"status": {"state": "Closed"}}, {"status": {"state": "Open"}}
    with changed(cluster, QUEUE, shut, opened, status=True):
        _, outcome = verdict(cluster, PATIENT)
    assert (outcome.status, outcome.reason) == (Status.FAIL, "QueueNotOpen")


@pytest.mark.long
@pytest.mark.fault(38)
def test_an_evicted_member_is_no_violation_and_the_step_is_repeated(cluster: Cluster) -> None:
    session = Session(cluster)
    done = threading.Event()

    def evict() -> None:
        while not done.wait(0.1):
            for pod in cluster.list("v1", "Pod", labels=f"{RUN_LABEL}={session.run}").items:
                if pod["metadata"]["name"] == "h2-p0":
                    cluster.delete(Ref.of(pod), uid=pod["metadata"]["uid"])
                    return

    thread = threading.Thread(target=evict)
    thread.start()
    try:
        evidence = GANG.run(session, facts_of(cluster), silent)
    finally:
        done.set()
        thread.join()
        session.close()
    blocked = evidence.steps["H2"]
    assert (blocked.attempts, blocked.premature) == (2, ())
    assert "h2-p0" in blocked.notes[0]
    assert blamed(evidence)[1].status is Status.PASS


def test_the_operator_makes_a_gang_of_a_job(cluster: Cluster) -> None:
    evidence, account = probe(cluster, TRAINING_JOB)
    outcome = operator_verdict(evidence)
    assert outcome.status is Status.PASS, outcome.message
    through = held_then_released(evidence)
    assert through.status is Status.PASS, through.message
    assert evidence.held
    assert evidence.released
    assert evidence.held.premature == ()
    assert {item.phase for item in evidence.released.members} == {"Succeeded"}
    assert {item.ref.kind for item in account.removed} >= {"TFJob", "PodGroup", "Pod"}


@pytest.mark.long
def test_the_default_class_makes_a_whole_turn(cluster: Cluster) -> None:
    evidence, account = probe(cluster, STORAGE)
    assert evidence.round_trip
    assert [(item.name, item.done) for item in evidence.round_trip.stages] == [
        ("write", True),
        ("read", True),
        ("remove", True),
    ]
    assert "PersistentVolume" in {item.ref.kind for item in account.removed}


# the default class


def judged(kubeconfig: Path) -> dict[str, tuple[str, str]]:
    """Status and reason of family D, by id."""
    options = RunOptions(kubeconfig, select=("storage",), stability_seconds=3, report_dir=None)
    return {
        item.check.id: (str(item.outcome.status), item.outcome.reason) for item in validate(options, silent).results
    }


def failing(found: dict[str, tuple[str, str]]) -> dict[str, str]:
    return {id_: reason for id_, (status, reason) in found.items() if status in {"fail", "warn", "error"}}


@pytest.fixture(scope="module")
def first_volume(cluster: Cluster) -> None:
    """The directory for volumes on the node, which no cluster has before its first volume; D8 says so."""
    evidence, _ = probe(cluster, STORAGE)
    assert evidence.round_trip


@pytest.mark.fault(34)
@pytest.mark.usefixtures("first_volume")
def test_without_a_default_class_d1_alone_fails(cluster: Cluster, kubeconfig: Path) -> None:
    mark = "storageclass.kubernetes.io/is-default-class"
    ref = Ref("storage.k8s.io/v1", "StorageClass", "", "local-path")
    bare, marked = ({"metadata": {"annotations": {mark: value}}} for value in (None, "true"))
    with changed(cluster, ref, bare, marked):
        found = judged(kubeconfig)
    assert failing(found) == {"D1": "NoDefault"}
    assert found["D5"] == found["D2"] == ("skip", "ConsequenceOf")


@pytest.mark.long
@pytest.mark.fault(34)
def test_with_a_second_default_class_d1_alone_warns(cluster: Cluster, kubeconfig: Path) -> None:
    first = cluster.get(Ref("storage.k8s.io/v1", "StorageClass", "", "local-path"))
    assert first
    work = {key: first[key] for key in ("provisioner", "volumeBindingMode", "reclaimPolicy")}
    mark = {"storageclass.kubernetes.io/is-default-class": "true"}
    meta = {"name": f"second-{secrets.token_hex(3)}", "annotations": mark}
    body = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": meta} | work
    second = cluster.create(body)
    try:
        found = judged(kubeconfig)
    finally:
        cluster.delete(Ref.of(second), uid=second["metadata"]["uid"])
    assert failing(found) == {"D1": "SeveralDefaults"}
    assert found["D1"][0] == "warn"
    assert found["D5"][0] == found["D2"][0] == "pass"


# volumes of others


@contextlib.contextmanager
def namespace(cluster: Cluster, **labels: str) -> Iterator[str]:
    """A namespace of this test's own."""
    name = f"test-{secrets.token_hex(4)}"
    made = cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
    until(lambda: cluster.get(Ref("v1", "ServiceAccount", name, "default")))
    try:
        yield name
    finally:
        cluster.delete(Ref.of(made), uid=made["metadata"]["uid"])
        until(lambda: cluster.get(Ref.of(made)) is None)


def container(script: str, **rest: Any) -> Object:
    return {"name": "main", "image": BUSYBOX, "command": ["sh", "-c", script], **rest}


def pod(cluster: Cluster, where: str, name: str, spec: Object, *, until: str) -> Object:
    """Create a pod and wait until it is in that phase."""
    spec = {"terminationGracePeriodSeconds": 0, "restartPolicy": "Never", **spec}
    made = cluster.create(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": where}, "spec": spec}
    )
    deadline = Deadline(240)
    while True:
        live = cluster.get(Ref.of(made))
        assert live
        if live["status"].get("phase") == until:
            return live
        assert not deadline.passed, live["status"]
        time.sleep(0.3)


def on_node(cluster: Cluster, where: str, node: str, path: str, script: str) -> None:
    """Run a script as root on a node, with the parent of `path` at /parent."""
    parent = {"name": "parent", "hostPath": {"path": str(Path(path).parent)}}
    main = container(script.format(name=Path(path).name), volumeMounts=[{"name": "parent", "mountPath": "/parent"}])
    spec = {"nodeName": node, "containers": [main], "volumes": [parent]}
    ended = pod(cluster, where, f"root-{secrets.token_hex(3)}", spec, until="Succeeded")
    cluster.delete(Ref.of(ended), uid=ended["metadata"]["uid"])


@pytest.fixture(scope="module")
def consumer(cluster: Cluster) -> Iterator[tuple[str, str, str]]:
    """A pod of uid 999 that uses a volume of the default class: its namespace, its node and its directory."""
    with namespace(cluster) as where:
        claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "16Mi"}}}
        meta = {"name": "data", "namespace": where}
        cluster.create({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": claim})
        spec = {
            "securityContext": {"runAsUser": CONSUMER, "runAsGroup": CONSUMER, "fsGroup": CONSUMER},
            "containers": [container("sleep 3600", volumeMounts=[{"name": "data", "mountPath": "/data"}])],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
        }
        running = pod(cluster, where, "db", spec, until="Running")
        bound = cluster.get(Ref("v1", "PersistentVolumeClaim", where, "data"))
        assert bound
        volume = cluster.get(Ref("v1", "PersistentVolume", "", bound["spec"]["volumeName"]))
        assert volume
        yield where, running["spec"]["nodeName"], volume["spec"]["hostPath"]["path"]


@pytest.mark.fault(35)
def test_a_directory_of_root_fails_for_its_consumer_and_passes_when_healed(
    cluster: Cluster, consumer: tuple[str, str, str]
) -> None:
    where, node, path = consumer
    on_node(cluster, where, node, path, "cd /parent/{name} && echo kept > precious && chown 0:0 . && chmod 0755 .")
    outcome = writing(cluster)
    assert (outcome.status, outcome.reason) == (Status.FAIL, "PermissionDenied")
    assert (outcome.observed["uid"], outcome.observed["gid"], outcome.observed["mode"]) == (0, 0, "0755")
    assert outcome.changes == (f"chown {CONSUMER}:{CONSUMER} {path}",)
    assert f"owner {CONSUMER}:{CONSUMER}" in outcome.todo
    assert f"Pod {where}/db" in outcome.message

    on_node(cluster, where, node, path, f"chown {CONSUMER}:{CONSUMER} /parent/{{name}}")
    outcome = writing(cluster)
    assert outcome.status is Status.PASS, outcome.message
    # Only what was there before is there now.
    on_node(cluster, where, node, path, 'cd /parent/{name} && test "$(ls -A)" = precious && grep -q kept precious')


@pytest.mark.long
def test_two_identities_write_to_one_directory_at_the_same_time(
    cluster: Cluster, consumer: tuple[str, str, str]
) -> None:
    where, node, path = consumer
    on_node(cluster, where, node, path, "chmod 1777 /parent/{name}")
    session, known = Session(cluster), facts_of(cluster)
    try:
        both = [Target(Identity(user=user), (), volume="v", path=path, node=node) for user in (CONSUMER, CONSUMER + 1)]
        done = in_parallel(lambda item: write(session, item[1], item[0], known), enumerate(both * 3), 6)
    finally:
        account = session.close()
    assert {(item.failed_at, item.cause, item.failure) for item in done} == {("", "", None)}
    assert account.left == ()
    on_node(cluster, where, node, path, 'test -z "$(ls -A /parent/{name} | grep kfv)"')


@pytest.mark.long
def test_a_probe_that_is_ended_in_the_midst_of_it_leaves_nothing_in_the_directory(
    cluster: Cluster, consumer: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    where, node, path = consumer
    on_node(cluster, where, node, path, "chmod 1777 /parent/{name}")
    slow = SCRIPT.replace("try fsync", "say waiting\nwhile :; do sleep 0.2; done\ntry fsync")
    monkeypatch.setattr("kubeflow_volcano.validators.probes.storage.writing.SCRIPT", slow)
    session, known = Session(cluster), facts_of(cluster)
    target = Target(Identity(user=CONSUMER), (), volume="v", path=path, node=node)
    acting = threading.Thread(target=lambda: write(session, target, 0, known))
    acting.start()
    try:
        until(lambda: any(item.ref.kind == "Pod" for item in session.tracked), 60)
        seen = 'test -n "$(ls -A /parent/{name} | grep kfv)"'
        on_node(cluster, where, node, path, f"until {seen}; do sleep 0.2; done")
    finally:
        session.close()
        acting.join(60)
    on_node(cluster, where, node, path, f"sleep 3; if {seen}; then exit 1; fi")


@pytest.mark.fault(35)
def test_a_directory_that_is_gone_has_its_own_word(cluster: Cluster, consumer: tuple[str, str, str]) -> None:
    where, node, path = consumer
    on_node(cluster, where, node, path, "mv /parent/{name} /parent/{name}.away")
    try:
        outcome = writing(cluster)
    finally:
        on_node(cluster, where, node, path, "mv /parent/{name}.away /parent/{name}")
    assert (outcome.status, outcome.reason) == (Status.FAIL, "DirectoryMissing")
    assert path in outcome.todo


def test_a_consumer_on_a_simulated_node_is_left_out_with_that_reason(cluster: Cluster) -> None:
    simulated = sorted(facts_of(cluster).simulated_nodes)
    if not simulated:
        pytest.skip("the cluster has no simulated node")
    with namespace(cluster) as where:
        name = f"static-{where}"
        size = {"storage": "16Mi"}
        static = {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "hostPath": {"path": "/nowhere"}}
        claim_ref = {"claimRef": {"namespace": where, "name": "data"}, "capacity": size}
        volume = cluster.create(
            {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": static | claim_ref}
        )
        try:
            claim = {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "volumeName": name}
            meta = {"name": "data", "namespace": where}
            body = claim | {"resources": {"requests": size}}
            cluster.create({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": body})
            spec = {
                "nodeName": simulated[0],
                "securityContext": {"runAsUser": CONSUMER},
                "containers": [container("sleep 3600", volumeMounts=[{"name": "data", "mountPath": "/data"}])],
                "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
            }
            made = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "db", "namespace": where}, "spec": spec}
            cluster.create(made)
            chosen, skipped = targets(facts_of(cluster))
        finally:
            cluster.delete(Ref.of(volume), uid=volume["metadata"]["uid"])
    reasons = [item.reason for item in skipped if item.consumer.namespace == where]
    assert any(f"simulated node {simulated[0]}" in text for text in reasons)
    assert not any(item.path == "/nowhere" for item in chosen)


# refusals and interruptions


@pytest.mark.fault(39)
def test_a_namespace_that_refuses_the_probe_leaves_the_question_open(cluster: Cluster) -> None:
    with namespace(cluster) as where:
        meta = {"name": "strict", "namespace": where}
        spec = {"hard": {"pods": "0"}}
        quota = cluster.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": spec})
        until(lambda: "hard" in (cluster.get(Ref.of(quota)) or {}).get("status", {}))  # counted before it refuses
        evidence, account = probe(cluster, GANG, Options(namespace=where))
        _, outcome = blamed(evidence)
        assert (outcome.status, outcome.reason) == (Status.ERROR, "ProbeRefused")
        assert "exceeded quota" in outcome.message
        assert account.left == ()
        assert cluster.get(Ref("v1", "Namespace", "", where))


@pytest.mark.fault(39)
def test_pod_security_refuses_in_its_own_words(cluster: Cluster, consumer: tuple[str, str, str]) -> None:
    assert consumer
    with namespace(cluster, **{"pod-security.kubernetes.io/enforce": "restricted"}) as where:
        evidence, account = probe(cluster, STORAGE, Options(namespace=where))
    (existing,) = (item for item in evidence.written if item.target.existing)
    assert existing.failure
    assert "violates PodSecurity" in existing.failure[1]
    assert account.left == ()


@contextlib.contextmanager
def started(kubeconfig: Path, reports: Path, *select: str) -> Iterator[subprocess.Popen[str]]:
    """A validation in a process of its own, killed at the end of the block if it still runs."""
    command = [sys.executable, "-m", "validators", "--kubeconfig", str(kubeconfig), "--report-dir", str(reports)]
    command += [word for item in select for word in ("--select", item)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def await_line(process: subprocess.Popen[str], text: str) -> None:
    assert process.stdout
    for line in process.stdout:
        if text in line:
            return
    raise AssertionError(f"the run ended without saying {text!r}")


@pytest.mark.fault(21)
@pytest.mark.parametrize(
    ("select", "moment", "number"),
    [
        pytest.param(("gang",), "nothing may be bound", signal.SIGTERM, marks=pytest.mark.long),
        pytest.param(("D5", "D6"), "D5 round trip", signal.SIGTERM, marks=pytest.mark.long),
        (("D5", "D6"), "D6 writing 2", signal.SIGINT),
        pytest.param(("G5",), "G5 PodGroup", signal.SIGTERM, marks=pytest.mark.long),
    ],
)
def test_an_interrupted_run_removes_everything(
    cluster: Cluster, kubeconfig: Path, tmp_path: Path, *, select: Sequence[str], moment: str, number: signal.Signals
) -> None:
    with started(kubeconfig, tmp_path, *select) as process:
        await_line(process, moment)
        process.send_signal(number)
        output, _ = process.communicate(timeout=300)
    assert process.returncode == 128 + number, output
    assert remains(cluster) == []


@pytest.mark.fault(21)
def test_what_a_killed_run_leaves_is_swept_by_the_next_one_here_at_once(
    cluster: Cluster, kubeconfig: Path, tmp_path: Path
) -> None:
    with started(kubeconfig, tmp_path, "gang") as process:
        await_line(process, "nothing may be bound")
        (alive,) = cluster.list("v1", "Namespace", labels=RUN_LABEL).items
        meanwhile = Session(cluster)
        meanwhile.sweep()
        assert meanwhile.close().swept == ()  # the other run still goes on
    sweeper = Session(cluster)
    sweeper.sweep()
    assert [item.uid for item in sweeper.close().swept] == [alive["metadata"]["uid"]]


@pytest.mark.long
def test_what_a_killed_run_of_another_machine_leaves_is_swept_once_it_has_expired(
    cluster: Cluster, kubeconfig: Path, tmp_path: Path
) -> None:
    with started(kubeconfig, tmp_path, "gang") as process:
        await_line(process, "nothing may be bound")
    (left,) = cluster.list("v1", "Namespace", labels=RUN_LABEL).items
    try:
        cluster.patch(Ref.of(left), {"metadata": {"annotations": {OWNER: "another 1 2 3"}}})
        young = Session(cluster)
        young.sweep()
        assert young.close().swept == ()
        cluster.patch(Ref.of(left), {"metadata": {"annotations": {EXPIRES: "2020-01-01T00:00:00Z"}}})
    finally:
        sweeper = Session(cluster)
        sweeper.sweep()
        account = sweeper.close()
    assert [item.uid for item in account.swept] == [left["metadata"]["uid"]]


@pytest.mark.parametrize("changes", [0, 4])
def test_a_slow_pod_is_waited_for_as_long_as_there_is_progress(cluster: Cluster, changes: int) -> None:
    session = Session(cluster)
    try:
        container = {"name": CONTAINER, "image": BUSYBOX, "command": ["true"]}
        where = session.namespace()
        pod = session.create(probe_pod("slow", where, container, spec={"schedulerName": "nobody"}))
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(watch_to_end, session, pod, 3.0)
            for number in range(changes):
                Deadline(1.5).pause(1.5)  # within the 3 s of the wait: the time between two changes is what is tested
                cluster.patch(Ref.of(pod), {"metadata": {"labels": {"step": str(number)}}})
            end = waiting.result()
    finally:
        account = session.close()
    assert account.left == ()
    assert end.reason == UNSEEN
    assert end.seconds == pytest.approx(3.0 + 1.5 * changes, abs=1.4)


@pytest.mark.long
def test_in_a_namespace_of_somebody_else_only_what_was_made_is_removed(cluster: Cluster) -> None:
    with namespace(cluster) as where:
        meta = {"name": "precious", "namespace": where, "labels": {RUN_LABEL: "not-ours"}}
        kept = cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {}})
        evidence, account = probe(cluster, GANG, Options(namespace=where))
        assert blamed(evidence)[1].status is Status.PASS
        assert account.left == ()
        assert not any(item.ref.kind == "Namespace" for item in account.created)
        live = cluster.get(Ref.of(kept))
        assert live
        assert live["metadata"]["uid"] == kept["metadata"]["uid"]
        assert cluster.list("v1", "Pod", namespace=where).items == ()
