"""A scenario as one picture: for each case, which pods waited or had a node when. SVG without scripts."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from kubeflow_volcano.experiment.timeline import WIDTH, Picture, picture_of
from kubeflow_volcano.gang_demo.model import Outcome

_NAMES, _AXIS, _EDGE = 190, 560, 16
_ROW, _HEAD, _GAP = 20, 30, 34
_STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2328; } .title { font-weight: 600; font-size: 14px; }
.muted { fill: #59636e; font-size: 12px; } .wrong { fill: #b42318; }
.waiting { fill: #fff; stroke: #818b98; stroke-dasharray: 4 3; } .bound { fill: #1a7f37; stroke: #1a7f37; }
.phase { fill: #d1d9e0; stroke: #818b98; } .judged { stroke: #bf8700; stroke-width: 3; }
.lost { stroke: #cf222e; stroke-width: 3; stroke-dasharray: 3 2; }
"""
_LEGEND = (
    ("waiting", "waiting"),
    ("bound", "has a node"),
    ("phase", "PodGroup exists"),
    ("judged", "judged unschedulable"),
    ("lost", "deleted or evicted"),
)


def draw(outcomes: Sequence[Outcome]) -> str:
    """SVG of the cases of one scenario, one below the other, each with its own time axis."""
    width = _NAMES + _AXIS + 3 * _EDGE
    root = ET.Element("svg", xmlns="http://www.w3.org/2000/svg", role="img")
    ET.SubElement(root, "style").text = _STYLE
    page = ET.SubElement(root, "rect", fill="#fff", width=str(width))
    _legend(root)
    y = 2 * _EDGE + _ROW
    for outcome in outcomes:
        y = _panel(root, outcome, y)
    page.set("height", str(y))
    root.set("viewBox", f"0 0 {width} {y}")
    root.set("width", str(width))
    root.set("height", str(y))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def _legend(root: ET.Element) -> None:
    x = _EDGE
    for kind, text in _LEGEND:
        if kind in {"judged", "lost"}:
            ET.SubElement(root, "path", {"class": kind, "d": f"M{x + 12} {_EDGE}v12"})
        else:
            box = {"x": str(x), "y": str(_EDGE), "width": "24", "height": "12"}
            ET.SubElement(root, "rect", {"class": kind, **box})
        _text(root, x + 32, _EDGE + 11, text, "muted")
        x += 48 + 7 * len(text)


def _panel(root: ET.Element, outcome: Outcome, y: int) -> int:
    """Draw one case from `y` on; returns the y of the next."""
    _text(root, _EDGE, y + 14, outcome.title, "title")
    if outcome.problem:
        _text(root, _EDGE + _NAMES, y + 14, outcome.verdict, "wrong")
    y += _HEAD
    if not outcome.events:
        _text(root, _EDGE, y + 12, "no events", "muted")
        return y + _ROW + _GAP
    return _rows(root, picture_of(outcome.events, outcome.groups, outcome.title, outcome.watched_until), y)


def _rows(root: ET.Element, picture: Picture, y: int) -> int:
    left = _EDGE + _NAMES

    def scaled(units: int) -> str:
        return f"{units * _AXIS / WIDTH:.1f}"

    for row in picture.rows:
        line = ET.SubElement(root, "g", transform=f"translate({left} {y})")
        ET.SubElement(line, "title").text = f"{row.name}: {row.told}"
        _text(
            root, _EDGE, y + 13, f"PodGroup {row.name}" if row.is_group else row.name, "muted" if row.is_group else ""
        )
        top, height = ("6", "5") if row.is_group else ("3", "11")
        for bar in row.bars:
            place = {"x": scaled(bar.x), "y": top, "width": scaled(bar.width), "height": height}
            ET.SubElement(line, "rect", {"class": bar.kind, **place})
        for mark in row.marks:
            ET.SubElement(line, "path", {"class": mark.kind, "d": f"M{scaled(mark.x)} 1v15"})
        y += _ROW
    ET.SubElement(root, "path", {"stroke": "#d1d9e0", "d": f"M{left} {y + 2}h{_AXIS}"})
    _text(root, left, y + 16, "0 s", "muted")
    _text(root, left + _AXIS - 40, y + 16, f"{picture.seconds:.1f} s", "muted")
    return y + _GAP


def _text(root: ET.Element, x: int, y: int, text: str, kind: str) -> None:
    ET.SubElement(
        root, "text", {"x": str(x), "y": str(y), "class": kind} if kind else {"x": str(x), "y": str(y)}
    ).text = text
