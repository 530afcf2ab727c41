"""D7: what the release's own pods said of their volumes, and the remedy for those that may not write."""

from __future__ import annotations

from collections.abc import Sequence

from kubeflow_volcano.cluster.objects import Ref
from validators.checks.refusals import interruption
from validators.core.outcome import Outcome, errored, failed, passed, skipped, warned
from validators.core.rights import HOMES, Rule
from validators.probes.storage.own_volumes import Answer, OwnVolumes
from validators.reading.permissions import as_yaml

__all__ = ["RULES", "own_volumes_verdict"]

RULES = (Rule("get", "", "pods/exec", HOMES), Rule("create", "", "pods/exec", HOMES))
"""Over a websocket the server asks for get, from Kubernetes 1.35 on for create too (kubernetes/kubernetes#134577)."""

_TOLD = 3


def own_volumes_verdict(evidence: OwnVolumes) -> Outcome:
    """A volume that refuses its program is worse than one that could not be asked about."""
    if evidence.unread:
        raise evidence.unread
    refused = [item for item in evidence.answers if not item.writable]
    if refused:
        return _refused(refused)
    if evidence.troubles:
        return _unasked(evidence.troubles)
    left_out = "; ".join(f"{item.consumer} {item.reason}" for item in evidence.skipped[:_TOLD])
    more = f"; and {len(evidence.skipped) - _TOLD} more" if len(evidence.skipped) > _TOLD else ""
    if not evidence.answers:
        return skipped("NothingToAsk", f"{left_out}{more}." if left_out else "no pod of the release mounts a claim.")
    told = f" Not asked: {left_out}{more}." if left_out else ""
    users = ", ".join(dict.fromkeys(f"{item.asked.consumer} as {item.who}" for item in evidence.answers))
    text = f"{len(evidence.answers)} mounts of claims are writable by those who use them: {users}.{told}"
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
    more = f" And {len(refused) - _TOLD} more." if len(refused) > _TOLD else ""
    sentences = (
        f"{item.asked.consumer} runs as {item.who} and may not write to {item.path}: {item.listing}."
        for item in refused[:_TOLD]
    )
    return failed(
        "NotWritable",
        " ".join(sentences) + more,
        expected="`test -w` of each mounted claim succeeds for the program that uses it",
        observed={f"{item.asked.pod} {item.path}": item.listing for item in refused},
        objects=_objects(refused),
        todo=f"give the volume's directory to uid {first.who.user}, or set securityContext.fsGroup where the class "
        "honours it; a volume that is mounted read-only after errors on its disk needs that disk repaired.",
        commands=[_look(item) for item in refused[:_TOLD]],
    )


def _look(item: Answer) -> str:
    pod = item.asked.pod
    return f"kubectl -n {pod.namespace} exec {pod.name} -c {item.asked.container} -- ls -ldn {item.path}"


def _unasked(troubles: Sequence[tuple[Ref, str, str]]) -> Outcome:
    pod, reason, text = troubles[0]
    if reason == "ProbeInterrupted":
        return interruption(f"{pod}: {text}")
    return errored(
        reason,
        f"{len(troubles)} pods could not be asked. {pod}: {text}",
        expected="a command in each of them answers within 15 s",
        objects=[item[0] for item in troubles],
        todo=f"grant these rules:\n{as_yaml(RULES)}" if reason == "Forbidden" else "run the command by hand and see.",
    )


def _objects(found: Sequence[Answer]) -> tuple[Ref, ...]:
    return tuple(dict.fromkeys(ref for item in found for ref in (item.asked.consumer, item.asked.pod)))
