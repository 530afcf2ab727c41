"""Pictures of the gang experiment: for each step, when each pod waited and was bound, as the watch saw it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

WIDTH = 1000
"""Units of the horizontal axis; the picture is scaled to the width of the page."""

_NARROWEST = 4
_AFTER = 1.06  # the state after the last event is drawn a little longer, to be visible
_GONE = frozenset({"removed", "deleted", "vanished", "lost", "ended"})
_FAMILIES = frozenset({"gang", "operator"})
_Event = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Bar:
    """A stretch of time, from `x` on; `kind` is waiting, bound or phase."""

    kind: str
    x: int
    width: int


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment; `kind` is judged or lost."""

    kind: str
    x: int


@dataclass(frozen=True, slots=True)
class Row:
    """One pod or one PodGroup; `told` is the same as text."""

    name: str
    is_group: bool
    bars: tuple[Bar, ...]
    marks: tuple[Mark, ...]
    told: str


@dataclass(frozen=True, slots=True)
class Picture:
    """One run of events, of one step or several, with their `checks`. `seconds` is the length of the axis.

    A control has a title instead of checks.
    """

    checks: tuple[Mapping[str, Any], ...]
    rows: tuple[Row, ...]
    seconds: float
    title: str = ""


def pictures(document: Mapping[str, Any]) -> tuple[Picture, ...]:
    """A picture for each run of events in checks of gangs, followed by those of its controls.

    A step that continues another is drawn with it.
    """
    groups: list[tuple[list[Mapping[str, Any]], list[_Event]]] = []
    for item in document["checks"]:
        events = item["observed"].get("events") if item["category"] in _FAMILIES else None
        if not events:
            continue
        if groups and events[: len(groups[-1][1])] == groups[-1][1]:
            groups[-1] = ([*groups[-1][0], item], events)
        else:
            groups.append(([item], events))
    return tuple(
        picture
        for checks, events in groups
        for picture in (
            _picture(checks, events, [item["observed"] for item in checks]),
            *(
                _picture([], control["events"], [control], control["title"])
                for item in checks
                for control in item["observed"].get("controls", ())
            ),
        )
    )


def picture_of(events: Sequence[_Event], groups: Sequence[str], title: str, until: str = "") -> Picture:
    """The picture of events that belong to no check, at least one; `groups` are the names of PodGroups among them.

    `until` is the end of the watch, if that was long after the last event.
    """
    return _picture([], events, [{"groups": groups}], title, until)


def _picture(
    checks: Sequence[Mapping[str, Any]],
    events: Sequence[_Event],
    observed: Sequence[Mapping[str, Any]],
    title: str = "",
    until: str = "",
) -> Picture:
    times = [datetime.fromisoformat(item["at"]).timestamp() for item in events]
    end = [datetime.fromisoformat(until).timestamp()] if until else []
    first, last = min(times), max(times + end)
    groups = {name for item in observed for name in item.get("groups", ())}
    by_name: dict[str, list[tuple[float, _Event]]] = {}
    for time, item in sorted(zip(times, events, strict=True), key=lambda pair: pair[0]):
        by_name.setdefault(item["name"], []).append((time - first, item))
    names = sorted(by_name, key=lambda name: (name in groups, name))
    whole = (last - first) * _AFTER
    rows = tuple(_row(name, by_name[name], whole, is_group=name in groups) for name in names)
    return Picture(tuple(checks), rows, whole, title)


def _row(name: str, events: Sequence[tuple[float, _Event]], whole: float, *, is_group: bool) -> Row:
    def x(seconds: float) -> int:
        return round(seconds / whole * WIDTH) if whole else 0

    bars = tuple(
        Bar("phase" if is_group else kind, x(since), max(x(until) - x(since), _NARROWEST))
        for kind, since, until in _spans(events, whole)
        if until > since or kind == "bound"
    )
    marks = tuple(
        Mark("judged" if item["event"] == "judged" else "lost", x(time))
        for time, item in events
        if item["event"] in {"judged", "lost", "deleted", "vanished"}
    )
    return Row(name, is_group, bars, marks, "; ".join(f"{time:.1f} s {item['what']}" for time, item in events))


def _spans(events: Sequence[tuple[float, _Event]], whole: float) -> Iterator[tuple[str, float, float]]:
    """When an object of that name existed, and its state; a recreated pod has the same name."""
    kind, since = "", 0.0
    for time, item in events:
        if item["event"] in _GONE:
            if kind:
                yield kind, since, time
            kind = ""
        elif item["event"] == "bound":
            if kind and time > since:
                yield kind, since, time
            kind, since = "bound", time
        elif not kind:
            kind, since = "waiting", time
    if kind:
        yield kind, since, whole
