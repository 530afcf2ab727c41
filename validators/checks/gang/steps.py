"""Verdicts on the steps H1 to H3 of the gang experiment, from its evidence alone. None means nothing to object to."""

from __future__ import annotations

from kubeflow_volcano.catalog.gangs import KUBERNETES, SCHEDULER_PLUGINS, VOLCANO
from kubeflow_volcano.cluster.admission.denials import denier, look_at
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.experiment.record import Member
from kubeflow_volcano.experiment.stage import NOWHERE, Step
from kubeflow_volcano.validators.checks.gang.words import disturbed, ended_early, good, places, seen, why
from kubeflow_volcano.validators.core.outcome import Outcome, errored, failed, warned
from kubeflow_volcano.validators.probes.gang.evidence import GangEvidence
from kubeflow_volcano.validators.probes.gang.gang import STUCK
from kubeflow_volcano.validators.subjects.interception import named_in

_PLUGIN = {
    VOLCANO.name: "the scheduler's configuration names the plugin gang and none of its switches is false (F4)",
    SCHEDULER_PLUGINS.name: "the scheduler's configuration names the plugin Coscheduling",
    KUBERNETES.name: "kube-scheduler has the feature gate GenericWorkload on (F1) and its plugin GangScheduling",
}

_UNWRITTEN = {
    VOLCANO.name: "see the scheduler's log: it places pods and does not write the group's status.",
    SCHEDULER_PLUGINS.name: "see whether the pods run (C6) and the controller that writes the group's status is up "
    "(F1).",
    KUBERNETES.name: f"see that {_PLUGIN[KUBERNETES.name]}.",
}
"""What to do where a gang is placed and its PodGroup does not say so."""


def _restart(evidence: GangEvidence) -> tuple[str, ...]:
    """The command that restarts the scheduler; none for that of the control plane."""
    if evidence.gang is KUBERNETES:
        return ()
    if evidence.gang is SCHEDULER_PLUGINS:
        return ("kubectl -n scheduler-plugins rollout restart deployment/scheduler-plugins-scheduler",)
    return (f"kubectl -n {evidence.scheduler.namespace} rollout restart deployment/{evidence.scheduler.name}",)


def _configuration(evidence: GangEvidence) -> str:
    """The command that shows it; Volcano's manifests and chart name the ConfigMap after the scheduler."""
    if evidence.gang is SCHEDULER_PLUGINS:
        return "kubectl -n scheduler-plugins get configmaps -o yaml"
    if evidence.gang is KUBERNETES:
        return "kubectl -n kube-system get pods -l component=kube-scheduler -o yaml"
    place = evidence.scheduler
    return f"kubectl -n {place.namespace} get configmap {place.name}-configmap -o yaml"


def _queue_closed(evidence: GangEvidence) -> Outcome | None:
    if evidence.shut and not (evidence.refused or evidence.failure):
        state = evidence.queue_state or "missing"
        return failed(
            "QueueNotOpen",
            f"queue {evidence.queue} is {state}: nothing in it is ever evaluated, so the experiment was not made.",
            expected="queue in state Open",
            observed={"queue": evidence.queue, "state": state},
            objects=(Ref("scheduling.volcano.sh/v1beta1", "Queue", "", evidence.queue),),
            todo="open the queue: see F3.",
            because=("F3",),
        )
    return None


def violation(evidence: GangEvidence) -> Outcome | None:
    """A member of a gang that is bound where none may be, in any step."""
    blocked_step, fit_step = evidence.steps.get("H2"), evidence.steps.get("H1")
    if blocked_step and blocked_step.premature and not _unblocked(blocked_step):
        return _premature(evidence, blocked_step)
    if fit_step and not fit_step.disturbed and 0 < len(fit_step.bound) < len(fit_step.members):
        found = f"only {len(fit_step.bound)} of {len(fit_step.members)} members were bound"
        return _partial(evidence, fit_step, f"{found} in {evidence.timing.bind_seconds:.0f} s")
    return None


def _unblocked(step: Step) -> Member | None:
    """The member that fits nowhere, if it was bound all the same."""
    return next((item for item in step.bound if item.name.endswith(STUCK)), None)


def _premature(evidence: GangEvidence, step: Step) -> Outcome:
    who = ", ".join(f"{item.name} on {item.node} at {item.bound_at}" for item in step.bound)
    return _partial(evidence, step, f"{who} bound, although the gang cannot be whole")


def _partial(evidence: GangEvidence, step: Step, what: str) -> Outcome:
    return failed(
        "PartialPlacement",
        f"a gang was placed in part: {what}.",
        expected="all members of a gang are bound, or none",
        todo=f"see that {_PLUGIN[evidence.gang.name]}, and that "
        f"{evidence.gang.minimum[-1]} of the PodGroup is honoured.",
        commands=(_configuration(evidence),),
        **seen(evidence, step),
    )


def fit(evidence: GangEvidence) -> Outcome:
    """H1."""
    step = evidence.steps.get("H1")
    if step is None:
        return _queue_closed(evidence) or ended_early(evidence)
    if step.disturbed:
        return disturbed(evidence, step)
    if len(step.bound) < len(step.members):
        return violation(evidence) or _unplaced(evidence, step)
    placed = f"3 of 3 pods were bound, on {places(evidence, step)}"
    if not step.reached:
        phases = ", ".join(f"{item.name} is {item.phase or 'without a phase'}" for item in step.groups)
        wanted = evidence.gang.placed
        return warned(
            "PhaseNotRunning",
            f"{placed}, but the PodGroup did not become {wanted}: {phases}.",
            expected=f"PodGroup in phase {wanted}",
            todo=_UNWRITTEN[evidence.gang.name],
            because=("H2",) if evidence.gang is KUBERNETES else (),  # without the gate it places the pods one by one
            **seen(evidence, step),
        )
    if step.spread_seconds > evidence.timing.spread_seconds:
        return warned(
            "SlowPlacement",
            f"{placed}, but {step.spread_seconds:.1f} s lay between the first and the last.",
            expected=f"at most {evidence.timing.spread_seconds:.0f} s between the first and the last binding",
            todo="see the load of the API server and of the scheduler.",
            **seen(evidence, step),
        )
    return good(evidence, step, f"{placed}, within {step.seconds:.1f} s of their creation.")


def _unplaced(evidence: GangEvidence, step: Step) -> Outcome:
    if not any(item.judged for item in step.members):
        return _ignored(evidence, step, "the pods", "none has a PodScheduled condition")
    # Somebody looked, and found no place, or was not let.
    said = why(step)
    policy, hooks = denier(said), named_in(said)
    if policy or hooks:
        return failed(
            "BindingRefused",
            f"the API server refuses to bind the pods to the nodes that the scheduler chose: {said}",
            expected="bindings by the gang scheduler's account are admitted",
            todo="change what is named so that it admits what the scheduler's account binds (pods/binding).",
            commands=(look_at(policy),) if policy else (),
            because=(hooks,) if hooks else (),
            **{**seen(evidence, step), "objects": (policy,) if policy else ()},
        )
    return errored(
        "NoRoom",
        f"the cluster has no room for 3 pods of 16Mi memory and no CPU: {said}",
        expected="one schedulable node without taints that has room for 3 pods with 16Mi memory each",
        todo="make room or uncordon a node, and run again.",
        because=("A4",),
        **seen(evidence, step),
    )


def _ignored(evidence: GangEvidence, step: Step, whom: str, told_by: str) -> Outcome:
    return failed(
        "SchedulerNotEvaluating",
        f"no scheduler looked at {whom} within {evidence.timing.bind_seconds:.0f} s: {told_by}.",
        expected=f"3 of 3 bound within {evidence.timing.bind_seconds:.0f} s",
        todo="the scheduler is down, works on a stale cache, or answers to another name than "
        f"{evidence.gang.scheduler}. Restart it.",
        changes=_restart(evidence),
        **seen(evidence, step),
    )


def blocked(evidence: GangEvidence) -> Outcome:
    """H2."""
    step = evidence.steps.get("H2")
    if step is None:
        return ended_early(evidence)
    if placed := _unblocked(step):
        return errored(
            "NotBlocked",
            f"{placed.name}, which fits nowhere, was bound to {placed.node}: the gang could be whole, and nothing is "
            "proved.",
            expected=f"no node has the label {NOWHERE}, and the scheduler heeds node affinity",
            todo=f"take the label {NOWHERE} from the node, or see that plugin predicates is on (F4).",
            because=("F4",),
            **seen(evidence, step),
        )
    if step.premature:
        return _premature(evidence, step)
    if step.disturbed:
        return disturbed(evidence, step)
    if not step.judged:
        # That nothing was bound says nothing as long as nobody looked.
        return errored(
            "NeverJudged",
            f"nothing was bound, but not every member was judged within {evidence.timing.bind_seconds:.0f} s, which "
            "proves nothing.",
            expected="every member PodScheduled=False"
            + (", the PodGroup with a phase and an Unschedulable condition" if evidence.gang.writes_status else ""),
            todo="see the scheduler's log for errors in writing status, and run again.",
            # While the scheduler takes over a configuration without gang, members may be bound a moment later.
            because=("F4",),
            **seen(evidence, step),
        )
    return good(
        evidence,
        step,
        f"0 of 3 members were bound in {step.held_seconds:.1f} s after all three had been judged, because one of "
        f"them fits nowhere.",
    )


def released(evidence: GangEvidence) -> Outcome:
    """H3."""
    step = evidence.steps.get("H3")
    if step is None:
        return ended_early(evidence)
    if step.disturbed:
        return disturbed(evidence, step)
    if not step.reached:
        # The others were judged while one of them fitted nowhere; who stands in its place tells of the time after.
        if not step.bound and (fresh := next((item for item in step.members if not item.judged), None)):
            return _ignored(evidence, step, fresh.name, "it has no PodScheduled condition")
        return failed(
            "GangNotReleased",
            f"only {len(step.bound)} of 3 members were bound within {evidence.timing.bind_seconds:.0f} s after a pod "
            f"that fits took the place of the one that does not: {why(step)}",
            expected="3 of 3 bound",
            todo="restart the scheduler: it does not see that the gang is whole by now.",
            changes=_restart(evidence),
            **seen(evidence, step),
        )
    return good(evidence, step, f"3 of 3 members were bound {step.seconds:.1f} s after the gang could be whole.")
