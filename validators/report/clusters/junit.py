"""The report on several clusters for CI systems: the suites of each, behind its name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as ET

from validators.report import junit
from validators.report.clusters.document import Judged

__all__ = ["render"]


def render(judged: Sequence[Judged]) -> str:
    """JUnit XML. A cluster without a report is a suite with one case, which is an error."""
    parts = [suite for item in judged for suite in _suites(item)]
    seconds = sum(item.document["run"]["duration_s"] for item in judged if item.document)
    return junit.whole(f"{junit.SUITE} {len(judged)} clusters", parts, seconds=seconds)


def _suites(judged: Judged) -> Iterator[ET.Element]:
    # A dot would end the name of a package, of which the cluster is one.
    name = f"{junit.SUITE}.{judged.name.replace('.', '_')}"
    if judged.document:
        yield from junit.suites(judged.document, {}, name)
        return
    yield junit.unjudged(name, "\n".join(str(item) for item in judged.problems))
