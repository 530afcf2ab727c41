"""The plan and the outcome of an uninstallation, for people and for programs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.apply.removing.order import UNINSTALLING, waves
from kubeflow_volcano.apply.result import Action, ObjectOutcome
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.problems import Problem, ProblemsError
from kubeflow_volcano.rollout.uninstall.plan import Kept
from kubeflow_volcano.text import counted, few

_MOST_KEPT = 40


@dataclass(frozen=True, slots=True)
class Uninstalled:
    """What was done, or in check mode would be: removed and released objects, those that stay, and the problems.

    `notes` are what a person should know beside that. `seconds` is how long it took.
    """

    outcomes: tuple[ObjectOutcome, ...]
    kept: tuple[Kept, ...]
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    check: bool = False

    @property
    def changed(self) -> bool:
        """Whether any object was removed or released."""
        return bool(self.outcomes)

    def with_action(self, action: Action) -> list[Ref]:
        """The objects with that outcome."""
        return [item.ref for item in self.outcomes if item.action is action]

    def summary(self) -> str:
        """The counts in one line."""
        would = "would be " if self.check else ""
        released = self.with_action(Action.CHANGED)
        causes = Counter(item.cause for item in self.kept)
        kept = ", ".join(f"{number} {cause}" for cause, number in causes.most_common())
        parts = [f"{counted(len(self.with_action(Action.REMOVED)), 'object')} {would}removed"]
        parts += [f"{len(released)} {would}given back to those who made them"] if released else []
        parts += [f"{len(self.kept)} kept" + (f" ({kept})" if kept else "")]
        parts += [] if self.check else [f"{len(self.problems)} failed", f"{self.seconds:.1f} s"]
        return ", ".join(parts)

    def as_dict(self) -> dict[str, Any]:
        """Plain data; the message has the counts, what stays and why, and all problems."""
        lines = [self.summary(), *_kept_lines(self.kept), *self.notes]
        lines += [ProblemsError(self.problems).describe()] if self.problems else []
        return {
            "changed": self.changed,
            "failed": bool(self.problems),
            "msg": "\n".join(lines),
            "objects": [
                item.as_dict()
                for item in self.outcomes
                if not self.problems  # a failed task shows its whole result, and the message has what matters
            ],
            "kept": [{"object": str(item.ref), "why": item.why, "todo": item.todo} for item in self.kept],
            "seconds": round(self.seconds, 1),
        }

    def diff(self) -> list[dict[str, str]]:
        """What Ansible shows with --diff: the names of all objects of ours before, and of those that stay."""
        kept = sorted(str(item.ref) for item in self.kept)
        removed = [str(ref) for ref in self.with_action(Action.REMOVED)]
        before = "".join(f"{line}\n" for line in sorted({*kept, *removed}))
        header = "objects that roll-outs brought"
        after = "".join(f"{line}\n" for line in kept)
        return [{"before_header": header, "after_header": header, "before": before, "after": after}]


def describe_going(going: Mapping[Ref, str], groups: Sequence[str]) -> Iterator[str]:
    """One line for each step and kind, with all names. `groups` are the API groups of CRDs."""
    for number, (wave, members) in enumerate(waves(going, groups, UNINSTALLING), start=1):
        yield f"step {number}: {wave.value}, {counted(len(members), 'object')}"
        kinds: dict[str, list[str]] = defaultdict(list)
        for ref in members:
            kinds[ref.kind].append(f"{ref.namespace}/{ref.name}" if ref.namespace else ref.name)
        yield from (f"  {kind} ({len(names)}): {', '.join(names)}" for kind, names in sorted(kinds.items()))


def _kept_lines(kept: Sequence[Kept]) -> Iterator[str]:
    for item in kept[:_MOST_KEPT]:
        yield f"kept {item.ref}: {item.why}." + (f" To remove it: {item.todo}" if item.todo else "")
    if rest := kept[_MOST_KEPT:]:
        yield f"kept {counted(len(rest), 'more object')}: {few([str(item.ref) for item in rest], 100)}"
