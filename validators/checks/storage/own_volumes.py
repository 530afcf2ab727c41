"""Family D, own volumes: may the release's own pods write to theirs, and the remedy for those that may not."""

from __future__ import annotations

from collections.abc import Sequence

from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.text import few
from kubeflow_volcano.validators.checks.refusals import interruption
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, errored, failed, passed, skipped, warned
from kubeflow_volcano.validators.probes.storage.own_volumes import EXEC, OWN_VOLUMES, Answer
from kubeflow_volcano.validators.reading.permissions import as_yaml

_MOST_SHOWN = 3


@check(
    "D7",
    "existing-volumes-writable",
    severity=Severity.MAJOR,
    probe=OWN_VOLUMES,
    opt_in="exec_in_pods",
)
def existing_volumes_writable(facts: Facts) -> Outcome:
    """The release's own programs can write to the volumes that they have mounted.

    The check runs `id` and `test -w` in their containers, which changes nothing, and reads the user of process 1. If
    that user cannot write, the data is read-only although the pod is ready. D6 does the same with pods of its own, and
    cannot mount a volume that another node holds.
    """
    evidence = facts.evidence(OWN_VOLUMES)
    if evidence.unread:
        raise evidence.unread
    refused = [item for item in evidence.answers if not item.writable]
    if refused:
        return _refused(refused)
    if evidence.failures:
        return _unasked(evidence.failures)
    left_out = few([f"{item.consumer} {item.reason}" for item in evidence.skipped], _MOST_SHOWN, "; ")
    if not evidence.answers:
        return skipped("NothingToAsk", f"{left_out}." if left_out else "no pod of the release mounts a claim.")
    note = f" Not asked: {left_out}." if left_out else ""
    users = ", ".join(dict.fromkeys(f"{item.asked.consumer} as {item.who}" for item in evidence.answers))
    text = f"{len(evidence.answers)} mounts of claims are writable by those who use them: {users}.{note}"
    objects = _objects(evidence.answers)
    if any(item.beyond for item in evidence.skipped):
        return warned(
            "NotAllAsked", text, objects=objects, todo="select namespaces with --ignore-namespace for the rest."
        )
    return passed(
        text, objects=objects, observed={f"{item.asked.pod} {item.path}": item.listing for item in evidence.answers}
    )


def _refused(refused: Sequence[Answer]) -> Outcome:
    first = refused[0]
    more = f" And {len(refused) - _MOST_SHOWN} more." if len(refused) > _MOST_SHOWN else ""
    sentences = (
        f"{item.asked.consumer} runs as {item.who} and may not write to {item.path}: {item.listing}."
        for item in refused[:_MOST_SHOWN]
    )
    return failed(
        "NotWritable",
        " ".join(sentences) + more,
        expected="`test -w` of each mounted claim succeeds for the program that uses it",
        observed={f"{item.asked.pod} {item.path}": item.listing for item in refused},
        objects=_objects(refused),
        todo=f"give the volume's directory to uid {first.who.user}, or set securityContext.fsGroup where the class "
        "honours it; a volume that is mounted read-only after errors on its disk needs that disk repaired.",
        commands=[_look(item) for item in refused[:_MOST_SHOWN]],
    )


def _look(item: Answer) -> str:
    pod = item.asked.pod
    return f"kubectl -n {pod.namespace} exec {pod.name} -c {item.asked.container} -- ls -ldn {item.path}"


def _unasked(failures: Sequence[tuple[Ref, str, str]]) -> Outcome:
    pod, reason, text = failures[0]
    if reason == "ProbeInterrupted":
        return interruption(f"{pod}: {text}")
    return errored(
        reason,
        f"{len(failures)} pods could not be asked. {pod}: {text}",
        expected="a command in each of them answers within 15 s",
        objects=[item[0] for item in failures],
        todo=f"grant these rules:\n{as_yaml(EXEC)}" if reason == "Forbidden" else "run the command by hand and see.",
    )


def _objects(answers: Sequence[Answer]) -> tuple[Ref, ...]:
    return tuple(dict.fromkeys(ref for item in answers for ref in (item.asked.consumer, item.asked.pod)))
