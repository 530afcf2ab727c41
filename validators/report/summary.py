"""What every format says of a report document in the same words: statuses, counts, findings, simulation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from kubeflow_volcano.validators.language.speaking import counted, say, translated

MARKS = {"fail": "✗", "error": "?", "warn": "!", "pass": "✓", "skip": "-", "incomplete": "?"}
"""Sign of each status and verdict, so that colour alone distinguishes none."""
WORDS = {"fail": "failed", "error": "not evaluated", "warn": "warnings", "pass": "passed", "skip": "skipped"}
"""Statuses in the order in which they are shown, in English."""
ATTENTION = ("fail", "error", "warn")
"""Statuses that need attention, the worst first."""

_MOST_TEXTS = 3
_CHANGES = {"new": "new", "still": "still there", "unjudged": "not evaluated this time", "fixed": "fixed"}


def words() -> dict[str, str]:
    """Statuses in the order in which they are shown, in the language of the report."""
    return {status: say(word) for status, word in WORDS.items()}


def attention(document: Mapping[str, Any]) -> list[list[Mapping[str, Any]]]:
    """Checks that need attention, the worst status first; those with the same status and message are one group.

    Where the account lacks rights (A2), so is every check that could not be evaluated for lack of them.
    """
    without_rights = next((item for item in document["checks"] if item["id"] == "A2" and _forbidden(item)), None)
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for status in ATTENTION:
        for item in document["checks"]:
            if item["status"] == status:
                said = without_rights if without_rights and _forbidden(item) else item
                groups.setdefault((status, said["message"]), []).append(item)
    return [sorted(items, key=lambda item: item is not without_rights) for items in groups.values()]


def _forbidden(item: Mapping[str, Any]) -> bool:
    return bool(item["status"] == "error" and item["reason"] == "Forbidden")


def affected(document: Mapping[str, Any], causes: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Checks that were skipped because of these, directly or through others of them, in the document's order."""
    ids = {item["id"] for item in causes}
    while more := {item["id"] for item in document["checks"] if not ids.isdisjoint(item["because"])} - ids:
        ids |= more
    return [item for item in document["checks"] if item["id"] in ids and item["because"]]


def findings(item: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What a check found, one for each remedy."""
    remedy = item["remediation"]
    whole = {"objects": [], "found": [item["message"]], "owners": [""], "todo": remedy["text"]}
    return item.get("findings") or [{**whole, **{key: remedy[key] for key in ("commands", "changes")}}]


def said(finding: Mapping[str, Any]) -> list[str]:
    """The texts of a finding: what was found at its first objects, and the names of the others.

    An owner that all have is named once.
    """
    rest = finding["objects"][_MOST_TEXTS:]
    names = ", ".join(map(name_of, rest))
    more = [translated(f"And {len(rest)} more: {names}.")] if rest else []
    owners = {*finding["owners"]}
    common = owners.pop() if len(owners) == 1 else ""
    pairs = zip(finding["found"][:_MOST_TEXTS], finding["owners"], strict=False)
    texts = [text if common else f"{text} {owner}".rstrip() for text, owner in pairs]
    return [*texts, *more, *([common] if common else [])]


def name_of(item: Mapping[str, str]) -> str:
    """An object of a document in words: `Pod ada/train-0`."""
    return f"{item['kind']} {item['namespace']}{'/' if item['namespace'] else ''}{item['name']}"


def gpus(document: Mapping[str, Any]) -> str:
    """GPUs and other accelerators by kind: `nvidia.com/gpu (A100): 4 of 8 requested on 2 nodes`; empty without any."""
    return say("; ").join(
        say(
            "{kind}: {allocatable} on {nodes}, pods not read"
            if item["requested"] is None
            else "{kind}: {requested} of {allocatable} requested on {nodes}",
            kind=f"{item['resource']} ({item['model']})" if item["model"] else item["resource"],
            requested=item["requested"],
            allocatable=item["allocatable"],
            nodes=counted(item["nodes"], "node"),
        )
        for item in document["snapshot"]["accelerators"] or ()
    )


def number_of_nodes(cluster: Mapping[str, Any]) -> str:
    """How many nodes the cluster has, in words, also where they were not read."""
    return say("nodes not read") if cluster["nodes"] is None else counted(cluster["nodes"], "node")


def counts(summary: Mapping[str, Any]) -> str:
    """Number of checks of each status, and the coverage: `2 failed, 1 warning, 40 passed (coverage 98%)`."""
    parts = (
        (summary["fail"], say("{number} failed", number=summary["fail"])),
        (summary["warn"], counted(summary["warn"], "warning")),
        (summary["error"], say("{number} not evaluated", number=summary["error"])),
        (summary["skip"], say("{number} skipped", number=summary["skip"])),
        (True, say("{number} passed", number=summary["pass"])),
    )
    known = say(", ").join(words for number, words in parts if number)
    return say("{counts} (coverage {share})", counts=known, share=f"{summary['coverage']:.0%}")


def rollout(document: Mapping[str, Any]) -> str:
    """That the roll-out before the validation ended with problems, and with which; empty if it did not."""
    problems = document["run"].get("rollout_problems", ())
    number = counted(len(problems), "problem")
    label = "The roll-out before ended with {problems}: {texts}"
    return say(label, problems=number, texts=" ".join(problems)) if problems else ""


def skip_reasons(summary: Mapping[str, Any]) -> str:
    """Why checks were skipped, the most frequent reason first: `7 not expected, 4 no objects`."""
    ordered = sorted(summary["skipped"].items(), key=lambda item: -item[1])
    return say(", ").join(
        say("{number} {reason}", number=number, reason=say(_plain(reason))) for reason, number in ordered
    )


def _plain(reason: str) -> str:
    """A CamelCase reason as words: `not expected`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", reason).lower()


def changes(baseline: Mapping[str, Any]) -> dict[str, list[str]]:
    """Names of checks by what became of their findings since an earlier run, in words."""
    return {
        say(word): [f"{item['id']} {item['slug']}" for item in baseline[key]]
        for key, word in _CHANGES.items()
        if baseline[key]
    }


def simulation(document: Mapping[str, Any]) -> str:
    """What of the cluster is simulated, in sentences; empty where nothing is."""
    cluster = document["cluster"]
    nodes, pods, hooks = cluster["simulated_nodes"], cluster["simulated_pods"], cluster["simulated_webhooks"]
    if not (nodes or pods):
        return ""
    if nodes is None or pods is None:
        told = [
            say(words, number=number, all=cluster[kind])
            for kind, number, words in (
                ("nodes", nodes, "{number} of {all} nodes"),
                ("pods", pods, "{number} of {all} pods"),
            )
            if number is not None
        ]
        note = say("simulated: {what}; the rest was not read.", what=say(", ").join(told))
    else:
        note = say(
            "simulated: {nodes} of {all_nodes} nodes and {pods} of {all_pods} pods. No container "
            "runs on these nodes: a pod there proves placement, not that its containers work.",
            nodes=nodes,
            all_nodes=cluster["nodes"],
            pods=pods,
            all_pods=cluster["pods"],
        )
    if hooks:
        note += " " + say(
            "The rehearsal answers {webhooks} of {objects} for simulated "
            "pods: these webhooks validated and defaulted nothing.",
            webhooks=counted(sum(len(item["webhooks"]) for item in hooks), "webhook"),
            objects=counted(len(hooks), "object"),
        )
    return note
