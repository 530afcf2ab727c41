"""Verdicts on the controls of the gang experiment: the same pods without a gang, with Volcano and without."""

from __future__ import annotations

from kubeflow_volcano.cluster.watch.leaders import SCHEDULER
from kubeflow_volcano.validators.checks.gang import words as gang_words
from kubeflow_volcano.validators.core.outcome import Outcome, errored, warned
from kubeflow_volcano.validators.probes.gang.evidence import GangEvidence
from kubeflow_volcano.validators.probes.gang.gang import STUCK


def same_scheduler(evidence: GangEvidence) -> Outcome:
    """H4."""
    step = evidence.steps.get("H4")
    if step is None:
        return gang_words.ended_early(evidence)
    stuck = next((item for item in step.members if item.name.endswith(STUCK)), None)
    if step.disturbed:
        return gang_words.disturbed(evidence, step)
    if not step.bound or stuck is None or stuck.node:
        found = f"none was bound: {gang_words.why(step)}" if not step.bound else "the third was not seen"
        found = f"{stuck.name} runs on {stuck.node}" if stuck and stuck.node else found
        return errored(
            "ControlFailed",
            f"the control failed, so the gang and lack of room cannot be distinguished: {found}",
            expected="without the gang, the two members that fit are bound and the third is not",
            todo="make room for pods of 16Mi memory, see that no node has the label kfv.io/nowhere, and run again."
            if step.bound or any(item.judged for item in step.members)
            else "no scheduler looked at the pods: check that it is running (F1) and read its log, then run again.",
            **gang_words.seen(evidence, step),
        )
    return gang_words.good(
        evidence, step, f"{len(step.bound)} of the same 3 pods were bound once each might run alone: there was room."
    )


def default_scheduler(evidence: GangEvidence) -> Outcome:
    """H5."""
    step = evidence.steps.get("H5")
    if step is None:
        return gang_words.ended_early(evidence)
    if step.disturbed:
        return gang_words.disturbed(evidence, step)
    bound = sorted(item.name for item in step.bound)
    if len(bound) == len(step.members) - 1 and not any(name.endswith(STUCK) for name in bound):
        text = "the default scheduler bound 2 of the same 3 pods and left the third pending: what gangs prevent."
        return gang_words.good(evidence, step, text)
    silent = not bound and not any(item.judged for item in step.members)
    found = f"bound {len(bound)} of the 3 pods ({', '.join(bound) or 'none'})"
    ignored = f"considered none of the 3 pods in {evidence.timing.bind_seconds:.0f} s"
    return warned(
        "DefaultSchedulerSilent" if silent else "NotPartial",
        f"the default scheduler {ignored if silent else found}, so that nothing shows what the gang prevents: "
        f"{gang_words.why(step)}",
        expected="without gang scheduling, the two members that fit are bound and the third is not",
        todo="check whether kube-scheduler has a profile named default-scheduler, and whether that schedules gangs "
        "itself; the proof, H2 with H4, does not depend on it.",
        because=(frozenset({SCHEDULER.lease}),) if silent else (),
        **gang_words.seen(evidence, step),
    )
