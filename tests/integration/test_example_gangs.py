"""The gangs of the examples on rehearsal clusters: PodGroup, queue and priority as the example says, bound together.

Pods with images of training workloads are placed on simulated nodes, so this shows placement and nothing of training:
a JAXJob and TrainJobs are followed to their end, which the test gives their pods. All kinds of jobs are served on the
clusters with Trainer and training operator 1.9.4; what the default cluster does not serve is skipped there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from kubeflow_volcano.catalog.examples import Example, examples, load_example
from kubeflow_volcano.catalog.gangs import VOLCANO
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref, conditions, new_object
from kubeflow_volcano.cluster.volcano import QUEUE_NAME
from kubeflow_volcano.cluster.watch.observer import Observer, Subject
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.experiment.record import Group, Member, Recorder
from kubeflow_volcano.experiment.session import Options, ProbeRefused, Session
from kubeflow_volcano.gang_demo.jobs.jobs import SUCCEED_AFTER
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rehearsal.spec import ClusterPaths
from tests.integration.breaking import space
from tests.places import UPSTREAM
from tests.rehearsed import cluster_name, play
from tests.waiting import at_last, until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

SECONDS = 150.0
TOGETHER_SECONDS = 5.0
"""Volcano binds a whole gang in one session; its requests and this machine's load spread them a little."""
LABELS = {
    "kubeflow.org/v1": "training.kubeflow.org/job-name",
    "batch.volcano.sh/v1alpha1": "volcano.sh/job-name",
    "trainer.kubeflow.org/v1alpha1": "jobset.sigs.k8s.io/jobset-name",
}
NO_JOBS = ("TrainingRuntime",)
ENDS = {"JAXJob": "Succeeded", "TrainJob": "Complete"}
"""The condition that says so, of kinds whose jobs are followed to their end."""
TRAINER = "rehearsal-26.03"
"""The inventory with Trainer; the operator comes from the rehearsal's own files."""
NEWER: Mapping[str, Mapping[str, Any]] = {
    f"{TRAINER} on {generation}": {"rehearsal_cluster_generation": generation, **versions}
    for generation, versions in (
        ("1.34", {"kubeflow_release": "26.03", "volcano_version": "1.14.1"}),
        ("1.35", {}),
        ("1.37", {}),
    )
}
"""Variables by cluster."""


@dataclass(frozen=True)
class Expected:
    """What an example says about one gang."""

    minimum: int
    queue: str
    priority: str

    @classmethod
    def of(cls, job: Object) -> Expected:
        if job["kind"] == "TrainJob":
            queue = job["spec"].get("annotations", {}).get(QUEUE_NAME, "default")
            return cls(job["spec"]["trainer"]["numNodes"], queue, "")
        policy: Mapping[str, Any] = job["spec"].get("runPolicy", {}).get("schedulingPolicy") or job["spec"]
        priority = policy.get("priorityClass") or policy.get("priorityClassName") or ""
        return cls(policy["minAvailable"], policy["queue"], priority)


def gangs_of(example: Example) -> dict[str, Expected]:
    """By the name of the job."""
    return {obj["metadata"]["name"]: Expected.of(obj) for obj in jobs_of(example)}


def jobs_of(example: Example) -> list[Object]:
    return [obj for obj in example.objects if obj["apiVersion"] in LABELS and obj["kind"] not in NO_JOBS]


ALIKE = frozenset(f"jobs/{kind}" for kind in ("paddlejob", "pytorchjob", "xgboostjob"))
"""Examples of kinds that their operator makes gangs of as of a TFJob."""
GANGS = [item for item in examples() if item.name.startswith(("jobs/", "scheduling/")) and gangs_of(item)]


@pytest.fixture(scope="module", params=["default", *(pytest.param(name, marks=pytest.mark.long) for name in NEWER)])
def place(request: pytest.FixtureRequest, worker_id: str) -> Iterator[Cluster]:
    """The worker's cluster, or one of this file's own."""
    versions = NEWER.get(request.param)
    if versions is None:
        yield request.getfixturevalue("cluster")
        return
    if not UPSTREAM.is_dir():
        pytest.skip(f"{UPSTREAM} is not there")
    name = f"{cluster_name(worker_id)}-e{versions['rehearsal_cluster_generation'].replace('.', '')}"
    kubeconfig = ClusterPaths.of(name).kubeconfig
    more: dict[str, Any] = {
        **versions,
        "kubeflow_include": ["training-operator"],
        "training_operator_version": "1.9.4",
        "training_operator_source": str(kubeconfig.parent / "upstream/training-operator"),
    }
    try:
        play(name, "rehearsal", "install", inventory=TRAINER, **more)
        yield Cluster.connect(kubeconfig)
    finally:
        play(name, "rehearsal", state="absent", inventory=TRAINER, **versions)


@contextmanager
def created(cluster: Cluster, example: Example) -> Iterator[tuple[Session, Recorder]]:
    """The objects of the example in a namespace of their own, and what is seen of them; removed by UID afterwards."""
    with space(cluster) as where:
        session = Session(cluster, silent, Options(namespace=where))
        subjects = [Subject("v1", "Pod", where), Subject(*VOLCANO.podgroup, where)]
        try:
            with Observer(cluster, subjects, Deadline(SECONDS)) as observer:
                for obj in example.objects:
                    shared = not cluster.resource(obj["apiVersion"], obj["kind"]).namespaced
                    place = {} if shared else {"namespace": where}
                    admitted(session, {**obj, "metadata": {**obj["metadata"], **place}})
                yield session, Recorder(cluster, where, "", observer.changes(0.1))
        finally:
            account = session.close()
        assert not account.left
        assert len(account.removed) == len(account.created) >= len(example.objects)


def admitted(session: Session, obj: Object) -> None:
    """Trainer's webhook refuses a job until it has seen the runtime that was made just before."""
    refused = ""

    def accepted() -> bool:
        nonlocal refused
        try:
            session.create(obj)
        except ProbeRefused as refusal:
            refused = str(refusal)
            return False
        return True

    assert at_last(accepted, wanted=True, seconds=30, every=1), refused


def follow_to_its_end(cluster: Cluster, job: Ref, members: list[Member]) -> None:
    """Its pods succeed, and then its controller says that it has."""
    for item in members:
        body = {"metadata": {"annotations": {SUCCEED_AFTER: "0s"}}}
        cluster.patch(Ref("v1", "Pod", item.namespace, item.name), body)
    until(lambda: conditions(cluster.get(job) or {}).get(ENDS[job.kind], {}).get("status") == "True", SECONDS)


def members_of(recorder: Recorder, job: str) -> list[Member]:
    return [item for item in recorder.members.values() if job in {item.labels.get(label) for label in LABELS.values()}]


def group_of(recorder: Recorder, members: list[Member]) -> Group | None:
    names = {item.group for item in members}
    return next((item for item in recorder.groups.values() if item.name in names), None)


def is_whole(recorder: Recorder, job: str, minimum: int) -> bool:
    members = members_of(recorder, job)
    group = group_of(recorder, members)
    return len(members) == minimum and all(item.node for item in members) and bool(group and group.phase == "Running")


@pytest.mark.parametrize(
    "name", [pytest.param(item.name, marks=pytest.mark.long if item.name in ALIKE else ()) for item in GANGS]
)
def test_the_gang_is_what_the_example_says_and_is_bound_together(
    place: Cluster, request: pytest.FixtureRequest, name: str
) -> None:
    example, cluster = load_example(name), place
    if absent := [item.kind for item in example.kinds if item.kind not in cluster.kinds(item.api_version)]:
        assert request.node.callspec.params["place"] not in NEWER, absent
        pytest.skip(f"this operator serves no {', '.join(absent)}")
    gangs = gangs_of(example)
    with created(cluster, example) as (session, recorder):
        whole = recorder.until(
            lambda: all(is_whole(recorder, job, item.minimum) for job, item in gangs.items()), SECONDS - 10
        )
        assert whole, [f"{moment.name} {moment.what}" for moment in recorder.timeline]
        for job, expected in gangs.items():
            members = members_of(recorder, job)
            group = group_of(recorder, members)
            assert group is not None
            live = cluster.get(Ref(*VOLCANO.podgroup, group.namespace, group.name))
            assert live is not None
            spec = live["spec"]
            found = Expected(spec["minMember"], spec["queue"], spec.get("priorityClassName", ""))
            assert found == expected
            assert {item.scheduler for item in members} == {"volcano"}
            times = [item.bound_monotonic for item in members]
            assert max(times) - min(times) < TOGETHER_SECONDS
            session.adopt(live)
            for item in members:
                session.adopt(new_object("v1", "Pod", item.name, item.namespace, meta={"uid": item.uid}))
        for obj in jobs_of(example):
            if obj["kind"] in ENDS:
                members = members_of(recorder, obj["metadata"]["name"])
                ref = Ref(obj["apiVersion"], obj["kind"], members[0].namespace, obj["metadata"]["name"])
                follow_to_its_end(cluster, ref, members)


def test_the_gang_that_needs_gpus_gets_one_for_each_pod(cluster: Cluster) -> None:
    with created(cluster, load_example("jobs/pytorchjob-gpu")) as (_, recorder):
        job = "example-pytorchjob-gpu"
        assert recorder.until(lambda: is_whole(recorder, job, 4), SECONDS - 10)
        nodes = [item.node for item in members_of(recorder, job)]
    assert all(node.startswith("gpu-") for node in nodes)
    assert len(set(nodes)) == 4, "the nodes of the rehearsal cluster have one GPU each"
