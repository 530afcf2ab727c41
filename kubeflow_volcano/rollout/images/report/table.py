"""What each override and each mirror rule does, as lines for a person."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.rollout.images.rename.rules import Rules, describe_rule
from kubeflow_volcano.rollout.images.report.entry import Entry
from kubeflow_volcano.rollout.settings.images import MirrorSettings


@dataclass(frozen=True, slots=True)
class Row:
    """One rule, how many images it renames, and one of them before and after."""

    rule: str
    images: int
    before: str
    after: str


def rows(mirror: MirrorSettings, entries: Sequence[Entry]) -> tuple[Row, ...]:
    """The overrides, then the rules in the order in which they are tried, the preset's in one row."""
    return tuple(_rows(mirror, entries))


def _rows(mirror: MirrorSettings, entries: Sequence[Entry]) -> Iterator[Row]:
    rules = Rules(mirror)
    own = {new.repository for _, _, new in rules.overrides}
    replaced = [entry for entry in entries if entry.use.override]
    mine = [entry for entry in replaced if _repository(entry) in own]
    if mirror.overrides:
        yield _row("overrides of the inventory", mine)
    if mirror.catalog_overrides:
        yield _row(
            "overrides of the catalog, for images that are gone", [item for item in replaced if item not in mine]
        )
    for number, rule in enumerate(rules.own):
        yield _row(describe_rule(rule), [entry for entry in entries if entry.use.rule == number])
    if mirror.preset and rules.active:
        rest = [entry for entry in entries if entry.use.rule is not None and entry.use.rule >= len(rules.own)]
        yield _row(f"preset {mirror.preset}", rest)
    yield _row("no rule", [entry for entry in entries if entry.use.rule is None])


def _repository(entry: Entry) -> str:
    name = ImageName.parse(entry.source)
    return name.repository if name else ""


def _row(rule: str, entries: Sequence[Entry]) -> Row:
    use = next((entry.use for entry in entries), None)
    return Row(rule, len(entries), use.original if use else "", use.mirrored if use else "")


def render(rows: Iterable[Row]) -> str:
    """The rows as lines of text."""
    lines = []
    for row in rows:
        example = f", such as {row.before} -> {row.after}" if row.before != row.after else ""
        lines.append(f"{row.images:4} by {row.rule}{example}")
    return "\n".join(lines)
