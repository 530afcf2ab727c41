"""Which objects of a backup are restored: all, some kinds, without what is left out by kind, namespace or name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.text import did_you_mean, few


@dataclass(frozen=True, slots=True)
class Choice:
    """`only` has kinds, all of them if it is empty. Each entry of `exclude` is one of these.

    | entry | leaves out |
    |---|---|
    | `Workflow`, `Workflow.argoproj.io` | a kind |
    | `team-a/` | a namespace and all that is in it |
    | `Workflow team-a/` | a kind in a namespace |
    | `Workflow team-a/run`, `Queue research` | one object |

    `allow_rights` takes what acts with more rights than those of a profile; see `admitted`.
    """

    only: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    allow_rights: bool = False

    def select(self, objects: Sequence[Object]) -> list[Object]:
        """The objects that are to be restored."""
        wanted = [obj for obj in objects if not self.only or obj["kind"] in self.only]
        return [obj for obj in wanted if not any(_covers(entry, Ref.of(obj)) for entry in self.exclude)]

    def unknown(self, objects: Sequence[Object]) -> Iterator[Problem]:
        """Entries that nothing in the backup fits."""
        refs = [Ref.of(obj) for obj in objects]
        kinds = {ref.kind for ref in refs}
        for kind in sorted({*self.only} - kinds):
            yield Problem(
                f"restore_kinds has {kind}, of which the backup has no object.{did_you_mean(kind, kinds)}",
                f"some of: {few(sorted(kinds), 20)}.",
                "correct restore_kinds.",
            )
        known = {*kinds, *(ref.full_kind for ref in refs), *map(str, refs)}
        known |= {f"{ref.namespace}/" for ref in refs if ref.namespace}
        for entry in self.exclude:
            if not any(_covers(entry, ref) for ref in refs):
                yield Problem(
                    f"restore_exclude has {entry!r}, and nothing in the backup fits that.{did_you_mean(entry, known)}",
                    "a kind, `namespace/`, `Kind namespace/`, `Kind namespace/name`, or `Kind name` without namespace.",
                    "correct restore_exclude.",
                )


def _covers(entry: str, ref: Ref) -> bool:
    kind, _, place = entry.partition(" ")
    if kind.endswith("/"):
        return kind == f"{ref.namespace}/" or (ref.kind == "Namespace" and kind == f"{ref.name}/")
    namespace, slash, name = place.rpartition("/")
    everything = not place or bool(slash and not name and namespace == ref.namespace)
    return kind in {ref.kind, ref.full_kind} and (everything or (namespace, name) == (ref.namespace, ref.name))
