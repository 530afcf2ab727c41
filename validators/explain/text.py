"""An explanation as a document (`kfv.explanation/v1`) and as text for a terminal, which is made of the document."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from kubeflow_volcano.cluster.objects import Ref
from validators.core.safe import safe
from validators.explain.answer import last_words
from validators.explain.model import Explanation, Finding, State

__all__ = ["document", "render"]

_WIDTH = 110
_MOST_LINES = 20
_LONGEST = 400
_HEADS = {
    State.STARTED: "has started",
    State.SUSPENDED: "is suspended",
    State.SUCCEEDED: "has ended well",
    State.FAILED: "has failed",
}


def document(explanation: Explanation) -> Mapping[str, Any]:
    """Everything, as schemas/explanation.v1.json describes it; without secrets and control characters."""
    situation = explanation.situation
    running = sum(pod.get("status", {}).get("phase") == "Running" for pod in situation.pods)
    group = situation.group_ref
    return {
        "schema": "kfv.explanation/v1",
        "job": _object(situation.job.ref),
        "state": explanation.state.value,
        "blocked": explanation.blocked,
        "gang": {
            "pod_group": group.name if group else None,
            "phase": situation.phase or None,
            "min_member": situation.minimum,
            "queue": situation.queue if group or situation.job.queue else None,
        },
        "pods": {
            "wanted": situation.job.wanted or situation.minimum,
            "made": len(situation.pods),
            "placed": len(situation.placed),
            "running": running,
        },
        "findings": [safe(_finding(item)) for item in explanation.findings],
        "last_words": [safe(item) for item in last_words(situation)],
        "unread": [
            {"reason": item.reason, "message": safe(item.message), "todo": safe(item.todo)}
            for item in explanation.unread
        ],
    }


def _finding(item: Finding) -> dict[str, Any]:
    return {
        "reason": item.reason,
        "blocks": item.blocks,
        "found": item.problem.found,
        "needed": item.problem.needed,
        "todo": item.problem.todo,
        "objects": [_object(ref) for ref in item.objects],
        "commands": list(item.commands),
        "details": list(item.details),
    }


def _object(ref: Ref) -> dict[str, str]:
    return {"api_version": ref.api_version, "kind": ref.kind, "namespace": ref.namespace, "name": ref.name}


def render(told: Mapping[str, Any]) -> str:
    """The document for a person: what is in the way, most causal first, then what was said last."""
    return "\n".join([*_head(told), *_findings(told), *_rest(told)]) + "\n"


def _head(told: Mapping[str, Any]) -> Iterator[str]:
    job, gang, pods = told["job"], told["gang"], told["pods"]
    blocking = sum(item["blocks"] for item in told["findings"])
    things = "1 thing is" if blocking == 1 else f"{blocking} things are"
    state = _HEADS.get(told["state"]) or ("is not starting" if blocking else "has not started yet")
    in_the_way = f": {things} in its way" if blocking and told["state"] == State.WAITING else ""
    yield f"{job['kind']} {job['namespace']}/{job['name']} {state}{in_the_way}."
    group = f"PodGroup {gang['pod_group']} ({gang['phase'] or 'not judged'})" if gang["pod_group"] else "no PodGroup"
    queue = f", queue {gang['queue']}" if gang["queue"] else ""
    yield _wrapped(
        f"{group}, {gang['min_member']} pods start together{queue}; of {pods['wanted']} pods {pods['made']} exist, "
        f"{pods['placed']} have a node, {pods['running']} run",
        "  ",
        0,
    )


def _findings(told: Mapping[str, Any]) -> Iterator[str]:
    number = 0
    for item in sorted(told["findings"], key=lambda item: not item["blocks"]):
        number += item["blocks"]
        mark = f"{number}." if item["blocks"] else "-"
        yield ""
        yield f"{mark} {item['reason']}"
        for word, key in (("Found", "found"), ("Needed", "needed"), ("Do", "todo")):
            yield _wrapped(f"{word + ':':<8}{item[key]}", "   ", 8)
        details = item["details"]
        yield from (_wrapped(line, "     ", 2) for line in details[:_MOST_LINES])
        if len(details) > _MOST_LINES:
            yield f"     … and {len(details) - _MOST_LINES} more lines (--json has all)"
        yield from (f"     $ {line}" for line in item["commands"])


def _rest(told: Mapping[str, Any]) -> Iterator[str]:
    if told["last_words"] and told["findings"]:
        yield ""
        yield "Said last by schedulers and controllers:"
        yield from (
            _wrapped(textwrap.shorten(line, _LONGEST, placeholder=" …"), "  ", 2) for line in told["last_words"]
        )
    if told["unread"]:
        yield ""
        yield "Not looked at, so that more may be in the way:"
        for item in told["unread"]:
            yield _wrapped(f"{item['message']} {item['todo'].partition(chr(10))[0]}", "  ", 2)
            yield from (f"    {line}" for line in item["todo"].splitlines()[1:])


def _wrapped(text: str, indent: str, hang: int) -> str:
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + " " * hang,
        break_long_words=False,
        break_on_hyphens=False,
    )
