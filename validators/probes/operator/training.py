"""A job of the training operator whose minMember cannot be met: no pod runs until it can, and then the job succeeds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.readiness import BAD_IMAGE_REASONS
from kubeflow_volcano.experiment.pods import SCRIPT_RESOURCES, probe_pod
from kubeflow_volcano.experiment.session import Session
from kubeflow_volcano.experiment.stage import step_of, was_judged
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.validators.core.facts import Facts, Probe
from kubeflow_volcano.validators.core.resources import DEPLOYMENTS, PODS
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.probes.acting import ACTING
from kubeflow_volcano.validators.probes.operator.operator import REPLICAS, Following, OperatorEvidence, observe
from kubeflow_volcano.validators.subjects.gang.operators import TRAINING

ASKED = REPLICAS + 1
"""The first minMember of the job, which is more than its replicas.

Volcano judges the members of such a group as well (PodScheduled=False, "pod group is not ready"; seen on 1.10.0), so
that a scheduler that is down cannot be taken for one that holds them.
"""

_PODS_SECONDS = 5.0
# Up to 1.5 the operator makes the PodGroup once, leaves it as it is (SyncPodGroup of kubeflow/common) and does not
# watch it (kubeflow/trainer#1574); from 1.6 on it follows the job (pkg/controller.v1/common/scheduling.go) and watches.
_FOLLOWS_SINCE = "1.6.0"
_JOB = ("kubeflow.org/v1", "TFJob")
_PROBE_LABEL = "kfv.io/probe"


def run(session: Session, facts: Facts, progress: Progress) -> OperatorEvidence:
    """Create a TFJob of two workers with minMember 3, then set it to 2; about 10 s, at most 180 s."""
    asked = OperatorEvidence(
        Ref(*_JOB, "", f"kfv-{session.run}"),
        session.options.queue,
        ASKED,
        gang=facts.expectations.gang,
        watches=_follows(facts),
        timing=facts.timing,
    )
    if facts.expectations.why_unmade:
        return asked
    progress("G5 PodGroup, G6 gang: a TFJob of two workers with minMember 3")
    evidence = _play(session, asked, progress)
    if not evidence.disturbed or (evidence.held and evidence.held.premature):
        return evidence
    progress("G6 again: " + "; ".join(f"{item.name}: {item.lost}" for item in evidence.disturbed))
    return replace(_play(session, _another(asked, "again"), progress), attempts=2)


def _follows(facts: Facts) -> bool:
    version = TRAINING.version(facts)
    return not version or version_key(version) >= version_key(_FOLLOWS_SINCE)


def _another(asked: OperatorEvidence, end: str, **rest: Any) -> OperatorEvidence:
    """The beginning of evidence on another job, whose name ends like this."""
    return replace(asked, job=asked.job._replace(name=f"{asked.job.name}-{end}"), **rest)


def _play(session: Session, asked: OperatorEvidence, progress: Progress) -> OperatorEvidence:
    def hold_then_release(following: Following) -> None:
        if _held(following) and asked.watches:
            progress("G6 gang: minMember is 2 now")
            policy = {"schedulingPolicy": {"minAvailable": REPLICAS}}
            session.cluster.patch(following.evidence.job, {"spec": {"runPolicy": policy}})
            _released(following)

    evidence = _observe(session, replace(asked), hold_then_release)
    if asked.watches or evidence.held is None or not evidence.held.reached:
        return evidence
    progress("G6 gang: the job recreated with minMember 2")
    second = _observe(session, _another(asked, "whole", minimum=REPLICAS), _released)
    return replace(
        evidence, released=second.released, state=second.state, refused=second.refused, failure=second.failure
    )


def _observe(session: Session, evidence: OperatorEvidence, then: Callable[[Following], None]) -> OperatorEvidence:
    return observe(
        session,
        evidence,
        lambda made, where, named: _job(made, where, named, evidence.minimum),
        lambda of: f"{_PROBE_LABEL}={of}",
        then=then,
    )


def _held(following: Following) -> bool:
    """Whether the scheduler evaluated the gang, and bound no member while minMember could not be met."""
    record, evidence = following.record, following.evidence
    started = time.monotonic()

    def judged() -> bool:
        return was_judged(following.members, record.groups.values())

    def decided() -> bool:
        return bool(record.bound()) or record.disturbed()

    record.wait_for(lambda: judged() or decided(), evidence.timing.judged_seconds)
    since = time.monotonic()
    if judged():
        record.until(decided, evidence.timing.job_hold_seconds)
    names = tuple(item.name for item in record.members.values())
    held = round(time.monotonic() - since, 3) if judged() else 0.0
    step = step_of(
        record, "G6", names, started, reached=judged() and not decided(), premature=record.bound(), held_seconds=held
    )
    evidence.held = step
    return step.reached


def _released(following: Following) -> None:
    """See that the gang is bound and the job succeeds."""
    record, evidence = following.record, following.evidence
    started = time.monotonic()

    def ended() -> bool:
        return evidence.state.startswith(("Succeeded", "Failed"))

    def stuck() -> bool:
        return any(item.waiting.partition(":")[0] in BAD_IMAGE_REASONS for item in following.members)

    def told() -> bool:
        return all(item.ended or item.lost for item in following.members)

    record.wait_for(lambda: ended() or stuck() or record.disturbed(), evidence.timing.done_seconds)
    if ended():
        # The watch of the job may be ahead of that of its pods, which says whether somebody took one of them away.
        record.until(told, _PODS_SECONDS)
    names = tuple(item.name for item in record.members.values())
    done = evidence.state.startswith("Succeeded")
    evidence.released = step_of(record, "G6", names, started, reached=done)


def _job(session: Session, namespace: str, name: str, minimum: int) -> Object:
    container = {
        "name": "tensorflow",
        "image": session.options.busybox_image,
        "command": ["sh", "-c", "exit 0"],
        "resources": SCRIPT_RESOURCES,
    }
    pod = probe_pod(name, namespace, container, labels={_PROBE_LABEL: name})
    meta = {key: pod["metadata"][key] for key in ("labels", "annotations")}
    template = {"metadata": meta, "spec": pod["spec"]}
    return {
        "apiVersion": _JOB[0],
        "kind": _JOB[1],
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            # What ended stays until the job goes, so that it is not taken for a pod that somebody evicted.
            "runPolicy": {
                "cleanPodPolicy": "None",
                "activeDeadlineSeconds": 300,
                "ttlSecondsAfterFinished": 300,
                "schedulingPolicy": {"minAvailable": minimum, "queue": session.options.queue},
            },
            "successPolicy": "AllWorkers",
            "tfReplicaSpecs": {"Worker": {"replicas": REPLICAS, "restartPolicy": "Never", "template": template}},
        },
    }


TRAINING_JOB = Probe[OperatorEvidence](
    "operator",
    run,
    "operator",
    reads=(DEPLOYMENTS, PODS),
    needs=(
        *ACTING,
        Rule("list", "", "events"),
        *(Rule(verb, "kubeflow.org", "tfjobs") for verb in ("create", "delete", "list", "patch", "watch")),
        *(Rule(verb, "scheduling.volcano.sh", "podgroups") for verb in ("delete", "list", "watch")),
    ),
)
