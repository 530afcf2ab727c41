"""The outcome of a run, object by object, as data, as a summary and as a difference."""

from __future__ import annotations

import copy
import difflib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice, zip_longest
from typing import Any

import yaml

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import Problem, ProblemsError
from kubeflow_volcano.redaction import without_secrets
from kubeflow_volcano.text import counted, few, visible

_NOISE = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid")
_NOISY_ANNOTATIONS = ("deployment.kubernetes.io/revision", "kubectl.kubernetes.io/last-applied-configuration")


class Action(StrEnum):
    """What was done with an object."""

    CREATED = "created"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    FAILED = "failed"
    HELD = "held"
    """Held back, because an object that it needs failed."""
    REMOVED = "removed"


_MOST_HELD = 8
_MOST_LINES, _MOST_LINES_OF_ONE, _CONTEXT = 4000, 120, 3
"""Of a difference; a CRD alone may have 20,000 lines."""
_CHANGED = "(changed)"
_ABSENT = (None, None)
_UNDONE = frozenset({Action.FAILED, Action.HELD})
_CHANGES = frozenset({Action.CREATED, Action.CHANGED, Action.REMOVED})


@dataclass(frozen=True, slots=True)
class ObjectOutcome:
    """What was done with one object, or in check mode would be.

    `before` and `after` are set for created, changed and removed objects if the run keeps them. `reason` says why it
    failed or was held back. `generation` is that of the API server, 0 if the object was not sent. `component` is the
    part that declares it. `uid` is empty unless the object is on the cluster.
    """

    ref: Ref
    action: Action
    before: Object | None
    after: Object | None
    reason: str = ""
    generation: int = 0
    component: str = ""
    uid: str = ""

    def for_component(self, component: str) -> ObjectOutcome:
        """The same outcome, of that component."""
        return replace(self, component=component)

    def as_dict(self) -> dict[str, str]:
        """Plain data for results of tasks and reports."""
        return {"object": str(self.ref), "action": str(self.action), "component": self.component}


@dataclass(frozen=True, slots=True)
class ApplyResult:
    """All outcomes of a run, and the problems that kept it from succeeding; `seconds` is how long it took.

    `warnings` describe what only a later run can finish. `unready` were sent, and did not become ready.
    """

    outcomes: tuple[ObjectOutcome, ...]
    problems: tuple[Problem, ...]
    seconds: float
    warnings: tuple[Problem, ...] = ()
    unready: tuple[Ref, ...] = ()

    @property
    def started(self) -> bool:
        """Whether the cluster has at least one declared object as declared."""
        return any(item.action not in _UNDONE | {Action.REMOVED} for item in self.outcomes)

    @property
    def changed(self) -> bool:
        """Whether any object was created, changed or removed."""
        return any(item.action in _CHANGES for item in self.outcomes)

    @property
    def failed(self) -> tuple[ObjectOutcome, ...]:
        """The objects that the API server refused."""
        return tuple(item for item in self.outcomes if item.action is Action.FAILED)

    def count(self, action: Action) -> int:
        """How many objects have that outcome."""
        return sum(item.action is action for item in self.outcomes)

    def summary(self) -> str:
        """One line for a person."""
        without_server_fields = [
            action for action in Action if action not in {Action.HELD, Action.REMOVED} or self.count(action)
        ]
        numbers = ", ".join(f"{self.count(action)} {action}" for action in without_server_fields)
        return f"{counted(len(self.outcomes), 'object')}: {numbers}, {self.seconds:.1f} s"

    def as_dict(self) -> dict[str, Any]:
        """Plain data: the changed objects, or those not done, and in the message all problems and their effects."""
        lines = [self.summary()]
        if self.problems:
            lines += [*self._progress_by_component(), ProblemsError(self.problems).describe()]
        return {
            "changed": self.changed,
            "failed": bool(self.problems),
            "msg": "\n".join(lines),
            "objects": [
                item.as_dict()
                for item in self.outcomes
                if item.action in _UNDONE or (item.action is not Action.UNCHANGED and not self.problems)
            ],
            "started": self.started,
            "problems": [visible(problem.found) for problem in self.problems],
            "seconds": round(self.seconds, 1),
        }

    def _progress_by_component(self) -> Iterator[str]:
        """Which components are finished, what the others lack, and what was held back for which reason."""
        undone: dict[str, Counter[str]] = {item.component: Counter() for item in self.outcomes if item.component}
        held: dict[str, list[str]] = defaultdict(list)
        for item in self.outcomes:
            if item.action in _UNDONE and item.component:
                undone[item.component][item.action] += 1
            elif item.ref in self.unready and item.component and item.action is not Action.REMOVED:
                undone[item.component]["not ready"] += 1
            if item.action is Action.HELD:
                held[item.reason].append(str(item.ref))
        if done := [name for name, lacks in undone.items() if not lacks]:
            yield f"finished: {', '.join(done)}"
        for name, lacks in undone.items():
            if lacks:
                yield f"not finished: {name} ({', '.join(f'{count} {what}' for what, count in lacks.items())})"
        for reason, names in held.items():
            yield f"held back, because {reason}: {few(names, _MOST_HELD)}"

    def diff(self) -> list[dict[str, str]]:
        """What Ansible shows with --diff: no fields of the API server, no secrets, and no more than people read.

        Of one object, and of all together, the first lines are shown, and how many more there are.
        """
        diffs, left = [], _MOST_LINES
        for item in self.outcomes:
            if item.action in _CHANGES:
                before, after, shown = _bounded(
                    _text(item.before, None), _text(item.after, item.before), min(left, _MOST_LINES_OF_ONE), item.ref
                )
                left -= shown
                header = str(item.ref)
                diffs.append({"before_header": header, "after_header": header, "before": before, "after": after})
        return diffs


def without_server_fields(obj: Object) -> Object:
    """`obj` without status and other fields that only the API server writes."""
    text = copy.deepcopy({key: value for key, value in obj.items() if key != "status"})
    meta = text["metadata"]
    for key in _NOISE:
        meta.pop(key, None)
    annotations = meta.get("annotations") or {}
    for key in _NOISY_ANNOTATIONS:
        annotations.pop(key, None)
    if not annotations:
        meta.pop("annotations", None)
    return text


def is_same(before: Object, after: Object) -> bool:
    """Whether both are equal apart from fields that only the API server writes."""
    if before["metadata"].get("resourceVersion") == after["metadata"].get("resourceVersion") and before == after:
        return True
    return before["metadata"].get("uid") == after["metadata"].get("uid") and without_server_fields(
        before
    ) == without_server_fields(after)


def _bounded(before: str, after: str, most: int, ref: Ref) -> tuple[str, str, int]:
    """Both texts with at most so many lines in which they differ, a few around each, and how many these are."""
    if max(before.count("\n"), after.count("\n")) <= most // 2:
        return before, after, before.count("\n") + after.count("\n")
    lines = [*islice(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=_CONTEXT), 2, None)]
    rest = len(lines) - most
    lines = lines[:most]
    sides = [[line[1:] if line[0] != "@" else "…" for line in lines if line[0] in f"@ {sign}"] for sign in "-+"]
    if rest > 0:
        sides[bool(after)].append(f"… {counted(rest, 'more line')} (kubectl get {ref.for_kubectl()} -o yaml)")
    old, new = ("".join(f"{line}\n" for line in side) for side in sides)
    return old if before else "", new if after else "", len(lines)


def _text(obj: Object | None, before: Object | None) -> str:
    if obj is None:
        return ""
    text = without_server_fields(obj)
    if obj["kind"] != "CustomResourceDefinition":  # it describes fields, and has no values
        old = without_server_fields(before) if before else None
        text = _marked(without_secrets(text), text, without_secrets(old), old)
    return yaml.dump(text, Dumper=yaml.CSafeDumper, sort_keys=True, default_flow_style=False, allow_unicode=True)


def _marked(shown: Any, value: Any, shown_before: Any, before: Any) -> Any:
    """What is shown of a value, with a word where it looks as before because only credentials in it changed.

    Mappings in a list are compared by their names, as the API server does, and texts by their places.
    """
    if isinstance(value, str):
        changed = isinstance(before, str) and before != value and shown_before == shown
        return f"{shown} {_CHANGED}" if changed else shown
    if isinstance(value, Mapping):
        olds = (shown_before, before) if isinstance(before, Mapping) else ({}, {})
        return {key: _marked(shown[key], item, *(old.get(key) for old in olds)) for key, item in value.items()}
    if isinstance(value, list):
        pairs = list(zip(shown_before, before, strict=True)) if isinstance(before, list) else []
        named = {old["name"]: (seen, old) for seen, old in pairs if isinstance(old, Mapping) and "name" in old}
        return [
            _marked(
                seen, item, *(named.get(item.get("name"), _ABSENT) if isinstance(item, Mapping) else placed or _ABSENT)
            )
            for seen, item, placed in zip_longest(shown, value, pairs[: len(value)])
        ]
    return value
