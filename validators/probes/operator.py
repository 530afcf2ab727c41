"""What an operator makes of a job: a PodGroup, and pods that are handed to the gang scheduler."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from kubeflow_volcano.cluster.deadline import Deadline
from kubeflow_volcano.cluster.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.watching import Change, Observer, Subject
from kubeflow_volcano.progress import Progress
from validators.facts import Facts
from validators.probes.pods import probe_pod
from validators.probes.remains import Tracked, wait_gone
from validators.probes.session import ProbeRefused, Session
from validators.probes.spaces import Level
from validators.probes.stage import PODGROUP

__all__ = ["PLACED_SECONDS", "REPLICAS", "JobPod", "OperatorEvidence", "observe", "run"]

REPLICAS = 2
MADE_SECONDS = 30.0
"""Within this time an operator that works has made the group and, once that may run, the pods."""

PLACED_SECONDS = 10.0
"""So long their placement is waited for after that; whether the cluster has room is no matter of an operator."""

_NUDGE_SECONDS = 6.0
"""So long after the group may run an operator that watches it has made the pods; then the job is touched once."""

_TICK = 0.2
_GONE_SECONDS = 20.0
_PROBE_LABEL = "kfv.io/probe"
_HELD = frozenset({"", "Pending"})


@dataclass(frozen=True, slots=True)
class JobPod:
    """A pod that the operator made; `group` is its gang annotation."""

    name: str
    scheduler: str
    group: str
    node: str


@dataclass
class OperatorEvidence:
    """What became of a job of two workers. `group` is None when no PodGroup of the job's name came.

    `nudged` says that no pods came, although the group might run, until the job was touched.
    """

    job: Ref
    queue: str
    replicas: int = REPLICAS
    group: Object | None = None
    pods: tuple[JobPod, ...] = ()
    nudged: bool = False
    refused: str = ""
    trouble: str = ""
    seconds: float = 0.0

    @property
    def phase(self) -> str:
        """Phase of the PodGroup, empty while it has none."""
        found: str = (self.group or {}).get("status", {}).get("phase", "")
        return found


def run(session: Session, facts: Facts, progress: Progress) -> OperatorEvidence:
    """Create a TFJob of two pause pods and see what the operator makes of it; about 3 s, at most 50 s."""
    evidence = OperatorEvidence(Ref("kubeflow.org/v1", "TFJob", "", f"kfv-{session.run}"), session.options.queue)
    if facts.expectations.gang_scheduler == "none":
        return evidence
    progress("G5 PodGroup: a job of two workers through the training operator")
    return observe(session, evidence, _job, lambda name: f"{_PROBE_LABEL}={name}")


def observe(
    session: Session,
    evidence: OperatorEvidence,
    make: Callable[[Session, str, str], Object],
    selector: Callable[[str], str],
    level: Level = Level.RESTRICTED,
) -> OperatorEvidence:
    """Create the job that `make` describes, given namespace and name, and follow the pods of `selector` of its name."""
    started = time.monotonic()
    try:
        namespace, name = session.namespace(level), evidence.job.name
        evidence.job = Ref(evidence.job.api_version, evidence.job.kind, namespace, name)
        _follow(session, evidence, session.create(make(session, namespace, name)), selector(name))
    except ProbeRefused as refusal:
        evidence.refused = str(refusal)
    except ApiError as error:
        evidence.trouble = str(error)
    evidence.seconds = time.monotonic() - started
    return evidence


def _follow(session: Session, evidence: OperatorEvidence, job: Object, labels: str) -> None:
    namespace, name = evidence.job.namespace, evidence.job.name
    subjects = [
        Subject("v1", "Pod", namespace, labels),
        Subject(*PODGROUP, namespace, fields=f"metadata.name={name}"),
    ]
    pods: dict[str, JobPod] = {}
    free_since = made_since = None
    with Observer(session.cluster, subjects, Deadline(MADE_SECONDS)) as observer:
        for change in observer.changes(_TICK):
            if change:
                _take(session, evidence, pods, change)
            now = time.monotonic()
            if evidence.group and len(pods) >= REPLICAS:
                made_since = made_since or now
                if all(pod.node for pod in pods.values()) or now - made_since > PLACED_SECONDS:
                    break
            elif evidence.phase not in _HELD:
                free_since = free_since or now
                if not evidence.nudged and now - free_since > _NUDGE_SECONDS:
                    evidence.nudged = True
                    session.cluster.patch(evidence.job, {"metadata": {"annotations": {_PROBE_LABEL: "nudged"}}})
            if session.stopped:
                break
    evidence.pods = tuple(pods.values())
    session.delete(job)
    made = [item for item in session.tracked if item.ref.namespace == namespace and _of_job(item, name, pods)]
    if not wait_gone(session.cluster, made, Deadline(_GONE_SECONDS)):
        session.gone(*(item.uid for item in made))


def _of_job(item: Tracked, name: str, pods: dict[str, JobPod]) -> bool:
    return item.ref.name == name or item.uid in pods


def _take(session: Session, evidence: OperatorEvidence, pods: dict[str, JobPod], change: Change) -> None:
    for obj in change.objects:
        if change.type == "DELETED":
            continue
        session.adopt({"apiVersion": change.subject.api_version, "kind": change.subject.kind, **obj})
        if change.subject.kind == "PodGroup":
            evidence.group = obj
            continue
        meta, spec = obj["metadata"], obj["spec"]
        group = (meta.get("annotations") or {}).get("scheduling.k8s.io/group-name", "")
        pods[meta["uid"]] = JobPod(meta["name"], spec.get("schedulerName", ""), group, spec.get("nodeName", ""))


def _job(session: Session, namespace: str, name: str) -> Object:
    container = {"name": "tensorflow", "image": session.options.pause_image}
    pod = probe_pod(name, namespace, container, labels={_PROBE_LABEL: name})
    meta = {key: pod["metadata"][key] for key in ("labels", "annotations")}
    template = {"metadata": meta, "spec": pod["spec"]}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "runPolicy": {
                "cleanPodPolicy": "All",
                "activeDeadlineSeconds": 300,
                "schedulingPolicy": {"queue": session.options.queue},
            },
            "tfReplicaSpecs": {"Worker": {"replicas": REPLICAS, "restartPolicy": "Never", "template": template}},
        },
    }
