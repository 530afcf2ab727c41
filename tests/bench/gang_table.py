"""The gangs of the benchmark as a table: how long each took, beside the same pods placed one by one. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from tests.bench.claims import Sample, markdown

FITTING = "gang of "
"""How the stages of gangs for which there is room begin."""

_SUBJECT, _TUNED, _REFERENCE = "volcano", "tuned", "default"


def gang_table(samples: Sequence[Sample]) -> str:
    """Two Markdown tables: gangs that fit, with the medians of their rounds; and those with one pod too many."""
    stages = list(dict.fromkeys(sample.stage for sample in samples if sample.contestant == _REFERENCE))
    fitting = [_fitting(samples, stage) for stage in stages if stage.startswith(FITTING)]
    others = [_without_room(samples, stage) for stage in stages if not stage.startswith(FITTING)]
    head = (
        "gang",
        "rounds",
        "Volcano, s",
        "after the last pod, s",
        "first to last, s",
        "default scheduler, s",
        "ratio",
        "tuned, s",
        "ratio",
    )
    short = ("gang without room", "placed by Volcano", "reported after, s", "placed by the default scheduler")
    return f"{markdown(head, fitting)}\n{markdown(short, others)}" if samples else ""


def _of(samples: Sequence[Sample], stage: str, contestant: str) -> list[Sample]:
    return [sample for sample in samples if (sample.stage, sample.contestant) == (stage, contestant)]


def _fitting(samples: Sequence[Sample], stage: str) -> tuple[str, ...]:
    ours, tuned, others = (_of(samples, stage, contestant) for contestant in (_SUBJECT, _TUNED, _REFERENCE))
    return (
        stage.removeprefix(FITTING),
        str(len(ours)),
        _median([sample.seconds for sample in ours]),
        _median([float(str(sample.facts["after_last"])) for sample in ours]),
        _median([float(str(sample.facts["span"])) for sample in ours]),
        _median([sample.seconds for sample in others]),
        _ratio(ours, others),
        _median([sample.seconds for sample in tuned]),
        _ratio(tuned, others),
    )


def _ratio(ours: Sequence[Sample], others: Sequence[Sample]) -> str:
    ratios = [mine.seconds / other.seconds for mine, other in zip(ours, others, strict=True)]
    return f"{statistics.median(ratios):.1f} ({min(ratios):.1f}-{max(ratios):.1f})"


def _without_room(samples: Sequence[Sample], stage: str) -> tuple[str, ...]:
    (ours,), (tuned,), (other,) = (_of(samples, stage, contestant) for contestant in (_SUBJECT, _TUNED, _REFERENCE))
    bound = f"{ours.facts['bound']}, tuned {tuned.facts['bound']}"
    return stage, bound, f"{ours.seconds:.2f}", str(other.facts["bound"])


def _median(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2f}"
