"""An explanation as a document (`kfv.explanation/v1`), and that document as text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kubeflow_volcano.cluster.objects import Ref, conditions
from kubeflow_volcano.validators.core.facts import Unread
from kubeflow_volcano.validators.core.safe import safe
from kubeflow_volcano.validators.explain.model import Explanation, Finding, Situation, State
from kubeflow_volcano.validators.explain.words import REPEATING
from kubeflow_volcano.validators.language.catalog import ENGLISH
from kubeflow_volcano.validators.language.speaking import counted, padded, say, speaking, translated, wrapped

_MOST_LINES = 20
_LONGEST = 400
_MOST_EVENTS, _MOST_MESSAGES = 3, 6
_HEADS = {
    State.STARTED: "has started",
    State.SUSPENDED: "is suspended",
    State.SUCCEEDED: "has succeeded",
    State.FAILED: "has failed",
}


def document(explanation: Explanation) -> Mapping[str, Any]:
    """The explanation as schemas/explanation.v1.json describes it, without secrets and control characters."""
    situation = explanation.situation
    running = sum(pod.get("status", {}).get("phase") == "Running" for pod in situation.pods)
    group = situation.group_ref
    return {
        "schema": "kfv.explanation/v1",
        "job": safe(object_document(situation.job.ref)),
        "state": explanation.state.value,
        "blocked": explanation.blocked,
        "gang": safe(
            {
                "pod_group": group.name if group else None,
                "phase": situation.phase or None,
                "min_member": situation.minimum,
                "queue": situation.queue if group or situation.job.queue else None,
            }
        ),
        "pods": {
            "wanted": situation.job.wanted or situation.minimum,
            "made": len(situation.pods),
            "placed": len(situation.placed),
            "running": running,
        },
        "findings": [safe(finding_document(item)) for item in explanation.findings],
        "last_words": [safe(item) for item in _last_messages(situation)],
        "unread": unread_documents(explanation.unread),
    }


def unread_documents(unread: Iterable[Unread]) -> list[dict[str, str]]:
    """What could not be read, as data."""
    return [{"reason": item.reason, "message": safe(item.message), "todo": safe(item.todo)} for item in unread]


def finding_document(item: Finding) -> dict[str, Any]:
    """A finding as data."""
    return {
        "reason": item.reason,
        "blocks": item.blocks,
        "found": item.problem.found,
        "needed": item.problem.needed,
        "todo": item.problem.todo,
        "objects": [object_document(ref) for ref in item.objects],
        "commands": list(item.commands),
        "changes": list(item.changes),
        "details": list(item.details),
    }


def object_document(ref: Ref) -> dict[str, str]:
    """A reference as data."""
    return {"api_version": ref.api_version, "kind": ref.kind, "namespace": ref.namespace, "name": ref.name}


def _last_messages(situation: Situation) -> list[str]:
    """The last messages of schedulers and controllers, unchanged; each only once."""
    messages = []
    if situation.group and situation.phase not in {"Running", "Completed"}:
        by_type = conditions(situation.group)
        refused = situation.gang.refusal_of(situation.group) or by_type.get("Unschedulable", {})
        messages.append((refused.get("message"), f"{situation.group_ref}"))
    scheduled = ((Ref.of(pod), conditions(pod).get("PodScheduled", {})) for pod in situation.unplaced)
    messages += [(condition.get("message"), f"{ref}") for ref, condition in scheduled]
    first = {message: source for message, source in reversed(messages) if message}
    events = [item for item in situation.events if item.reason not in REPEATING]
    first |= {item.message: f"{item.ref}, {item.reason}" for item in events[-_MOST_EVENTS:]}
    return [f"{source}: {message}" for message, source in first.items()][-_MOST_MESSAGES:]


def render(explanation: Mapping[str, Any], language: str = ENGLISH) -> str:
    """The document as text: blocking findings, causes first, then the others, then the last messages."""
    with speaking(language):
        return "\n".join([*_head(explanation), *finding_lines(explanation["findings"]), *_rest(explanation)]) + "\n"


def _head(explanation: Mapping[str, Any]) -> Iterator[str]:
    job, gang, pods = explanation["job"], explanation["gang"], explanation["pods"]
    blocking = sum(item["blocks"] for item in explanation["findings"])
    state = _HEADS.get(explanation["state"]) or ("is not starting" if blocking else "has not started yet")
    waiting = blocking and explanation["state"] == State.WAITING
    causes = f"{say(': ')}{counted(blocking, 'cause')}" if waiting else ""
    yield f"{job['kind']} {job['namespace']}/{job['name']} {say(state)}{causes}{say('.')}"
    group = say("no PodGroup")
    if gang["pod_group"]:
        group = say("PodGroup {name} (phase {phase})", name=gang["pod_group"], phase=gang["phase"] or say("none"))
    numbers = say(
        "{group}, minimum {pods}{queue}. Pods: {wanted} wanted, {made} created, {placed} scheduled, {running} running.",
        group=group,
        pods=counted(gang["min_member"], "pod"),
        queue=say(", queue {queue}", queue=gang["queue"]) if gang["queue"] else "",
        **{key: pods[key] for key in ("wanted", "made", "placed", "running")},
    )
    yield wrapped(numbers, "  ", 2)


def finding_lines(findings: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Findings as text: those that block, numbered, then the others."""
    number = 0
    for item in sorted(findings, key=lambda item: not item["blocks"]):
        number += item["blocks"]
        yield ""
        yield f"{f'{number}.' if item['blocks'] else '-'} {item['reason']}"
        for word, key in (("Found", "found"), ("Needed", "needed"), ("Do", "todo")):
            yield wrapped(translated(item[key]), f"   {padded(say(word) + say(': '), 8)}", 11)
        details = item["details"]
        yield from (wrapped(translated(line), "     ", 7) for line in details[:_MOST_LINES])
        if len(details) > _MOST_LINES:
            more = counted(len(details) - _MOST_LINES, "more line")
            yield f"     {say('… and {lines} (--json prints all)', lines=more)}"
        yield from (f"     {padded(say('look'), 8)}$ {line}" for line in item["commands"])
        yield from (f"     {padded(say('change'), 8)}$ {line}" for line in item["changes"])


def _rest(explanation: Mapping[str, Any]) -> Iterator[str]:
    if explanation["last_words"] and explanation["findings"]:
        yield ""
        yield say("Last messages of schedulers and controllers:")
        for line in explanation["last_words"]:
            yield wrapped(textwrap.shorten(line, _LONGEST, placeholder=" …"), "  ", 4)
    if explanation["unread"]:
        yield ""
        yield say("Not read, so there may be more causes:")
        yield from unread_lines(explanation["unread"])


def unread_lines(unread: Iterable[Mapping[str, str]]) -> Iterator[str]:
    """What could not be read, each with what to do."""
    for item in unread:
        first, *rest = item["todo"].splitlines() or [""]
        yield wrapped(f"{translated(item['message'])} {translated(first)}", "  ", 4)
        yield from (f"    {line}" for line in rest)
